//! The clauses of a text.
use super::{
    super::{
        Facts, Trouble,
        lex::{Kind, LISTS, Noun, Query, Relation, Token, Verb, permits},
    },
    Clause, Role,
    reader::{Reader, is_free},
};

/// Splits tokens into clauses.
pub(super) fn clauses(tokens: &[Token], facts: &Facts<'_>) -> Vec<Clause> {
    let mut parts: Vec<Vec<Token>> = vec![vec![]];
    let mut question = false;
    for (at, token) in tokens.iter().enumerate() {
        let rest = tokens.get(at + 1..).unwrap_or_default();
        let cut = is_cut(
            parts.last().map(Vec::as_slice).unwrap_or_default(),
            token,
            rest,
        );
        question |= token.kind == Kind::Stop(true);
        if cut {
            // "的话" ends its clause, and so does "instead" after a day alone; other words begin theirs.
            let ends = ["的话", "除外", "以外", "之外"].contains(&token.text.as_str())
                || parts.len() > 1
                    && token.kind == Kind::Relation(Relation::But)
                    && parts.last().is_some_and(|last| ends_against(last, rest));
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
                Kind::Verb(_)
                    | Kind::Days(..)
                    | Kind::Relation(
                        Relation::But
                            | Relation::If
                            | Relation::Unless
                            | Relation::Reason
                            | Relation::Except
                            | Relation::Not
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
            && !clause.is_limit
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
    // "I am tired today, move the evening to tomorrow": the first says why.
    let is_alone = clauses.len() == 1;
    for clause in clauses.iter_mut().filter(|_| !is_alone) {
        clause.is_reason |= Trouble::told(&clause.text) == Some(Trouble::Tired);
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

/// Returns true if a clause names times alone, and a word such as "instead" ends it.
fn ends_against(clause: &[Token], rest: &[Token]) -> bool {
    let leads = |token: &Token| {
        token.kind.is_time()
            || matches!(
                token.kind,
                Kind::Filler | Kind::Relation(Relation::On | Relation::To)
            )
    };
    let stops = |token: &Token| matches!(token.kind, Kind::Filler | Kind::Stop(_) | Kind::Pause);
    clause.iter().any(|token| token.kind.is_time())
        && clause.iter().all(leads)
        && rest.iter().all(stops)
}

/// Returns the sentences of a text, and for each true if it asks something.
pub(super) fn sentences(tokens: &[Token]) -> Vec<(&[Token], bool)> {
    let sentences = tokens.split_inclusive(|token| matches!(token.kind, Kind::Stop(_)));
    sentences
        .map(|sentence| {
            let marked = sentence.iter().any(|it| it.kind == Kind::Stop(true));
            let asks = (marked || is_asked(sentence)) && !is_polite(sentence);
            (sentence, asks)
        })
        .collect()
}

/// Returns the sentence that wants something done beside one that asks something: "what do I have on
/// Thursday? Free Friday".
pub(super) fn wish_beside_question(sentences: &[(&[Token], bool)]) -> Option<String> {
    let acts = |token: &Token| {
        let Kind::Verb(verb) = token.kind else {
            return false;
        };
        !matches!(
            verb,
            Verb::Show | Verb::Keep | Verb::Study | Verb::Greet | Verb::Thank | Verb::Help
        )
    };
    sentences.iter().find(|(_, asks)| *asks)?;
    let mut others = sentences.iter().filter(|(_, asks)| !asks);
    let (wish, _) = others.find(|(sentence, _)| sentence.iter().any(acts))?;
    let words = wish
        .iter()
        .filter(|token| !matches!(token.kind, Kind::Stop(_)));
    let said: Vec<&str> = words.map(|token| token.raw.as_str()).collect();
    let joint = if said.iter().all(|word| word.is_ascii()) {
        " "
    } else {
        ""
    };
    Some(said.join(joint))
}

/// Returns true if a clause ends before a token: `current` is what it has, `rest` what follows.
fn is_cut(current: &[Token], token: &Token, rest: &[Token]) -> bool {
    let begins_verb = |rest: &[Token]| {
        let first = rest.iter().find(|token| token.kind != Kind::Filler);
        first.is_some_and(|token| {
            matches!(token.kind, Kind::Verb(_) | Kind::Relation(Relation::Not))
        })
    };
    // "Add a task: learn Spanish": what follows is its text.
    let adds = |token: &Token| token.kind == Kind::Verb(Verb::Add);
    match &token.kind {
        Kind::Pause if token.text == ":" && current.iter().any(adds) => false,
        // 周四可以周五不行: what may be used ends where another day begins.
        Kind::Days(..) => {
            let permits = current.split_last().is_some_and(|(last, before)| {
                !last.text.is_ascii() && permits_times(last, before, &[])
            });
            permits && current.iter().any(|token| token.kind.is_time())
        }
        Kind::Relation(Relation::Then) => begins_verb(rest) && has_verb(current),
        // 照片不放周五放周六: the second verb says where it goes.
        Kind::Verb(_) if !token.text.is_ascii() => {
            let denied = |pair: &[Token]| matches!(pair, [not, verb] if not.kind == Kind::Relation(Relation::Not) && matches!(verb.kind, Kind::Verb(_)));
            let goes = rest.first().is_some_and(|next| next.kind.is_time());
            let at = current.iter().any(|token| token.kind.is_time());
            goes && at && current.windows(2).any(denied)
        }
        // 照片放周六不放周五: the "not" begins what goes elsewhere.
        Kind::Relation(Relation::Not) => {
            let at = |tokens: &[Token]| tokens.iter().any(|token| token.kind.is_time());
            let goes = matches!(rest, [verb, time, ..] if matches!(verb.kind, Kind::Verb(_)) && time.kind.is_time());
            goes && has_verb(current) && at(current)
        }
        Kind::Stop(_)
        | Kind::Pause
        | Kind::Relation(
            Relation::But | Relation::If | Relation::Unless | Relation::Reason | Relation::Except,
        ) => true,
        Kind::Relation(Relation::With) => {
            (begins_verb(rest) && has_verb(current))
                || is_second_wish(current, rest)
                || acts_on_a_name(current) && acts_on_a_name(rest)
        }
        _ => false,
    }
}

fn has_verb(tokens: &[Token]) -> bool {
    tokens
        .iter()
        .any(|token| matches!(token.kind, Kind::Verb(_)))
}

/// Returns true if a clause says what becomes of something: "mark book 1 as done".
fn acts_on_a_name(tokens: &[Token]) -> bool {
    let ends = |token: &&Token| !matches!(token.kind, Kind::Stop(_) | Kind::Pause);
    let clause: Vec<Token> = tokens.iter().take_while(ends).cloned().collect();
    let names = |token: &Token| matches!(token.kind, Kind::Name(_));
    has_verb(&clause) && clause.iter().any(names)
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
            && tokens.iter().any(|token| token.kind.is_time())
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
    let mine = ["do", "have", "will", "would"]
        .iter()
        .any(|word| first.is_some_and(|token| token.text == *word))
        && ["i", "you", "we"].contains(&second);
    let asks = mine
        || first.is_some_and(|token| {
            FIRST.contains(&token.text.as_str())
                || ["do i", "do you"].contains(&token.text.as_str())
                || matches!(token.kind, Kind::Query(_))
        });
    let queries = tokens.iter().any(asks_for_something);
    let ends = tokens
        .iter()
        .rev()
        .find(|token| !matches!(token.kind, Kind::Stop(_)));
    let signed = ends.is_some_and(|token| token.text.ends_with(['吗', '呢', '么']));
    asks || queries || signed || asks_if_done(tokens)
}

fn asks_for_something(token: &Token) -> bool {
    let asks = matches!(token.kind, Kind::Query(query) if query != Query::Free);
    asks && token.text != "anything" && token.text != "something"
}

/// Returns true if a "not" behind a verb ends a text: 做完了没有.
fn asks_if_done(tokens: &[Token]) -> bool {
    let mut said = tokens.iter().rev();
    let last = said.find(|token| !matches!(token.kind, Kind::Stop(_)));
    let verb = said.find(|token| token.text != "了");
    last.is_some_and(|token| ["没", "没有"].contains(&token.text.as_str()))
        && verb.is_some_and(|token| matches!(token.kind, Kind::Verb(_)))
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
    let first = tokens
        .iter()
        .find(|token| token.text != "," && !matches!(token.kind, Kind::Verb(Verb::Greet)));
    let begins = tokens
        .iter()
        .position(|token| matches!(token.kind, Kind::Name(_) | Kind::Verb(_) | Kind::Days(..)));
    // 周三和周四能换一下吗; 周五之前能做完吗 asks.
    let acts_at = |token: &Token| matches!(token.kind, Kind::Verb(verb) if !matches!(verb, Verb::Done | Verb::Undone));
    let verb = tokens.iter().position(acts_at);
    let polite = tokens
        .iter()
        .take((begins.unwrap_or(0) + 3).max(verb.unwrap_or(0)))
        .any(|token| LISTS.wishes.polite.contains(&token.text));
    let ends = tokens
        .iter()
        .rev()
        .find(|token| !matches!(token.kind, Kind::Stop(_)));
    let ends = ends.is_some_and(|token| LISTS.wishes.polite_ends.contains(&token.text));
    let asks = tokens.iter().any(asks_for_something);
    let acts = tokens.iter().any(|token| {
        matches!(token.kind, Kind::Verb(verb) if !matches!(verb, Verb::Show | Verb::Keep | Verb::Greet | Verb::Thank | Verb::Help))
    });
    let about_me = first.is_some_and(|token| {
        ["is", "are", "am", "did", "has", "was", "were", "does"].contains(&token.text.as_str())
    });
    (polite || ends) && acts && !asks && !about_me
}

/// Reads one clause.
pub(super) fn clause(tokens: &[Token], facts: &Facts<'_>) -> Clause {
    let text = said(tokens);
    let (said, permits) = permitted(tokens);
    let is_busy = |token: &Token| token.kind == Kind::Verb(Verb::Busy);
    let mut clause = Clause {
        text,
        is_away: permits == Some(false) || tokens.iter().any(is_busy),
        ..Clause::default()
    };
    let mut reader = Reader {
        facts,
        clause: &mut clause,
        role: None,
        not: false,
        denies_verb: false,
        except: false,
        open: None,
        second: false,
    };
    let tokens = said.as_slice();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += reader.take(
            token,
            tokens.get(at + 1..).unwrap_or_default(),
            tokens.get(..at).unwrap_or_default(),
        );
    }
    reader.close();
    let not = reader.not || reader.except;
    clause.is_negated |= not;
    clause.permits = permits == Some(true);
    let verb = permits.map(|fine| if fine { Verb::Reopen } else { Verb::Busy });
    clause.verbs.extend(verb.map(|verb| (verb, false)));
    if clause.has(Verb::Add) {
        clause.added = content(tokens);
    }
    clause
}

/// Returns the tokens of a clause without the words that say whether the times that it names may be
/// used, and true if they may: 周四可以, "Friday is fine", 周四在, "I'm here on Thursday"; or false: 周五不行,
/// "I can't on Friday". A word that also asks stays: 周四有空. Of an item only the "not" stays.
fn permitted(tokens: &[Token]) -> (Vec<Token>, Option<bool>) {
    const CANNOT: [&str; 5] = ["can't", "cannot", "cant", "不可以", "不能"];
    let leads = |token: &Token| {
        matches!(
            token.kind,
            Kind::Filler
                | Kind::Pause
                | Kind::Stop(_)
                | Kind::Relation(Relation::Then | Relation::But | Relation::On | Relation::Each)
        ) || ["的", "和", "跟", "与", "and"].contains(&token.text.as_str())
    };
    let permits = tokens.iter().enumerate().filter_map(|(at, token)| {
        let (before, rest) = tokens.split_at_checked(at)?;
        permits_times(token, before, rest.get(1..)?).then_some(at)
    });
    let cannot = |token: &Token| CANNOT.contains(&token.text.as_str());
    let cannot = tokens.iter().position(cannot);
    let (permits, mut said) = (permits.collect::<Vec<_>>(), tokens.to_vec());
    let denied = match (permits.as_slice(), cannot) {
        ([at], None) => {
            let word = said.remove(*at);
            let asks = matches!(word.kind, Kind::Query(_));
            let mut before = tokens.iter().take(*at).enumerate().rev();
            let before = before.find(|(_, token)| token.kind != Kind::Filler);
            let not = before.filter(|(_, token)| token.kind == Kind::Relation(Relation::Not));
            if asks {
                said.insert(*at, word);
            }
            not.map(|(at, _)| at)
        }
        ([], Some(at)) => Some(at),
        _ => return (said, None),
    };
    let of_item = said.iter().any(|it| matches!(it.kind, Kind::Name(_)));
    if of_item && denied.is_some() && cannot.is_none() {
        return (said, None);
    }
    if let Some(at) = denied {
        said.remove(at);
    }
    let is_known = |it: &Token| it.kind.is_time() || leads(it) || matches!(it.kind, Kind::Query(_));
    let times = said.iter().any(|token| token.kind.is_time()) && said.iter().all(is_known);
    if times {
        (said, Some(denied.is_none()))
    } else {
        (tokens.to_vec(), None)
    }
}

/// Returns true if a word says that the times of its clause may be used, or that the person is there: a
/// 在 or an "in" that leads to nothing does.
fn permits_times(token: &Token, before: &[Token], rest: &[Token]) -> bool {
    const THERE: [&str; 4] = ["here", "back", "home", "available"];
    let is_end = rest.iter().all(|token| {
        matches!(token.kind, Kind::Stop(_) | Kind::Pause | Kind::Filler)
            || ["的", "呢"].contains(&token.text.as_str())
    });
    let am = is_free(before);
    // "Busy on Wednesday, free on Thursday".
    let on = before.is_empty()
        && rest
            .first()
            .is_some_and(|it| it.kind == Kind::Relation(Relation::On));
    let can = |it: &Token| it.text == "can";
    let next = rest.first();
    match token.kind {
        // "I can on Thursday", "I can do Thursday".
        Kind::Filler if can(token) && next.is_some_and(|it| it.text == "on") => true,
        Kind::Verb(Verb::Place) if before.last().is_some_and(can) => {
            next.is_some_and(|it| it.kind.is_time())
        }
        Kind::Relation(Relation::On) => {
            let next = rest.iter().find(|token| token.kind != Kind::Filler);
            token.text == "在" && is_end
                || ["in", "around"].contains(&token.text.as_str())
                    && am
                    && next.is_none_or(|it| it.kind == Kind::Relation(Relation::On))
        }
        Kind::Query(Query::Free) => is_end,
        Kind::Verb(Verb::Free) => am || on && token.text == "free",
        _ => permits().contains(&token.text) && is_end || THERE.contains(&token.text.as_str()),
    }
}

/// Returns the text of a new item: all that is no class, no time, and no manners around it.
fn content(tokens: &[Token]) -> String {
    let names_class =
        |token: &Token| matches!(&token.kind, Kind::Name(name) if !name.classes.is_empty());
    let mut pairs = tokens.windows(2);
    let to = pairs.find(|pair| matches!(pair, [to, class] if to.kind == Kind::Relation(Relation::To) && names_class(class)));
    let is_class =
        |token: &Token| names_class(token) && to.is_none_or(|to| to.last() == Some(token));
    let leads = |token: &Token| {
        matches!(
            token.kind,
            Kind::Relation(Relation::To | Relation::On | Relation::From | Relation::Before)
                | Kind::Verb(Verb::Deadline)
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
        // "A 2 hour essay" takes two hours.
        let is_unit = matches!(token.kind, Kind::Noun(Noun::Hour | Noun::Minute));
        if is_unit
            && kept
                .pop_if(|last| matches!(last.kind, Kind::Number(_)))
                .is_some()
        {
            continue;
        }
        let hour = matches!(token.kind, Kind::Number(_))
            && kept.last().is_some_and(|last| last.text == "at");
        if token.kind.is_time() || is_class(token) || hour {
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

pub(super) fn said(tokens: &[Token]) -> String {
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
