mod parser;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use parser::{Fault, Parser};

/// A JSON object that was found in a text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Extracted {
    /// The object.
    pub object: Map<String, Value>,
    /// What had to be repaired to read it.
    pub repairs: BTreeSet<Repair>,
}

/// A small deviation from JSON whose meaning is beyond doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Repair {
    /// A comma before a closing bracket.
    TrailingComma,
    /// No comma between two members.
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
    /// A line break, or an escape that JSON does not know, within a string.
    LooseString,
    /// A comment.
    Comment,
    /// Brackets that were still open at the end of the text, after a complete value.
    MissingBracket,
}

/// Why no object was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoObject {
    /// The text is empty.
    #[error("the text is empty")]
    Empty,
    /// There is no object in the text.
    #[error("there is no JSON object in the text")]
    Absent,
    /// The text is a list, not an object.
    #[error("the text is a JSON array, not an object")]
    Array,
    /// The text ends within the object, at a place where guessing the rest could change its sense.
    #[error("the text ends before the JSON object does")]
    Truncated,
    /// The object is broken in a way that no small repair mends.
    #[error("the JSON object is broken near {near:?}: expected {expected}")]
    Broken {
        /// The text at the place.
        near: String,
        /// What should be there.
        expected: String,
    },
}

/// Finds the first JSON object in what a model said.
///
/// Ignored: Markdown fences, text before and after, and a leading `<think>` block.
/// Repaired: the deviations of [`Repair`].
/// Refused: everything that could be meant in two ways, such as an object that ends within a
/// string, or a key given twice with different values.
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
pub fn extract(text: &str) -> Result<Extracted, NoObject> {
    let text = answer_part(text);
    if text.is_empty() {
        return Err(NoObject::Empty);
    }
    let (mut from, mut failure) = (0, None);
    while let Some(start) = text
        .get(from..)
        .and_then(|rest| rest.find('{'))
        .map(|at| from + at)
    {
        if from == 0 && text.get(..start).is_some_and(opens_a_list) {
            return Err(NoObject::Array);
        }
        let mut parser = Parser::new(text, start);
        match parser.root() {
            Ok(object) => {
                return Ok(Extracted {
                    object,
                    repairs: parser.repairs,
                });
            }
            // What was read is not read again: this keeps the time linear.
            Err(Fault::Broken { at, expected }) => {
                failure.get_or_insert_with(|| broken(text, at, expected));
                from = at.max(start + 1);
            }
            Err(Fault::Truncated) => return Err(NoObject::Truncated),
        }
    }
    let listed = failure.is_none() && opens_a_list(without_fence(text));
    Err(failure.unwrap_or(if listed {
        NoObject::Array
    } else {
        NoObject::Absent
    }))
}

/// What a model said after thinking aloud.
fn answer_part(text: &str) -> &str {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    match text
        .starts_with("<think>")
        .then(|| text.rsplit_once("</think>"))
        .flatten()
    {
        Some((_, answer)) => answer.trim(),
        None => text,
    }
}

fn opens_a_list(before: &str) -> bool {
    before.trim_end().ends_with('[') || before.trim_start().starts_with("[\"")
}

fn without_fence(text: &str) -> &str {
    let text = text.trim_start_matches('`');
    text.strip_prefix("json")
        .unwrap_or(text)
        .trim_start()
        .get(..2)
        .unwrap_or_default()
}

fn broken(text: &str, at: usize, expected: &str) -> NoObject {
    let near: String = text
        .get(at..)
        .unwrap_or_default()
        .chars()
        .take(24)
        .collect();
    NoObject::Broken {
        near,
        expected: expected.to_owned(),
    }
}

#[cfg(test)]
mod tests;
