//! Notes and reminders, which keep the person's own words.
use std::collections::BTreeSet;

use fugato::state::say;
use fugato::words::{
    CronExpression, DateDirection, RestrictionKind, TimeReference, after_word, dates, has_any_word,
    in_clock_times, is_negated, normalize, restriction,
};
use jiff::{
    ToSpan as _,
    civil::{DateTime, Time},
    tz::TimeZone,
};

use super::{Facts, Understanding, lex::LISTS};
use crate::store::{MemoryNote, NoteKind, Reminder, StoreWrite};

/// Reads a note or a reminder, or what is asked about them; none if the text is about neither.
pub(super) fn read(text: &str, facts: &Facts<'_>) -> Option<Understanding> {
    let shown = text.trim();
    let lower = normalize(shown);
    if let Some(undone) = undone(text, facts) {
        return Some(undone);
    }
    if let Some(corrected) = corrected(&lower, facts) {
        return Some(corrected);
    }
    if let Some(other) = second(shown, facts) {
        return Some(Understanding::Refusal(say!(
            "A reminder is one thing at one time, and “{other}” is another, so nothing was kept or removed. Say one reminder after the other.",
            "一个提醒只有一件事和一个时间，“{other}”是另一个，因此没有记下，也没有删除。请一个一个地说。"
        )));
    }
    if let Some(listed) = listed(&lower, facts) {
        return Some(listed);
    }
    if is_another_besides(shown, &lower, facts) {
        return Some(several());
    }
    if let Some(content) = content(shown, &lower, &LISTS.notes.note) {
        let note = MemoryNote {
            kind: NoteKind::Note,
            text: content,
        };
        return Some(kept(note, facts));
    }
    if let Some(content) = content(shown, &lower, &LISTS.notes.task) {
        let note = MemoryNote {
            kind: NoteKind::Task,
            text: content,
        };
        return Some(kept(note, facts));
    }
    reminder(shown, &lower, facts)
}

/// Returns what follows a reminder in the same words, or what denies one, and is a reminder of its own:
/// it says the verb again, or another day.
fn second<'t>(shown: &'t str, facts: &Facts<'_>) -> Option<&'t str> {
    use super::lex::Kind;
    const BREAKS: [&str; 11] = [
        ";", "；", "。", ". ", ",", "，", " and ", "、", "和", "然后", "再",
    ];
    let has_day = |words: &str| !fugato::words::day_mentions(&normalize(words)).is_empty();
    let has_time = |words: &str| {
        let mut tokens = super::lex::tokens(words, facts).into_iter();
        tokens.any(|token| token.kind.is_time() && !matches!(token.kind, Kind::Days(..)))
    };
    let begins_day = |words: &str| {
        let words = normalize(words);
        let words = after_word(&words, &["on"]).unwrap_or(&words).trim_start();
        let mentions = fugato::words::day_mentions(words);
        mentions.first().is_some_and(|day| day.range.start == 0)
    };
    BREAKS.iter().find_map(|sign| {
        let mut places = shown.match_indices(sign);
        places.find_map(|(at, _)| {
            let (before, part) = (shown.get(..at)?, shown.get(at + sign.len()..)?.trim());
            if !has_any_word(before, &LISTS.notes.remind) {
                return None;
            }
            let again =
                has_any_word(part, &LISTS.notes.remind) && (has_day(part) || has_time(part));
            // "On Monday, 30 November" is one day.
            let joins = [" and ", "、", "和"].contains(sign) || has_time(before) && has_time(part);
            // "And move it to Wednesday" wants something done with what was said before.
            let points = has_any_word(part, &["it", "them", "它", "它们"]) && has_day(part);
            let is_another = again || has_day(before) && (joins && begins_day(part) || points);
            is_another.then_some(part)
        })
    })
}

/// Returns true if a reminder follows a note, or a note a reminder.
fn is_another_besides(shown: &str, lower: &str, facts: &Facts<'_>) -> bool {
    let notes = [&LISTS.notes.note, &LISTS.notes.task];
    let notes = |shown: &str, lower: &str| {
        let mut heads = notes.iter();
        heads.any(|heads| content(shown, lower, heads).is_some_and(|text| !text.is_empty()))
    };
    let is_note = notes(shown, lower);
    if !is_note && !says(lower, &LISTS.notes.remind) {
        return false;
    }
    let breaks = [";", "；", "。", ". ", ",", "，", " and "];
    breaks.iter().any(|sign| {
        let mut parts = shown.match_indices(sign);
        parts.any(|(at, _)| {
            let part = shown.get(at + sign.len()..).unwrap_or_default().trim();
            let lower = normalize(part);
            if is_note {
                matches!(
                    reminder(part, &lower, facts),
                    Some(Understanding::Remind(_))
                )
            } else {
                notes(part, &lower)
            }
        })
    })
}

