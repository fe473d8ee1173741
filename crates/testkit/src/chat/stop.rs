//! Scenarios of the end of an answer: complete, broken off, refused or cancelled.
use std::error::Error;

use fugato_llm::{ChatDelta, ChatModel, ChatModelExt as _, ModelError, ModelErrorKind};
use futures::StreamExt as _;

use super::{ChatFactory, hello};
use crate::{
    ScriptedReply,
    log::{Failure, holds, same},
};

fn cut_off() -> ModelError {
    ModelError::new(ModelErrorKind::CutOff, "the line went dead")
}

/// Returns everything that comes, until the stream ends.
async fn all(model: &dyn ChatModel) -> Result<Vec<Result<ChatDelta, ModelError>>, Failure> {
    let deltas = model.stream(hello()).await;
    let mut deltas = deltas.map_err(|error| Failure::new(format!("refused: {error}")))?;
    let mut came = vec![];
    while let Some(delta) = deltas.next().await {
        came.push(delta);
    }
    let after = deltas.next().await;
    holds(after.is_none(), || {
        format!("after its end it went on: {after:?}")
    })?;
    Ok(came)
}

/// Contract *an end is an end*: nothing comes after an error, and nothing after the end, however
/// often the stream is polled.
pub async fn an_end_is_an_end(factory: &dyn ChatFactory) -> Result<(), Failure> {
    for reply in [
        ScriptedReply::chunks(["Good ", "morning"]),
        ScriptedReply::text("Good").then_error(cut_off()),
    ] {
        let speaker = factory.says(vec![reply]).await?;
        let came = all(&*speaker.model).await?;
        let error = came.iter().position(Result::is_err);
        let last = came.len().saturating_sub(1);
        holds(error.is_none_or(|at| at == last), || {
            format!("after an error it went on: {came:?}")
        })?;
    }
    Ok(())
}

/// Contract *broken is not finished*: the text before a break is delivered, then comes an error of
/// its kind, and never a finish reason.
pub async fn broken_is_not_finished(factory: &dyn ChatFactory) -> Result<(), Failure> {
    let reply = ScriptedReply::chunks(["Good ", "mor"]).then_error(cut_off());
    let speaker = factory.says(vec![reply]).await?;
    let came = all(&*speaker.model).await?;
    let mut text = String::new();
    for delta in came.iter().flatten() {
        match delta {
            ChatDelta::Text(more) => text += more,
            ChatDelta::Finish(reason) => {
                return Err(Failure::new(format!(
                    "it broke off, and ends with {reason:?}"
                )));
            }
            _ => {}
        }
    }
    same(
        "what was said before it broke off",
        text.as_str(),
        "Good mor",
    )?;
    let error = came.last().and_then(|last| last.as_ref().err());
    let kind = error.map(|error| error.kind);
    same("how it ends", kind, Some(ModelErrorKind::CutOff))
}

/// Contract *broken is not finished*: a refusal is an error of the same kind and advice, before any
/// delta.
pub async fn refusals_keep_their_kind(factory: &dyn ChatFactory) -> Result<(), Failure> {
    use ModelErrorKind::{BadRequest, Denied, NotFound, RateLimited, Unavailable};
    for kind in [Denied, NotFound, BadRequest, RateLimited, Unavailable] {
        let refusal = ModelError::new(kind, "no");
        let speaker = factory
            .says(vec![ScriptedReply::error(refusal.clone())])
            .await?;
        let refused = speaker.model.complete(hello()).await;
        let refused = refused.map_err(|error| (error.kind, error.advice));
        let refused = refused.map(|response| response.message.content);
        same("a refusal", refused, Err((kind, refusal.advice)))?;
    }
    Ok(())
}

/// Contract *dropping cancels*: no work is done for an answer that was dropped.
pub async fn dropping_cancels(factory: &dyn ChatFactory) -> Result<(), Failure> {
    let speaker = factory
        .says(vec![ScriptedReply::text("Good").then_hang()])
        .await?;
    let deltas = speaker.model.stream(hello()).await;
    let mut deltas = deltas.map_err(|error| Failure::new(format!("refused: {error}")))?;
    let first = deltas.next().await;
    holds(matches!(first, Some(Ok(_))), || {
        format!("the first piece is {first:?}")
    })?;
    drop(deltas);
    speaker.idle.await;
    Ok(())
}

/// Contract *no secrets*: neither the text nor an error shows the credentials of the model.
pub async fn no_secrets(factory: &dyn ChatFactory) -> Result<(), Failure> {
    let Some(secret) = factory.secret() else {
        return Ok(());
    };
    let refusal = ModelError::new(ModelErrorKind::Denied, "no");
    let replies = [
        ScriptedReply::error(refusal),
        ScriptedReply::text("Good").then_error(cut_off()),
        ScriptedReply::text("Good"),
    ];
    for reply in replies {
        let speaker = factory.says(vec![reply]).await?;
        let answered = speaker.model.complete(hello()).await;
        let mut shown = format!("{answered:?}");
        let mut cause: Option<&dyn Error> = answered.as_ref().err().map(|error| error as _);
        while let Some(error) = cause {
            shown += &error.to_string();
            cause = error.source();
        }
        holds(!shown.contains(secret), || {
            format!("the secret {secret:?} shows in {shown}")
        })?;
    }
    Ok(())
}
