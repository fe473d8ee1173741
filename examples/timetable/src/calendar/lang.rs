//! The words of remarks, tables and pictures in the two languages.

/// The language of texts for a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl Lang {
    /// Returns the text of this language.
    pub fn pick<T>(self, en: T, zh: T) -> T {
        match self {
            Self::En => en,
            Self::Zh => zh,
        }
    }
}

/// Returns the short name of a day of the week; Monday is 1. Another number gives `?`.
pub(super) fn weekday(lang: Lang, day_of_week: u8) -> &'static str {
    let (en, zh) = match day_of_week {
        1 => ("Mon", "周一"),
        2 => ("Tue", "周二"),
        3 => ("Wed", "周三"),
        4 => ("Thu", "周四"),
        5 => ("Fri", "周五"),
        6 => ("Sat", "周六"),
        7 => ("Sun", "周日"),
        _ => ("?", "?"),
    };
    lang.pick(en, zh)
}
