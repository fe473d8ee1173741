//! Reminders by rules: a new one, another time for one, and their end.
use std::borrow::Cow;

use fugato::{
    cron::{self, CANCEL, CREATE, Job, LIST},
    state::{Lang, Message, Role},
    words::{
        CronExpression, ScheduleError, before_word, corrected, courtesy, day_mentions, decided,
        strip_phrase, untimed, without_code,
    },
};
use jiff::{Timestamp, Zoned, tz::TimeZone};
use serde_json::json;

use super::{intent, reminded, words};
use crate::{
    agent::{AgentState, CallRecord, TurnState},
    intent::{Intent, IntentKind, Params},
    plan::TurnStep,
};

/// The kind of a reminder whose time was asked for or changed: the query is its task.
const WHEN: &str = "when";

/// Returns the intent of the message of a turn: words that only tell a time answer the question
/// when to remind, or change the reminder whose card they came under.
pub fn intent_of(agent: &AgentState) -> Intent {
    let (turn, text) = (&agent.turn, &agent.turn.request.text);
    let own = intent(text);
    let mut said = agent.conversation.history.iter().rev().skip(1);
    // A turn that gave way to these words has no answer.
    let standing = standing(turn, said.clone());
    let before = said.find(|message| message.role == Role::User);
    let Some(before) = before.map(|message| reminded(&message.content)) else {
        return own;
    };
    let before = before.as_ref();
    if own.intent == IntentKind::Remind {
        return own;
    }
    let when = |task: &str, time: String| {
        let params = Params {
            kind: WHEN.to_owned(),
            query: words::task(task),
            time_range: time,
            ..Params::default()
        };
        Intent::new(IntentKind::Remind, 0.4, params)
    };
    if let Some((request, time)) = standing {
        let time = retimed(turn, &time, text);
        return time.map_or(own, |time| when(&request, time));
    }
    if intent(before).intent != IntentKind::Remind {
        return own;
    }
    // A bare hour answers the question for the time.
    let answers = [text.clone(), format!("at {text}")];
    let mut answers = answers.iter();
    let is_time = |time: &String| schedule(turn, time).is_ok() && is_only_time(turn, text);
    match schedule(turn, before) {
        Ok(_) => own,
        // The day was told, and the words tell the time of that day.
        Err(ScheduleError::NoHour) => {
            let joined = |answer: &String| Some(format!("{before} {answer}")).filter(is_time);
            if let Some(both) = answers.clone().find_map(joined) {
                return when(&both, both.clone());
            }
            let time = answers.find(|time| is_time(time));
            time.map_or(own, |time| when(before, time.clone()))
        }
        Err(_) => {
            let time = answers.find(|time| is_time(time));
            time.map_or(own, |time| when(before, time.clone()))
        }
    }
}

/// Returns the time of a reminder, in these words, that words under its card name instead: "no, in 20",
/// 改成7点吧, "yes, but tomorrow at 9"; none if they name none.
pub(crate) fn retimed(turn: &TurnState, told: &str, words: &str) -> Option<String> {
    const SAYS: [&str; 10] = [
        "change it to ",
        "make it ",
        "make that ",
        "move it to ",
        "not that, ",
        "sorry, ",
        "rather ",
        "改成",
        "改到",
        "改为",
    ];
    // The code of the card says which one is meant, and no time.
    let rest = decided(words).map(|(_, rest)| rest);
    let is_led = rest.is_some();
    let words = rest.unwrap_or_else(|| without_code(words).0);
    let marks = |c: char| c.is_whitespace() || ".。!！,，吧".contains(c);
    let words = words.trim();
    let words = strip_phrase(words, &["still ", "actually ", "还是"]).unwrap_or(words);
    let bare = strip_phrase(words, &SAYS);
    let said = bare.unwrap_or(words).trim_matches(marks);
    // A number alone may answer anything.
    if !is_led && bare.is_none() && said.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let both = format!("{told}, no, {said}");
    let changed = corrected(&both).ok().filter(|it| *it != both);
    let changed = changed.map(Cow::into_owned);
    let alone = || is_only_time(turn, said).then(|| said.to_owned());
    let mut times = changed.into_iter().chain(alone());
    times.find(|time| schedule(turn, time).is_ok())
}

