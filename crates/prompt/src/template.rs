//! Templates that people write in files: the agent's character, its user, its tools.
mod folder;
mod value;

use std::{collections::BTreeSet, io};

pub use self::{
    folder::TemplateFolder,
    value::{ValueTemplate, value_text},
};

/// A text with placeholders, each written `{{name}}`.
///
/// A name consists of letters, digits, `_`, `-` and `.`, and may have spaces around it. Braces with
/// anything else between them are text. Filled-in text is not searched for placeholders.
///
/// ```
/// use fugato_prompt::Template;
///
/// let soul = Template::new("SOUL.md", "You are {{name}}. Answer as {\"ok\": true}.");
/// assert_eq!(soul.fill([("name", "Iris")])?, "You are Iris. Answer as {\"ok\": true}.");
/// assert_eq!(
///     soul.fill([("nmae", "Iris")]).unwrap_err().to_string(),
///     "SOUL.md asks for {{name}}, which is not known; known are {{nmae}}",
/// );
/// # Ok::<(), fugato_prompt::TemplateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    name: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Place(String),
}

impl Template {
    /// Parses a template. The name is for errors.
    pub fn new(name: impl Into<String>, text: &str) -> Self {
        let (mut pieces, mut plain, mut rest) = (vec![], String::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            plain.push_str(before);
            let place = after.split_once("}}").filter(|(name, _)| is_name(name));
            if let Some((name, behind)) = place {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
                pieces.push(Piece::Place(name.trim().to_owned()));
                rest = behind;
            } else {
                // Only one brace is consumed, because the next may belong to a placeholder.
                plain.push('{');
                rest = rest.get(before.len() + 1..).unwrap_or_default();
            }
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        let name = name.into();
        Self { name, pieces }
    }

    /// Returns the names of the placeholders, each once.
    pub fn places(&self) -> BTreeSet<&str> {
        let places = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Place(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        });
        places.collect()
    }

    /// Returns the text with its placeholders filled in. A placeholder without a value is an error
    /// that names it; a value without a placeholder is ignored.
    pub fn fill<'a, N: AsRef<str>>(
        &self,
        known: impl IntoIterator<Item = (N, &'a str)>,
    ) -> Result<String, TemplateError> {
        let known: Vec<_> = known.into_iter().collect();
        let value = |name: &str| known.iter().find(|(known, _)| known.as_ref() == name);
        let places = self.places().into_iter();
        let unknown = places.filter(|name| value(name).is_none());
        let unknown: Vec<String> = unknown.map(str::to_owned).collect();
        if !unknown.is_empty() {
            let known = known.iter().map(|(name, _)| name.as_ref().to_owned());
            return Err(TemplateError::Unknown {
                name: self.name.clone(),
                unknown,
                known: known.collect(),
            });
        }
        let text = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Place(name) => value(name).map_or("", |(_, text)| text),
        });
        Ok(text.collect())
    }
}

fn is_name(inner: &str) -> bool {
    let inner = inner.trim();
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    !inner.is_empty() && inner.chars().all(fits)
}

/// The error if a template cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The template has placeholders without a value.
    #[error(
        "{name} asks for {}, which {} not known; known are {}",
        places(.unknown), if .unknown.len() == 1 { "is" } else { "are" }, places(.known)
    )]
    Unknown {
        /// The name of the template.
        name: String,
        /// The placeholders without a value.
        unknown: Vec<String>,
        /// The names that have a value.
        known: Vec<String>,
    },
    /// The name leads out of the folder.
    #[error("{name:?} does not lie in the folder of templates")]
    Outside {
        /// The name.
        name: String,
    },
    /// It is too long for a prompt.
    #[error("{name} is longer than {most} bytes")]
    TooLong {
        /// The name of the template.
        name: String,
        /// The limit in bytes.
        most: u64,
    },
    /// The file is not UTF-8 text.
    #[error("{name} is not UTF-8 text")]
    NotText {
        /// The name of the template.
        name: String,
    },
    /// The file cannot be read.
    #[error("{name} cannot be read")]
    Unreadable {
        /// The name of the template.
        name: String,
        /// The error of the file system.
        source: io::Error,
    },
}

fn places(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let places: Vec<_> = names.iter().map(|name| format!("{{{{{name}}}}}")).collect();
    places.join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn trn_3_every_place_that_is_not_known_is_named() {
        let template = Template::new(
            "USER.md",
            "{{ name }} of {{city}}, {{ name }}, {{a b}} {{}}",
        );
        assert_eq!(template.places(), BTreeSet::from(["name", "city"]));
        let error = template.fill([("age", "7")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "USER.md asks for {{city}}, {{name}}, which are not known; known are {{age}}"
        );
        let filled = template.fill([("name", "{{city}}"), ("city", "Rome")]);
        assert_eq!(filled.unwrap(), "{{city}} of Rome, {{city}}, {{a b}} {{}}");
    }

    proptest! {
        #[test]
        fn a_text_without_places_stays_as_it_is(text in "[{}a ]{0,24}|\\PC{0,24}") {
            let template = Template::new("t", &text);
            if template.places().is_empty() {
                prop_assert_eq!(template.fill([("", ""); 0]).unwrap(), text);
            } else {
                let known: Vec<_> = template.places().into_iter().map(|name| (name, "")).collect();
                prop_assert!(template.fill(known).unwrap().len() < text.len());
            }
        }
    }
}
