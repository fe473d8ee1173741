use async_trait::async_trait;
use fugato::{
    BoxError, Context, Node, Outcome,
    agent::{
        memory::{to_quote, to_remember},
        plan::WorkUpdate,
        reply::show,
    },
    cli::Lang,
    memory::{
        ExecutionUpdate, HistoryUpdate, MemoryUpdate, PreferenceUpdate, TaskSummary, TaskUpdate,
    },
    state::Millis,
    words::{
        ShortAnswer, forget_limit, forget_refusal, is_question, notes_meant, to_forget, wishes,
    },
};

use crate::{
    command, correction, facts, intent,
    session::{Course, PlannerSession, SessionUpdate, kept},
    view,
};

/// Reads a message: it answers slash commands and short words at once; everything else becomes
/// work.
pub(crate) struct Understand;

/// The age after which messages are dropped from the history.
const IDLE: Millis = 24 * 60 * 60 * 1000;

#[async_trait]
impl Node<PlannerSession> for Understand {
    async fn run(&self, cx: Context<PlannerSession>) -> Result<Outcome<SessionUpdate>, BoxError> {
        let at = cx.now();
        let thread = cx.thread().to_string();
        let (course, updates) = understood(cx.state(), &thread, at);
        let forgotten = HistoryUpdate::ForgottenBefore(at.saturating_sub(IDLE));
        let mut first = vec![
            SessionUpdate::History(forgotten),
            SessionUpdate::Understood { at, course },
        ];
        if let Some(text) = left(cx.state(), course) {
            show(&cx, &format!("{text}\n"));
            // It is a message of its own, before the reply.
            let (live, none) = (false, String::new());
            first.push(SessionUpdate::Replied { text });
            first.push(SessionUpdate::Delivered { at, live });
            first.push(SessionUpdate::Replied { text: none });
        }
        Ok(Outcome::done(first.into_iter().chain(updates)))
    }
}

/// Returns the text that a wish which waited for an answer is left for another one; none if none
/// waited, or the message is about the same wish.
fn left(session: &PlannerSession, course: Course) -> Option<String> {
    let text = correction::wanted(session, &session.message.text);
    let text = text.trim();
    let is_other = course == Course::Work && correction::corrected(session, text).is_none();
    session
        .work
        .execution
        .waiting
        .as_ref()
        .filter(|_| is_other)?;
    let goal = &session.work.execution.goal;
    let all = session.written().is_empty();
    Some(Lang::of(text).pick(
        if all {
            format!("I leave “{goal}”; nothing of it was done.")
        } else {
            format!("I leave the rest of “{goal}”.")
        },
        if all {
            format!("“{goal}”先放下了，没有做任何操作。")
        } else {
            format!("“{goal}”剩下的部分先放下了。")
        },
    ))
}

fn understood(session: &PlannerSession, thread: &str, at: Millis) -> (Course, Vec<SessionUpdate>) {
    let text = correction::wanted(session, &session.message.text);
    let text = text.trim();
    let lang = Lang::of(text);
    let reply = |text: &str| SessionUpdate::Replied {
        text: text.to_owned(),
    };
    if let Some(updates) = command::command(session, thread, text) {
        return (Course::Reply, updates);
    }
    if to_quote(text).is_some() {
        let told = lang.pick(
            "I read no documents, so nothing is kept: what I remember is what you tell me yourself.",
            "我不读文件，所以什么都没有记：我只记您自己告诉我的话。",
        );
        return (Course::Reply, vec![reply(told)]);
    }
    if let Some(order) = intent::order_behind(text).filter(|_| to_remember(text).is_some()) {
        return (
            Course::Reply,
            vec![reply(&intent::one_by_one(&order, lang))],
        );
    }
    // "Sell 1 ETH and remember that …", "remember that …; what is my balance?": only one of them
    // would be done.
    let is_note = |part: &str| to_remember(part).is_some();
    let parts = wishes(text, |_, part| is_note(part) || is_question(part));
    let asks = |part: &str| !is_note(part) && (is_question(part) || intent::trades(part));
    if let [first, second, ..] = parts.as_slice()
        && (is_note(first) && asks(second) || asks(first) && is_note(second))
    {
        return (
            Course::Reply,
            vec![reply(&intent::one_by_one(second, lang))],
        );
    }
    if let Some(wish) = to_remember(text) {
        let told = if facts::is_live(wish) {
            lang.pick(
                "I look that up whenever it matters, so I do not keep it.",
                "这类情况我每次都会现查，不会记下来。",
            )
        } else {
            lang.pick("I will remember that.", "好的，记住了。")
        };
        let fact = wish.to_owned();
        let fact = facts::without_live(TaskUpdate::Learnt { fact, at });
        return (
            Course::Reply,
            vec![kept(MemoryUpdate::Task(fact)), reply(told)],
        );
    }
    if to_forget(text).is_some() || forget_limit(text).is_some() {
        let (updates, told) = forgotten(session, text, lang, at);
        return (
            Course::Reply,
            updates.into_iter().chain([reply(&told)]).collect(),
        );
    }
    if let Some(about) = intent::asks_what_is_kept(text) {
        let told = view::kept_about(session, &about, lang);
        return (Course::Reply, vec![reply(&told)]);
    }
    if intent::asks_what_was_said(text) {
        return (Course::Reply, vec![reply(&view::said(session, lang))]);
    }
    if intent::asks_status(text) {
        let told = view::status(session, thread, lang);
        return (Course::Reply, vec![reply(&told)]);
    }
    let goal = session.work.execution.goal.clone();
    let request = |goal: String| SessionUpdate::Work(WorkUpdate::Requested { goal });
    let takes_back = session.work.execution.waiting.is_some() && intent::takes_back(text);
    match ShortAnswer::of(text).or(takes_back.then_some(ShortAnswer::No)) {
        None if correction::corrected(session, text).is_some() => {
            let goal = correction::corrected(session, text);
            (Course::Work, goal.into_iter().map(request).collect())
        }
        None => (Course::Work, vec![request(text.to_owned())]),
        Some(ShortAnswer::Retry | ShortAnswer::Continue | ShortAnswer::StartOver) => {
            if goal.is_empty() {
                let told = lang.pick("There is nothing to go on with.", "没有可以继续的事。");
                return (Course::Reply, vec![reply(told)]);
            }
            (Course::Again, vec![request(goal)])
        }
        Some(ShortAnswer::Cancel | ShortAnswer::No) if session.work.execution.waiting.is_some() => {
            let told = lang.pick("It is dropped.", "已取消。");
            let gone = SessionUpdate::Execution(ExecutionUpdate::Cleared);
            (Course::Reply, vec![gone, reply(told)])
        }
        Some(_) => {
            let told = lang.pick("Nothing waits for an answer.", "现在没有等待回答的问题。");
            (Course::Reply, vec![reply(told)])
        }
    }
}