/// Returns the last reminder that these messages ask for, each of which gave way to the next, and the
/// words for its time; none if something else came last.
pub(crate) fn standing<'m>(
    turn: &TurnState,
    said: impl Iterator<Item = &'m Message>,
) -> Option<(String, String)> {
    let said: Vec<_> = said.take_while(|it| it.role == Role::User).collect();
    said.into_iter().rev().fold(None, |standing, message| {
        let words = reminded(&message.content).into_owned();
        if intent(&words).intent == IntentKind::Remind {
            return Some((words.clone(), words));
        }
        let (request, time) = standing?;
        Some((request, retimed(turn, &time, &message.content)?))
    })
}

/// Returns true if words tell a time, and nothing else that could be meant: "tomorrow at 8, please".
fn is_only_time(turn: &TurnState, text: &str) -> bool {
    const TASK: &str = "x";
    // Parts of a day, and of a week, that the day and the hour make plain anyway.
    const PARTS: &str = "早上午中下傍晚凌晨下这本个周星期礼拜";
    const LEADS: [&str; 7] = ["next", "this", "the", "coming", "on", "in", "by"];
    let marks = |c: char| c.is_whitespace() || ".,!?。，！？".contains(c);
    let beside = [
        "please",
        "make it",
        "make that",
        "let's say",
        "no",
        "then",
        "吧",
        "改成",
        "改到",
        "改为",
        "就",
        "不",
        "好",
    ];
    let mut said = text.trim_matches(marks);
    while let Some(less) = beside
        .iter()
        .find_map(|word| said.strip_prefix(word).or_else(|| said.strip_suffix(word)))
    {
        said = less.trim_matches(marks);
    }
    let before = format!("at {said}");
    let mut told = [said, &before].into_iter();
    told.any(|said| {
        let said = format!("{TASK} {said}");
        let left = untimed(&said, &began(turn)).strip_prefix(TASK);
        let is_plain =
            |word: &str| LEADS.contains(&word) || word.chars().all(|c| PARTS.contains(c));
        left.is_some_and(|left| left.to_lowercase().split_whitespace().all(is_plain))
    })
}

/// Returns the step for a reminder. Without a readable time, or of nothing, there is none, and the
/// answer says what is missing.
pub(super) fn steps(turn: &TurnState, params: &Params) -> Vec<TurnStep> {
    match (due(turn), task_of(turn, params)) {
        (Ok(due), Some(task)) => vec![creating(&due, &task)],
        _ => vec![],
    }
}

/// Returns the task of the reminder that a turn asks for, without its time and without thanks; none if
/// nothing else is left: "remind me every minute".
pub(super) fn task_of(turn: &TurnState, params: &Params) -> Option<String> {
    const LEADS: [&str; 9] = [
        "to",
        "that",
        "of",
        "about",
        "at",
        "remind",
        "remind me",
        "提醒",
        "提醒我",
    ];
    let text = &reminded(&turn.request.text);
    let told = if params.kind == WHEN {
        params.query.clone()
    } else {
        words::task(text)
    };
    let task = untimed(&told, &began(turn)).trim();
    let (thanked, behind) = task.rsplit_once([',', '，']).unwrap_or((task, ""));
    let task = courtesy(behind).map_or(task, |_| thanked.trim_end());
    let task = before_word(task, &["please"]).map_or(task, str::trim_end);
    let says = task.contains(char::is_alphanumeric);
    let is_time = || schedule(turn, task).is_ok() && is_only_time(turn, task);
    (says && !LEADS.contains(&task) && !is_time()).then(|| task.to_owned())
}

