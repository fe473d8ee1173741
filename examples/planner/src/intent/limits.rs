//! Words that limit an order, or say for whom it is placed.
use fugato::words::{DayReference, TimeReference, after_word, courtesy, day_mentions, numerals};

use super::{WORDS, assets, says, trades};

/// Returns true if an order is to wait: for a time, or for the market.
pub(super) fn waits(message: &str) -> bool {
    let plain = numerals(&message.to_lowercase());
    let days = day_mentions(&plain).into_iter();
    let mut days = days.filter(|day| day.days != DayReference::FromToday(0));
    // 买一点 is a little, and no time of the day.
    let a_little = plain
        .split(['1', '一'])
        .zip(plain.split(['1', '一']).skip(1));
    let mut a_little = a_little.filter(|(before, after)| {
        before.ends_with(['买', '卖', '来', '入', '出', '有']) && after.starts_with('点')
    });
    let little = a_little.next().is_some() && !plain.contains("点钟");
    let clock = || !little && TimeReference::of(&plain).is_some() && names_time(&plain);
    says(message, &WORDS.later) || days.next().is_some() || clock()
}

/// Returns true if a number has a word beside it that makes it a time: "at 15" may be a price.
fn names_time(plain: &str) -> bool {
    const UNITS: [&str; 17] = [
        "am", "pm", "a.m.", "p.m.", "o'clock", "minute", "hour", "second", "morning", "noon",
        "midnight", "evening", "点", "分钟", "小时", "早", "晚",
    ];
    let mut words = plain.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '\''));
    let unit = |word: &str| {
        let word = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let word = word.trim_end_matches('s');
        UNITS.contains(&word)
    };
    let is_clock = plain.as_bytes().windows(3);
    let mut is_clock = is_clock.filter(|it| {
        it.first().is_some_and(u8::is_ascii_digit)
            && it.get(1) == Some(&b':')
            && it.get(2).is_some_and(u8::is_ascii_digit)
    });
    words.any(unit)
        || UNITS
            .iter()
            .any(|unit| !unit.is_ascii() && plain.contains(unit))
        || is_clock.next().is_some()
}

/// Returns the words of an order that say for whom or with which means it is placed: this desk
/// places every order for the person, and would lose them.
pub(super) fn unclear(message: &str) -> Option<String> {
    const BEFORE: [&str; 17] = [
        "for", "with", "without", "using", "via", "through", "on", "in", "from", "into", "to",
        "by", "under", "as", "per", "every", "each",
    ];
    let is_part = |c: char| c.is_alphanumeric() || "-_'’.".contains(c);
    let plain = message.to_lowercase();
    let mut words: Vec<(usize, &str)> = vec![];
    let mut end = 0;
    for part in plain.split(|c: char| !is_part(c)) {
        let at = plain
            .get(end..)
            .and_then(|rest| rest.find(part))
            .unwrap_or(0)
            + end;
        end = at + part.len();
        if !part.is_empty() {
            words.push((at, part));
        }
    }
    let known = |word: &str| {
        let word = word.trim_matches(['.', '\'']);
        WORDS.around_order.iter().any(|known| known == word)
            || word.contains(|c: char| c.is_ascii_digit())
            || !word.is_ascii()
            || !assets(word).is_empty()
    };
    let mut at = 0;
    while let Some((from, word)) = words.get(at) {
        at += 1;
        if !BEFORE.contains(word) {
            continue;
        }
        let object = words.iter().skip(at).take_while(|(place, word)| {
            let between = plain.get(*from..*place).unwrap_or_default();
            !BEFORE.contains(word)
                && *word != "at"
                && !between.contains([',', '，', ';', ':', '。'])
        });
        let object: Vec<_> = object.collect();
        let numbers = numerals(
            &object
                .iter()
                .map(|(_, word)| *word)
                .collect::<Vec<_>>()
                .join(" "),
        );
        if object.is_empty() || numbers.split(' ').all(known) {
            continue;
        }
        // A price, or what is traded, is read; what stands before either is not.
        if numbers
            .split(' ')
            .any(|word| !WORDS.around_order.iter().any(|known| known == word) && known(word))
        {
            continue;
        }
        let (last, word) = object.last()?;
        return message.get(*from..last + word.len()).map(str::to_owned);
    }
    ordered(&words)
        .and_then(|(from, end)| message.get(from..end).map(str::to_owned))
        .or_else(|| addressed(message))
        .or_else(|| beside(message))
}

