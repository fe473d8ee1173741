//! Clauses that belong together: what completes a wish, what limits it, and what says it again.
use fugato::words::has_any_word;

use super::{
    super::{
        lex::{LISTS, Noun, Verb, permits},
        when::When,
    },
    Clause, Role,
};

/// Lets "do not put it on Monday, put it on Tuesday" and "on Tuesday, not on Monday" be one wish, which
/// goes to one time and not to another.
pub(super) fn with_other_places(clauses: Vec<Clause>) -> Vec<Clause> {
    let mut said: Vec<Clause> = vec![];
    for clause in clauses {
        let joins = |before: &Clause| {
            let first = before.denies_where() && clause.says_where();
            let denied = clause.denies_where() && clause.begins_with_denial();
            let last = before.says_where() && (denied || clause.denies_verb_of(before));
            // "Not on Friday, Saturday" may deny both.
            first && (!clause.verbs.is_empty() || clause.is_set_against()) || last
        };
        let is_of_one = |before: &Clause| before.names.is_empty() != clause.names.is_empty();
        let Some(before) = said.pop_if(|it| is_of_one(it) && joins(it)) else {
            said.push(clause);
            continue;
        };
        let (mut other, mut there) = if before.says_where() {
            (clause, before)
        } else {
            (before, clause)
        };
        there.nouns.remove(&Noun::It);
        there.verbs = vec![(Verb::Move, false)];
        (there.is_limit, other.is_limit) = (false, false);
        for (_, role) in &mut there.whens {
            *role = if *role == Role::At { Role::To } else { *role };
        }
        for (_, role) in &mut there.names {
            *role = Role::At;
        }
        for (when, role) in &mut other.whens {
            // "Not this Friday, next Friday".
            when.every = None;
            *role = Role::Not;
        }
        for (_, role) in &mut other.names {
            *role = Role::At;
        }
        complete(&mut there, other);
        said.push(there);
    }
    said
}

impl Clause {
    /// Returns true if a clause says that something may go somewhere.
    fn goes(&self) -> bool {
        has_any_word(&self.text, &LISTS.wishes.goes)
    }

    /// Returns true if a clause wants nothing but that something lies somewhere, or not there.
    fn only_puts(&self) -> bool {
        let puts =
            |(verb, _): &(Verb, bool)| matches!(verb, Verb::Place | Verb::Move | Verb::Study);
        let all = [Noun::All, Noun::Off, Noun::Pending];
        let is_of_one = self.names.len() < 2 && !all.iter().any(|noun| self.nouns.contains(noun));
        is_of_one && !self.is_reason && !self.whens.is_empty() && self.verbs.iter().all(puts)
    }

    fn says_where(&self) -> bool {
        let goes =
            |(_, role): &(When, Role)| !matches!(role, Role::Not | Role::Except | Role::Only);
        let plain = !self.is_negated && self.verbs.iter().all(|(_, not)| !not);
        self.only_puts() && plain && self.whens.iter().all(goes)
    }

    fn denies_where(&self) -> bool {
        let denies = |(_, role): &(When, Role)| *role == Role::Not;
        let denied = !self.verbs.is_empty() && self.verbs.iter().all(|(_, not)| *not);
        // "Don't put anything on Friday" is a wish of its own.
        let is_of_one = !self.names.is_empty()
            || self.verbs.is_empty()
            || self.is_limit
            || self.nouns.contains(&Noun::It)
            || self.text.trim_start().starts_with('不');
        let plain = is_of_one && self.queries.is_empty() && !self.names_nothing();
        self.only_puts() && plain && (denied || self.whens.iter().all(denies))
    }

    /// Returns true if a clause denies of another time what one said: 周六做，周五不做.
    fn denies_verb_of(&self, said: &Self) -> bool {
        let denied = self.verbs.iter().all(|(_, not)| *not) && !self.verbs.is_empty();
        let verb = self
            .text
            .trim_end()
            .split_once('不')
            .map_or("", |(_, verb)| verb);
        let again = !verb.is_empty() && said.text.contains(verb);
        denied && again && self.only_puts() && self.names.is_empty() && !said.names.is_empty()
    }

    /// Returns true if what is denied follows: 不放周日, and not 周日不排, which is about the day.
    fn begins_with_denial(&self) -> bool {
        let text = self.text.trim_start();
        let lead = ["but please ", "but ", "但是", "但", "不过", "可是"];
        let lead = lead.iter().find_map(|lead| text.strip_prefix(lead));
        let text = lead.unwrap_or(text).trim_start();
        let is_limit = self.is_limit && self.verbs.is_empty();
        is_limit
            || ["not ", "don't ", "never ", "不", "别", "没"]
                .iter()
                .any(|it| text.starts_with(it))
    }

    /// Returns true if a clause sets something against what is denied: "but on Tuesday", 是周一.
    fn is_set_against(&self) -> bool {
        let text = self.text.trim_start();
        self.is_limit
            || ["it's ", "it is ", "是", "在"]
                .iter()
                .any(|it| text.starts_with(it))
    }
}

