//! From tokens to what a person wants. Every token of a wish is used, or the wish is refused and
//! the token named.
use std::collections::BTreeSet;

use fugato::words::DayReference;
use jiff::civil::Time;

use super::{
    Facts, Understanding, answer,
    lex::{Kind, Noun, Part, Query, Relation, Token, Verb, tokens},
    names::{Names, Ref},
    plan::{self, Limits},
    when::{self, When},
    words::Words,
};

/// The part that days, times or names play in a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// What it is about, or where it is.
    At,
    /// Where it goes.
    To,
    /// Where it comes from.
    From,
    /// Earlier than this.
    Before,
    /// Not later than this.
    By,
    /// Later than this.
    After,
    /// Not this.
    Not,
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
    pub(super) is_question: bool,
    /// True if it gives a reason only.
    pub(super) is_reason: bool,
    /// The condition under which it holds.
    pub(super) condition: Option<String>,
    /// True if "but" or "except" introduces it.
    pub(super) is_limit: bool,
    /// True if a "not" belongs to nothing else.
    pub(super) is_negated: bool,
    pub(super) again: bool,
    pub(super) text: String,
    /// What stands after "add", as it was written.
    pub(super) added: String,
}

impl Clause {
    pub(super) fn has(&self, verb: Verb) -> bool {
        self.verbs.iter().any(|(known, not)| *known == verb && !not)
    }

    pub(super) fn denies(&self, verb: Verb) -> bool {
        self.verbs.iter().any(|(known, not)| *known == verb && *not)
    }