fn several() -> Understanding {
    Understanding::Refusal(say!(
        "These are several things, and I can keep a note or a reminder only by itself. Nothing was changed; say them one at a time.",
        "这里有好几件事，备忘和提醒需要单独说。没有改动任何内容，请一件一件说。"
    ))
}

/// Reads a text that somebody else decided to be a note.
pub(crate) fn note(text: &str) -> MemoryNote {
    let shown = text.trim();
    let lower = normalize(shown);
    for (kind, heads) in [
        (NoteKind::Note, &LISTS.notes.note),
        (NoteKind::Task, &LISTS.notes.task),
        (NoteKind::Task, &LISTS.notes.remind),
    ] {
        if let Some(text) = content(shown, &lower, heads).filter(|text| !text.is_empty()) {
            return MemoryNote { kind, text };
        }
    }
    let after = shown
        .split_once([':', '：'])
        .map_or(shown, |(_, note)| note);
    MemoryNote {
        kind: NoteKind::Note,
        text: after.trim().to_owned(),
    }
}

/// Keeps a note, unless it is empty, or a wish follows it in a sentence of its own.
fn kept(note: MemoryNote, facts: &Facts<'_>) -> Understanding {
    use super::lex::Kind;
    const ENDS: [char; 9] = ['.', '!', '?', ';', '。', '！', '？', '；', '\n'];
    let wants = |sentence: &str| {
        let tokens = super::lex::tokens(sentence, facts);
        let has = |is: fn(&Kind) -> bool| tokens.iter().any(|token| is(&token.kind));
        has(|kind| matches!(kind, Kind::Name(_))) && has(|kind| matches!(kind, Kind::Verb(_)))
    };
    if note.text.split(ENDS).skip(1).any(wants) {
        return several();
    }
    if !note.text.is_empty() {
        return Understanding::Note(note);
    }
    Understanding::Refusal(say!(
        "What shall I write down? Nothing was noted.",
        "要记什么？没有记下任何内容。"
    ))
}

/// Returns the text after words that begin it; the words may be preceded by manners alone.
fn content(shown: &str, lower: &str, heads: &[String]) -> Option<String> {
    let mut rest = lower;
    while let Some(tail) = LISTS
        .notes
        .polite
        .iter()
        .find_map(|word| rest.strip_prefix(word.as_str()))
    {
        rest = tail.trim_start();
    }
    let begun = heads
        .iter()
        .filter_map(|head| Some((head, after_word(rest, &[head])?)));
    let (head, tail) = begun.min_by_key(|(_, tail)| tail.len())?;
    // "Note" alone needs a sign after it; "notes for the essay" is a name.
    if ["note", "memo", "todo", "备忘", "a note"].contains(&head.as_str())
        && !tail.starts_with([',', ':'])
        && !tail.starts_with(" to self")
    {
        return None;
    }
    // The same characters in both, so that the person's own spelling is kept.
    let count = tail.chars().count();
    let skip = lower.chars().count().saturating_sub(count);
    let text: String = shown.chars().skip(skip).collect();
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || ",，:：-".contains(c));
    let text = text.trim_matches(|c: char| c.is_whitespace());
    Some(strip_quotes(text).to_owned())
}

fn strip_quotes(text: &str) -> &str {
    let pairs = [('"', '"'), ('“', '”'), ('「', '」'), ('‘', '’')];
    for (open, close) in pairs {
        if let Some(inner) = text
            .strip_prefix(open)
            .and_then(|text| text.strip_suffix(close))
        {
            return inner;
        }
    }
    text
}

fn says(text: &str, words: &[String]) -> bool {
    words.iter().any(|word| text.contains(word.as_str()))
}

