//! The items and wishes that were spoken of before, for words that point to them.
use fugato::{
    state::{Role, say},
    words::{Phrases, corrected},
};

use super::{
    Facts,
    lex::{Noun, Query, Verb, tokens},
    names::Ref,
    wish::{Clause, Role as Part, clauses_of},
};

/// The earlier messages in which a name is looked for.
const MOST_MESSAGES: usize = 6;

/// The words that set something against a yes.
const BUTS: [&str; 8] = [
    " but ",
    ", but ",
    "但是",
    "但",
    "不过",
    "可是",
    "，只是",
    ", only ",
];

/// Returns the last wish as "yes, but on Sunday" changes it; none for other words.
pub(super) fn amended(text: &str, facts: &Facts<'_>) -> Option<String> {
    let phrases = Phrases::default();
    let change = BUTS.iter().find_map(|but| {
        let (yes, change) = text.split_once(but)?;
        let yes = yes.trim_end_matches(|c: char| !c.is_alphanumeric());
        (phrases.consent(yes) == Some(true)).then_some(change.trim())
    })?;
    let mut said = facts.earlier.iter().rev();
    let last = said.find(|said| said.role == Role::User)?.content.trim();
    let last = last.trim_end_matches(|c: char| ".!?。！？".contains(c));
    let of_last = format!("{last}{}{change}", say!(", no, ", "，不，"));
    let wish = corrected(&of_last).ok()?;
    (wish != of_last).then(|| wish.into_owned())
}

/// Lets the "it" of wishes be what was spoken of last.
pub(super) fn with_topic(mut wishes: Vec<Clause>, facts: &Facts<'_>) -> Vec<Clause> {
    if wishes.iter().any(|wish| !wish.names.is_empty()) {
        return wishes;
    }
    for wish in wishes.iter_mut().filter(|wish| wants_it(wish)) {
        point(wish, facts);
    }
    wishes
}

/// Lets the "it" of a question be what was spoken of last, and a bare "why?" be about that.
pub(super) fn asked_topic(mut question: Clause, facts: &Facts<'_>) -> Clause {
    if asks_of_it(&question) {
        point(&mut question, facts);
    }
    question
}

/// Returns true if a wish wants something done with "it", and names nothing else.
fn wants_it(wish: &Clause) -> bool {
    const DONE_WITH_IT: [Verb; 9] = [
        Verb::Move,
        Verb::Place,
        Verb::Earlier,
        Verb::Later,
        Verb::Done,
        Verb::Undone,
        Verb::Delete,
        Verb::Cancel,
        Verb::Deadline,
    ];
    let others = [
        Noun::All,
        Noun::Pending,
        Noun::Item,
        Noun::Schedule,
        Noun::Note,
        Noun::Reminder,
    ];
    let acts = |(verb, _): &(Verb, bool)| DONE_WITH_IT.contains(verb);
    wish.nouns.contains(&Noun::It)
        && !wish.verbs.is_empty()
        && wish.verbs.iter().all(acts)
        && !others.iter().any(|noun| wish.nouns.contains(noun))
        && !wish.text.contains("it all")
}

fn asks_of_it(question: &Clause) -> bool {
    let plain = question.names.is_empty() && question.quoted.is_empty();
    let mut nouns = question.nouns.iter();
    let points = nouns.all(|noun| matches!(noun, Noun::It | Noun::Place));
    let asks = |query: Query| question.queries.contains(&query);
    let about_it = [Query::When, Query::Where, Query::Length]
        .into_iter()
        .any(asks)
        || question.has(Verb::Done)
        || question.has(Verb::Deadline);
    let it = question.nouns.contains(&Noun::It) && about_it;
    plain && points && question.whens.is_empty() && (it || asks(Query::Why))
}

/// Puts what was spoken of last in the place of "it", if that is one thing.
fn point(clause: &mut Clause, facts: &Facts<'_>) {
    if !facts.on_card.is_empty() {
        let items = facts.on_card.iter().copied().collect();
        let all = Ref {
            items,
            exact: true,
            ..Ref::default()
        };
        clause.names.push((all, Part::At));
    } else if let [only] = spoken_of(facts).as_slice() {
        clause.names.push((only.clone(), Part::At));
    } else {
        return;
    }
    clause.nouns.remove(&Noun::It);
}

/// Returns what the last message names that names anything.
fn spoken_of(facts: &Facts<'_>) -> Vec<Ref> {
    let said = facts
        .earlier
        .iter()
        .rev()
        .filter(|said| said.role == Role::User);
    let named = said.take(MOST_MESSAGES).map(|said| {
        let mut named: Vec<Ref> = vec![];
        for clause in clauses_of(&tokens(&said.content, facts), facts) {
            let names = clause.names.into_iter().map(|(name, _)| name);
            for name in names.filter(|name| !name.is_course()) {
                if !named.contains(&name) {
                    named.push(name);
                }
            }
        }
        named
    });
    named
        .into_iter()
        .find(|named| !named.is_empty())
        .unwrap_or_default()
}
