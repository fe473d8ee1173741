use std::sync::Arc;

use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use serde_json::Value;

use super::{ExtractedJson, NoObject, input::Input, search::Search};
use crate::{ChatDelta, DeltaStream, ModelError};

/// An incremental reader of an object, so that fields can be shown before the object is complete.
///
/// The result is that of [`extract`](super::extract()), wherever the text is cut into pieces. All
/// pieces together take time linear in the length of the text.
///
/// ```
/// use fugato_llm::{ObjectPiece, ObjectReader};
///
/// let mut reader = ObjectReader::default();
/// let mut shown = String::new();
/// for piece in ["```json\n{\"action\": \"done\", \"spe", "ak\": \"All pla", "ced.\"}\n```"] {
///     for seen in reader.push(piece) {
///         match seen {
///             ObjectPiece::Text { name, more } if &*name == "speak" => shown.push_str(&more),
///             ObjectPiece::Void => shown.clear(),
///             _ => {}
///         }
///     }
/// }
/// assert_eq!(shown, "All placed.");
/// assert_eq!(reader.finish()?.object["action"], "done");
/// # Ok::<(), fugato_llm::NoObject>(())
/// ```
#[derive(smart_default::SmartDefault, Debug)]
pub struct ObjectReader {
    text: String,
    #[default(Search::telling())]
    search: Search,
    result: Option<Result<ExtractedJson, NoObject>>,
}

/// A newly visible part of an object that is still incomplete.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ObjectPiece {
    /// The next piece of a field that is a string.
    Text {
        /// The name of the field.
        name: Arc<str>,
        /// The piece.
        more: String,
    },
    /// A field is complete.
    Field {
        /// The name of the field.
        name: Arc<str>,
        /// The value of the field.
        value: Value,
    },
    /// The pieces so far are void: they do not belong to an object after all.
    Void,
}

impl ObjectReader {
    /// Appends text, and returns the newly visible pieces of the object.
    pub fn push(&mut self, more: &str) -> Vec<ObjectPiece> {
        self.text.push_str(more);
        self.read(false);
        self.search.take_told()
    }

    /// Returns the text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Ends the text, and returns the object or the reason why there is none.
    pub fn finish(mut self) -> Result<ExtractedJson, NoObject> {
        self.read(true);
        self.result.unwrap_or(Err(NoObject::Absent))
    }

    fn read(&mut self, is_whole: bool) {
        if self.result.is_none() {
            let text = &self.text;
            self.result = self.search.run(Input { text, is_whole });
        }
    }
}

/// A delta of an answer that contains an object.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ObjectDelta {
    /// A newly visible piece of the object.
    Piece(ObjectPiece),
    /// A delta other than text.
    Other(ChatDelta),
    /// The end of the answer; always the last item.
    End {
        /// The whole text of the answer.
        raw: String,
        /// The object, or the reason why there is none.
        found: Result<ExtractedJson, NoObject>,
    },
}

/// Reads the object in an answer while it streams.
pub fn read_object(deltas: DeltaStream) -> BoxStream<'static, Result<ObjectDelta, ModelError>> {
    let state = Some((deltas, ObjectReader::default()));
    stream::unfold(state, |state| async {
        let (mut deltas, mut reader) = state?;
        let out = match deltas.next().await {
            Some(Ok(ChatDelta::Text(text))) => reader
                .push(&text)
                .into_iter()
                .map(|piece| Ok(ObjectDelta::Piece(piece)))
                .collect(),
            Some(Ok(other)) => vec![Ok(ObjectDelta::Other(other))],
            Some(Err(error)) => return Some((vec![Err(error)], None)),
            None => {
                let raw = reader.text().to_owned();
                let found = reader.finish();
                return Some((vec![Ok(ObjectDelta::End { raw, found })], None));
            }
        };
        Some((out, Some((deltas, reader))))
    })
    .flat_map(stream::iter)
    .boxed()
}