/// Answers what notes and reminders there are, and removes those that are not wanted.
fn listed(lower: &str, facts: &Facts<'_>) -> Option<Understanding> {
    let (notes, reminders) = (
        says(lower, &LISTS.notes.about_notes),
        says(lower, &LISTS.notes.about_reminders),
    );
    // "When are the notes for the essay?" asks about an item.
    let names = |token: &super::lex::Token| {
        matches!(&token.kind, super::lex::Kind::Name(name) if name.exact)
            && says(&token.text, &LISTS.notes.about_notes)
    };
    let mut tokens = super::lex::tokens(lower, facts).into_iter();
    let frees =
        says(lower, &LISTS.notes.about_free) && asks(lower) && !says(lower, &LISTS.notes.removes);
    if frees {
        let free = super::free_times::listed(facts.free_times, facts);
        return Some(Understanding::Answer(if free.is_empty() {
            say!("No time is to be kept free.", "没有要空着的时间。")
        } else {
            let free = free.join(&say!("; ", "；"));
            say!(
                "You want these times kept free: {free}.",
                "你要求空着的时间：{free}。"
            )
        }));
    }
    if !notes && !reminders || tokens.any(|token| names(&token)) {
        return None;
    }
    if !facts.knows_notes && content(lower, lower, &LISTS.notes.note).is_none() {
        return Some(Understanding::Refusal(say!(
            "I tell your notes and reminders once the card is answered.",
            "先回答卡片，之后再告诉你备忘和提醒。"
        )));
    }
    let asks = asks(lower);
    let wants = content(lower, lower, &LISTS.notes.note).is_some()
        || content(lower, lower, &LISTS.notes.remind).is_some();
    if (says(lower, &LISTS.notes.removes) || is_unneeded(lower)) && !wants {
        return Some(removed(lower, notes, reminders, facts));
    }
    let is_list = asks
        && !says(lower, &LISTS.notes.manners)
        && (!wants
            || ["哪些", "what", "which"]
                .iter()
                .any(|word| lower.contains(word)));
    is_list.then(|| Understanding::Answer(list(notes, reminders, facts)))
}

/// Returns true if words deny that one shall be reminded, or that a note is needed.
fn is_unneeded(lower: &str) -> bool {
    // "Don't forget to remind me" wants it.
    if is_negated(lower, &["forget", "忘"]) {
        return false;
    }
    let is_of_one = !has_any_word(lower, &["a", "an", "any", "remind me", "提醒我"]);
    is_negated(lower, &["remind", "提醒"]) || is_of_one && is_negated(lower, &LISTS.notes.needs)
}

fn asks(lower: &str) -> bool {
    let begins = |word: &String| lower.starts_with(word.as_str());
    lower.ends_with(['?', '吗'])
        || LISTS.notes.asks.iter().any(begins)
        || says(lower, &LISTS.notes.asks_within)
}

/// Reads words about removing: those that deny it, and those that ask about it, remove nothing.
fn removed(lower: &str, notes: bool, reminders: bool, facts: &Facts<'_>) -> Understanding {
    let mut plain = lower;
    while let Some(tail) =
        (LISTS.notes.polite.iter()).find_map(|word| plain.strip_prefix(word.as_str()))
    {
        plain = tail.trim_start();
    }
    let mut verbs = LISTS
        .notes
        .removes
        .iter()
        .map(String::as_str)
        .chain(["把", "将"]);
    // 你把它删了吗 asks, and 能把它删了吗 asks for it.
    let is_done = plain.trim_end_matches('?').ends_with("了吗") && lower.starts_with('你');
    let is_request = verbs.any(|verb| plain.starts_with(verb)) && !is_done;
    let listed = || list(notes, reminders, facts);
    if is_negated(lower, &LISTS.notes.removes) {
        return Understanding::Answer(say!(
            "Nothing was removed. {}",
            "没有删除任何内容。{}",
            listed()
        ));
    }
    if asks(lower) && !is_request {
        return Understanding::Answer(listed());
    }
    let limit = restriction(lower);
    if let Some(limit) = limit.filter(|limit| limit.kind == RestrictionKind::Condition) {
        return Understanding::Refusal(say!(
            "I cannot judge “{}”, so nothing was removed. {}",
            "无法判断“{}”，因此没有删除任何内容。{}",
            limit.words,
            listed()
        ));
    }
    forget(
        lower,
        limit.map(|limit| limit.words),
        [notes, reminders],
        facts,
    )
}

