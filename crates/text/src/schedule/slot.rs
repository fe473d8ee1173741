//! The place of the time in the words of a reminder, which is for the time alone.
use jiff::Zoned;

use super::{LONGEST, named_part};
use crate::{
    date::planned,
    number,
    time_reference::UnclearTime,
    word::{after_word, word_positions},
};

/// English words that say nothing beside a time, or say it again.
const FILL: &str = "a about afternoon afternoons again also am approximately around at by can could daily day each early \
    evening evenings every everyday exactly first from in just kindly late later latest local m me morning mornings myself next \
    night nights noon now o'clock of on once only out over p please pm remind sharp so some soon sometime starting the then \
    thing this time to today tonight too us week weekday weekdays weekend weekends will would you";
/// The words with which a sentence begins: what is to be done, also without a word before it.
const SUBJECTS: [&str; 14] = [
    "i", "i'm", "i've", "we", "he", "she", "it", "they", "there", "the", "my", "our", "that",
    "your",
];
/// The words between the verb and what is to be done, if nothing else is: "remind me how to get there".
const AT_ONCE: [&str; 18] = [
    "to", "about", "that", "of", "not to", "never to", "how to", "where to", "when to", "what to",
    "which", "who to", "whom to", "whether", "why", "if", "how", "what",
];
/// Chinese words that say nothing beside a time. Of words with the same beginning the longest comes first.
const FILL_ZH: &str = "麻烦你 麻烦您 麻烦 能不能 可不可以 请你 请您 请 你能 你可以 可以 可否 能 帮我 给我 到时候 到时 我想让你 我想要你 我想 我要 希望 想 要 让 记得 务必 一定 那么 那就 那 然后 再 \
    还有 另外 并且 也 都 就 大概 大约 差不多 左右 准时 之前 以前 前 的时候 时候 时 早上 上午 中午 下午 傍晚 晚上 凌晨 星期 礼拜 在 到 于 我 你 您 的";
/// Single characters that a day and an hour make plain anyway.
const PARTS: &str = "今下这本个周月年整钟点早晚夜半先好嗯哦每";

/// Returns the words at the place of the time that name none, of a reminder whose time is read:
/// "remind me on my birthday at 8 to run".
pub(super) fn unread(plain: &str, now: &Zoned) -> Option<UnclearTime> {
    let plain = &plain.to_lowercase();
    if plain.chars().count() > LONGEST {
        return None;
    }
    // Of an hour that has passed today the same words name tomorrow's.
    let now = &now.start_of_day().ok()?;
    let named = named_part(plain, now);
    let behind = named.and_then(|named| plain.get(named.end..));
    another(behind.unwrap_or_default())
        .or_else(|| before_verb(plain, "提醒", now))
        .or_else(|| before_verb(plain, "remind", now))
        .or_else(|| behind_verb(plain, now))
}

/// Reads another hour right behind a time: "at 8 and 20".
fn another(behind: &str) -> Option<UnclearTime> {
    let joined = behind.trim_start_matches([' ', ',']);
    let said = after_word(joined, &["and", "or", "&", "和", "或", "、"])?.trim_start();
    let (_, rest) = number(said)?;
    let ends =
        rest.is_empty() || after_word(rest.trim_start(), &["to", ",", ".", "!", "提醒"]).is_some();
    let end = joined.len() - rest.len();
    ends.then(|| UnclearTime::another(joined.get(..end).unwrap_or_default()))
}

/// Reads the words of the clause before the verb of a reminder, if they name its time.
fn before_verb(plain: &str, verb: &str, now: &Zoned) -> Option<UnclearTime> {
    let (lead, _) = plain.split_once(verb)?;
    let clause = lead
        .rsplit(['，', ',', '。', '；', ';', '！', '!'])
        .next()?;
    let named = named_part(clause, now)?;
    left(clause.get(..named.start)?, now)
}

/// Reads the words between the verb of an English reminder and what is to be done.
fn behind_verb(plain: &str, now: &Zoned) -> Option<UnclearTime> {
    let at = plain.find("remind me")?;
    let said = plain.get(at + "remind me".len()..)?;
    if after_word(said.trim_start(), &AT_ONCE).is_some() {
        return None;
    }
    let end = word_positions(said, "to").next();
    let slot = said.get(..end.unwrap_or(said.len()))?;
    let Some(named) = named_part(slot, now) else {
        return end.and_then(|_| left(slot, now));
    };
    let (before, behind) = (slot.get(..named.start)?, slot.get(named.end..)?);
    let goes_on = after_word(behind.trim_start(), &["and", "but", "or"]).is_some();
    match end {
        Some(_) => left(before, now).or_else(|| left(behind, now)),
        None if goes_on => left(behind, now),
        None => None,
    }
}

/// Returns the words of a part that name no day, and are not said beside one either.
fn left(part: &str, now: &Zoned) -> Option<UnclearTime> {
    let rest = planned(part, now.date()).rest;
    let apart = |c: char| !(c.is_alphanumeric() || c == '\'');
    let mut words = rest.split(apart).filter(|word| !word.is_empty());
    let is_sentence = words
        .clone()
        .next()
        .is_some_and(|word| SUBJECTS.contains(&word));
    let is_left = words.any(|word| {
        let is_fill = FILL.split_whitespace().any(|fill| fill == word);
        !is_fill && !is_fill_zh(word)
    });
    let said = part.trim_matches(|c: char| c.is_whitespace() || ",.".contains(c));
    (is_left && !is_sentence).then(|| UnclearTime::new(said))
}

fn is_fill_zh(word: &str) -> bool {
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let fill = FILL_ZH
            .split_whitespace()
            .find_map(|fill| rest.strip_prefix(fill));
        let part = (PARTS.contains(first) || first.is_ascii_digit())
            .then(|| rest.get(first.len_utf8()..).unwrap_or_default());
        match fill.or(part) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    true
}
