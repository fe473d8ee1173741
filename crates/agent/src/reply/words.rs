//! The final words of a run, requested from a model and checked.
use fugato_graph::Context;
use fugato_llm::{ChatModel, ChatRequest, ModelError, ModelErrorKind};
use fugato_state::State;
use fugato_stream::EventKind;

use super::{RunReport, SpeechOptions, for_people, marked, overhear, show};

/// Asks a model for the reply of a run, and returns the text for the person.
///
/// The words are streamed if the report is empty; otherwise they wait for the lines of the report.
/// An answer that is not meant for people is corrected once, and a second one is an error of the
/// kind `Malformed`. An answer that reached the limit of tokens is marked. `said` is the person's
/// message.
pub async fn ask_reply<S: State>(
    cx: &Context<S>,
    model: &dyn ChatModel,
    mut request: ChatRequest,
    (report, said): (&RunReport, &str),
) -> Result<String, ModelError> {
    let mut corrected = false;
    loop {
        let guarded = SpeechOptions {
            unseen: !report.is_empty(),
            contracts: true,
            ..SpeechOptions::default()
        };
        let answer = overhear(cx, model, request.clone(), guarded).await?;
        let is_shown = answer.is_shown;
        let raw = &answer.response.message.content;
        if raw.trim().is_empty() {
            return Err(ModelError::new(
                ModelErrorKind::Malformed,
                "it says nothing",
            ));
        }
        let Err(rejected) = for_people(raw, &request) else {
            let words = if is_shown {
                raw.clone()
            } else {
                marked(&answer.response)
            };
            return Ok(replied(cx, words, is_shown, (report, said)));
        };
        if corrected {
            let why = rejected.to_string();
            return Err(ModelError::new(ModelErrorKind::Malformed, why));
        }
        cx.emit(EventKind::Correction {
            message: rejected.to_string(),
        });
        request.messages.extend(rejected.messages());
        corrected = true;
    }
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