/// Returns the removal of what words name, without what their exception names.
fn forget(
    lower: &str,
    except: Option<&str>,
    [notes, reminders]: [bool; 2],
    facts: &Facts<'_>,
) -> Understanding {
    let all = has_any_word(lower, &LISTS.notes.everything) || except.is_some();
    let known = facts.notes.len();
    let texts = facts
        .notes
        .iter()
        .map(|note| (&note.text, notes && !reminders));
    let texts = texts.chain(
        facts
            .reminders
            .iter()
            .map(|reminder| (&reminder.text, reminders)),
    );
    let about = |text: &str, said: &str| {
        let words: BTreeSet<String> = fugato::words::keywords(&normalize(text))
            .into_iter()
            .collect();
        // Two characters of Chinese, or a word, name what it is about.
        let text: Vec<char> = normalize(text).chars().collect();
        let mut pairs = text.windows(2).filter(|pair| {
            pair.iter()
                .all(|c| fugato::words::is_chinese(&c.to_string()))
        });
        words
            .iter()
            .any(|word| word.chars().count() > 1 && said.contains(word.as_str()))
            || pairs.any(|pair| said.contains(&pair.iter().collect::<String>()))
    };
    let meant: Vec<(usize, &String)> = texts
        .enumerate()
        .filter_map(|(at, (text, meant))| meant.then_some((at, text)))
        .collect();
    // "Delete that reminder" means the only one there is.
    let only = meant.len() == 1 && !tells_which(lower, facts);
    let named = meant
        .iter()
        .filter(|(_, text)| all || only || about(text, lower));
    let mut named: BTreeSet<usize> = named.map(|(at, _)| *at).collect();
    let wanted = named.len();
    let is_out = |text: &str| except.is_some_and(|words| about(text, words));
    let out = meant.iter().filter(|(_, text)| is_out(text));
    out.for_each(|(at, _)| {
        named.remove(at);
    });
    let excepts_none = except.is_some() && named.len() == wanted;
    if named.is_empty() || excepts_none || (named.len() > 1 && !all) {
        let list = list(known > 0 && notes, reminders, facts);
        return Understanding::Refusal(say!(
            "I do not know which one you mean, so nothing was removed. {list}",
            "不清楚你指的是哪一条，没有删除任何内容。{list}"
        ));
    }
    Understanding::Forget(named)
}

/// Returns true if words say which of several is meant.
fn tells_which(lower: &str, facts: &Facts<'_>) -> bool {
    use super::lex::Kind;
    let tells = |kind: &Kind| {
        let names = matches!(
            kind,
            Kind::Unknown | Kind::Name(_) | Kind::Quoted(_) | Kind::Number(_)
        );
        names || kind.is_time()
    };
    let mut tokens = super::lex::tokens(lower, facts).into_iter();
    tokens.any(|token| tells(&token.kind))
}

/// The largest number of notes and reminders whose removal is recognized by the words that told it.
const MOST_REMOVED: usize = 100;

fn list(notes: bool, reminders: bool, facts: &Facts<'_>) -> String {
    let mut lines = vec![];
    if notes {
        let kept = facts.notes.iter().map(|note| format!("- {}", note.text));
        let kept: Vec<_> = kept.collect();
        lines.push(if kept.is_empty() {
            say!("There are no notes.", "没有备忘。")
        } else {
            say!("Your notes:\n{}", "你的备忘：\n{}", kept.join("\n"))
        });
    }
    let free = super::free_times::listed(facts.free_times, facts);
    if notes && !free.is_empty() {
        let free = free.join(&say!("; ", "；"));
        lines.push(say!(
            "You want these times kept free: {free}.",
            "你要求空着的时间：{free}。"
        ));
    }
    if reminders {
        let kept = facts.reminders.iter().map(|reminder| {
            let due = reminder.due.map_or_else(String::new, |due| {
                format!("{} ", due.strftime("%Y-%m-%d %H:%M"))
            });
            let told = if reminder.told {
                say!(" (shown)", "（已提醒）")
            } else {
                String::new()
            };
            format!("- {due}{}{told}", reminder.text)
        });
        let kept: Vec<_> = kept.collect();
        lines.push(if kept.is_empty() {
            say!("There are no reminders.", "没有提醒。")
        } else {
            say!("Your reminders:\n{}", "你的提醒：\n{}", kept.join("\n"))
        });
    }
    lines.join("\n")
}

