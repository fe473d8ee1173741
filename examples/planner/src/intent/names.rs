//! Names that messages give.
use fugato::words::{after_word, has_any_word, named};

use super::{WORDS, says};
use crate::facts::Topic;

/// Returns the name of a trader that a message gives: "named alpha", or the word after "trader".
pub(super) fn trader_name(message: &str) -> Option<String> {
    const NONE: [&str; 10] = [
        "with", "using", "on", "for", "please", "now", "and", "that", "in", "to",
    ];
    named(message).or_else(|| {
        let lower = message.to_lowercase();
        let words = Topic::Traders.fact().words.iter();
        let mut after = words.filter_map(|word| {
            let at = lower.find(word.as_str())? + word.len();
            message.get(at..)
        });
        let is_name = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_');
        after.find_map(|rest| {
            let name: String = rest.trim_start().chars().take_while(is_name).collect();
            let is_name = name.len() > 1 && !NONE.contains(&name.to_lowercase().as_str());
            is_name.then_some(name)
        })
    })
}

/// Returns the words that name a trader in more than one word, or count traders instead: "Ada
/// Lovelace", 两个.
pub(super) fn uncertain_name(message: &str) -> Option<String> {
    const NEXT: [&str; 16] = [
        "with", "using", "on", "for", "please", "now", "and", "that", "in", "to", "at", "by",
        "strategy", "model", "exchange", "via",
    ];
    let lower = message.to_lowercase();
    let counted = WORDS.counted.iter().find(|word| {
        let counts = |one: &str| has_any_word(one, &[word.as_str()]);
        let mut names = WORDS.create.iter();
        counts(&lower) && names.any(|verb| lower.contains(verb.as_str()))
    });
    if let Some(word) = counted {
        return Some(word.clone());
    }
    let name = named(message)?;
    let at = message.find(name.as_str())?;
    let (before, rest) = (message.get(..at)?, message.get(at..)?);
    let quoted = before.chars().next_back().and_then(|open| match open {
        '"' => rest.split_once('"'),
        '“' => rest.split_once('”'),
        _ => None,
    });
    if let Some((whole, _)) = quoted {
        return (whole != name).then(|| whole.to_owned());
    }
    let behind = rest.get(name.len()..)?.strip_prefix(' ')?;
    let next: String = behind
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    let is_part = !next.is_empty() && !NEXT.contains(&next.to_lowercase().as_str());
    is_part.then(|| format!("{name} {next}"))
}

/// Returns the words of a message about a new trader that are neither its name, one of these names of
/// what it is made of, nor polite: it would be made without them.
pub fn unread_of_trader(message: &str, names: &[&str]) -> Option<String> {
    let topics = [
        Topic::Traders,
        Topic::Models,
        Topic::Exchanges,
        Topic::Strategies,
    ];
    let own = topics.iter().flat_map(|topic| &topic.fact().words);
    let own: Vec<&str> = own.chain(&WORDS.create).map(String::as_str).collect();
    let name = trader_name(message);
    let names = names.iter().copied().chain(name.as_deref());
    read(message, &own, &names.collect::<Vec<_>>()).1
}

/// Returns the traders that a message removes: those that it names of the ones that are there, all of
/// them, or a name that is none of theirs; empty if it does not say which.
///
/// # Errors
/// Returns the words that say more than that: "with glimmer".
pub fn removed(message: &str, there: &[String]) -> Result<Vec<String>, String> {
    let own = WORDS.remove.iter().chain(&Topic::Traders.fact().words);
    let own: Vec<&str> = own.chain(&WORDS.all).map(String::as_str).collect();
    let names: Vec<&str> = there.iter().map(String::as_str).collect();
    match read(message, &own, &names) {
        (meant, None) if meant.is_empty() && says(message, &WORDS.all) => Ok(there.to_vec()),
        (meant, None) => Ok(meant),
        (meant, Some(words)) => {
            let name = trader_name(message).filter(|name| name.is_ascii());
            let other = name.unwrap_or_else(|| words.clone());
            let is_one = meant.is_empty() && !says(message, &WORDS.all);
            let is_whole = is_one && read(message, &own, &[&other]).1.is_none();
            if is_whole {
                Ok(vec![other])
            } else {
                Err(words)
            }
        }
    }
}

