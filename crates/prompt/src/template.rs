//! Texts that people write in files: who the agent is, whom it serves, which tools it has.
mod folder;
mod value;

use std::{collections::BTreeSet, io};

pub use self::{
    folder::TemplateFolder,
    value::{ValueTemplate, value_text},
};

/// A text with places to fill in, each written `{{name}}`.
///
/// A name consists of letters, digits, `_`, `-` and `.`, and may have spaces around it. Braces with
/// anything else between them are text. What is filled in is never looked into again.
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
    /// A template; the name is what errors call it.
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
                // Only one brace is passed, as the next may belong to a place.
                plain.push('{');
                rest = rest.get(before.len() + 1..).unwrap_or_default();
            }
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        let name = name.into();
        Self { name, pieces }
    }

    /// The names of the places, each once.
    pub fn places(&self) -> BTreeSet<&str> {
        let places = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Place(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        });
        places.collect()
    }

    /// The text with its places filled in. A place that nothing is known for is an error that names
    /// it; what is known and not asked for is left out.
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

/// A template cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// It asks for what is not known.
    #[error(
        "{name} asks for {}, which {} not known; known are {}",
        places(.unknown), if .unknown.len() == 1 { "is" } else { "are" }, places(.known)
    )]
    Unknown {
        /// The template.
        name: String,
        /// What it asks for in vain.
        unknown: Vec<String>,
        /// What it may ask for.
        known: Vec<String>,
    },
    /// Its name leads out of the folder.
    #[error("{name:?} does not lie in the folder of templates")]
    Outside {
        /// The name.
        name: String,
    },
    /// It is too long for a prompt.
    #[error("{name} is longer than {most} bytes")]
    TooLong {
        /// The template.
        name: String,
        /// How long it may be.
        most: u64,
    },
    /// It is no text.
    #[error("{name} is not UTF-8 text")]
    NotText {
        /// The template.
        name: String,
    },
    /// It cannot be read.
    #[error("{name} cannot be read")]
    Unreadable {
        /// The template.
        name: String,
        /// Why.
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
