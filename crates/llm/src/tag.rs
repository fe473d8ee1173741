mod answer;
mod markup;
mod splitter;

use std::collections::BTreeMap;

use futures::stream::BoxStream;
use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};

use crate::{ChatDelta, DeltaStream, ModelError};

pub use answer::TaggedAnswer;
pub use splitter::{TagEnd, TagPiece, TagSplitter};

/// A tag with which a model opens its answer, so that the decision in it can be acted upon while
/// the text for the person still streams.
///
/// Each request has a new nonce: a tag that was smuggled into the conversation lacks it and is read
/// as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    name: String,
    nonce: String,
    body: bool,
}

/// A tag that was found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TagFound {
    /// Its attributes, without the nonce. One without a value has the value `true`.
    pub attributes: BTreeMap<String, String>,
    /// The text between the opening and the closing tag.
    pub body: String,
}

impl Tag {
    /// Creates a tag with a body: `<name nonce="…">…</name>`.
    pub fn around(name: impl Into<String>, nonce: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            nonce: nonce.into(),
            body: true,
        }
    }

    /// Creates a tag that has only attributes: `<name nonce="…" thinking="true">`.
    pub fn alone(name: impl Into<String>, nonce: impl Into<String>) -> Self {
        Self {
            body: false,
            ..Self::around(name, nonce)
        }
    }

    /// Creates a tag with a body and a nonce that nobody can guess, for one request.
    pub fn fresh(name: impl Into<String>) -> Self {
        use std::hash::{BuildHasher as _, RandomState};
        Self::around(name, format!("{:016x}", RandomState::new().hash_one(())))
    }

    /// Returns the same tag without a body: only its attributes count.
    #[must_use]
    pub fn bodiless(self) -> Self {
        Self {
            body: false,
            ..self
        }
    }

    /// Returns the opening tag as the model must write it, for the prompt; further attributes may
    /// follow.
    pub fn opening(&self) -> String {
        format!("<{} nonce=\"{}\">", self.name, self.nonce)
    }
}

impl TagFound {
    /// Returns true if a boolean attribute is set: to `true`, `yes` or `1`, or without a value.
    pub fn flag(&self, name: &str) -> bool {
        let value = self
            .attributes
            .get(name)
            .map(|value| value.to_ascii_lowercase());
        value.is_some_and(|value| matches!(value.as_str(), "true" | "yes" | "1"))
    }
}

/// A delta of an answer after its tag was split off.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TaggedDelta {
    /// A piece of the text, or the tag.
    Piece(TagPiece),
    /// A delta other than text.
    Other(ChatDelta),
    /// The end of the answer; always the last item.
    End(TagEnd),
}

/// Splits the tag off an answer while it streams.
pub fn split_tag(
    deltas: DeltaStream,
    tag: Tag,
) -> BoxStream<'static, Result<TaggedDelta, ModelError>> {
    let state = Some((deltas, TagSplitter::new(tag)));
    stream::unfold(state, |state| async {
        let (mut deltas, mut splitter) = state?;
        let out = match deltas.next().await {
            Some(Ok(ChatDelta::Text(text))) => splitter
                .push(&text)
                .into_iter()
                .map(|piece| Ok(TaggedDelta::Piece(piece)))
                .collect(),
            Some(Ok(other)) => vec![Ok(TaggedDelta::Other(other))],
            Some(Err(error)) => return Some((vec![Err(error)], None)),
            None => return Some((vec![Ok(TaggedDelta::End(splitter.finish()))], None)),
        };
        Some((out, Some((deltas, splitter))))
    })
    .flat_map(stream::iter)
    .fuse()
    .boxed()
}

/// Returns the first text that is not blank, trimmed: the text of an answer that a person is shown.
///
/// The order of a tagged answer is: the text after the tag, the text before it, the reason that
/// the decision gives, a default phrase.
pub fn visible_text<'a>(candidates: impl IntoIterator<Item = &'a str>) -> &'a str {
    candidates
        .into_iter()
        .map(str::trim)
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