/// Reads a message about a trader word by word, and returns the names that it has of these, with its
/// first words that are neither one of them nor one of its own, and not polite. An asset is none of
/// them either, whatever it begins with.
fn read(message: &str, own: &[&str], names: &[&str]) -> (Vec<String>, Option<String>) {
    // Lower case by ASCII keeps the byte positions.
    let lower = message.to_ascii_lowercase();
    let around = WORDS.around_trader.iter().map(String::as_str);
    let own: Vec<String> = own
        .iter()
        .copied()
        .chain(around)
        .map(str::to_lowercase)
        .collect();
    // A plural belongs to its word.
    let plurals = own.iter().map(|word| (format!("{word}s"), None));
    let words = own.iter().map(|word| (word.clone(), None)).chain(plurals);
    let names = names
        .iter()
        .map(|name| (name.to_ascii_lowercase(), Some(*name)));
    let mut known: Vec<_> = names.chain(words).collect();
    known.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    let mut assets: Vec<&String> = WORDS.assets.values().flatten().collect();
    assets.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let pauses = [',', '.', ';', '!', '?', '，', '。', '；', '！', '？', '\n'];
    let (mut rest, mut meant) = (lower.as_str(), vec![]);
    while let Some(c) = rest.chars().next() {
        let asset = after_word(rest, &assets);
        let longer = |behind: &str| asset.is_none_or(|asset| behind.len() <= asset.len());
        let mut words = known.iter().filter_map(|(word, name)| {
            let behind = after_word(rest, &[word]).filter(|behind| longer(behind))?;
            // The trader "alpha-2" is not the trader "alpha".
            let goes_on = name.is_some() && behind.starts_with(['-', '_']);
            (!goes_on).then_some((behind, *name))
        });
        rest = match words.next() {
            Some((behind, name)) => {
                meant.extend(name.map(str::to_owned));
                behind
            }
            None if c.is_alphanumeric() => {
                let said = message
                    .get(message.len() - rest.len()..)
                    .unwrap_or_default();
                let said = said.split(pauses).next().unwrap_or_default().trim();
                // ETH启动一个交易员: what follows is read.
                let read = WORDS.create.iter().chain(&WORDS.remove);
                let read = read.chain(&Topic::Traders.fact().words);
                let read = read.filter_map(|word| said.find(word.as_str()));
                let end = read.filter(|at| *at > 0).min().unwrap_or(said.len());
                let words = said.get(..end).unwrap_or(said).trim_end();
                return (meant, Some(words.to_owned()));
            }
            None => rest.get(c.len_utf8()..).unwrap_or_default(),
        };
    }
    (meant, None)
}

/// Returns the name that a message gives right after one of these words, such as `momentum` after
/// "strategy".
pub fn name_after(message: &str, words: &[&str]) -> Option<String> {
    const NONE: [&str; 16] = [
        "the", "a", "an", "and", "with", "on", "for", "of", "please", "is", "named", "called",
        "my", "to", "in", "any",
    ];
    let lower = message.to_lowercase();
    let mut places = words.iter().flat_map(|word| {
        let places = lower.match_indices(word);
        places.filter_map(|(at, word)| {
            let (before, rest) = (lower.get(..at)?, lower.get(at + word.len()..)?);
            let letter = |c: char| c.is_ascii_alphanumeric();
            let begins = !word.starts_with(letter) || !before.ends_with(letter);
            begins.then(|| rest.trim_start_matches([' ', ':', '：', '是', '用']))
        })
    });
    places.find_map(|rest| {
        let is_part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let name: String = rest.chars().take_while(is_part).collect();
        (name.len() > 1 && !NONE.contains(&name.as_str())).then_some(name)
    })
}
