//! Names that messages give.
use fugato::words::{after_word, before_word, has_any_word, named};

use super::WORDS;
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
    let own = own.chain(&WORDS.create).map(String::as_str);
    unread(message, own.chain(names.iter().copied()))
}

/// Returns the words of a message that removes a trader, or all of them, that say more than its name:
/// "and beta".
pub(super) fn unread_of_removal(message: &str) -> Option<String> {
    let own = WORDS.remove.iter().chain(&Topic::Traders.fact().words);
    unread(message, own.chain(&WORDS.all).map(String::as_str))
}

/// Returns the one of these names that a name is, but for words at its end that say nothing: 阿尔法 for
/// 阿尔法吧.
pub fn known_name<'n>(name: &str, names: &'n [String]) -> Option<&'n str> {
    let is_it = |known: &&String| {
        let rest = name.strip_prefix(known.as_str());
        let own = WORDS.remove.iter().map(String::as_str);
        rest.is_some_and(|rest| rest.is_empty() || !rest.is_ascii() && unread(rest, own).is_none())
    };
    let known = names.iter().filter(is_it);
    known.max_by_key(|known| known.len()).map(String::as_str)
}

/// Returns true if a message means every trader that is there: "all my traders", 把所有交易员都删了.
pub fn means_all_traders(message: &str) -> bool {
    let lower = message.to_lowercase();
    let words = Topic::Traders.fact().words.iter();
    let mut places = words.flat_map(|word| lower.match_indices(word.as_str()));
    places.any(|(at, word)| {
        let (before, behind) = (lower.get(..at), lower.get(at + word.len()..));
        let lead = before.map(|it| {
            let it = it.trim_end();
            before_word(it, &["my", "the", "our", "of the", "of my", "的"])
                .map_or(it, str::trim_end)
        });
        lead.is_some_and(|it| before_word(it, &WORDS.all).is_some())
            || behind.is_some_and(|it| {
                after_word(it, &WORDS.all)
                    .or(it.strip_prefix('都'))
                    .is_some()
            })
    })
}

/// Returns the first words of a message about a trader that are none of these, not its name, and not
/// polite. An asset is none of them either, whatever it begins with.
fn unread<'w>(message: &str, own: impl Iterator<Item = &'w str>) -> Option<String> {
    // Lower case by ASCII keeps the byte positions.
    let lower = message.to_ascii_lowercase();
    let own = own.chain(WORDS.around_trader.iter().map(String::as_str));
    let name = trader_name(message).map(|name| name.to_lowercase());
    let own = own.map(str::to_lowercase).chain(name);
    let mut known: Vec<String> = own.collect();
    // A plural belongs to its word.
    let plurals = known.iter().map(|word| format!("{word}s"));
    known.extend(plurals.collect::<Vec<_>>());
    known.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let mut assets: Vec<&String> = WORDS.assets.values().flatten().collect();
    assets.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let pauses = [',', '.', ';', '!', '?', '，', '。', '；', '！', '？', '\n'];
    let mut rest = lower.as_str();
    while let Some(c) = rest.chars().next() {
        let asset = after_word(rest, &assets);
        let longer = |behind: &&str| asset.is_none_or(|asset| behind.len() <= asset.len());
        rest = match after_word(rest, &known).filter(longer) {
            Some(behind) => behind,
            None if c.is_alphanumeric() => {
                let said = message.get(message.len() - rest.len()..)?;
                let said = said.split(pauses).next()?.trim();
                // ETH启动一个交易员: what follows is read.
                let read = WORDS.create.iter().chain(&Topic::Traders.fact().words);
                let read = read.filter_map(|word| said.find(word.as_str()));
                let end = read.filter(|at| *at > 0).min().unwrap_or(said.len());
                return Some(said.get(..end)?.trim_end().to_owned());
            }
            None => rest.get(c.len_utf8()..)?,
        };
    }
    None
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
