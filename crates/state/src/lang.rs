//! The two supported languages, the language that is spoken now, and texts in both of them.
use std::{cell::Cell, fmt, pin::pin, str::FromStr};

use thiserror::Error;

/// The language of texts for a person or a model.
///
/// The texts of libraries depend on the language that is spoken now: [`say!`](crate::say) has both
/// languages beside each other and returns the [`current`](Self::current) one. A runner of a graph
/// speaks the language of the [`State`](crate::State) while a node runs; other programs enter a
/// language with [`scope`](Self::scope) or [`scope_future`](Self::scope_future). Outside of any, texts
/// are English.
///
/// ```
/// use fugato_state::{Lang, say};
///
/// let free = |day: u16| say!("day {day} is free", "第 {day} 天有空");
/// assert_eq!(free(2), "day 2 is free");
/// assert_eq!(Lang::Zh.scope(|| free(2)), "第 2 天有空");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

thread_local! {
    static CURRENT: Cell<Lang> = const { Cell::new(Lang::En) };
}

/// Restores the language before a scope, also if the scope panics.
struct Previous(Lang);

impl Drop for Previous {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
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

    /// Returns the language that a message shows; none if it shows none, such as a figure, a name,
    /// a command without words, or "ok".
    ///
    /// ```
    /// use fugato_state::Lang;
    ///
    /// assert_eq!(Lang::evident("buy me some"), Some(Lang::En));
    /// assert_eq!(Lang::evident("/prefer 语气 = 简短"), Some(Lang::Zh));
    /// assert_eq!(Lang::evident("/etc/hosts里写了什么"), Some(Lang::Zh));
    /// for name in ["BTC-USDT", "notes/plan.md", "Rome", "/new", "ok", "3 × 4"] {
    ///     assert_eq!(Lang::evident(name), None, "{name}");
    /// }
    /// ```
    pub fn evident(text: &str) -> Option<Self> {
        let words = match text.trim().strip_prefix('/') {
            Some(command) if !is_path(command) => command.split_once(char::is_whitespace)?.1,
            _ => text,
        };
        if Self::of(words) == Self::Zh {
            return Some(Self::Zh);
        }
        let words = words.split_whitespace();
        let words = words.map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()));
        let is_word = |word: &&str| {
            let letters = word.chars().all(char::is_alphabetic);
            letters && word.chars().any(char::is_lowercase) && word.len() > 1
        };
        let words: Vec<&str> = words.filter(is_word).collect();
        match words[..] {
            [] => None,
            [only] => {
                let is_plain = only.len() > 3 && only.chars().all(char::is_lowercase);
                is_plain.then_some(Self::En)
            }
            _ => Some(Self::En),
        }
    }

    /// Returns the language of the first of these texts that shows one. A conversation is in that
    /// of its newest message, so the messages come newest first.
    ///
    /// ```
    /// use fugato_state::Lang;
    ///
    /// assert_eq!(Lang::of_first(["/status", "3 × 4", "余额多少", "hello"]), Lang::Zh);
    /// assert_eq!(Lang::of_first(["42"]), Lang::En);
    /// ```
    pub fn of_first<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut shown = texts.into_iter().filter_map(Self::evident);
        shown.next().unwrap_or_default()
    }

    /// Returns the language that is spoken now; English outside of any scope.
    pub fn current() -> Self {
        CURRENT.get()
    }

    /// Speaks this language while `work` runs.
    #[inline]
    pub fn scope<T>(self, work: impl FnOnce() -> T) -> T {
        let _previous = Previous(CURRENT.replace(self));
        work()
    }

    /// Speaks this language whenever `work` is polled. A task that it spawns does not inherit it.
    pub async fn scope_future<F: Future>(self, work: F) -> F::Output {
        let mut work = pin!(work);
        std::future::poll_fn(|cx| self.scope(|| work.as_mut().poll(cx))).await
    }

    /// Returns the text of this language.
    pub fn pick<T>(self, en: T, zh: T) -> T {
        match self {
            Self::En => en,
            Self::Zh => zh,
        }
    }
}

/// Returns true if what follows a slash is no name of a command, but more of a path or a sentence.
fn is_path(after: &str) -> bool {
    let name = after.split_whitespace().next().unwrap_or_default();
    !name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Returns a text in the language that is spoken now: first the English format string, then the
/// Chinese one, then the arguments that both use. Names in braces are captured as by [`format!`].
#[macro_export]
macro_rules! say {
    ($en:literal, $zh:literal $(, $($args:tt)*)?) => {
        match $crate::Lang::current() {
            $crate::Lang::En => ::std::format!($en $(, $($args)*)?),
            $crate::Lang::Zh => ::std::format!($zh $(, $($args)*)?),
        }
    };
}

impl fmt::Display for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pick("en", "zh"))
    }
}

/// The name of an unsupported language.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", crate::say!(
    "`{_0}` is no language that is spoken here; allowed are en and zh",
    "`{_0}` 不是这里支持的语言；可选的有 en 和 zh"
))]
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
    use std::task::{Context, Poll, Waker};

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

    #[test]
    fn a_language_is_spoken_within_its_scope_and_future() {
        assert_eq!(Lang::current(), Lang::En);
        let both = Lang::Zh.scope(|| (Lang::current(), Lang::En.scope(Lang::current)));
        assert_eq!(both, (Lang::Zh, Lang::En));
        let panics = std::panic::catch_unwind(|| Lang::Zh.scope(|| panic!("over")));
        assert!(panics.is_err());
        let mut polled = 0;
        let slow = std::future::poll_fn(|_| {
            polled += 1;
            if polled == 1 {
                return Poll::Pending;
            }
            Poll::Ready(Lang::current())
        });
        let mut slow = pin!(Lang::Zh.scope_future(slow));
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(slow.as_mut().poll(&mut cx), Poll::Pending);
        assert_eq!(Lang::current(), Lang::En);
        assert_eq!(slow.as_mut().poll(&mut cx), Poll::Ready(Lang::Zh));
        assert_eq!(Lang::current(), Lang::En);
    }
}
