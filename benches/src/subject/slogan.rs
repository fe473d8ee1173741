//! Items that each go through a graph of their own.
use fugato_state::State;
use serde::{Deserialize, Serialize};

/// What is appended until there is enough of it.
const SUFFIX: &str = " a";
/// How often.
const SUFFIXES: usize = 10;

/// Subjects, and what was made of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Campaign {
    /// What slogans are wanted for.
    pub subjects: Vec<String>,
    /// The slogans, in the order of the subjects.
    pub slogans: Vec<String>,
    /// How many characters they have together.
    pub length: Option<usize>,
}

/// A change of a [`Campaign`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CampaignUpdate {
    /// One slogan.
    Slogan(String),
    /// The sum of all.
    Length(usize),
}

impl Campaign {
    /// So many subjects.
    pub fn of_subjects(count: u64) -> Self {
        let subjects = (0..count).map(|number| format!("subject {number}"));
        Self {
            subjects: subjects.collect(),
            ..Self::default()
        }
    }

    /// Whether there is a finished slogan for each subject.
    pub fn is_over(&self) -> bool {
        let finished = |slogan: &String| slogan.ends_with(&SUFFIX.repeat(SUFFIXES));
        self.slogans.len() == self.subjects.len() && self.slogans.iter().all(finished)
    }
}

impl State for Campaign {
    type Update = CampaignUpdate;
    fn apply(&mut self, update: CampaignUpdate) {
        match update {
            CampaignUpdate::Slogan(slogan) => self.slogans.push(slogan),
            CampaignUpdate::Length(length) => self.length = Some(length),
        }
    }
}

/// One slogan in the making.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Slogan {
    /// What it is for.
    pub subject: String,
    /// The slogan so far.
    pub text: String,
}

/// A change of a [`Slogan`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SloganUpdate {
    /// Another subject.
    Subject(String),
    /// Another text.
    Text(String),
}

impl Slogan {
    /// A slogan that is to be made.
    pub fn of(subject: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            text: String::new(),
        }
    }

    /// Makes the subject polite.
    pub fn edit(&self) -> SloganUpdate {
        SloganUpdate::Subject(format!("{} - if you please", self.subject))
    }

    /// Makes a text of it.
    pub fn generate(&self) -> SloganUpdate {
        SloganUpdate::Text(format!("A word on {}", self.subject))
    }

    /// Makes the text longer.
    pub fn bump(&self) -> SloganUpdate {
        SloganUpdate::Text(format!("{}{SUFFIX}", self.text))
    }

    /// Whether it is long enough.
    pub fn is_over(&self) -> bool {
        self.text.ends_with(&SUFFIX.repeat(SUFFIXES))
    }
}

impl State for Slogan {
    type Update = SloganUpdate;
    fn apply(&mut self, update: SloganUpdate) {
        match update {
            SloganUpdate::Subject(subject) => self.subject = subject,
            SloganUpdate::Text(text) => self.text = text,
        }
    }
}

/// A number on its way.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Number(pub u64);

impl State for Number {
    type Update = Self;
    fn apply(&mut self, update: Self) {
        *self = update;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slogan_takes_twelve_steps() {
        let mut slogan = Slogan::of("tea");
        slogan.apply(slogan.edit());
        slogan.apply(slogan.generate());
        let mut steps = 2;
        while !slogan.is_over() {
            slogan.apply(slogan.bump());
            steps += 1;
        }
        assert_eq!(steps, 12);
        assert_eq!(
            slogan.text,
            "A word on tea - if you please a a a a a a a a a a"
        );
    }
}