/// Lets a "not" beside times that may be used say that these may not: "I can on Thursday, not on Friday".
pub(super) fn with_denied_times(mut clauses: Vec<Clause>) -> Vec<Clause> {
    let mut of_item = false;
    for clause in &mut clauses {
        // 行列式周四可以，周五不行 is about the item, and not about the days.
        if of_item && clause.names.is_empty() && clause.has(Verb::Busy) {
            clause.unknown.push(clause.text.clone());
        }
        let fine = |word: &String| !word.is_ascii() && clause.text.trim_end().ends_with(word);
        of_item = !clause.names.is_empty() && permits().iter().any(fine);
    }
    if !clauses.iter().any(|clause| clause.permits) {
        return clauses;
    }
    let denied = clauses.iter_mut().filter(|it| it.only_denies_times());
    for clause in denied {
        clause.verbs.push((Verb::Busy, false));
        (clause.is_negated, clause.is_limit) = (false, false);
        for (_, role) in &mut clause.whens {
            if matches!(role, Role::Not | Role::Except) {
                *role = Role::At;
            }
        }
    }
    clauses
}

/// Lets "I am here on Wednesday morning, not in the afternoon" say which afternoon: that of the day that
/// the clause before names.
pub(super) fn with_days_of_topics(mut clauses: Vec<Clause>) -> Vec<Clause> {
    for at in 1..clauses.len() {
        let (before, behind) = clauses.split_at_mut(at);
        let (Some(topic), Some(clause)) = (before.last(), behind.first_mut()) else {
            continue;
        };
        let day = topic.whens.iter().find(|(when, _)| when.days.is_some());
        let is_free = clause.has(Verb::Busy) || clause.has(Verb::Free);
        let (Some((day, _)), true, true) = (day, topic.permits, is_free) else {
            continue;
        };
        for (when, _) in clause.whens.iter_mut().filter(|(it, _)| it.days.is_none()) {
            (when.days, when.every) = (day.days.clone(), day.every.clone());
        }
    }
    clauses
}

/// Lets "keep Saturdays free, except this one" except the next of the days that the clause before names.
pub(super) fn with_excepted_days(mut clauses: Vec<Clause>) -> Vec<Clause> {
    const NEXT: [&str; 5] = ["this", "the next", "next", "这", "下"];
    for at in 1..clauses.len() {
        let (before, behind) = clauses.split_at_mut(at);
        let (Some(topic), Some(clause)) = (before.last(), behind.first_mut()) else {
            continue;
        };
        let plain = clause.verbs.is_empty() && clause.nouns.iter().all(|noun| *noun == Noun::It);
        let plain = plain && clause.unknown.is_empty() && clause.quoted.is_empty();
        let points = NEXT.iter().any(|word| clause.text.contains(word));
        let mut weekly = topic.whens.iter().map(|(when, _)| when.weekly());
        let weekly = weekly.find(|when| when.days.as_ref().is_some_and(|days| days.len() > 1));
        let next = weekly.and_then(|when| when.days?.first().copied());
        if let Some(day) = next.filter(|_| clause.excepts_something() && plain && points) {
            clause.nouns.clear();
            clause.is_negated = false;
            clause.whens.push((When::on(day), Role::Except));
        }
    }
    clauses
}

/// Lets "move everything except the essay to Friday" and "everything except the essay can go next week" say
/// where everything goes.
pub(super) fn with_excepted_names(mut clauses: Vec<Clause>) -> Vec<Clause> {
    for at in 1..clauses.len() {
        let (before, behind) = clauses.split_at_mut(at);
        let (Some(wish), Some(clause)) = (before.last_mut(), behind.first_mut()) else {
            continue;
        };
        let excepts = |(_, role): &(_, Role)| *role == Role::Except;
        let named = clause.verbs.is_empty() && !clause.names.is_empty();
        if wish.verbs.is_empty() && wish.nouns.iter().eq([&Noun::All]) && clause.goes() {
            wish.verbs.push((Verb::Move, false));
            for (_, role) in &mut clause.whens {
                *role = if *role == Role::At { Role::To } else { *role };
            }
        }
        let goes = |(_, role): &(When, Role)| matches!(role, Role::From | Role::To);
        let wants = !wish.verbs.is_empty() && !wish.whens.iter().any(|(_, it)| *it == Role::To);
        if named && clause.names.iter().all(excepts) && clause.whens.iter().all(goes) && wants {
            wish.whens.append(&mut clause.whens);
        }
    }
    clauses
}

