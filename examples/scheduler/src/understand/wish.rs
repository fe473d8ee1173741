//! From tokens to what a person wants. Every token of a wish is used, or the wish is refused and
//! the token named.
mod clauses;
mod joined;
mod reader;

use std::collections::BTreeSet;

use clauses::{clauses, sentences, wish_beside_question};
use fugato::words::{courtesy, has_any_word};
use joined::{
    split, with_days_of_topics, with_denied_times, with_excepted_days, with_excepted_names,
    with_other_places, with_parts_of_days,
};

use super::{
    Facts, Understanding, answer, free_times,
    lex::{ClockWords, Kind, Noun, Part, Query, Token, Verb, tokens},
    names::{Ref, items_of, known},
    plan::{self, Limits},
    topic::{asked_topic, with_topic},
    when::When,
    words::Words,
};

/// The part that days, times or names play in a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The subject, or its place.
    At,
    /// The destination.
    To,
    /// The origin.
    From,
    /// Earlier than this.
    Before,
    /// Not later than this.
    By,
    /// Later than this.
    After,
    /// Not this.
    Not,
    /// Not this, of what else is said.
    Except,
    /// Only this.
    Only,
}

/// A part of a text that says one thing.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the words"
)]
pub(super) struct Clause {
    /// The verbs, and true if they are negated.
    pub(super) verbs: Vec<(Verb, bool)>,
    pub(super) queries: BTreeSet<Query>,
    pub(super) nouns: BTreeSet<Noun>,
    pub(super) names: Vec<(Ref, Role)>,
    pub(super) whens: Vec<(When, Role)>,
    /// Amounts with their units.
    pub(super) amounts: Vec<(i64, Noun)>,
    pub(super) quoted: Vec<String>,
    pub(super) unknown: Vec<String>,
    /// A thing that there is, called by a part of the name of an item: "I have an exam".
    pub(super) introduced: Option<(String, Ref)>,
    pub(super) is_question: bool,
    /// True if it asks about what the agent did: "what did you change?".
    pub(super) asks_you: bool,
    /// True if it says that the person is away.
    pub(super) is_away: bool,
    /// True if it gives a reason only.
    pub(super) is_reason: bool,
    /// The condition under which it holds.
    pub(super) condition: Option<String>,
    /// True if "but" or "except" introduces it.
    pub(super) is_limit: bool,
    /// True if a "not" belongs to nothing else.
    pub(super) is_negated: bool,
    /// True if it says no more than that some times may be used: 周四可以.
    pub(super) permits: bool,
    /// True if it is about everything but the courses.
    pub(super) leaves_out_courses: bool,
    pub(super) again: bool,
    pub(super) text: String,
    /// The text after "add", as it was written.
    pub(super) added: String,
}

impl Clause {
    pub(super) fn has(&self, verb: Verb) -> bool {
        self.verbs.iter().any(|(known, not)| *known == verb && !not)
    }

    pub(super) fn denies(&self, verb: Verb) -> bool {
        self.verbs.iter().any(|(known, not)| *known == verb && *not)
    }

    /// Returns true if a verb says that something stays as it is.
    fn keeps(&self) -> bool {
        self.verbs.iter().any(|(verb, not)| {
            *verb == Verb::Keep
                || matches!(
                    verb,
                    Verb::Move | Verb::Delete | Verb::Cancel | Verb::Rearrange | Verb::Swap
                ) && *not
        })
    }

    /// Returns true for a clause such as "my sister is visiting".
    fn is_excuse(&self) -> bool {
        let mine = [
            "my ", "i ", "i'm ", "we ", "our ", "there", "it's ", "我", "家里", "有人", "朋友",
            "要", "得去",
        ];
        !self.unknown.is_empty()
            && self.names.is_empty()
            && self.whens.is_empty()
            && !self.is_negated
            && !self.is_limit
            && self.condition.is_none()
            && mine
                .iter()
                .any(|word| self.text.trim_start().starts_with(word))
            && self
                .verbs
                .iter()
                .all(|(verb, not)| !not && matches!(verb, Verb::Show | Verb::Study | Verb::Place))
    }

