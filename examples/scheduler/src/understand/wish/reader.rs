//! The reader of one clause, token by token.
use std::collections::BTreeSet;

use fugato::words::{DayReference, normalize};
use jiff::civil::Time;

use super::super::when;
use super::{
    super::{
        Facts,
        lex::{ClockWords, Kind, LISTS, Noun, Part, Relation, Token, Verb},
        names::Ref,
        plan,
        when::When,
    },
    Clause, Role,
    clauses::said,
    expand,
};
use crate::schedule::Slot;

/// Days and times that are being read.
#[derive(Default)]
pub(super) struct OpenWhen {
    references: Vec<DayReference>,
    again: bool,
    parts: Vec<Part>,
    clocks: Vec<ClockWords>,
    sections: BTreeSet<u8>,
    from_section: Option<u8>,
    /// The sections between two times of day.
    hours: BTreeSet<u8>,
    role: Option<Role>,
    not: bool,
    except: bool,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the words before"
)]
pub(super) struct Reader<'a, 'f> {
    pub(super) facts: &'a Facts<'f>,
    pub(super) clause: &'a mut Clause,
    pub(super) role: Option<Role>,
    pub(super) not: bool,
    /// True after "do not make" and 别把, which deny the verb after their object.
    pub(super) denies_verb: bool,
    /// True after a word such as "except".
    pub(super) except: bool,
    pub(super) open: Option<OpenWhen>,
    /// True after "and", so that the next name is another one.
    pub(super) second: bool,
}

/// Returns true if the words before a "free" say of the person that they are.
pub(super) fn is_free(before: &[Token]) -> bool {
    let mut before = before.iter().rev();
    let last = before
        .find(|token| !["also", "all", "totally", "completely"].contains(&token.text.as_str()));
    last.is_some_and(|it| ["i'm", "im", "am", "we're"].contains(&it.text.as_str()))
}

