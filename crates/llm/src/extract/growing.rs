use std::sync::Arc;

use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use serde_json::Value;

use super::{Extracted, NoObject, input::Input, search::Search};
use crate::{ChatDelta, DeltaStream, ModelError};

/// Reads an object while it grows, so that its fields can be shown before it is complete.
///
/// However the text is cut into pieces, the result is that of [`extract`](super::extract()).
/// All pieces together take time linear in the length of the text.
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
#[derive(Debug)]
pub struct ObjectReader {
    text: String,
    search: Search,
    result: Option<Result<Extracted, NoObject>>,
}

/// What is seen of an object that grows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ObjectPiece {
    /// A field is a string, and this is more of it.
    Text {
        /// The name of the field.
        name: Arc<str>,
        /// What was added.
        more: String,
    },
    /// A field is complete.
    Field {
        /// Its name.
        name: Arc<str>,
        /// What it says.
        value: Value,
    },
    /// What was told so far belongs to something that is no object after all.
    Void,
}

impl Default for ObjectReader {
    fn default() -> Self {
        Self {
            text: String::new(),
            search: Search::telling(),
            result: None,
        }
    }
}

impl ObjectReader {
    /// Adds more of the text, and tells what became visible of the object.
    pub fn push(&mut self, more: &str) -> Vec<ObjectPiece> {
        self.text.push_str(more);
        self.read(false);
        self.search.take_told()
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The object, or why there is none, now that the text is over.
    pub fn finish(mut self) -> Result<Extracted, NoObject> {
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

/// An answer in which an object grows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ObjectDelta {
    /// What became visible of the object.
    Piece(ObjectPiece),
    /// Anything but text.
    Other(ChatDelta),
    /// The object, or why there is none; always last.
    End {
        /// Everything that was said.
        raw: String,
        /// What was found in it.
        found: Result<Extracted, NoObject>,
    },
}

/// Reads the object in an answer as it streams.
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