    /// Returns true if a clause wants some days to be free, or nothing to be put there.
    fn frees_days(&self) -> bool {
        let denied = [Verb::Place, Verb::Study, Verb::Add];
        let denied = denied.iter().any(|verb| self.denies(*verb));
        let is_denial = |(_, role): &(When, Role)| *role == Role::Not;
        // "Nothing on Friday".
        let bare = self.verbs.is_empty() && (self.is_negated || self.whens.iter().any(is_denial));
        let is_wish = self.has(Verb::Free) || self.has(Verb::Busy) || denied || bare;
        let mut whens = self.whens.iter();
        let names_days = if bare {
            // "Not before ten and not on the weekend" are two limits.
            whens.next().is_some_and(|(when, _)| when.days.is_some())
        } else {
            whens.any(|(when, _)| when.days.is_some())
        };
        is_wish && self.names.is_empty() && names_days
    }

    /// Returns true if a clause says no more than that some time is not meant: "not tomorrow". "Nothing
    /// tomorrow" says what shall not be there.
    pub(super) fn only_denies_times(&self) -> bool {
        let denies = |(_, role): &(When, Role)| matches!(role, Role::Not | Role::Except);
        let denies = self.is_negated || self.whens.iter().any(denies);
        let named = [Noun::All, Noun::Off]
            .iter()
            .any(|it| self.nouns.contains(it));
        let plain =
            self.verbs.is_empty() && self.names.is_empty() && !named && !self.names_nothing();
        plain && denies && !self.whens.is_empty()
    }

    /// Returns true if a clause denies everything: "nothing tomorrow".
    fn names_nothing(&self) -> bool {
        has_any_word(&self.text, &["nothing", "none", "什么", "啥"])
    }

    /// Returns true if a clause says that a time need not be free: 周二不用空, "I don't need Tuesday off".
    pub(super) fn needs_not_be_free(&self) -> bool {
        let mut whens = self.whens.iter();
        let denies = !self.whens.is_empty() && whens.all(|(_, role)| *role == Role::Not);
        let is_off = self.verbs.is_empty() && self.nouns.contains(&Noun::Off);
        is_off && (self.is_negated || denies)
    }

    /// Returns the days that a clause names, in every week.
    fn days(&self) -> BTreeSet<u16> {
        let days = self.whens.iter().filter_map(|(when, _)| when.weekly().days);
        days.flatten().collect()
    }

    /// Returns true for a clause that only leaves times out of a day that the one before it frees, such
    /// as 但上午不用, or these days: 下周不用, or says which times of it are meant: "but only the afternoon".
    fn is_part_of_day(&self, free: &Self) -> bool {
        let frees = free.has(Verb::Free) || free.has(Verb::Busy);
        let freed = free.days();
        let spares = |(verb, not): &(Verb, bool)| match verb {
            Verb::Free | Verb::Busy => *not,
            Verb::Reopen | Verb::Keep => !not,
            // "But I can work in the morning".
            Verb::Place | Verb::Study => !not && self.is_limit && self.nouns.is_empty(),
            _ => false,
        };
        let is_time = |(when, role): &(When, Role)| match &when.days {
            Some(days) => {
                let spared = frees && (self.is_negated || *role == Role::Not);
                let weekly = when.weekly().days.filter(|_| self.permits);
                weekly.is_some_and(|days| !days.is_disjoint(&freed))
                    || spared && !days.is_disjoint(&freed)
            }
            None => when.starts.is_some(),
        };
        let plain = self.names.is_empty() && self.unknown.is_empty() && self.quoted.is_empty();
        let bounds = |(_, role): &(When, Role)| !matches!(role, Role::At | Role::To);
        let says = self.is_negated || !self.verbs.is_empty() || self.whens.iter().any(bounds);
        // "But the morning" excepts it; "but the morning off" does not.
        let says = says || self.is_limit && self.nouns.is_empty();
        let times = !self.whens.is_empty() && self.whens.iter().all(is_time);
        plain && says && times && self.verbs.iter().all(spares)
    }

    fn is_empty(&self) -> bool {
        self.verbs.is_empty()
            && self.queries.is_empty()
            && self.nouns.is_empty()
            && self.names.is_empty()
            && self.whens.is_empty()
            && self.amounts.is_empty()
            && self.unknown.is_empty()
            && self.quoted.is_empty()
            && self.condition.is_none()
            && !self.leaves_out_courses
            && !self.excepts_something()
    }