/// Returns the schedule of the reminder that a turn asks for.
pub(super) fn due(turn: &TurnState) -> Result<CronExpression, ScheduleError> {
    let params = turn.intent.as_ref().map(|intent| &intent.params);
    let params = params.filter(|params| params.kind == WHEN);
    match params {
        Some(params) => schedule(turn, &params.time_range),
        None => schedule(turn, &reminded(&turn.request.text)),
    }
}

fn creating(due: &CronExpression, task: &str) -> TurnStep {
    let wanted = json!({ "schedule": due.expression, "task": task, "once": due.once });
    TurnStep::tool(CREATE, wanted)
}

/// Returns the list of jobs, and then the cancellation of those that the words name.
pub(super) fn cancelling(turn: &TurnState) -> Vec<TurnStep> {
    let text = &turn.request.text;
    let cancel = |id: &str| TurnStep::tool(CANCEL, json!({ "id": id }));
    let mut steps = vec![TurnStep::tool(LIST, json!({}))];
    let Some(jobs) = turn.listed_jobs() else {
        return steps;
    };
    if let Some(id) = words::job(text) {
        steps.push(cancel(&id));
        return steps;
    }
    let unwanted = words::unwanted(text);
    let all = unwanted.is_empty() && words::all(text);
    let place = words::place(text, jobs.len());
    let alone = unwanted.is_empty() && jobs.len() == 1;
    let is_wanted = |(at, job): &(usize, &Job)| match place {
        Some(place) => place == *at,
        None => all || alone || words::is_about(&job.wish.task, &unwanted),
    };
    let wanted = jobs.iter().enumerate().filter(is_wanted);
    steps.extend(wanted.map(|(_, job)| cancel(&job.id)));
    // A no to one card is a no to those that would follow.
    if turn.failed().any(|made| made.call.name == CANCEL) {
        steps.truncate(turn.followed);
    }
    steps
}

/// Returns the list of jobs, then the reminder at its other time, and once that is made the
/// cancellation of the one in whose place it is.
pub(super) fn moving(turn: &TurnState) -> Vec<TurnStep> {
    let mut steps = vec![TurnStep::tool(LIST, json!({}))];
    let Some(Ok((job, due))) = moved(turn) else {
        return steps;
    };
    steps.push(creating(&due, &job.wish.task));
    if turn.done().any(|made| made.call.name == CREATE) {
        steps.push(TurnStep::tool(CANCEL, json!({ "id": job.id })));
    }
    steps
}

/// Returns the only listed job that a turn moves, with its other schedule; none if there is no such
/// job, or several.
pub(super) fn moved(turn: &TurnState) -> Option<Result<(Job, CronExpression), ScheduleError>> {
    let (about, time) = words::moved(&turn.request.text)?;
    let jobs = turn.listed_jobs()?;
    let wanted = |job: &&Job| about.is_empty() || words::is_about(&job.wish.task, &about);
    let mut wanted = jobs.iter().filter(wanted);
    let (job, None) = (wanted.next()?, wanted.next()) else {
        return None;
    };
    let due = Timestamp::from_millisecond(job.due).unwrap_or_default();
    let due = due.to_zoned(zone(turn));
    let expression = job.wish.schedule.clone();
    let once = job.wish.once;
    let old = CronExpression { expression, once };
    let due = old.moved(&due, &time, &began(turn));
    Some(due.map(|due| (job.clone(), due)))
}

