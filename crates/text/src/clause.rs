//! Texts about several things.
use crate::date::ends_dotted;

/// Splits a text into parts that are about one thing each, and returns each thing with its part.
///
/// The text is split at `breaks`. A part that names nothing belongs to the thing before it, or at
/// the beginning to the first thing. If a part names a thing again, `goes_on` decides if it is
/// still the same one.
///
/// ```
/// use fugato_text::clauses;
///
/// let parts = |text| {
///     let thing = |part: &str| ["trip", "hotel"].into_iter().find(|it| part.contains(it));
///     clauses(text, &[". ", " and then "], thing, |before, next, _| before == next)
/// };
/// assert_eq!(
///     parts("In May. A trip to Oslo. By train and then a hotel. The hotel is near"),
///     [("trip", "In May，A trip to Oslo，By train".into()), ("hotel", "a hotel，The hotel is near".into())],
/// );
/// assert_eq!(parts("Hello. How are you"), []);
/// ```
pub fn clauses<T, B: AsRef<str>>(
    text: &str,
    breaks: &[B],
    thing: impl Fn(&str) -> Option<T>,
    goes_on: impl Fn(&T, &T, &str) -> bool,
) -> Vec<(T, String)> {
    let (mut clauses, mut first) = (Vec::<(T, String)>::new(), String::new());
    for part in cut(text, breaks) {
        match (thing(part), clauses.last_mut()) {
            (Some(next), Some((thing, said))) if goes_on(thing, &next, part) => join(said, part),
            (Some(next), _) => {
                let mut said = std::mem::take(&mut first);
                join(&mut said, part);
                clauses.push((next, said));
            }
            (None, Some((_, said))) => join(said, part),
            (None, None) => join(&mut first, part),
        }
    }
    clauses
}

fn cut<'t, B: AsRef<str>>(text: &'t str, breaks: &[B]) -> impl Iterator<Item = &'t str> {
    let mut parts = vec![text];
    for at in breaks {
        let cut = parts.into_iter().flat_map(|part| split(part, at.as_ref()));
        parts = cut.collect();
    }
    let parts = parts.into_iter().map(str::trim);
    parts.filter(|part| !part.is_empty())
}

/// Splits a text at a break. The full stop of a day is none: "from 7.12. by train".
fn split<'t>(text: &'t str, at: &str) -> Vec<&'t str> {
    let (mut parts, mut from) = (vec![], 0);
    for (end, found) in text.match_indices(at) {
        let before = text.get(..end + 1).unwrap_or_default();
        if !(at.starts_with('.') && ends_dotted(before)) {
            parts.extend(text.get(from..end));
            from = end + found.len();
        }
    }
    parts.extend(text.get(from..));
    parts
}

/// Joins parts with a sign that ends neither a Chinese nor an English sentence.
fn join(said: &mut String, part: &str) {
    if !said.is_empty() {
        said.push('，');
    }
    said.push_str(part);
}