    /// Returns true if a clause excepts something, and does not say what: "except the next one".
    pub(super) fn excepts_something(&self) -> bool {
        self.is_limit && self.is_negated && self.whens.is_empty() && self.names.is_empty()
    }

    /// Returns true if a limit that names nothing says no more than the wish before it: "delete it, we no
    /// longer need it".
    fn says_no_more(&self, keeps: bool) -> bool {
        let acts = |(verb, not): &(Verb, bool)| {
            let acts = matches!(
                verb,
                Verb::Place | Verb::Study | Verb::Move | Verb::Delete | Verb::Cancel
            );
            *not && acts || *verb == Verb::Show
        };
        let unneeded = !self.is_limit
            && self.is_negated
            && self.nouns.iter().eq([&Noun::It])
            && has_any_word(&self.text, &["need", "want", "用", "要"]);
        let all = self.nouns.contains(&Noun::All) && keeps;
        all || unneeded || !self.verbs.is_empty() && self.verbs.iter().all(acts)
    }

    pub(super) fn when(&self, role: Role) -> Option<&When> {
        self.whens
            .iter()
            .find(|(_, known)| *known == role)
            .map(|(when, _)| when)
    }

    /// Returns the names that are the objects.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Ref> {
        let names = self.names.iter();
        names
            .filter(|(_, role)| matches!(role, Role::At | Role::Only))
            .map(|(name, _)| name)
    }
}

/// Returns true if a text says where something does not go, and where it goes.
pub(super) fn names_other_place(text: &str, facts: &Facts<'_>) -> bool {
    let clauses = clauses(&tokens(text, facts), facts);
    let count = clauses.len();
    with_other_places(clauses).len() < count
}

/// Returns true if a text wants what the open card is about to stay as it is, and nothing else.
pub(super) fn keeps_all(text: &str, facts: &Facts<'_>) -> bool {
    let clauses = with_topic(clauses(&tokens(text, facts), facts), facts);
    let is_asked = |(name, _): &(Ref, Role)| {
        let mut items = expand(name, facts).into_iter();
        items.any(|id| facts.on_card.contains(&id))
    };
    let keeps = |clause: &Clause| {
        clause.keeps()
            && !clause.is_question
            && clause.condition.is_none()
            && clause.unknown.is_empty()
            && clause.whens.is_empty()
            && clause.names.iter().all(is_asked)
    };
    !clauses.is_empty() && clauses.iter().all(keeps)
}

/// Returns the clauses of a text.
pub(super) fn clauses_of(tokens: &[Token], facts: &Facts<'_>) -> Vec<Clause> {
    clauses(tokens, facts)
}

/// Reads a text.
pub(super) fn read(tokens: &[Token], facts: &Facts<'_>) -> Understanding {
    let clauses = clauses(tokens, facts);
    let lang = facts.lang;
    if clauses.is_empty() {
        return not_understood("", facts);
    }
    // A condition that is not understood stops everything.
    if let Some(condition) = clauses.iter().find_map(|clause| clause.condition.as_ref()) {
        return Understanding::Refusal(lang.pick(
            format!("I cannot tell whether “{condition}” holds, so I changed nothing. Say it without the condition, or when it holds."),
            format!("无法判断“{condition}”这个条件，因此没有改动任何内容。请去掉条件再说，或等条件成立时再说。"),
        ));
    }
    let is_question = clauses.iter().any(|clause| clause.is_question);
    if let Some(reply) = small_talk(&clauses, facts) {
        return reply;
    }
    if is_question {
        let sentences = sentences(tokens);
        if let Some(wish) = wish_beside_question(&sentences) {
            return Understanding::Refusal(lang.pick(
                format!("You ask something and want “{wish}”. I do one after the other: nothing was changed. Say each by itself."),
                format!("你既在问，又要“{wish}”。请分开说，一次一件：没有改动任何内容。"),
            ));
        }
        let asked = sentences.into_iter().filter(|(_, asks)| *asks);
        let asked: Vec<&[Token]> = asked.map(|(sentence, _)| sentence).collect();
        return each_answered(&asked, facts)
            .unwrap_or_else(|| answer::answer(&asked_topic(merged(&clauses), facts), facts));
    }
    let clauses = with_excepted_days(with_days_of_topics(with_denied_times(clauses)));
    let clauses = with_other_places(with_excepted_names(clauses));
    let mut clauses = with_parts_of_days(clauses);
    // "Tuesday need not be free, free Wednesday" frees Wednesday, unless Tuesday was kept free.
    let permits = |it: &Clause| it.permits || it.needs_not_be_free();
    let says_more = |it: &Clause| !(permits(it) || it.is_reason || it.is_empty());
    if clauses.iter().any(says_more) {
        let is_used = |clause: &Clause| {
            let whens: Vec<When> = clause.whens.iter().map(|(when, _)| when.clone()).collect();
            free_times::without(facts, &whens).is_none()
        };
        clauses.retain(|it| !(permits(it) && is_used(it)));
    }
    let (wishes, limits) = split(clauses);
    let wishes = with_topic(wishes, facts);
    if wishes.is_empty() {
        return plan::limits_alone(&limits, facts);
    }
    let plans = [Verb::Place, Verb::Rearrange, Verb::Spread];
    let plans = wishes
        .iter()
        .any(|wish| plans.iter().any(|verb| wish.has(*verb)));
    let bounds = match limits_of(&limits, plans, facts) {
        Ok(bounds) => bounds,
        Err(refusal) => return refusal,
    };
    plan::plan(&wishes, &bounds, facts)
}

