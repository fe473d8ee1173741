use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cut;

/// The general preferences of a person, by name. They outlive every piece of work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Preferences {
    wishes: BTreeMap<String, String>,
}

/// A change to the preferences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PreferenceUpdate {
    /// Sets a preference. A new one above [`Preferences::LIMIT`] is ignored.
    Set {
        /// The name of the preference.
        name: String,
        /// The wish.
        wish: String,
    },
    /// Removes a preference.
    Unset {
        /// The name of the preference.
        name: String,
    },
    /// Removes all preferences.
    Cleared,
}

impl Preferences {
    /// The greatest number of preferences.
    pub const LIMIT: usize = 100;
    /// The greatest length of a wish in characters.
    pub const MOST_CHARACTERS: usize = 1_000;

    /// Returns the wish of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.wishes.get(name).map(String::as_str)
    }

    /// Returns all names and wishes, in the order of the names.
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