impl Reader<'_, '_> {
    /// Takes a token, and returns the number of tokens that it used.
    pub(super) fn take(&mut self, token: &Token, rest: &[Token], before: &[Token]) -> usize {
        let next = rest.first();
        match &token.kind {
            Kind::Filler => return 1,
            Kind::Days(reference, again) => {
                // "From Friday to Sunday" is one time, and no origin.
                if matches!(reference, DayReference::Span(..)) {
                    let _ = self.role.take_if(|role| *role == Role::From);
                }
                let joins = self
                    .open
                    .as_ref()
                    .is_some_and(|open| open.clocks.is_empty() || open.references.is_empty());
                // "Tomorrow evening or on Tuesday morning": each day has its own time.
                let other = self.second
                    && self
                        .open
                        .as_ref()
                        .is_some_and(|open| !open.references.is_empty() && !open.parts.is_empty());
                if !joins || other {
                    let second = std::mem::take(&mut self.second);
                    let last = self.open.as_ref();
                    let last = last.map(|open| (open.role, open.not, open.except));
                    self.close();
                    self.second = second;
                    if let Some((role, not, except)) = last.filter(|_| other) {
                        let open = self.opened();
                        open.role = open.role.or(role);
                        open.not |= not;
                        open.except |= except;
                    }
                }
                let open = self.opened();
                open.again |= *again;
                open.references.push(reference.clone());
                return 1;
            }
            Kind::Part(part) => {
                let open = self.opened();
                open.again |= token.text.ends_with('s') && token.text.is_ascii();
                open.parts.push(*part);
                if ["tonight", "今晚", "今早"].contains(&token.text.as_str()) {
                    open.references.push(DayReference::FromToday(0));
                } else if ["明晚", "明早"].contains(&token.text.as_str()) {
                    open.references.push(DayReference::FromToday(1));
                }
                return 1;
            }
            Kind::Hours(from, to) => {
                self.hours(*from, *to);
                return 1;
            }
            Kind::Clock(hour, minute, sure) => {
                self.clock(*hour, *minute, *sure);
                return 1;
            }
            Kind::Sections(first, last) => {
                let open = self.opened();
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
            // "I'm free on Sunday" keeps nothing free.
            Kind::Verb(Verb::Free) if is_free(before) => {}
            Kind::Verb(verb) => self.verb(*verb, token),
            Kind::Query(query) => {
                self.clause.queries.insert(*query);
            }
            Kind::Relation(Relation::Each) if is_every(token, before, rest) => {
                let last = self.clause.whens.last_mut();
                let last = last.filter(|(when, _)| when.is_one_name());
                if let Some((when, _)) = last {
                    *when = when.weekly();
                }
            }
            Kind::Relation(relation) => self.relation(*relation, token, rest),
            Kind::Noun(noun) => self.noun(*noun, token),
            Kind::Name(name) => self.name(name.clone(), token, (before, rest)),
            Kind::Quoted(text) => self.clause.quoted.push(text.clone()),
            Kind::Unknown => self.unknown(token),
            _ => {}
        }
        1
    }

    /// Takes the sections between two times of day.
    fn hours(&mut self, from: ClockWords, to: ClockWords) {
        let facts = self.facts;
        let open = self.opened();
        let near = open.parts.first().copied();
        let Some((from, to)) = when::hours(from, to, near, facts) else {
            return;
        };
        let within = |section: &u8| {
            let slot = Slot::new(1, *section, *section);
            let times = facts.sections.times(&slot);
            times.is_some_and(|(begin, end)| begin < to && from < end)
        };
        let sections: BTreeSet<u8> = (1..=facts.sections.count()).filter(within).collect();
        open.hours.extend(sections);
    }

    fn clock(&mut self, hour: i8, minute: i8, sure: bool) {
        self.opened().clocks.push((hour, minute, sure));
    }

    /// Returns the days and times that are being read, with the words that lead to them.
    fn opened(&mut self) -> &mut OpenWhen {
        let (role, not) = (self.role.take(), std::mem::take(&mut self.not));
        let except = std::mem::take(&mut self.except);
        let open = self.open.get_or_insert_with(OpenWhen::default);
        open.role = open.role.or(role);
        open.not |= not;
        open.except |= except;
        open
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
                    open.except = true;
                    self.close();
                    return;
                }
                _ => {}
            }
        }
        self.close();
    }

    fn verb(&mut self, verb: Verb, token: &Token) {
        // 照片不在周五: it is an item that is not there, and nobody who is away.
        if verb == Verb::Busy && token.text == "不在" && self.clause.objects().next().is_some() {
            self.not = true;
            return;
        }
        let denied = std::mem::take(&mut self.denies_verb) | std::mem::take(&mut self.not);
        let not = denied || std::mem::take(&mut self.except);
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
            Relation::Not if leads_to_verb(rest) => self.denies_verb = true,
            // 我不是不想做: who denies a denial wants nothing done.
            Relation::Not if self.not && token.text != "nor" => {
                self.clause.unknown.push(token.text.clone());
            }
            Relation::Not => self.not = true,
            // "I am away until Wednesday".
            Relation::To if self.clause.is_away && is_until(token) && names_days(rest) => {
                self.role = Some(Role::By);
            }
            Relation::To => {
                // "Only until five" says more than how far.
                let only = self.role.take_if(|role| *role == Role::Only);
                self.clause.unknown.extend(only.map(|_| token.text.clone()));
                self.role = Some(Role::To);
            }
            // "I need Friday off", and not "move it off Friday".
            Relation::From if token.text == "off" && self.ends(rest) => {
                self.clause.nouns.insert(Noun::Off);
            }
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
            // 以后周五下午不要排 begins with "from now on".
            Relation::After if token.text == "以后" && self.clause.is_empty() => {
                self.clause.again = true;
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
                        .is_some_and(|(_, role)| *role == Role::Except);
                self.clause.is_limit = true;
                self.except |= !used;
            }
            Relation::If | Relation::Unless => {
                self.clause.condition = Some(self.clause.text.trim().to_owned());
            }
            Relation::Reason => self.clause.is_reason = true,
            Relation::But => self.clause.is_limit = true,
            Relation::Each => {
                // 周一永远别排: the day that was named is meant in every week.
                if LISTS.wishes.forever.contains(&token.text) {
                    for (when, _) in &mut self.clause.whens {
                        *when = when.weekly();
                    }
                }
                self.clause.again = true;
            }
            Relation::On | Relation::Of | Relation::Then => {}
        }
    }

    /// Returns true if days are named and nothing but manners follows.
    fn ends(&self, rest: &[Token]) -> bool {
        let manners =
            |token: &Token| matches!(token.kind, Kind::Filler | Kind::Stop(_) | Kind::Pause);
        !self.clause.whens.is_empty() && rest.iter().all(manners)
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
            self.name(found, token, (&[], &[]));
            return;
        }
        if noun == Noun::Courses && std::mem::take(&mut self.except) {
            self.clause.leaves_out_courses = true;
            return;
        }
        self.clause.nouns.insert(noun);
        // 只空下午 is about the afternoon.
        let _ = self
            .role
            .take_if(|role| *role == Role::Only && noun != Noun::Off);
    }

    /// Returns the classes whose names have the word for revision.
    fn study(&self, token: &Token) -> Option<Ref> {
        let classes = self.facts.schedule.task_classes.iter();
        let named = classes.filter(|class| normalize(&class.name).contains(&token.text));
        let classes: BTreeSet<u32> = named.map(|class| class.id).collect();
        (!classes.is_empty()).then(|| Ref {
            classes,
            ..Ref::default()
        })
    }

    fn name(&mut self, name: Ref, token: &Token, (before, rest): (&[Token], &[Token])) {
        let led = said(before);
        if !name.exact && (introduces(&led) || tells_when(&led, rest)) {
            self.clause.introduced = Some((token.raw.clone(), name.clone()));
        }
        let role = self.role.take();
        let (not, except) = (
            std::mem::take(&mut self.not),
            std::mem::take(&mut self.except),
        );
        let role = match role {
            _ if except => Role::Except,
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
            && let Some(both) = last.narrowed(&name, self.facts)
        {
            *last = both;
            return;
        }
        self.clause.names.push((name, role));
    }

    fn unknown(&mut self, token: &Token) {
        // Single characters of a name that was just read belong to it.
        let belongs = self.clause.names.last().is_some_and(|(name, _)| {
            let ids = expand(name, self.facts);
            let names = ids.iter().filter_map(|id| self.facts.schedule.task(*id));
            let mut names = names.map(|task| normalize(&task.name));
            names.any(|known| {
                token.text.chars().all(|c| known.contains(c)) && !token.text.is_ascii()
            })
        });
        if !belongs {
            self.clause.unknown.push(token.text.clone());
            return;
        }
        // 自行车不修了: the "not" is about the name, and not about a verb after it.
        self.clause.is_negated |= std::mem::take(&mut self.not) || std::mem::take(&mut self.except);
        // They may say which of several is meant.
        if let Some((name, _)) = self.clause.names.last_mut().filter(|(name, _)| !name.exact) {
            let has = |id: &u32| {
                self.facts.schedule.task(*id).is_some_and(|task| {
                    let known = normalize(&task.name);
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
    pub(super) fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let facts = self.facts;
        let mut when = When::default();
        let again = open.again || self.clause.again;
        let is_habit = open
            .references
            .iter()
            .any(|reference| matches!(reference, DayReference::Weekdays(days) if days.len() > 1));
        if !open.references.is_empty() {
            let days = |again| when::days(&open.references, again, facts);
            let is_name = |reference: &DayReference| matches!(reference, DayReference::Weekdays(_));
            when.every = open.references.iter().all(is_name).then(|| days(true));
            // Somebody who is away from Monday to Wednesday is so once.
            let is_habit = is_habit && open.references.len() == 1;
            when.days = Some(days(again || is_habit && !self.clause.is_away));
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
        } else if !open.hours.is_empty() {
            when.starts = Some(open.hours);
            when.ends = true;
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
        let denied = match (open.except, open.not) {
            (true, _) => Some(Role::Except),
            (false, not) => not.then_some(Role::Not),
        };
        // "Not before ten" closes what is before ten.
        if let (Some(_), Some(role @ (Role::Before | Role::By | Role::After))) = (denied, open.role)
        {
            when = plan::spanned(&when, role, facts);
        }
        let role = denied.or(open.role).unwrap_or(Role::At);
        // "Monday and Tuesday" are one destination.
        if std::mem::take(&mut self.second)
            && let Some((last, known)) = self.clause.whens.last_mut()
            && (*known == role || open.role.is_none())
            && (last.starts == when.starts || when.starts.is_none())
            && let (Some(days), Some(more)) = (&mut last.days, &when.days)
        {
            days.extend(more);
            last.every = last.every.take().zip(when.every).map(|(mut every, more)| {
                every.extend(more);
                every
            });
            return;
        }
        self.clause.whens.push((when, role));
    }
}

/// Returns true for the word in 周六都不学习, which is about every Saturday.
fn is_every(token: &Token, before: &[Token], rest: &[Token]) -> bool {
    let denies = |next: &Token| next.kind == Kind::Relation(Relation::Not);
    token.text == "都"
        && before
            .last()
            .is_some_and(|last| matches!(last.kind, Kind::Days(..)))
        && rest.first().is_some_and(denies)
}

/// Returns true if words that tell of something that there is lead to its name: "I have an", 有一个.
fn introduces(before: &str) -> bool {
    let said = LISTS.wishes.articles.iter();
    let said = said.filter_map(|it| before.strip_suffix(it.as_str()));
    let mut said = said.filter_map(|said| {
        let said = said.trim_end();
        let mut tells = LISTS.wishes.tells.iter();
        tells.find_map(|it| said.strip_suffix(it.as_str()))
    });
    // "Can I have a chapter on Thursday?" wants one.
    said.any(|said| {
        !["can", "could", "may"]
            .iter()
            .any(|it| said.trim_end().ends_with(it))
    })
}

/// Returns true if a part of a name is the subject of a sentence that tells when something of the
/// person's is: "my exam is on Thursday" wants nothing moved.
fn tells_when(before: &str, rest: &[Token]) -> bool {
    const MINE: [&str; 4] = ["my", "our", "我的", "我们的"];
    const IS: [&str; 4] = ["is", "'s", "在", "是"];
    let is_subject = MINE.contains(&before.trim());
    let mut rest = rest.iter();
    let is_told = rest.next().is_some_and(|next| IS.contains(&&*next.text));
    let mut rest = rest.skip_while(|next| matches!(next.kind, Kind::Relation(Relation::On)));
    let is_day = rest
        .next()
        .is_some_and(|next| matches!(next.kind, Kind::Days(..)));
    let ends = rest.all(|next| {
        matches!(
            next.kind,
            Kind::Stop(false) | Kind::Filler | Kind::Pause | Kind::Clock(..) | Kind::Part(..)
        )
    });
    is_subject && is_told && is_day && ends
}

fn is_until(token: &Token) -> bool {
    ["until", "till", "到"].contains(&token.text.as_str())
}

fn names_days(rest: &[Token]) -> bool {
    rest.first()
        .is_some_and(|next| matches!(next.kind, Kind::Days(..)))
}

/// Returns true if what follows puts the object or the day before the verb: "do not make Friday free",
/// 别把周三空出来, 别在周日排.
fn leads_to_verb(rest: &[Token]) -> bool {
    const LEADS: [&str; 9] = ["make", "let", "get", "把", "将", "让", "使", "在", "往"];
    let mut said = rest.iter();
    let lead = said.next();
    lead.is_some_and(|lead| LEADS.contains(&lead.text.as_str()))
        && said.any(|token| matches!(token.kind, Kind::Verb(_)))
}