/// Answers several questions one after the other; none if they belong together.
fn each_answered(questions: &[&[Token]], facts: &Facts<'_>) -> Option<Understanding> {
    if questions.len() < 2 {
        return None;
    }
    let answers = questions
        .iter()
        .map(|question| match read(question, facts) {
            Understanding::Answer(text) => Some(text),
            _ => None,
        });
    let answers: Option<Vec<String>> = answers.collect();
    Some(Understanding::Answer(answers?.join("\n")))
}

/// Returns one clause with everything that several say.
fn merged(clauses: &[Clause]) -> Clause {
    let mut all = Clause::default();
    for clause in clauses.iter().filter(|clause| !clause.is_reason) {
        all.verbs.extend(clause.verbs.iter().copied());
        all.queries.extend(clause.queries.iter().copied());
        all.nouns.extend(clause.nouns.iter().copied());
        all.names.extend(clause.names.iter().cloned());
        all.whens.extend(clause.whens.iter().cloned());
        all.amounts.extend(clause.amounts.iter().copied());
        all.unknown.extend(clause.unknown.iter().cloned());
        all.quoted.extend(clause.quoted.iter().cloned());
        all.is_question |= clause.is_question;
        all.text = format!("{} {}", all.text, clause.text);
        let you = ["did you", "have you", "you've", "你", "改了", "动了"];
        all.asks_you |= you.iter().any(|word| clause.text.contains(word));
        all.is_negated |= clause.is_negated;
        all.leaves_out_courses |= clause.leaves_out_courses;
    }
    all
}