/// Returns what an order is followed by that tells nothing of it: "and tell my wife".
fn beside(message: &str) -> Option<String> {
    const JOINS: [&str; 7] = [
        " and then ",
        " then ",
        " and ",
        "然后",
        "顺便",
        "同时",
        "并且",
    ];
    let ends = JOINS
        .iter()
        .filter_map(|join| Some(message.rfind(join)? + join.len()));
    let (order, part) = message.split_at_checked(ends.max()?)?;
    let part = part.trim_matches(|c: char| !c.is_alphanumeric());
    let plain = numerals(&part.to_lowercase());
    let tells = plain.contains(|c: char| c.is_ascii_digit())
        || !assets(&plain).is_empty()
        || trades(&plain);
    let mut rest = plain.as_str();
    while let Some(behind) = after_word(rest, &WORDS.around_order) {
        rest = behind.trim_start_matches(|c: char| !c.is_alphanumeric());
    }
    let is_lost = trades(order) && !tells && !rest.is_empty() && courtesy(part).is_none();
    is_lost.then(|| part.to_owned())
}

/// Returns the place of the words that have somebody else place an order: "let alpha buy", "alpha
/// should buy".
fn ordered(words: &[(usize, &str)]) -> Option<(usize, usize)> {
    const ASKS: [&str; 5] = ["let", "have", "make", "ask", "tell"];
    const SHALL: [&str; 5] = ["should", "shall", "must", "will", "to"];
    const PERSON: [&str; 8] = ["i", "we", "you", "us", "me", "please", "it", "order"];
    let trades = |word: &&str| {
        WORDS
            .buy
            .iter()
            .chain(&WORDS.sell)
            .any(|verb| verb == *word)
    };
    let verb = words.iter().position(|(_, word)| trades(word))?;
    let before = words.get(..verb)?;
    let before = match before {
        [before @ .., (_, "to")] => before,
        _ => before,
    };
    let is_named = |word: &str| !PERSON.contains(&word) && !SHALL.contains(&word);
    let (from, (end, word)) = match before {
        [.., (from, asks), (_, _), (end, name)] if ASKS.contains(asks) && is_named(name) => {
            (from, (end, name))
        }
        [.., (from, asks), (end, name)] if ASKS.contains(asks) && is_named(name) => {
            (from, (end, name))
        }
        [.., (from, name), (end, shall)] if SHALL.contains(shall) && is_named(name) => {
            (from, (end, shall))
        }
        _ => return None,
    };
    Some((*from, end + word.len()))
}

/// Returns the words between 给 or 用 and the verb of an order, if they name anybody or anything but
/// the person and an amount.
fn addressed(message: &str) -> Option<String> {
    const BEFORE: [&str; 9] = ["给", "替", "帮", "用", "让", "为", "通过", "叫", "按照"];
    let verb = message.find(['买', '卖'])?;
    let (from, word) = BEFORE.iter().find_map(|word| {
        let at = message.get(..verb)?.find(word)?;
        Some((at, *word))
    })?;
    let named = message.get(from + word.len()..verb)?;
    let mut rest = numerals(&named.to_lowercase());
    let own = WORDS.around_order.iter().filter(|word| !word.is_ascii());
    let assets = WORDS.assets.values().flatten();
    let mut own: Vec<&String> = own.chain(assets).collect();
    own.sort_by_key(|word| std::cmp::Reverse(word.len()));
    for word in own {
        rest = rest.replace(word.as_str(), " ");
    }
    let is_named = rest.contains(|c: char| c.is_alphabetic()) && !named.contains(['，', '。', ',']);
    is_named.then(|| format!("{word}{}", named.trim()))
}