/// Reads "undo" right after a note or a reminder was made: it goes, and nothing else. One that was
/// removed does not come back.
fn undone(text: &str, facts: &Facts<'_>) -> Option<Understanding> {
    let said = facts.said.filter(|_| super::travel::is_undo(text))?;
    let made = |write: StoreWrite| crate::nodes::errand_reply(&write) == said;
    let (notes, reminders) = (facts.notes.len(), facts.reminders.len());
    let last = facts.reminders.last();
    if last.is_some_and(|last| made(StoreWrite::Remind(last.clone()))) {
        return Some(Understanding::Forget([notes + reminders - 1].into()));
    }
    let last = facts.notes.last();
    let is_last = last.is_some_and(|last| made(StoreWrite::Note(last.clone())));
    let removed = |count: usize| {
        made(StoreWrite::Forget {
            notes: (0..count).collect(),
            reminders: vec![],
        })
    };
    if !is_last && (1..=MOST_REMOVED).any(removed) {
        return Some(Understanding::Refusal(say!(
            "What was removed cannot be brought back, and nothing else was undone. Say it again to keep it.",
            "删除的内容无法恢复，也没有撤销其他改动。需要的话请再说一遍。"
        )));
    }
    is_last.then(|| Understanding::Forget([notes - 1].into()))
}

/// Reads "no, the day after tomorrow" right after a reminder was made.
fn corrected(lower: &str, facts: &Facts<'_>) -> Option<Understanding> {
    use super::lex::{Kind, Relation};
    let (at, last) = facts.reminders.iter().enumerate().next_back()?;
    let was = last.due.filter(|_| !last.told)?;
    let made = crate::nodes::errand_reply(&StoreWrite::Remind(last.clone()));
    if facts.said != Some(made.as_str()) {
        return None;
    }
    let mut rest = lower.trim();
    let mut denies = false;
    while let Some(tail) = LISTS
        .notes
        .corrects
        .iter()
        .find_map(|word| after_word(rest, &[word.as_str()]))
    {
        (rest, denies) = (tail.trim_start_matches([' ', ',', '.', ':', '-']), true);
    }
    let tokens = super::lex::tokens(rest, facts);
    let is_time = |kind: &Kind| {
        matches!(
            kind,
            Kind::Days(..) | Kind::Part(_) | Kind::Clock(..) | Kind::Number(_)
        )
    };
    let leads = |kind: &Kind| {
        matches!(
            kind,
            Kind::Filler
                | Kind::Stop(false)
                | Kind::Pause
                | Kind::Relation(Relation::On | Relation::To | Relation::Before)
        )
    };
    let mut kinds = tokens.iter().map(|token| &token.kind);
    if !denies || !kinds.clone().any(is_time) || !kinds.all(|kind| is_time(kind) || leads(kind)) {
        return None;
    }
    let now = facts.now?;
    let named = due(rest, now, facts)?;
    let has_day = !fugato::words::day_mentions(rest).is_empty() || names_day(rest);
    let has_time =
        super::wish::clock_of(&tokens).is_some() || super::wish::part_of(&tokens).is_some();
    let date = if has_day { named.date() } else { was.date() };
    let time = if has_time { named.time() } else { was.time() };
    let due = date.to_datetime(time);
    if due < now {
        return Some(over(due));
    }
    let to = Reminder {
        due: Some(due),
        ..last.clone()
    };
    Some(Understanding::Correct(at, to))
}

/// Returns true if a part of the day also names the day.
fn names_day(lower: &str) -> bool {
    ["明早", "明晚", "明晨", "今晚", "今早", "tonight"]
        .iter()
        .any(|word| lower.contains(word))
}

fn over(due: DateTime) -> Understanding {
    Understanding::Refusal(say!(
        "{} is over already, so no reminder was made.",
        "{} 已经过去，没有建立提醒。",
        due.strftime("%Y-%m-%d %H:%M")
    ))
}