/// Returns the limits that clauses set on a plan or on another wish, or a refusal that names what is
/// not understood.
fn limits_of(
    clauses: &[Clause],
    of_plan: bool,
    facts: &Facts<'_>,
) -> Result<Limits, Understanding> {
    let mut limits = Limits::default();
    for clause in clauses {
        if let Some(word) = clause.unknown.first() {
            return Err(not_understood(word, facts));
        }
        let free = clause.verbs.iter().any(|(verb, not)| {
            matches!(verb, Verb::Free | Verb::Busy) && !not
                || matches!(verb, Verb::Place | Verb::Study | Verb::Add) && *not
        }) || clause.nouns.contains(&Noun::Off);
        // "Nothing on Sunday, and the report goes to Monday" are two wishes, and one Sunday.
        let is_wish = free && !clause.is_limit && !of_plan && !clause.nouns.contains(&Noun::It);
        let is_once =
            is_wish || clause.has(Verb::Busy) || clause.has(Verb::Free) && !clause.has(Verb::Keep);
        let once = |when: &When| if is_once { when.clone() } else { when.weekly() };
        // "Keep Monday free, but not the morning".
        let is_part = |(when, role): &(When, Role)| {
            when.days.is_none() && (*role == Role::Except || free && *role != Role::At)
        };
        if clause.frees_days() && clause.whens.iter().any(is_part) {
            let times = plan::freed_times(clause, facts);
            let times: Vec<When> = times.iter().map(once).collect();
            limits.closed.extend(times.iter().cloned());
            limits
                .cleared
                .extend(times.iter().filter(|_| is_wish).cloned());
            limits.free.extend(times.into_iter().filter(|_| free));
            continue;
        }
        let keep_verb = clause.keeps();
        let keeps = keep_verb || clause.is_negated || clause.is_limit;
        let mut used = false;
        for (when, role) in &clause.whens {
            used = true;
            match role {
                // "Move the report, nothing on Friday" frees Friday.
                Role::Not if clause.frees_days() && clause.names_nothing() && !of_plan => {
                    limits.closed.push(when.weekly());
                    limits.cleared.push(when.clone());
                    limits.free.push(when.clone());
                }
                Role::Not | Role::Except => {
                    limits.closed.push(when.weekly());
                    if keep_verb {
                        limits.still.push(when.weekly());
                    }
                }
                Role::Only => limits.only.push(when.clone()),
                // "Nothing before ten" closes what is before ten.
                Role::Before | Role::By | Role::After if free || clause.denies(Verb::Move) => {
                    limits.closed.push(plan::spanned(when, *role, facts));
                }
                Role::Before => limits.before.push(when.clone()),
                Role::By => limits.by.push(when.clone()),
                Role::After => limits.after.push(when.clone()),
                Role::To if clause.denies(Verb::Move) => limits.closed.push(when.weekly()),
                Role::At | Role::To | Role::From if free => {
                    let (when, every) = (once(when), when.weekly());
                    limits
                        .closed
                        .push(if is_wish { every } else { when.clone() });
                    // "Not to tomorrow" is about this wish alone.
                    if clause.names.is_empty() && *role != Role::To {
                        limits.cleared.extend(is_wish.then(|| when.clone()));
                        limits.free.push(when);
                    }
                }
                Role::At | Role::From
                    if (keep_verb || clause.is_negated) && clause.names.is_empty() =>
                {
                    limits.closed.push(when.weekly());
                    limits.still.push(when.weekly());
                }
                // "But still this week" says where it goes.
                Role::At
                    if clause.is_limit && clause.verbs.is_empty() && clause.names.is_empty() =>
                {
                    limits.only.push(when.clone());
                }
                _ => return Err(not_understood(&clause.text, facts)),
            }
        }
        for (name, _) in &clause.names {
            used = true;
            // "Keep Sunday free, but the bike may go there" does not keep the bike where it is.
            let goes = clause.has(Verb::Place) || clause.has(Verb::Study);
            if !(keeps || clause.is_negated) || goes && !keep_verb {
                return Err(not_understood(&clause.text, facts));
            }
            limits.kept.extend(expand(name, facts));
        }
        if !used && !clause.says_no_more(keeps) {
            return Err(not_understood(&clause.text, facts));
        }
    }
    Ok(limits)
}

/// Returns all items that a name can mean.
pub(super) fn expand(name: &Ref, facts: &Facts<'_>) -> BTreeSet<u32> {
    let classes = name.classes.iter();
    let of_classes = classes.flat_map(|class| items_of(facts.schedule, *class));
    name.items.iter().copied().chain(of_classes).collect()
}

/// Says that something was not understood.
pub(super) fn not_understood(part: &str, facts: &Facts<'_>) -> Understanding {
    let part = part.trim();
    let lang = facts.lang;
    let class = facts.schedule.task_classes.first();
    let class = class.map_or("…", |class| class.name.as_str());
    let help = lang.pick(
        format!("Try “move … to Friday”, “free Wednesday evening”, “add … to {class}”, “what do I have on Monday”, or “help”."),
        format!("可以这样说：“把……挪到周五”、“周三晚上空出来”、“在{class}里加一项……”、“周一有什么安排”，或者“帮助”。"),
    );
    Understanding::Refusal(if part.is_empty() {
        lang.pick(
            format!("I did not understand that, and nothing was changed. {help}"),
            format!("没有看懂，没有改动任何内容。{help}"),
        )
    } else {
        lang.pick(
            format!("I did not understand “{part}”, so nothing was changed. {help}"),
            format!("没有看懂“{part}”，因此没有改动任何内容。{help}"),
        )
    })
}

