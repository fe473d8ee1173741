//! Assertions about text, which show the whole text when they fail.

/// Asserts that a text contains a part.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn assert_contains(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in: {text}");
}

/// Asserts that a text begins with a part.
///
/// # Panics
/// If it does not.
#[track_caller]
pub fn assert_starts_with(text: &str, part: &str) {
    assert!(
        text.starts_with(part),
        "{part:?} is not at the start of: {text}"
    );
}