/// Reads `remind me to call on Friday at 5`, `周五下午三点提醒我交作业`.
fn reminder(shown: &str, lower: &str, facts: &Facts<'_>) -> Option<Understanding> {
    // "At half past three".
    let in_digits = in_clock_times(shown);
    if in_digits != shown {
        return reminder(&in_digits, &normalize(&in_digits), facts);
    }
    let begins =
        content(shown, lower, &LISTS.notes.remind).map(|text| (text, String::new(), false));
    let (text, head, is_call) = begins.or_else(|| {
        let calls = LISTS.notes.call.iter().map(|word| (word, true));
        let words = LISTS
            .notes
            .remind
            .iter()
            .map(|word| (word, false))
            .chain(calls);
        // "Remind me tomorrow" has no "remind me to".
        let ends = |word: &str, after: &str| {
            !word.is_ascii() || !after.starts_with(|c: char| c.is_ascii_alphanumeric())
        };
        let within = words.filter_map(|(word, is_call)| {
            let (before, after) = lower.split_once(word.as_str())?;
            ends(word, after).then_some((word, before, after, is_call))
        });
        let (_, before, after, is_call) = within.max_by_key(|(word, ..)| word.len())?;
        let skip = lower.chars().count() - after.chars().count();
        let text: String = shown.chars().skip(skip).collect();
        let text = text.trim_start_matches(|c: char| c.is_whitespace() || ",，:：".contains(c));
        Some((text.to_owned(), before.to_owned(), is_call))
    })?;
    if says(lower, &LISTS.notes.conditions) {
        return Some(Understanding::Refusal(say!(
            "A reminder under a condition is not something I can do, so nothing was kept. Say a day and a time.",
            "无法按条件提醒，因此没有记下。请说一个日期和时间。"
        )));
    }
    // A wish of another kind before it is not swallowed.
    let others = super::lex::tokens(&head, facts);
    let is_other = |kind: &super::lex::Kind| {
        matches!(
            kind,
            super::lex::Kind::Verb(_) | super::lex::Kind::Name(_) | super::lex::Kind::Unknown
        )
    };
    if others.iter().any(|token| is_other(&token.kind)) {
        return Some(several());
    }
    let said = format!("{head} {text}");
    let now = facts.now.and_then(|now| now.to_zoned(TimeZone::UTC).ok());
    let schedule = now.map(|now| CronExpression::of(&said, &now));
    let again = |token: super::lex::Token| matches!(token.kind, super::lex::Kind::Days(_, true));
    let repeats = super::lex::tokens(&said, facts).into_iter().any(again);
    if repeats || matches!(schedule, Some(Ok(CronExpression { once: false, .. }))) {
        return Some(Understanding::Refusal(say!(
            "I remind once, and not again and again, so nothing was kept. Say one day and one time.",
            "我只能提醒一次，不能反复提醒，因此没有记下。请说一个日期和时间。"
        )));
    }
    // "The meeting 14:00-15:00 at 13:00" has one time at which it is due.
    let times = super::lex::tokens(&said, facts).into_iter();
    let (clocks, others): (Vec<_>, Vec<_>) = times
        .filter(|it| {
            matches!(
                it.kind,
                super::lex::Kind::Clock(..) | super::lex::Kind::Hours(..)
            )
        })
        .partition(|it| matches!(it.kind, super::lex::Kind::Clock(..)));
    if clocks.len() > 1 || clocks.is_empty() && !others.is_empty() {
        return Some(Understanding::Refusal(say!(
            "A reminder has one time, and there are several here, so nothing was kept. Say one reminder after the other.",
            "一个提醒只有一个时间，这里有好几个，因此没有记下。请一个一个地说。"
        )));
    }
    let now = facts.now;
    let due = now.and_then(|now| due(&said, now, facts));
    // "Call me" is a reminder only at a time.
    if is_call && due.is_none() {
        return None;
    }
    let text = what(&text, facts);
    if text.is_empty() {
        return Some(Understanding::Refusal(say!(
            "What shall I remind you of? Nothing was kept.",
            "要提醒什么？没有记下任何内容。"
        )));
    }
    match due {
        Some(due) if now.is_some_and(|now| due < now) => Some(over(due)),
        Some(due) => Some(Understanding::Remind(Reminder {
            due: Some(due),
            text,
            told: false,
        })),
        None => Some(Understanding::Note(MemoryNote {
            kind: NoteKind::Task,
            text,
        })),
    }
}