/// Returns true if a note says something else besides what is to be forgotten: a wish names one of
/// the parts of "I like tea, and that my boss is Ann".
fn says_more(note: &str, message: &str) -> bool {
    let note = note.to_lowercase();
    let mut parts = vec![&*note];
    for at in [" and that ", ", and ", " and ", ", ", "; ", "，", "；"] {
        parts = parts.into_iter().flat_map(|part| part.split(at)).collect();
    }
    let named = notes_meant(message, &parts.join("\n")).len();
    named > 0 && named < parts.len()
}

/// Returns the changes that forget what a person asks to be forgotten, and the reply.
fn forgotten(
    session: &PlannerSession,
    message: &str,
    lang: Lang,
    at: Millis,
) -> (Vec<SessionUpdate>, String) {
    let task = &session.person.task;
    let wishes = session.person.preferences.iter();
    let wishes = wishes.map(|(name, text)| (name, format!("{name}: {text}")));
    let wishes: Vec<_> = wishes.collect();
    let lines = task.facts.iter().chain(wishes.iter().map(|(_, line)| line));
    let lines: Vec<&str> = lines.map(String::as_str).collect();
    let lines = lines.join("\n");
    let meant = notes_meant(message, &lines);
    let is_meant = |note: &str| note.lines().any(|line| meant.contains(&line));
    if let Some(note) = meant.iter().find(|note| says_more(note, message)) {
        let told = lang.pick(
            format!("The note “{note}” says more than that, so nothing was forgotten. Say “forget” with all of it."),
            format!("“{note}”这一条里还有别的内容，所以什么都没有忘。请说“忘掉”和整条内容。"),
        );
        return (vec![], told);
    }
    let facts = task.facts.iter().filter(|fact| is_meant(fact)).cloned();
    let withdrawn: Vec<String> = facts.collect();
    let mut gone: Vec<String> = withdrawn.clone();
    let mut updates = vec![];
    for (name, line) in wishes.into_iter().filter(|(_, line)| is_meant(line)) {
        gone.push(line);
        let name = name.to_owned();
        updates.push(kept(MemoryUpdate::Preference(PreferenceUpdate::Unset {
            name,
        })));
    }
    if !withdrawn.is_empty() {
        let summary = TaskSummary {
            open_loops: task.open_loops.clone(),
            withdrawn,
            ..TaskSummary::default()
        };
        updates.push(kept(MemoryUpdate::Task(TaskUpdate::Merged { summary, at })));
    }
    let told = if gone.is_empty() {
        let refusal = forget_refusal(message, lang);
        let about = to_forget(message).unwrap_or_default();
        refusal.unwrap_or_else(|| view::nothing_kept(session, &about, lang))
    } else {
        let gone = gone.join("; ");
        lang.pick(format!("Forgotten: {gone}"), format!("已忘记：{gone}"))
    };
    (updates, told)
}
