//! The final words of a run, requested from a model and checked.
use fugato_graph::Context;
use fugato_llm::{ChatModel, ChatRequest, ModelError, ModelErrorKind, RejectedAnswer};
use fugato_state::{State, say};
use fugato_stream::EventKind;

use super::{RunReport, SpeechOptions, StreamedAnswer, for_people, marked, overhear, show};

/// Asks a model for the reply of a run, and returns the text for the person.
///
/// The words are streamed if the report is empty; otherwise they wait for the lines of the report.
/// An answer that is not meant for people is corrected once, and a second one is an error of the
/// kind `Malformed`. An answer that reached the limit of tokens is marked. `said` is the person's
/// message.
pub async fn ask_reply<S: State>(
    cx: &Context<S>,
    model: &dyn ChatModel,
    request: ChatRequest,
    (report, said): (&RunReport, &str),
) -> Result<String, ModelError> {
    let guarded = SpeechOptions {
        unseen: !report.is_empty(),
        contracts: true,
        ..SpeechOptions::default()
    };
    let asked = ask_for_people(cx, model, request, guarded, 1).await;
    let (words, is_shown) = asked.map_err(|none| match none {
        NoWords::Silent(error) => error,
        NoWords::Unfit(last) => ModelError::new(ModelErrorKind::Malformed, last.to_string()),
    })?;
    Ok(replied(cx, words, is_shown, (report, said)))
}

/// The reason why a model has no words for a person.
#[derive(derive_more::From)]
pub(crate) enum NoWords {
    #[from]
    Silent(ModelError),
    Unfit(RejectedAnswer),
}

/// Asks a model for words that are meant for people; others are corrected so many times. Returns
/// them, marked if they reached the limit of tokens, and true if they were streamed.
pub(crate) async fn ask_for_people<S: State>(
    cx: &Context<S>,
    model: &dyn ChatModel,
    mut request: ChatRequest,
    guarded: SpeechOptions,
    corrections: u32,
) -> Result<(String, bool), NoWords> {
    let mut left = corrections;
    loop {
        let answer = overhear(cx, model, request.clone(), guarded.clone()).await?;
        let raw = &answer.response.message.content;
        let Err(rejected) = for_people(raw, &request) else {
            return Ok((spoken(&answer)?, answer.is_shown));
        };
        if left == 0 {
            return Err(NoWords::Unfit(rejected));
        }
        left -= 1;
        cx.emit(EventKind::Correction {
            message: rejected.to_string(),
        });
        request.messages.extend(rejected.messages());
    }
}

/// Returns the words of an answer, marked if they reached the limit of tokens; it is an error if
/// there are none.
pub(crate) fn spoken(answer: &StreamedAnswer) -> Result<String, ModelError> {
    let raw = &answer.response.message.content;
    if raw.trim().is_empty() {
        let why = say!("it says nothing", "什么都没说");
        return Err(ModelError::new(ModelErrorKind::Malformed, why));
    }
    // Words that were streamed have their mark.
    Ok(if answer.is_shown {
        raw.clone()
    } else {
        marked(&answer.response)
    })
}

fn replied<S: State>(
    cx: &Context<S>,
    words: String,
    is_shown: bool,
    (report, said): (&RunReport, &str),
) -> String {
    if is_shown {
        return match report.remark(&words, said) {
            Some(line) => {
                show(cx, line);
                format!("{words}\n\n{line}")
            }
            None => words,
        };
    }
    let reply = report.reply(&words, said);
    show(cx, &reply);
    reply
}
