//! The two supported languages.
use std::{fmt, str::FromStr};

use thiserror::Error;

/// The language of texts for a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl Lang {
    /// Returns the language of `text`: Chinese if there is one Han character, because Chinese
    /// sentences often contain English names and English ones hardly ever contain Chinese.
    pub fn of(text: &str) -> Self {
        let han = |c: char| matches!(c, '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{323af}');
        if text.chars().any(han) {
            Self::Zh
        } else {
            Self::En
        }
    }

    /// Returns the text of this language.
    pub fn pick<T>(self, en: T, zh: T) -> T {
        match self {
            Self::En => en,
            Self::Zh => zh,
        }
    }
}

impl fmt::Display for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pick("en", "zh"))
    }
}

/// The name of an unsupported language.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no language that is spoken here; allowed are en and zh")]
pub struct UnknownLang(String);

impl FromStr for Lang {
    type Err = UnknownLang;

    fn from_str(text: &str) -> Result<Self, UnknownLang> {
        let main = text.split(['-', '_', '.']).next().unwrap_or_default();
        match main.to_ascii_lowercase().as_str() {
            "en" => Ok(Self::En),
            "zh" => Ok(Self::Zh),
            _ => Err(UnknownLang(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_told_from_a_text() {
        assert_eq!(Lang::of("plan my week"), Lang::En);
        assert_eq!(Lang::of("帮我安排下周的 Rust 复习"), Lang::Zh);
    }

    #[test]
    fn a_language_is_read_from_its_name_or_locale() {
        assert_eq!("zh_CN.UTF-8".parse(), Ok(Lang::Zh));
        assert_eq!("EN".parse(), Ok(Lang::En));
        assert_eq!(
            "fr".parse::<Lang>()
                .expect_err("French is not spoken")
                .to_string(),
            "`fr` is no language that is spoken here; allowed are en and zh"
        );
    }
}