/// Lets what leaves times out of a day that is to be free be a part of that wish.
pub(super) fn with_parts_of_days(clauses: Vec<Clause>) -> Vec<Clause> {
    let mut said: Vec<Clause> = vec![];
    for mut clause in clauses {
        let free = said.iter_mut().rfind(|it| !it.is_reason);
        let Some(free) = free.filter(|it| it.frees_days() && clause.is_part_of_day(it)) else {
            said.push(clause);
            continue;
        };
        let keeps = clause.has(Verb::Keep).then(|| {
            // "But leave the morning as it is": nothing goes there, either.
            let days = free.whens.iter().find_map(|(when, _)| when.days.clone());
            let mut kept = clause.clone();
            for (when, _) in &mut kept.whens {
                when.days.clone_from(&days);
            }
            kept.is_limit = true;
            kept
        });
        for (_, role) in &mut clause.whens {
            if matches!(role, Role::At | Role::To | Role::Not) {
                *role = Role::Except;
            }
        }
        let text = free.text.clone();
        complete(free, clause);
        // What denies the part denies no more than that.
        free.text = text;
        said.extend(keeps);
    }
    said
}

/// Separates what is wanted from the limits on it, clause by clause.
fn parted(clauses: Vec<Clause>) -> (Vec<Clause>, Vec<Clause>) {
    let frees = |clause: &Clause| {
        let is_wish = clause.has(Verb::Free) && !clause.has(Verb::Keep) && !clause.is_limit;
        is_wish && clause.names.is_empty() && !clause.whens.is_empty()
    };
    let acts = |clause: &Clause| {
        // "I do not want to study algebra tonight" wants it elsewhere.
        let leaves = clause.denies(Verb::Study) && !clause.is_limit;
        let leaves = leaves && clause.objects().next().is_some() && !clause.whens.is_empty();
        leaves
            || frees(clause)
            || clause.denies(Verb::Done)
            || clause.verbs.iter().any(|(verb, not)| {
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
        // "I am busy on Friday, free it": the second says nothing more.
        let bare = clause.names.is_empty() && clause.whens.is_empty() && clause.unknown.is_empty();
        if bare && clause.has(Verb::Free) && wishes.iter().any(|wish| wish.has(Verb::Busy)) {
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
                    .all(|(_, role)| !matches!(role, Role::Not | Role::Except | Role::Only));
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
    (wishes, limits)
}

/// Separates what is wanted from the limits on it, and leaves out what is said twice.
pub(super) fn split(clauses: Vec<Clause>) -> (Vec<Clause>, Vec<Clause>) {
    let (mut wishes, mut limits) = parted(clauses);
    // What only asks to see to it adds nothing to a day that is to be free.
    let bare =
        |wish: &Clause| wish.names.is_empty() && wish.whens.is_empty() && wish.unknown.is_empty();
    // "Too crowded, spread it out" and "drop it" after "remove the bike" say one thing twice.
    let mut said: Vec<Verb> = vec![];
    wishes.retain(|wish| {
        let verbs = wish.verbs.iter().map(|(verb, _)| *verb);
        let again =
            bare(wish) && !wish.verbs.is_empty() && verbs.clone().all(|it| said.contains(&it));
        said.extend(verbs);
        !again
    });
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
    // "I feel ill, I cannot do anything tomorrow": the second says when.
    let timed = wishes.iter().any(|wish| !wish.whens.is_empty());
    if frees && !timed && wishes.iter().all(bare) && limits.iter().any(|it| !it.whens.is_empty()) {
        return (vec![], limits);
    }
    if frees {
        wishes.retain(|wish| {
            let bare = bare(wish);
            let sees_to = wish.verbs.iter().all(|(verb, _)| {
                matches!(
                    verb,
                    Verb::Move | Verb::Place | Verb::Later | Verb::Rearrange | Verb::Free
                )
            });
            !(bare && sees_to && timed)
        });
        // "Free Wednesday, but leave algebra where it is": the second limits the first.
        if !wishes.iter().all(Clause::keeps) {
            limits.extend(wishes.extract_if(.., |wish| wish.keeps()));
        }
    }
    // "Free the weekend, except Sunday morning", and 除了周一，下周都空出来.
    if let Some(first) = wishes
        .first_mut()
        .filter(|wish| wish.has(Verb::Free) || wish.has(Verb::Busy))
    {
        let excepts = |clause: &mut Clause| {
            let only_days = clause.verbs.is_empty() && clause.names.is_empty();
            let all = clause.whens.iter().all(|(_, role)| *role == Role::Except);
            only_days && all && !clause.whens.is_empty()
        };
        for excepted in limits.extract_if(.., excepts) {
            complete(first, excepted);
        }
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
                    .all(|(_, role)| !matches!(role, Role::Not | Role::Except | Role::Only))
        });
        if let Some(at) = topics {
            let mut topic = limits.remove(at);
            // "I do not need the bike any more, drop it": "it" is what is not needed.
            if first.nouns.contains(&Noun::It) {
                for (_, role) in topic
                    .names
                    .iter_mut()
                    .filter(|(_, role)| *role == Role::Not)
                {
                    *role = Role::At;
                }
            }
            complete(first, topic);
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
    clause.introduced = clause.introduced.take().or(more.introduced);
    clause.text = format!("{} {}", clause.text, more.text);
}
