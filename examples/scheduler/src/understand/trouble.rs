//! The trouble that a person has with a day, in their words.
use fugato::words::normalize;

use super::lex::LISTS;

/// A reason to repair a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Something was planned and not done.
    Missed,
    /// The person is tired, so what is left of today is too much.
    Tired,
}

impl Trouble {
    /// Reads the trouble that a text tells and nothing else; none for other texts.
    pub(crate) fn told(text: &str) -> Option<Self> {
        let text = normalize(text)
            .replace("didn't", "did not")
            .replace("i'm ", "i am ");
        let intensity = LISTS.trouble.intensity.iter();
        let text = intensity.fold(text, |text, word| text.replace(word, ""));
        let parts = text.split(['.', '!', '?', ',', ';']);
        let parts = parts.map(|part| part.trim().trim_end_matches(['啊', '呢', '呀', '了', ' ']));
        let parts = parts.map(|part| part.strip_prefix("actually ").unwrap_or(part));
        let is_correction = |part: &str| LISTS.trouble.corrects.iter().any(|word| word == part);
        let mut told = None;
        for part in parts.filter(|part| !part.is_empty() && !is_correction(part)) {
            let says = |words: &[String]| {
                let mut words = words.iter();
                words.any(|word| word.trim_end_matches('了') == part)
            };
            told = if says(&LISTS.trouble.tired) {
                Some(Self::Tired)
            } else if says(&LISTS.trouble.missed) || says(&LISTS.trouble.asked) {
                told.or(Some(Self::Missed))
            } else {
                return None;
            };
        }
        told
    }

    /// Returns the words with which the program itself asks about what was missed.
    #[cfg(feature = "evening")]
    pub(crate) fn asked(lang: crate::calendar::Lang) -> &'static str {
        lang.pick("What did I not finish?", "今天有什么没做完？")
    }
}