/// Returns the time at which a reminder is due.
fn due(said: &str, now: DateTime, facts: &Facts<'_>) -> Option<DateTime> {
    let lower = normalize(said);
    if let Some(TimeReference::In(seconds)) = TimeReference::of(&lower) {
        return now.checked_add(seconds.seconds()).ok();
    }
    let mentions = fugato::words::day_mentions(&lower);
    let references: Vec<_> = mentions
        .iter()
        .map(|mention| mention.days.clone())
        .collect();
    let days = super::when::days(&references, false, facts);
    let early = ["明早", "明晚", "明晨"]
        .iter()
        .any(|word| lower.contains(word));
    let tomorrow = early
        .then(|| now.date().checked_add(1.day()).ok())
        .flatten();
    let dated = days
        .iter()
        .next()
        .and_then(|day| facts.schedule.day(*day)?.date.parse().ok());
    let dated = tomorrow.or(dated).or_else(|| {
        dates(&lower, now.date(), DateDirection::Ahead)
            .dates
            .first()
            .copied()
    });
    let tokens = super::lex::tokens(said, facts);
    let part = super::wish::part_of(&tokens);
    let is_today = dated.is_none_or(|date| date == now.date());
    let time = super::wish::clock_of(&tokens).and_then(|(hour, minute, sure)| {
        let at = |hour: i8| Time::new(hour, minute, 0, 0).ok();
        let late = part.is_some_and(|part| part != super::lex::Part::Morning);
        let is_past = is_today && at(hour).is_some_and(|at| at < now.time());
        // Before seven something rings only for somebody who gets up.
        let dawn = hour < 7 && part.is_none() && !says(&lower, &LISTS.notes.wakes);
        let half = !sure && (1..12).contains(&hour) && (late || part.is_none() && is_past || dawn);
        at(if half { hour + 12 } else { hour })
    });
    let default = part.map(|part| match part {
        super::lex::Part::Morning => Time::constant(8, 0, 0, 0),
        super::lex::Part::Noon => Time::constant(12, 0, 0, 0),
        super::lex::Part::Afternoon => Time::constant(14, 0, 0, 0),
        super::lex::Part::Evening => Time::constant(19, 0, 0, 0),
    });
    match (dated, time.or(default)) {
        (Some(date), time) => Some(date.to_datetime(time.unwrap_or(Time::constant(8, 0, 0, 0)))),
        (None, Some(time)) => {
            let today = now.date().to_datetime(time);
            if today >= now {
                Some(today)
            } else {
                today.checked_add(1.day()).ok()
            }
        }
        (None, None) => None,
    }
}

/// Returns what a reminder is about: its text without the day and the time.
fn what(text: &str, facts: &Facts<'_>) -> String {
    let lower = normalize(text);
    if lower.chars().count() != text.chars().count() {
        return text.trim().to_owned();
    }
    // Characters that name the time, and the words that lead to them, are left out.
    let mut out = vec![true; lower.chars().count()];
    let mut drop = |from: usize, to: usize| {
        let first = lower.get(..from).map_or(0, |head| head.chars().count());
        let last = lower.get(..to).map_or(0, |head| head.chars().count());
        for keep in out.get_mut(first..last).into_iter().flatten() {
            *keep = false;
        }
    };
    // "Monday's exam" is a thing, and no time.
    let owns = |at: usize| lower.get(at..).is_some_and(|rest| rest.starts_with("'s "));
    for mention in fugato::words::day_mentions(&lower) {
        if owns(mention.range.end) {
            continue;
        }
        drop(lead(&lower, mention.range.start), mention.range.end);
    }
    for (at, length) in super::wish::times_of(&lower, facts) {
        drop(lead(&lower, at), at + length);
    }
    let kept: String = text
        .chars()
        .zip(out)
        .filter_map(|(c, keep)| keep.then_some(c))
        .collect();
    let kept = kept.split_whitespace().collect::<Vec<_>>().join(" ");
    let kept = kept.trim_matches(|c: char| c.is_whitespace() || ",，.。!！:：".contains(c));
    let kept = kept.strip_prefix("to ").unwrap_or(kept);
    let kept = kept.strip_prefix("that ").unwrap_or(kept);
    kept.strip_prefix('要').unwrap_or(kept).trim().to_owned()
}

/// Returns the position of the word that leads to a time, or the time's own.
fn lead(lower: &str, at: usize) -> usize {
    let before = lower.get(..at).unwrap_or_default();
    let trimmed = before.trim_end();
    let words = [
        "on", "at", "by", "before", "this", "in the", "for", "的", "在",
    ];
    let lead = words.iter().find_map(|word| {
        let head = trimmed.strip_suffix(word)?;
        let latin = word.is_ascii();
        (!latin || head.is_empty() || head.ends_with(' ')).then_some(head.len())
    });
    lead.unwrap_or(at)
}
