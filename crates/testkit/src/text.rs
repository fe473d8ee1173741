//! Assertions about text, which show the whole text when they fail.
use std::fmt::Debug;

use serde_json::Value;

/// A text, or a JSON value that is one.
pub trait AsText: Debug {
    /// Returns the text; none for JSON that is no string.
    fn as_text(&self) -> Option<&str>;
}

impl AsText for str {
    fn as_text(&self) -> Option<&str> {
        Some(self)
    }
}

impl AsText for String {
    fn as_text(&self) -> Option<&str> {
        Some(self)
    }
}

impl AsText for Value {
    fn as_text(&self) -> Option<&str> {
        self.as_str()
    }
}

impl<T: AsText + ?Sized> AsText for &T {
    fn as_text(&self) -> Option<&str> {
        T::as_text(self)
    }
}

/// One part of a text, or several.
pub trait TextParts {
    /// Returns the parts.
    fn parts(&self) -> Vec<&str>;
}

impl TextParts for &str {
    fn parts(&self) -> Vec<&str> {
        vec![self]
    }
}

impl TextParts for &String {
    fn parts(&self) -> Vec<&str> {
        vec![self]
    }
}

impl<const N: usize> TextParts for [&str; N] {
    fn parts(&self) -> Vec<&str> {
        self.to_vec()
    }
}

/// Asserts that a text contains a part, or all of several.
///
/// # Panics
/// If it does not.
#[track_caller]
#[expect(
    clippy::needless_pass_by_value,
    reason = "a list reads better where it is written than a reference to it"
)]
pub fn assert_contains(text: &(impl AsText + ?Sized), parts: impl TextParts) {
    let found = text.as_text().unwrap_or_default();
    for part in parts.parts() {
        assert!(found.contains(part), "{part:?} is not in: {text:?}");
    }
}

/// Asserts that a text contains neither a part nor any of several.
///
/// # Panics
/// If it does, or is none.
#[track_caller]
#[expect(
    clippy::needless_pass_by_value,
    reason = "a list reads better where it is written than a reference to it"
)]
pub fn assert_lacks(text: &(impl AsText + ?Sized), parts: impl TextParts) {
    let found = text.as_text().expect("a text");
    for part in parts.parts() {
        assert!(!found.contains(part), "{part:?} is in: {text:?}");
    }
}

/// Asserts that a text begins with a part.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn assert_starts_with(text: &(impl AsText + ?Sized), start: &str) {
    let begins = text.as_text().is_some_and(|text| text.starts_with(start));
    assert!(begins, "{start:?} is not at the start of: {text:?}");
}