/// Says what of a clause was not understood, if anything was: a word, and what it could be the name of,
/// or a thing that there is and that is none of the items.
pub(super) fn unread(clause: &Clause, facts: &Facts<'_>) -> Option<Understanding> {
    let lang = facts.lang;
    if let Some((thing, like)) = &clause.introduced {
        let like = Words::of(facts).names(expand(like, facts));
        return Some(Understanding::Refusal(lang.pick(
            format!("I did not take “{thing}” for {like}: you tell of it as something else, so nothing was changed. Say the whole name of the item if you mean it, or “keep … free” if you want the time free."),
            format!("没有把“{thing}”当作{like}：听起来是另一件事，因此没有改动任何内容。如果指的就是这一项，请说出全名；如果要把时间空出来，请说“……空出来”。"),
        )));
    }
    let part = clause.unknown.first().or(clause.quoted.first())?;
    let of_item = |name: &Ref| !name.is_course();
    let named = clause.names.iter().any(|(name, _)| of_item(name));
    let says_more = !clause.verbs.is_empty() || !clause.queries.is_empty();
    // The weeks are shown without a name.
    let says_more = says_more && *part != clause.text && !clause.has(Verb::Show);
    Some(match not_understood(part, facts) {
        Understanding::Refusal(told) if says_more && !named => {
            Understanding::Refusal(format!("{told}{}", known(facts)))
        }
        refusal => refusal,
    })
}

const ENDS: [char; 7] = ['.', '!', '?', '。', '！', '？', '\n'];

/// Returns a text without the sentences of courtesy with which it begins: "How are you? Move it".
pub(super) fn after_small_talk(text: &str) -> &str {
    let Some((sentence, rest)) = text.split_once(ENDS) else {
        return text;
    };
    if courtesy(sentence).is_none() || rest.trim().is_empty() {
        return text;
    }
    after_small_talk(rest.trim_start())
}

/// Returns a text without the sentences of courtesy with which it ends.
pub(super) fn before_small_talk(text: &str) -> &str {
    let said = text.trim_end_matches(|c: char| ENDS.contains(&c) || c.is_whitespace());
    let last = said.split_inclusive(ENDS).next_back().unwrap_or_default();
    let rest = said.strip_suffix(last).unwrap_or_default();
    if rest.is_empty() || courtesy(last).is_none() {
        return text;
    }
    before_small_talk(rest)
}

fn small_talk(clauses: &[Clause], facts: &Facts<'_>) -> Option<Understanding> {
    let lang = facts.lang;
    let all = || clauses.iter().flat_map(|clause| &clause.verbs);
    let bare = clauses.iter().all(|clause| {
        clause.names.is_empty()
            && clause.whens.is_empty()
            && clause.unknown.is_empty()
            && clause.quoted.is_empty()
    });
    if all().any(|(verb, not)| *verb == Verb::Help && !not) && bare {
        return Some(Understanding::Answer(answer::help(facts)));
    }
    let only = |wanted: Verb| {
        !all().collect::<Vec<_>>().is_empty() && all().all(|(verb, _)| *verb == wanted)
    };
    if bare && only(Verb::Thank) {
        return Some(Understanding::Answer(
            lang.pick("You are welcome.", "不客气。").into(),
        ));
    }
    if bare
        && all().any(|(verb, _)| *verb == Verb::Greet)
        && all().all(|(verb, _)| matches!(verb, Verb::Greet | Verb::Thank))
    {
        return Some(Understanding::Answer(lang.pick(
            "Hello! I place what you want to do around your courses. Say “help” to see what I understand.",
            "你好！我负责把你要做的事安排到课程之间。说“帮助”可以看到我能听懂什么。",
        ).into()));
    }
    None
}

/// Returns the first time of day among tokens: the hour, the minute, and true if it is certain which
/// half of the day it is.
pub(super) fn clock_of(tokens: &[Token]) -> Option<ClockWords> {
    let mut last_is_at = false;
    for token in tokens {
        match &token.kind {
            Kind::Clock(hour, minute, sure) => return Some((*hour, *minute, *sure)),
            Kind::Number(hour) if last_is_at => {
                let hour = i8::try_from(*hour).ok();
                return Some((hour.filter(|hour| (0..24).contains(hour))?, 0, false));
            }
            _ => {}
        }
        last_is_at = token.text == "at" || token.text == "by";
    }
    None
}

