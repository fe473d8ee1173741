//! Things that are traded, as messages name them.
use std::collections::BTreeSet;

use fugato::words::{mentioned, normalize, numerals, respell};

use super::WORDS;

/// Returns the assets that a message names, in either language, other than those that it excludes:
/// "ETH, not BTC". A name that is nearly one of theirs is one.
pub fn assets(message: &str) -> Vec<&'static str> {
    let message = respelled(message);
    let named = named_in(&message);
    named
        .filter(|(_, names)| !is_excluded(&message, names))
        .map(|(asset, _)| asset)
        .collect()
}

/// Returns true if a text names an asset, be it to exclude it: 不要买BTC.
pub fn speaks_of(text: &str, asset: &str) -> bool {
    named_in(&respelled(text)).any(|(named, _)| named == asset)
}

fn named_in(message: &str) -> impl Iterator<Item = (&'static str, &'static [String])> {
    let all = WORDS.assets.iter();
    let all = all.map(|(asset, names)| (asset.as_str(), names.as_slice()));
    all.filter(move |(_, names)| names_any(message, names))
}

/// Returns a message with the names of assets as they are spelled.
fn respelled(message: &str) -> String {
    let known = WORDS.assets.values().flatten().map(String::as_str);
    let latin: BTreeSet<&str> = known.filter(|name| name.is_ascii()).collect();
    // "Either" is a word, and no misspelled coin.
    respell(&apart(&normalize(message)), &latin, |word| word == "either")
}

/// Returns a text with a space between a number and the word behind it: 0.1BTC.
fn apart(text: &str) -> String {
    let mut parted = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphabetic() && parted.ends_with(|c: char| c.is_ascii_digit()) {
            parted.push(' ');
        }
        parted.push(c);
    }
    parted
}

fn names_any(message: &str, names: &[String]) -> bool {
    mentioned(message, names.iter().map(String::as_str)).is_some()
}

/// Returns true if a clause of its own denies these: "not BTC", 不是比特币.
fn is_excluded(message: &str, names: &[String]) -> bool {
    let parts = message.split([',', '.', '?']).map(str::trim);
    let denies = |part: &str| {
        let not = ["not ", "no ", "不是", "不要", "别"];
        not.iter().any(|not| part.starts_with(not)) && names_any(part, names)
    };
    parts.into_iter().any(denies)
}

/// Returns what a message names that is not among these assets and symbols: a coin of elsewhere, or
/// a pair such as `BTC-EUR`.
pub fn untraded(message: &str, symbols: &[&str]) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '/';
    let plain = normalize(message);
    let pair = plain.split(|c| !is_part(c)).find_map(|word| {
        let (base, quote) = word.split_once(['-', '/'])?;
        let is_coin = |part: &str| {
            (2..=5).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphabetic())
        };
        let named = !assets(base).is_empty() || !assets(quote).is_empty();
        let symbol = format!("{base}-{quote}").to_uppercase();
        let known = symbols.contains(&symbol.as_str());
        (is_coin(base) && is_coin(quote) && named && !known).then_some(symbol)
    });
    let traded = |name: &str| {
        symbols
            .iter()
            .any(|it| it.split('-').any(|part| part == name))
    };
    let other = WORDS.elsewhere.iter();
    let mut other = other.filter(|(name, names)| !traded(name) && names_any(&plain, names));
    pair.or_else(|| other.next().map(|(name, _)| name.clone()))
}

/// Returns the word of an order in the place of what is to be traded, if it is none: in "buy 5
/// florins" it is "florins".
pub fn unknown_thing(message: &str) -> Option<String> {
    const NOTHING: [&str; 22] = [
        "of", "at", "for", "please", "now", "units", "unit", "coins", "coin", "some", "market",
        "thousand", "million", "hundred", "share", "shares", "stocks", "worth", "dollars", "euros",
        "bucks", "usd",
    ];
    let plain = numerals(&normalize(message));
    let mut words = plain.split([' ', ',', '?']).filter(|word| !word.is_empty());
    words.find(|word| word.bytes().all(|b| b.is_ascii_digit() || b == b'.'))?;
    let word = words.find(|word| !NOTHING.contains(word))?;
    let is_word = word.len() > 2 && word.bytes().all(|b| b.is_ascii_alphabetic());
    is_word.then(|| word.to_owned())
}