    /// Returns true for a clause such as "my sister is visiting".
    fn is_excuse(&self) -> bool {
        let mine = [
            "my ", "i ", "i'm ", "we ", "our ", "there", "it's ", "我", "家里", "有人", "朋友",
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

    fn is_empty(&self) -> bool {
        self.verbs.is_empty()
            && self.queries.is_empty()
            && self.nouns.is_empty()
            && self.names.is_empty()
            && self.whens.is_empty()
            && self.unknown.is_empty()
            && self.quoted.is_empty()
            && self.condition.is_none()
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
        return answer::answer(&merged(&clauses), facts);
    }
    let (wishes, limits) = split(clauses);
    if wishes.is_empty() {
        return plan::limits_alone(&limits, facts);
    }
    let bounds = match limits_of(&limits, facts) {
        Ok(bounds) => bounds,
        Err(refusal) => return refusal,
    };
    plan::plan(&wishes, &bounds, facts)
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
        all.is_negated |= clause.is_negated;
    }
    all
}

/// Separates what is wanted from the limits on it.
fn split(clauses: Vec<Clause>) -> (Vec<Clause>, Vec<Clause>) {
    let acts = |clause: &Clause| {
        clause.verbs.iter().any(|(verb, not)| {
            !not && !matches!(
                verb,
                Verb::Keep | Verb::Study | Verb::Greet | Verb::Thank | Verb::Free | Verb::Show
            )
        })
    };
    let any = clauses
        .iter()
        .any(|clause| acts(clause) && !clause.is_limit);
    let (mut wishes, mut limits): (Vec<Clause>, Vec<Clause>) = (vec![], vec![]);
    for clause in clauses {
        if clause.is_reason {
            continue;
        }
        let only_thanks = clause
            .verbs
            .iter()
            .all(|(verb, _)| matches!(verb, Verb::Greet | Verb::Thank))
            && clause.names.is_empty()
            && clause.whens.is_empty()
            && clause.unknown.is_empty();
        if only_thanks && !clause.verbs.is_empty() {
            continue;
        }
        let restricts = clause.is_limit || (any && !acts(&clause));
        if restricts && any {
            // Words without a verb complete the wish before them.
            let completes = clause.verbs.is_empty()
                && !clause.is_limit
                && !clause.is_negated
                && clause
                    .whens
                    .iter()
                    .all(|(_, role)| !matches!(role, Role::Not | Role::Only));
            match wishes.last_mut() {
                Some(last) if completes => complete(last, clause),
                _ => limits.push(clause),
            }
            continue;
        }
        // A topic before its verb: "next Wednesday evening, free it".
        match wishes.last_mut() {
            Some(last) if last.verbs.is_empty() && !clause.verbs.is_empty() => {
                let topic = std::mem::replace(last, clause);
                complete(last, topic);
            }
            Some(last) if clause.verbs.is_empty() => complete(last, clause),
            _ => wishes.push(clause),
        }
    }
    // What only asks to see to it adds nothing to a day that is to be free.
    let bare =
        |wish: &Clause| wish.names.is_empty() && wish.whens.is_empty() && wish.unknown.is_empty();
    // "It is not done, take the mark away" says one thing.
    if wishes
        .iter()
        .any(|wish| wish.has(Verb::Undone) || wish.denies(Verb::Done))
    {
        wishes.retain(|wish| {
            let marks =
                |(verb, _): &(Verb, bool)| matches!(verb, Verb::Done | Verb::Cancel | Verb::Delete);
            !(bare(wish) && !wish.verbs.is_empty() && wish.verbs.iter().all(marks))
        });
    }
    let frees = wishes
        .iter()
        .any(|wish| wish.has(Verb::Busy) || wish.has(Verb::Free));
    if frees {
        wishes.retain(|wish| {
            let bare = bare(wish);
            let sees_to = wish.verbs.iter().all(|(verb, _)| {
                matches!(
                    verb,
                    Verb::Move | Verb::Place | Verb::Later | Verb::Rearrange
                )
            });
            !(bare && sees_to)
        });
    }
    // A topic that came first and was taken for a limit.
    if let Some(first) = wishes.first_mut() {
        let bare = first.names.is_empty() && first.whens.is_empty();
        let topics = limits.iter().position(|clause| {
            let mild = clause
                .verbs
                .iter()
                .all(|(verb, _)| matches!(verb, Verb::Show | Verb::Study | Verb::Place));
            (clause.verbs.is_empty() || bare && mild && !clause.names.is_empty())
                && !clause.is_limit
                && !clause.is_negated
                && clause
                    .whens
                    .iter()
                    .all(|(_, role)| !matches!(role, Role::Not | Role::Only))
        });
        if let Some(at) = topics {
            complete(first, limits.remove(at));
        }
    }
    (wishes, limits)
}

fn complete(clause: &mut Clause, more: Clause) {
    clause.names.extend(more.names);
    clause.whens.extend(more.whens);
    clause.nouns.extend(more.nouns);
    clause.amounts.extend(more.amounts);
    clause.quoted.extend(more.quoted);
    clause.unknown.extend(more.unknown);
    clause.text = format!("{} {}", clause.text, more.text);
}

/// Returns the limits that clauses set, or a refusal that names what is not understood.
fn limits_of(clauses: &[Clause], facts: &Facts<'_>) -> Result<Limits, Understanding> {
    let mut limits = Limits::default();
    for clause in clauses {
        if let Some(word) = clause.unknown.first() {
            return Err(not_understood(word, facts));
        }
        let free = clause.verbs.iter().any(|(verb, not)| {
            matches!(verb, Verb::Free | Verb::Busy) && !not
                || matches!(verb, Verb::Place | Verb::Study | Verb::Move | Verb::Add) && *not
        }) || clause.nouns.contains(&Noun::Off);
        let keep_verb = clause.verbs.iter().any(|(verb, not)| {
            *verb == Verb::Keep
                || matches!(
                    verb,
                    Verb::Move | Verb::Delete | Verb::Cancel | Verb::Rearrange | Verb::Swap
                ) && *not
        });
        let keeps = clause.verbs.iter().any(|(verb, not)| {
            *verb == Verb::Keep
                || matches!(
                    verb,
                    Verb::Move | Verb::Delete | Verb::Cancel | Verb::Rearrange | Verb::Swap
                ) && *not
        }) || clause.is_negated
            || clause.is_limit;
        let mut used = false;
        for (when, role) in &clause.whens {
            used = true;
            match role {
                Role::Not => {
                    limits.closed.push(when.clone());
                    if keep_verb {
                        limits.still.push(when.clone());
                    }
                }
                Role::Only => limits.only.push(when.clone()),
                Role::Before => limits.before.push(when.clone()),
                Role::By => limits.by.push(when.clone()),
                Role::After => limits.after.push(when.clone()),
                Role::At | Role::To | Role::From if free => limits.closed.push(when.clone()),
                Role::At | Role::From
                    if (keep_verb || clause.is_negated) && clause.names.is_empty() =>
                {
                    limits.closed.push(when.clone());
                    limits.still.push(when.clone());
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
            if !(keeps || clause.is_negated) {
                return Err(not_understood(&clause.text, facts));
            }
            limits.kept.extend(expand(name, facts));
        }
        let redundant = clause.nouns.contains(&Noun::All) && keeps
            || clause
                .verbs
                .iter()
                .all(|(verb, not)| *not && matches!(verb, Verb::Place | Verb::Study | Verb::Move));
        if !used && !redundant && !clause.verbs.iter().all(|(verb, _)| *verb == Verb::Show) {
            return Err(not_understood(&clause.text, facts));
        }
    }
    Ok(limits)
}

/// Returns all items that a name can mean.
pub(super) fn expand(name: &Ref, facts: &Facts<'_>) -> BTreeSet<u32> {
    let names = Names::of(facts.schedule);
    let classes = name
        .classes
        .iter()
        .flat_map(|class| names.items_of(*class).collect::<Vec<_>>());
    name.items.iter().copied().chain(classes).collect()
}

/// Says that something was not understood.
pub(super) fn not_understood(part: &str, facts: &Facts<'_>) -> Understanding {
    let part = part.trim();
    let lang = facts.lang;
    let help = lang.pick(
        "Try “move … to Friday”, “free Wednesday evening”, “what do I have on Monday”, or “help”.",
        "可以这样说：“把……挪到周五”、“周三晚上空出来”、“周一有什么安排”，或者“帮助”。",
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

/// Returns the only time of day among tokens.
pub(super) fn clock_of(tokens: &[Token], facts: &Facts<'_>) -> Option<Time> {
    let near = part_of(tokens);
    let mut last_is_at = false;
    for token in tokens {
        match &token.kind {
            Kind::Clock(hour, minute, sure) => {
                return when::time(*hour, *minute, *sure, near, facts);
            }
            Kind::Number(hour) if last_is_at => {
                let hour = i8::try_from(*hour)
                    .ok()
                    .filter(|hour| (0..24).contains(hour))?;
                return when::time(hour, 0, false, near, facts);
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

/// Splits tokens into clauses.
fn clauses(tokens: &[Token], facts: &Facts<'_>) -> Vec<Clause> {
    let mut parts: Vec<Vec<Token>> = vec![vec![]];
    let mut question = false;
    for (at, token) in tokens.iter().enumerate() {
        let rest = tokens.get(at + 1..).unwrap_or_default();
        let begins_verb = |rest: &[Token]| {
            let first = rest.iter().find(|token| token.kind != Kind::Filler);
            first.is_some_and(|token| {
                matches!(token.kind, Kind::Verb(_) | Kind::Relation(Relation::Not))
            })
        };
        let current = parts.last().map(Vec::as_slice).unwrap_or_default();
        let cut = match &token.kind {
            Kind::Relation(Relation::Then) => begins_verb(rest) && has_verb(current),
            Kind::Stop(_)
            | Kind::Pause
            | Kind::Relation(
                Relation::But
                | Relation::If
                | Relation::Unless
                | Relation::Reason
                | Relation::Except,
            ) => true,
            Kind::Relation(Relation::With) => {
                (begins_verb(rest) && has_verb(current)) || is_second_wish(current, rest)
            }
            _ => false,
        };
        question |= token.kind == Kind::Stop(true);
        if cut {
            // "的话" ends its clause; other words begin theirs.
            let ends = token.text == "的话"
                || token.text == "除外"
                || token.text == "以外"
                || token.text == "之外";
            if ends {
                if let Some(last) = parts.last_mut() {
                    last.insert(0, token.clone());
                }
                parts.push(vec![]);
                continue;
            }
            parts.push(vec![]);
            if matches!(
                token.kind,
                Kind::Relation(
                    Relation::But
                        | Relation::If
                        | Relation::Unless
                        | Relation::Reason
                        | Relation::Except
                )
            ) {
                parts.push(vec![token.clone()]);
            }
            continue;
        }
        if let Some(last) = parts.last_mut() {
            last.push(token.clone());
        }
    }
    let mut clauses: Vec<Clause> = vec![];
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let mut clause = clause(part, facts);
        // "A to Friday and B to Saturday": one verb for both.
        if clause.verbs.is_empty()
            && !clause.names.is_empty()
            && clause.when(Role::To).is_some()
            && let Some(last) = clauses.last()
            && last.has(Verb::Move)
        {
            clause.verbs.push((Verb::Move, false));
        }
        if !clause.is_empty() {
            clauses.push(clause);
        }
    }
    let shows = clauses.iter().any(|clause| clause.has(Verb::Show));
    let acts = clauses
        .iter()
        .flat_map(|clause| &clause.verbs)
        .any(|(verb, not)| {
            !not && !matches!(
                verb,
                Verb::Show | Verb::Keep | Verb::Study | Verb::Greet | Verb::Thank | Verb::Help
            )
        });
    let asks = question || is_asked(tokens) || (shows && !acts);
    // Somebody who wants a day free may say why.
    if clauses
        .iter()
        .any(|clause| clause.has(Verb::Free) || clause.has(Verb::Busy))
    {
        for clause in &mut clauses {
            clause.is_reason |= clause.is_excuse();
        }
    }
    if asks && !is_polite(tokens) {
        for clause in &mut clauses {
            clause.is_question = true;
        }
    }
    clauses
}

fn has_verb(tokens: &[Token]) -> bool {
    tokens
        .iter()
        .any(|token| matches!(token.kind, Kind::Verb(_)))
}

/// Returns true if both sides name a thing and a destination.
fn is_second_wish(current: &[Token], rest: &[Token]) -> bool {
    let name = |tokens: &[Token]| {
        tokens
            .iter()
            .any(|token| matches!(token.kind, Kind::Name(_)))
    };
    let to = |tokens: &[Token]| {
        tokens
            .iter()
            .any(|token| token.kind == Kind::Relation(Relation::To))
            && tokens
                .iter()
                .any(|token| matches!(token.kind, Kind::Days(..) | Kind::Clock(..) | Kind::Part(_)))
    };
    name(current) && to(current) && name(rest) && to(rest)
}

/// Returns true if the words ask something without a sign that says so.
fn is_asked(tokens: &[Token]) -> bool {
    const FIRST: [&str; 11] = [
        "is", "are", "am", "does", "did", "was", "were", "has", "should", "shall", "isn't",
    ];
    let mut said = tokens
        .iter()
        .filter(|token| token.kind != Kind::Stop(false));
    let first = said.next();
    let second = said.next().map_or("", |token| token.text.as_str());
    let mine = ["do", "have"]
        .iter()
        .any(|word| first.is_some_and(|token| token.text == *word))
        && ["i", "you", "we"].contains(&second);
    let asks = mine
        || first.is_some_and(|token| {
            FIRST.contains(&token.text.as_str())
                || ["do i", "do you"].contains(&token.text.as_str())
                || matches!(token.kind, Kind::Query(_))
        });
    let queries = tokens.iter().any(|token| {
        matches!(
            token.kind,
            Kind::Query(
                Query::What | Query::When | Query::Why | Query::Count | Query::Where | Query::Who
            )
        ) && token.text != "anything"
            && token.text != "something"
    });
    let ends = tokens
        .iter()
        .rev()
        .find(|token| !matches!(token.kind, Kind::Stop(_)));
    let signed = ends.is_some_and(|token| ["吗", "呢", "么"].contains(&token.text.as_str()));
    asks || queries || signed
}

/// Returns true if a question is a polite wish.
fn is_polite(tokens: &[Token]) -> bool {
    // "I am ill, can you see to it?" tells something.
    let tells = tokens
        .iter()
        .any(|token| matches!(token.kind, Kind::Verb(Verb::Busy)));
    if tells
        && tokens.iter().any(|token| {
            ["can", "could", "would", "please", "帮我", "能不能"].contains(&token.text.as_str())
        })
    {
        return true;
    }
    const POLITE: [&str; 14] = [
        "can",
        "could",
        "would",
        "will",
        "please",
        "能不能",
        "能否",
        "可不可以",
        "可否",
        "可以",
        "帮我",
        "麻烦",
        "能",
        "请",
    ];
    const END: [&str; 10] = [
        "好吗",
        "行吗",
        "可以吗",
        "好不好",
        "行不行",
        "吧",
        "能行吗",
        "please",
        "ok",
        "okay",
    ];
    let first = tokens
        .iter()
        .find(|token| token.text != "," && !matches!(token.kind, Kind::Verb(Verb::Greet)));
    let begins = tokens
        .iter()
        .position(|token| matches!(token.kind, Kind::Name(_) | Kind::Verb(_) | Kind::Days(..)));
    let polite = tokens
        .iter()
        .take(begins.unwrap_or(0) + 3)
        .any(|token| POLITE.contains(&token.text.as_str()));
    let ends = tokens
        .iter()
        .rev()
        .find(|token| !matches!(token.kind, Kind::Stop(_)));
    let ends = ends.is_some_and(|token| END.contains(&token.text.as_str()));
    let asks = tokens.iter().any(|token| {
        matches!(
            token.kind,
            Kind::Query(
                Query::When | Query::Why | Query::Count | Query::Where | Query::Who | Query::What
            )
        ) && token.text != "anything"
            && token.text != "something"
    });
    let acts = tokens.iter().any(|token| {
        matches!(token.kind, Kind::Verb(verb) if !matches!(verb, Verb::Show | Verb::Keep | Verb::Greet | Verb::Thank | Verb::Help))
    });
    let about_me = first.is_some_and(|token| {
        ["is", "are", "am", "did", "has", "was", "were", "does"].contains(&token.text.as_str())
    });
    (polite || ends) && acts && !asks && !about_me
}

/// Reads one clause.
fn clause(tokens: &[Token], facts: &Facts<'_>) -> Clause {
    let mut clause = Clause {
        text: said(tokens),
        ..Clause::default()
    };
    let mut reader = Reader {
        facts,
        clause: &mut clause,
        role: None,
        not: false,
        open: None,
        second: false,
    };
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += reader.take(
            token,
            tokens.get(at + 1..).unwrap_or_default(),
            tokens.get(..at).unwrap_or_default(),
        );
    }
    reader.close();
    let not = reader.not;
    clause.is_negated |= not;
    if clause.has(Verb::Add) {
        clause.added = content(tokens);
    }
    clause
}

/// Returns the text of a new item: all that is no class, no time, and no manners around it.
fn content(tokens: &[Token]) -> String {
    let is_time = |token: &Token| {
        matches!(
            token.kind,
            Kind::Days(..) | Kind::Part(_) | Kind::Clock(..) | Kind::Sections(..)
        )
    };
    let is_class =
        |token: &Token| matches!(&token.kind, Kind::Name(name) if !name.classes.is_empty());
    let leads = |token: &Token| {
        matches!(
            token.kind,
            Kind::Relation(Relation::To | Relation::On | Relation::From)
        ) || ["给", "往", "向"].contains(&token.text.as_str())
    };
    let manners = |token: &Token| {
        matches!(
            token.kind,
            Kind::Filler
                | Kind::Verb(Verb::Add)
                | Kind::Relation(Relation::Of | Relation::On | Relation::To)
                | Kind::Pause
                | Kind::Stop(_)
        ) || matches!(token.kind, Kind::Noun(Noun::Item | Noun::List))
    };
    let mut kept: Vec<&Token> = vec![];
    for token in tokens {
        let hour = matches!(token.kind, Kind::Number(_))
            && kept.last().is_some_and(|last| last.text == "at");
        if is_time(token) || is_class(token) || hour {
            while kept
                .last()
                .is_some_and(|last| leads(last) || last.text == "the" || last.text == "my")
            {
                kept.pop();
            }
            continue;
        }
        kept.push(token);
    }
    let verb = kept
        .iter()
        .position(|token| token.kind == Kind::Verb(Verb::Add));
    let (before, after) = kept.split_at(verb.unwrap_or(0));
    let trimmed = |part: &[&Token]| {
        let start = part
            .iter()
            .position(|token| !manners(token))
            .unwrap_or(part.len());
        let end = part
            .iter()
            .rposition(|token| !manners(token))
            .map_or(start, |at| at + 1);
        let part = part.get(start..end).unwrap_or_default();
        let mut text = String::new();
        for token in part {
            let latin = |c: char| c.is_ascii_alphanumeric();
            if text.ends_with(latin) && token.raw.starts_with(latin) {
                text.push(' ');
            }
            text.push_str(&token.raw);
        }
        text
    };
    let text = trimmed(after);
    if text.is_empty() {
        trimmed(before)
    } else {
        text
    }
}

fn said(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        let latin = |c: char| c.is_ascii_alphanumeric();
        if text.ends_with(latin) && token.text.starts_with(latin) {
            text.push(' ');
        }
        text.push_str(&token.text);
    }
    text
}

/// Days and times that are being read.
#[derive(Default)]
struct OpenWhen {
    references: Vec<DayReference>,
    again: bool,
    parts: Vec<Part>,
    clocks: Vec<(i8, i8, bool)>,
    sections: BTreeSet<u8>,
    from_section: Option<u8>,
    role: Option<Role>,
    not: bool,
    union: BTreeSet<u16>,
}

struct Reader<'a, 'f> {
    facts: &'a Facts<'f>,
    clause: &'a mut Clause,
    role: Option<Role>,
    not: bool,
    open: Option<OpenWhen>,
    /// True after "and", so that the next name is another one.
    second: bool,
}

impl Reader<'_, '_> {
    /// Takes a token, and returns the number of tokens that it used.
    fn take(&mut self, token: &Token, rest: &[Token], before: &[Token]) -> usize {
        let next = rest.first();
        match &token.kind {
            Kind::Filler => return 1,
            Kind::Days(reference, again) => {
                let joins = self
                    .open
                    .as_ref()
                    .is_some_and(|open| open.clocks.is_empty() || open.references.is_empty());
                if !joins {
                    self.close();
                }
                let (role, not) = (self.role.take(), std::mem::take(&mut self.not));
                let open = self.open.get_or_insert_with(OpenWhen::default);
                open.role = open.role.or(role);
                open.not |= not;
                open.again |= *again;
                open.references.push(reference.clone());
                return 1;
            }
            Kind::Part(part) => {
                let (role, not) = (self.role.take(), std::mem::take(&mut self.not));
                let open = self.open.get_or_insert_with(OpenWhen::default);
                open.role = open.role.or(role);
                open.not |= not;
                open.again |= token.text.ends_with('s') && token.text.is_ascii();
                open.parts.push(*part);
                if ["tonight", "今晚", "今早"].contains(&token.text.as_str()) {
                    open.references.push(DayReference::FromToday(0));
                } else if ["明晚", "明早"].contains(&token.text.as_str()) {
                    open.references.push(DayReference::FromToday(1));
                }
                return 1;
            }
            Kind::Clock(hour, minute, sure) => {
                self.clock(*hour, *minute, *sure);
                return 1;
            }
            Kind::Sections(first, last) => {
                let role = self.role.take();
                let open = self.open.get_or_insert_with(OpenWhen::default);
                open.role = open.role.or(role);
                open.sections.extend(*first..=*last);
                open.from_section = Some(*first);
                return 1;
            }
            Kind::Number(number) => return self.number(*number, token, next, before),
            _ => {}
        }
        let continues = matches!(
            token.kind,
            Kind::Relation(Relation::On | Relation::Of | Relation::With | Relation::Or)
        );
        if !continues {
            self.after_when(token);
        }
        match &token.kind {
            Kind::Verb(verb) => self.verb(*verb, token),
            Kind::Query(query) => {
                self.clause.queries.insert(*query);
            }
            Kind::Relation(relation) => self.relation(*relation, token, rest),
            Kind::Noun(noun) => self.noun(*noun, token),
            Kind::Name(name) => self.name(name.clone(), token),
            Kind::Quoted(text) => self.clause.quoted.push(text.clone()),
            Kind::Unknown => self.unknown(token),
            _ => {}
        }
        1
    }

    fn clock(&mut self, hour: i8, minute: i8, sure: bool) {
        let role = self.role.take();
        let not = std::mem::take(&mut self.not);
        let open = self.open.get_or_insert_with(OpenWhen::default);
        open.role = open.role.or(role);
        open.not |= not;
        open.clocks.push((hour, minute, sure));
    }

    fn number(
        &mut self,
        number: i64,
        token: &Token,
        next: Option<&Token>,
        before: &[Token],
    ) -> usize {
        let unit = next.and_then(|next| match next.kind {
            Kind::Noun(
                noun @ (Noun::Day
                | Noun::Weeks
                | Noun::Hour
                | Noun::Minute
                | Noun::Section
                | Noun::Item),
            ) => Some(noun),
            _ => None,
        });
        if let Some(unit) = unit {
            self.clause.amounts.push((number, unit));
            return 2;
        }
        let at = before.last().is_some_and(|last| {
            ["at", "by", "after", "before", "from", "to", "until"].contains(&last.text.as_str())
        });
        if at
            && let Ok(hour) = i8::try_from(number)
            && (1..=23).contains(&hour)
        {
            self.clock(hour, 0, false);
            return 1;
        }
        // "一" in "一下" and "one" in "the one" say nothing.
        if token.text == "一" || token.text == "one" {
            return 1;
        }
        self.after_when(token);
        self.clause.unknown.push(token.text.clone());
        1
    }

    /// Lets a word after days or times say what they are for: `周五之前`, `周五除外`.
    fn after_when(&mut self, token: &Token) {
        let Some(open) = &mut self.open else { return };
        if !token.text.is_ascii() {
            match token.kind {
                Kind::Relation(Relation::Before) => {
                    open.role = Some(Role::Before);
                    self.close();
                    return;
                }
                Kind::Relation(Relation::After) => {
                    open.role = Some(Role::After);
                    self.close();
                    return;
                }
                Kind::Relation(Relation::Except) => {
                    open.not = true;
                    self.close();
                    return;
                }
                _ => {}
            }
        }
        self.close();
    }

    fn verb(&mut self, verb: Verb, token: &Token) {
        let not = std::mem::take(&mut self.not);
        // "To free Friday", "to move": the word before a verb is no direction.
        self.role = self.role.take().filter(|role| *role != Role::To);
        let is_to = ["到", "在", "进", "成", "to"]
            .iter()
            .any(|end| token.text.ends_with(end));
        if is_to && !token.text.is_ascii() {
            self.role = Some(Role::To);
        }
        self.clause.verbs.push((verb, not));
        if verb == Verb::Add {
            self.clause.added.clear();
        }
    }

    fn relation(&mut self, relation: Relation, token: &Token, rest: &[Token]) {
        match relation {
            Relation::Not => self.not = !self.not || token.text == "nor",
            Relation::To => self.role = Some(Role::To),
            Relation::From => self.role = Some(Role::From),
            Relation::Before => {
                let inclusive = ["by", "no later than", "at the latest", "not after"]
                    .contains(&token.text.as_str());
                if token.text.is_ascii() || self.role.is_none() {
                    let used = !token.text.is_ascii() && self.just_closed(Role::Before);
                    if !used {
                        self.role = Some(if inclusive { Role::By } else { Role::Before });
                    }
                }
            }
            Relation::After => {
                let used = !token.text.is_ascii() && self.just_closed(Role::After);
                if !used {
                    self.role = Some(Role::After);
                }
            }
            Relation::With | Relation::Or => self.second = true,
            Relation::Only => self.role = Some(Role::Only),
            Relation::Except => {
                let used = !token.text.is_ascii()
                    && self
                        .clause
                        .whens
                        .last()
                        .is_some_and(|(_, role)| *role == Role::Not);
                self.clause.is_limit = true;
                if !used {
                    self.not = true;
                }
            }
            Relation::If | Relation::Unless => {
                self.clause.condition = Some(self.clause.text.trim().to_owned());
            }
            Relation::Reason => self.clause.is_reason = true,
            Relation::But => self.clause.is_limit = true,
            Relation::Each => {
                self.clause.again = true;
                let _ = rest;
            }
            Relation::On | Relation::Of | Relation::Then => {}
        }
    }

    fn just_closed(&self, role: Role) -> bool {
        self.clause
            .whens
            .last()
            .is_some_and(|(_, known)| *known == role)
    }

    fn noun(&mut self, noun: Noun, token: &Token) {
        if noun == Noun::Study
            && let Some(found) = self.study(token)
        {
            self.name(found, token);
            return;
        }
        self.clause.nouns.insert(noun);
        let _ = self.role.take_if(|role| matches!(role, Role::Only));
    }

    /// Returns the classes whose names have the word for revision.
    fn study(&self, token: &Token) -> Option<Ref> {
        let classes = self.facts.schedule.task_classes.iter();
        let named = classes.filter(|class| super::lex::normal(&class.name).contains(&token.text));
        let classes: BTreeSet<u32> = named.map(|class| class.id).collect();
        (!classes.is_empty()).then(|| Ref {
            classes,
            ..Ref::default()
        })
    }

    fn name(&mut self, name: Ref, _: &Token) {
        let role = self.role.take();
        let not = std::mem::take(&mut self.not);
        let role = match role {
            _ if not => Role::Not,
            Some(role @ (Role::Before | Role::After | Role::By)) => role,
            Some(Role::To) => Role::To,
            Some(Role::Only) => Role::Only,
            _ => Role::At,
        };
        let second = std::mem::take(&mut self.second);
        // Two names for one thing narrow each other: "the genetics chapter on linkage".
        if !second
            && let Some((last, known)) = self.clause.names.last_mut()
            && *known == role
        {
            let (a, b) = (expand(last, self.facts), expand(&name, self.facts));
            let both: BTreeSet<u32> = a.intersection(&b).copied().collect();
            if !both.is_empty() {
                *last = Ref {
                    items: both,
                    exact: last.exact || name.exact,
                    ..Ref::default()
                };
                return;
            }
        }
        self.clause.names.push((name, role));
    }

    fn unknown(&mut self, token: &Token) {
        // Single characters of a name that was just read belong to it.
        let belongs = self.clause.names.last().is_some_and(|(name, _)| {
            let ids = expand(name, self.facts);
            let names = ids.iter().filter_map(|id| self.facts.schedule.task(*id));
            let mut names = names.map(|task| super::lex::normal(&task.name));
            names.any(|known| {
                token.text.chars().all(|c| known.contains(c)) && !token.text.is_ascii()
            })
        });
        if !belongs {
            self.clause.unknown.push(token.text.clone());
            return;
        }
        // They may say which of several is meant.
        if let Some((name, _)) = self.clause.names.last_mut().filter(|(name, _)| !name.exact) {
            let has = |id: &u32| {
                self.facts.schedule.task(*id).is_some_and(|task| {
                    let known = super::lex::normal(&task.name);
                    token.text.chars().all(|c| known.contains(c))
                })
            };
            let items: BTreeSet<u32> = expand(name, self.facts).into_iter().filter(has).collect();
            if !items.is_empty() && items.len() < expand(name, self.facts).len() {
                *name = Ref {
                    items,
                    ..Ref::default()
                };
            }
        }
    }

    /// Ends the days and times that are being read.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let facts = self.facts;
        let mut when = When::default();
        let again = open.again || self.clause.again;
        let is_habit = open
            .references
            .iter()
            .any(|reference| matches!(reference, DayReference::Weekdays(days) if days.len() > 1));
        if !open.references.is_empty() {
            let mut days = when::days(
                &open.references,
                again || (is_habit && open.references.len() == 1),
                facts,
            );
            days.extend(open.union);
            when.days = Some(days);
            when.is_week = open.references.iter().all(|reference| {
                matches!(
                    reference,
                    DayReference::NextWeek(_) | DayReference::Weeks(..)
                )
            });
        }
        let near = open.parts.first().copied();
        if let Some((hour, minute, sure)) = open.clocks.first() {
            match when::time(*hour, *minute, *sure, near, facts) {
                Some(time) => match when::section(time, facts) {
                    Some((section, exact)) => {
                        when.starts = Some(BTreeSet::from([section]));
                        when.exact = exact;
                        when.odd = (!exact).then_some(time);
                    }
                    None => when.odd = Some(time),
                },
                None => when.odd = Some(Time::midnight()),
            }
        } else if let Some(first) = open.from_section {
            when.exact = true;
            when.starts = Some(if open.sections.len() > 2 {
                open.sections
            } else {
                BTreeSet::from([first])
            });
        } else if !open.parts.is_empty() {
            let parts = open
                .parts
                .iter()
                .flat_map(|named| when::part(*named, facts));
            when.starts = Some(parts.collect());
        }
        let role = match (open.not, open.role) {
            // "Not before ten" closes what is before ten.
            (true, Some(role @ (Role::Before | Role::By | Role::After))) => {
                when = plan::spanned(&when, role, facts);
                Role::Not
            }
            (true, _) => Role::Not,
            (false, role) => role.unwrap_or(Role::At),
        };
        // "Monday and Tuesday" are one destination.
        if std::mem::take(&mut self.second)
            && let Some((last, known)) = self.clause.whens.last_mut()
            && (*known == role || open.role.is_none())
            && (last.starts == when.starts || when.starts.is_none())
            && let (Some(days), Some(more)) = (&mut last.days, &when.days)
        {
            days.extend(more);
            return;
        }
        self.clause.whens.push((when, role));
    }
}

/// Resolves what a clause is about to the items that are meant.
///
/// # Errors
/// What has to be said where nothing, or too much, is meant.
pub(super) fn objects(clause: &Clause, facts: &Facts<'_>) -> Result<BTreeSet<u32>, Understanding> {
    let words = Words::of(facts);
    let lang = facts.lang;
    let source = clause.when(Role::From);
    let mut found = BTreeSet::new();
    for name in clause.objects() {
        let class_items: BTreeSet<u32> = name
            .classes
            .iter()
            .flat_map(|class| {
                Names::of(facts.schedule)
                    .items_of(*class)
                    .collect::<Vec<_>>()
            })
            .collect();
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
                let named = words.names(name.courses.iter().copied().take(1));
                return Err(Understanding::Refusal(lang.pick(
                    format!("{named} is a fixed course, so it cannot be changed here. Nothing was changed."),
                    format!("{named}是固定课程，不能在这里改动。没有改动任何内容。"),
                )));
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

/// Returns true if an item is not done and does not lie in the past.
pub(super) fn is_open(id: u32, facts: &Facts<'_>) -> bool {
    facts.schedule.task(id).is_some_and(|task| {
        !task.marks.done
            && !task.locked
            && task.slots.iter().all(|slot| plan::is_ahead(slot, facts))
    })
}