/// Returns the first part of a day among tokens.
pub(super) fn part_of(tokens: &[Token]) -> Option<Part> {
    tokens.iter().find_map(|token| match token.kind {
        Kind::Part(part) => Some(part),
        _ => None,
    })
}

/// Returns the positions and lengths of times of day in a normal text.
pub(super) fn times_of(text: &str, facts: &Facts<'_>) -> Vec<(usize, usize)> {
    let (mut found, mut at) = (vec![], 0);
    let mut last_is_at = false;
    for token in tokens(text, facts) {
        let Some(here) = text.get(at..).and_then(|rest| rest.find(&token.text)) else {
            continue;
        };
        let start = at + here;
        at = start + token.text.len();
        let is_time = match token.kind {
            Kind::Clock(..) | Kind::Part(_) => true,
            Kind::Number(_) => last_is_at,
            _ => false,
        };
        if is_time {
            found.push((start, token.text.len()));
        }
        last_is_at = token.text == "at";
    }
    found
}

/// Resolves what a clause is about to the items that are meant.
///
/// # Errors
/// Returns the refusal of a name that means nothing, or too much.
pub(super) fn objects(clause: &Clause, facts: &Facts<'_>) -> Result<BTreeSet<u32>, Understanding> {
    let words = Words::of(facts);
    let lang = facts.lang;
    let source = clause.when(Role::From);
    let mut found = BTreeSet::new();
    for name in clause.objects() {
        let classes = name.classes.iter();
        let class_items = classes.flat_map(|class| items_of(facts.schedule, *class));
        let class_items: BTreeSet<u32> = class_items.collect();
        if name.exact && !name.items.is_empty() {
            found.extend(&name.items);
            continue;
        }
        if !name.classes.is_empty() && (name.items.is_empty() || name.items.is_subset(&class_items))
        {
            found.extend(class_items.iter().copied().filter(|id| is_open(*id, facts)));
            continue;
        }
        let mut items = name.items.clone();
        // 把精读都推迟一周: all that the name can mean.
        if items.len() > 1 && (clause.again || clause.nouns.contains(&Noun::All)) {
            found.extend(items.into_iter().filter(|id| is_open(*id, facts)));
            continue;
        }
        if items.len() > 1 {
            let narrowed: BTreeSet<u32> = items
                .iter()
                .copied()
                .filter(|id| {
                    let task = facts.schedule.task(*id);
                    task.is_some_and(|task| {
                        source.is_some_and(|when| task.slots.iter().any(|slot| when.meets(slot)))
                    })
                })
                .collect();
            if !narrowed.is_empty() {
                items = narrowed;
            }
        }
        if items.len() > 1 {
            let open: BTreeSet<u32> = items
                .iter()
                .copied()
                .filter(|id| is_open(*id, facts))
                .collect();
            if open.len() == 1 {
                items = open;
            }
        }
        match items.len() {
            1 => found.extend(items),
            0 => {
                let course = name.courses.first().copied().unwrap_or_default();
                return Err(fixed_course(course, facts));
            }
            _ => {
                let list = words.names(items);
                return Err(Understanding::Refusal(lang.pick(
                    format!("Which one do you mean: {list}? Nothing was changed."),
                    format!("你指的是哪一个：{list}？没有改动任何内容。"),
                )));
            }
        }
    }
    Ok(found)
}

/// Says that a course stays where it is.
pub(super) fn fixed_course(course: u32, facts: &Facts<'_>) -> Understanding {
    let named = Words::of(facts).names([course]);
    Understanding::Refusal(facts.lang.pick(
        format!("{named} is a fixed course, so it cannot be changed here. Nothing was changed."),
        format!("{named}是固定课程，不能在这里改动。没有改动任何内容。"),
    ))
}

/// Returns true if an item is not done and does not lie in the past.
pub(super) fn is_open(id: u32, facts: &Facts<'_>) -> bool {
    facts.schedule.task(id).is_some_and(|task| {
        !task.marks.done
            && !task.locked
            && task.slots.iter().all(|slot| plan::is_ahead(slot, facts))
    })
}
