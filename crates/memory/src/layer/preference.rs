use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cut;

/// What a person wants in general, by name. It outlives every piece of work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Preferences {
    wishes: BTreeMap<String, String>,
}

/// A change to what is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PreferenceUpdate {
    /// This is wanted from now on. There is no room for more than [`Preferences::LIMIT`].
    Set {
        /// Under which name.
        name: String,
        /// What.
        wish: String,
    },
    /// This is no longer wanted.
    Unset {
        /// Under which name.
        name: String,
    },
    /// Nothing is wanted.
    Cleared,
}

impl Preferences {
    /// How many there may be.
    pub const LIMIT: usize = 100;
    /// How many characters each may have.
    pub const MOST_CHARACTERS: usize = 1_000;

    /// What is wanted under a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.wishes.get(name).map(String::as_str)
    }

    /// All, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let both = self.wishes.iter();
        both.map(|(name, wish)| (name.as_str(), wish.as_str()))
    }

    /// Applies one change.
    pub fn apply(&mut self, update: PreferenceUpdate) {
        match update {
            PreferenceUpdate::Set { name, wish } => {
                if self.wishes.len() < Self::LIMIT || self.wishes.contains_key(&name) {
                    self.wishes.insert(name, cut(&wish, Self::MOST_CHARACTERS));
                }
            }
            PreferenceUpdate::Unset { name } => {
                self.wishes.remove(&name);
            }
            PreferenceUpdate::Cleared => self.wishes.clear(),
        }
    }
}
