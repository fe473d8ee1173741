//! Texts in the two languages, and the language that is spoken now.
use std::{cell::Cell, sync::OnceLock};

/// The language of texts for a person or a model. What is said outside of any
/// [`scope`](Self::scope) is English.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

thread_local! {
    static CURRENT: Cell<Option<Lang>> = const { Cell::new(None) };
}

/// The language of the program around this library, outside of any scope.
static SOURCE: OnceLock<fn() -> Lang> = OnceLock::new();

/// Restores the language before a scope, also if the scope panics.
struct Previous(Option<Lang>);

impl Drop for Previous {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

impl Lang {
    /// Returns the language that is spoken now.
    pub fn current() -> Self {
        let source = || SOURCE.get().map(|source| source());
        CURRENT.get().or_else(source).unwrap_or_default()
    }

    /// Follows the language of the program around this library outside of any scope. The first
    /// source counts.
    pub fn follow(source: fn() -> Self) {
        // A second source is that of the same program.
        let _ = SOURCE.set(source);
    }

    /// Speaks this language while `work` runs: in results of tools, refusals and errors.
    pub fn scope<T>(self, work: impl FnOnce() -> T) -> T {
        let _previous = Previous(CURRENT.replace(Some(self)));
        work()
    }

    /// Returns the text of this language.
    pub fn pick<T>(self, en: T, zh: T) -> T {
        match self {
            Self::En => en,
            Self::Zh => zh,
        }
    }
}

/// Returns a text in the language that is spoken now: the English format string, the Chinese one,
/// and the arguments of both.
macro_rules! say {
    ($en:literal, $zh:literal $(, $($args:tt)*)?) => {
        match $crate::lang::Lang::current() {
            $crate::lang::Lang::En => ::std::format!($en $(, $($args)*)?),
            $crate::lang::Lang::Zh => ::std::format!($zh $(, $($args)*)?),
        }
    };
}

/// Returns the short name of a day of the week; Monday is 1. Another number gives `?`.
pub fn weekday(lang: Lang, day_of_week: u8) -> &'static str {
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