/// Returns what is told of the listed jobs where the words ask for those of one day; none if they
/// name no day.
pub(super) fn on_day(turn: &TurnState, made: &CallRecord, lang: Lang) -> Option<String> {
    let kind = &turn.intent.as_ref()?.params.kind;
    if made.call.name != LIST || kind != "agenda" {
        return None;
    }
    let text = turn.request.text.to_lowercase();
    let named = day_mentions(&text).into_iter().next()?;
    let end = format!("{} 23:59", text.get(named.range)?);
    let last = schedule(turn, &end).ok().filter(|last| last.once)?;
    let last = cron::CronSchedule::parse(&last.expression, &zone(turn)).ok()?;
    let day = Timestamp::from_millisecond(last.next(turn.began_at)?).ok()?;
    let first = day.to_zoned(zone(turn)).start_of_day().ok()?;
    let next = first.tomorrow().ok()?.timestamp().as_millisecond();
    let first = first.timestamp().as_millisecond();
    let is_then = |job: &Job| {
        let again = cron::CronSchedule::parse(&job.wish.schedule, &zone(turn)).ok();
        let again = again.and_then(|again| again.next(first.max(turn.began_at) - 1));
        let due = if job.wish.once { Some(job.due) } else { again };
        due.is_some_and(|due| (first..next).contains(&due))
    };
    let jobs = turn.listed_jobs()?;
    let lines = made.for_people().lines().zip(&jobs);
    let (then, other): (Vec<_>, Vec<_>) = lines.partition(|(_, job)| is_then(job));
    let joined = |lines: Vec<(&str, &Job)>| {
        let lines: Vec<_> = lines.into_iter().map(|(line, _)| line).collect();
        lines.join("\n")
    };
    if !then.is_empty() {
        return Some(joined(then));
    }
    let none = lang.pick("There is no reminder for that day.", "这一天没有提醒。");
    let others = lang.pick("The others:", "其他提醒：");
    Some(if other.is_empty() {
        none.to_owned()
    } else {
        format!("{none}\n{others}\n{}", joined(other))
    })
}

/// Returns true if the words of a turn are about several of the listed jobs, without saying which.
pub(super) fn is_vague(turn: &TurnState) -> bool {
    let text = &turn.request.text;
    let about = words::moved(text).map_or_else(|| words::unwanted(text), |(about, _)| about);
    let jobs = turn.listed_jobs().unwrap_or_default();
    let is_about = |job: &&Job| about.is_empty() || words::is_about(&job.wish.task, &about);
    jobs.iter().filter(is_about).count() > 1
}

/// Returns the schedule that a text names, at the time of the turn.
fn schedule(turn: &TurnState, text: &str) -> Result<CronExpression, ScheduleError> {
    CronExpression::of(text, &began(turn))
}

fn zone(turn: &TurnState) -> TimeZone {
    TimeZone::get(&turn.zone).unwrap_or_else(|_| TimeZone::system())
}

/// Returns the time at which the turn began, in the zone of the person.
pub(super) fn began(turn: &TurnState) -> Zoned {
    let now = Timestamp::from_millisecond(turn.began_at).unwrap_or_default();
    now.to_zoned(zone(turn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_under_its_card_change_the_time_of_a_reminder_and_nothing_else() {
        let turn = TurnState {
            began_at: 1_772_013_600_000, // 25 February 2026, 10:00
            zone: "UTC".to_owned(),
            ..TurnState::default()
        };
        for (request, words, expected) in [
            (
                "Remind me tomorrow at 9 to call Anna",
                "make it 10",
                Some("Remind me tomorrow at 10 to call Anna"),
            ),
            (
                "remind me at 9:30 to stretch",
                "no, change it to 4 pm.",
                Some("remind me at 4 pm to stretch"),
            ),
            (
                "明天早上8点提醒我跑步",
                "改成7点半吧",
                Some("明天早上7点半提醒我跑步"),
            ),
            (
                "remind me tomorrow at 6pm to call mom",
                "no, at 7",
                Some("remind me tomorrow at 7 pm to call mom"),
            ),
            (
                "明天早上8点提醒我跑步",
                "不，七点半",
                Some("明天早上七点半提醒我跑步"),
            ),
            (
                "remind me tomorrow at 9 to call Eve",
                "no R9B5, at 19:00",
                Some("remind me tomorrow at 19:00 to call Eve"),
            ),
            ("明天早上8点提醒我跑步", "不", None),
            ("明天早上8点提醒我跑步", "改成游泳吧", None),
            ("remind me at 9 to stretch", "make it shorter", None),
            ("remind me to stretch", "make it 10", None),
        ] {
            assert_eq!(
                retimed(&turn, request, words).as_deref(),
                expected,
                "{words}"
            );
        }
    }
}
