mod growing;
mod input;
mod literal;
mod parser;
mod search;
mod text;

use std::collections::BTreeSet;

use fugato_state::say;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use input::Input;
use search::Search;

pub use growing::{ObjectDelta, ObjectPiece, ObjectReader, read_object};

/// A JSON object that was found in a text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExtractedJson {
    /// The object.
    pub object: Map<String, Value>,
    /// The repairs that were needed to read it.
    pub repairs: BTreeSet<JsonRepair>,
}

/// A small deviation from JSON whose meaning is beyond doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JsonRepair {
    /// A comma before a closing bracket.
    TrailingComma,
    /// No comma between two members or items.
    MissingComma,
    /// A key without quotes.
    UnquotedKey,
    /// A word without quotes as a value.
    UnquotedValue,
    /// Quotes other than `"`.
    OtherQuotes,
    /// A full-width comma or colon between members.
    OtherPunctuation,
    /// `True`, `False` or `None`.
    OtherLiteral,
    /// A number such as `+1`, `.5` or `1.`.
    LooseNumber,
    /// A line break, or an escape that JSON does not know, within a string.
    LooseString,
    /// A quotation within a string whose quotes are not escaped.
    InnerQuotes,
    /// A comment.
    Comment,
    /// A bracket that is missing before that of its container, or at the end after a complete value.
    MissingBracket,
}

/// The reason why no object was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoObject {
    /// The text is empty.
    #[error("{}", say!("the text is empty", "文本是空的"))]
    Empty,
    /// The text contains no object.
    #[error("{}", say!("there is no JSON object in the text", "文本中没有 JSON 对象"))]
    Absent,
    /// The text is a list, not an object.
    #[error("{}", say!(
        "the text is a JSON array, not an object",
        "文本是 JSON 数组，不是对象"
    ))]
    Array,
    /// The text ends within the object, at a place where a repair could change its meaning.
    #[error("{}", say!(
        "the text ends before the JSON object does",
        "JSON 对象还没写完文本就结束了"
    ))]
    Truncated,
    /// The object is broken in a way that no [`JsonRepair`] covers.
    #[error("{}", say!(
        "the JSON object is broken near {near:?}: expected {expected}",
        "JSON 对象在 {near:?} 附近损坏：应为{expected}",
        expected = parser::spoken(expected)
    ))]
    Broken {
        /// The text from that place on, at most 24 characters.
        near: String,
        /// The expected token.
        expected: String,
    },
}

/// Extracts the first JSON object from the answer of a model.
///
/// Ignored: Markdown fences, text before and after, and a leading `<think>` block.
/// Repaired: the deviations of [`JsonRepair`].
/// Refused: everything that has two readings, such as an object that ends within a string, a key
/// with two different values, or a missing quote. An object within a refused one is not returned in
/// its place.
///
/// The time is linear in the length of the text.
///
/// ```
/// use fugato_llm::extract;
///
/// let said = "Sure! ```json\n{action: 'move', \"day\": 3,}\n``` Anything else?";
/// assert_eq!(serde_json::Value::from(extract(said)?.object),
///            serde_json::json!({ "action": "move", "day": 3 }));
/// # Ok::<(), fugato_llm::NoObject>(())
/// ```
pub fn extract(text: &str) -> Result<ExtractedJson, NoObject> {
    let input = Input {
        text,
        is_whole: true,
    };
    // The search in a whole text always has a result.
    let found = Search::default().run(input);
    found.unwrap_or(Err(NoObject::Absent))
}

#[cfg(test)]
mod tests;
