//! Words under a card: they agree to it only with evidence, in the request itself, of the card that
//! was shown. The card that was sent last is not proof of the card that was seen when the words
//! were typed, so nothing is remembered here.
use fugato_state::Interrupt;
use fugato_text::{Phrases, ShortAnswer, without_code};
use serde_json::Value;

use crate::{UserMessage, incoming};

/// The decision that words make about the open approvals.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum Consent {
    /// They agree to this card if true, or decline it.
    Given(Box<Interrupt>, bool),
    /// They decide, but no evidence names the card: the cards are shown again, and wait.
    Unbound,
    /// They decide, and the card that they name is not open.
    Closed {
        /// The id of the card, or its code.
        card: String,
        /// True if the words agree, false if they decline.
        agrees: bool,
    },
    /// They are no decision: the agent gets them.
    None,
}

/// Returns true if the words may decide a card, so that the open questions must be read.
pub(crate) fn may_concern_a_card(said: &UserMessage) -> bool {
    said.card.is_some() && decision(&said.text).is_some() || {
        let (rest, _) = without_code(&said.text);
        decision(&rest).is_some()
    }
}

/// Reads words that may decide one of these questions, for an endpoint of one's own.
///
/// The evidence is the id of the card in [`UserMessage::card`], the card's code among the words, or the
/// code in the assistant's last message, if the client sends the conversation along.
pub fn consent(said: &UserMessage, open: &[Interrupt]) -> Consent {
    let (rest, code) = without_code(&said.text);
    let Some(decision) = decision(&rest) else {
        return Consent::None;
    };
    let approvals = || open.iter().filter(|asked| asked.question.digest.is_some());
    let closed = |card: &str, agrees| Consent::Closed {
        card: card.to_owned(),
        agrees,
    };
    let Decision::Clear(agrees) = decision else {
        // "Continue" can answer a question, but approves nothing; nor do a yes and a no.
        return match approvals().next() {
            Some(_) => Consent::Unbound,
            None => Consent::None,
        };
    };
    if let Some(code) = &code {
        let mut named = approvals().filter(|asked| asked.id.code() == *code);
        return match (named.next(), named.next()) {
            (Some(asked), None) => Consent::Given(Box::new(asked.clone()), agrees),
            (None, _) => closed(code, agrees),
            _ => Consent::Unbound,
        };
    }
    if let Some(card) = &said.card {
        return match open.iter().find(|asked| asked.id == *card) {
            Some(asked) if asked.question.digest.is_some() => {
                Consent::Given(Box::new(asked.clone()), agrees)
            }
            Some(_) => Consent::None,
            None => closed(card.as_str(), agrees),
        };
    }
    if approvals().next().is_none() {
        return Consent::None;
    }
    let repeated = last_of_the_assistant(&said.messages).unwrap_or_default();
    let mut shown = approvals().filter(|asked| has_word(&repeated, &asked.id.code()));
    match (shown.next(), shown.next()) {
        (Some(asked), None) => Consent::Given(Box::new(asked.clone()), agrees),
        _ => Consent::Unbound,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// Yes if true, or no.
    Clear(bool),
    /// "Continue", which is neither, or a yes and a no.
    Vague,
}

fn decision(words: &str) -> Option<Decision> {
    let phrases = Phrases::default();
    match phrases.consent(words) {
        Some(agrees) => Some(Decision::Clear(agrees)),
        None if phrases.decline_reason(words).is_some() => Some(Decision::Clear(false)),
        None if phrases.contradicts(words) => Some(Decision::Vague),
        None if phrases.read(words) == Some(ShortAnswer::Continue) => Some(Decision::Vague),
        None => None,
    }
}

/// Returns the reason of words that decline a card; none if they give none.
pub(crate) fn reason(said: &UserMessage) -> Option<String> {
    let (rest, _) = without_code(&said.text);
    Phrases::default().decline_reason(&rest).map(str::to_owned)
}

pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let is_sign = |c: char| !c.is_ascii_alphanumeric();
    text.split(is_sign).any(|part| part == word)
}

/// Returns the assistant's last message in the conversation that the client sends along, if only
/// the person's own message comes after it.
pub(crate) fn last_of_the_assistant(messages: &[Value]) -> Option<String> {
    let role = |message: &Value| {
        message
            .get("role")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let mut before = messages.iter().rev();
    before
        .next()
        .filter(|last| role(last).as_deref() == Some("user"))?;
    let shown = before.next()?;
    (role(shown).as_deref() == Some("assistant")).then(|| incoming::words(shown))
}

#[cfg(test)]
mod tests {
    use fugato_state::{InterruptId, Question};
    use serde_json::json;

    use super::*;
    use crate::Caller;

    fn card(id: &str) -> Interrupt {
        Interrupt {
            id: InterruptId(id.into()),
            task: "act#1".into(),
            question: Question::new::<bool>("agree", "delete?").digest("d"),
        }
    }

    fn said(text: &str) -> UserMessage {
        UserMessage::new(Caller::default(), text)
    }

    #[test]
    fn k35_words_agree_only_with_evidence() {
        let (one, two) = (card("act#1~1.aa"), card("act#1~2.bb"));
        let open = [one.clone(), two.clone()];
        let code = two.id.code();
        let given = |asked: &Interrupt, agrees| Consent::Given(Box::new(asked.clone()), agrees);
        for words in [
            format!("yes {code}"),
            format!("{} 好的", code.to_lowercase()),
            format!("OK, {code}!"),
        ] {
            assert_eq!(consent(&said(&words), &open), given(&two, true), "{words}");
        }
        assert_eq!(
            consent(&said(&format!("不要{code}")), &open),
            given(&two, false)
        );
        let under = |words: &str| UserMessage {
            card: Some(one.id.clone()),
            ..said(words)
        };
        assert_eq!(consent(&under("确定"), &open), given(&one, true));
        for words in ["yes", "no", "好的", "continue", "继续", "no, not today"] {
            assert_eq!(consent(&said(words), &open), Consent::Unbound, "{words}");
        }
        for (words, why) in [
            ("no, not today".to_owned(), "not today"),
            (format!("{code} 不要，太晚了"), "太晚了"),
            (format!("No {code}: not today"), "not today"),
        ] {
            let named = said(&words).card(Some(two.id.clone()));
            assert_eq!(consent(&named, &open), given(&two, false), "{words}");
            assert_eq!(reason(&named).as_deref(), Some(why), "{words}");
        }
        for words in ["yes?", "嗯", "ok but later", "delete it", "A2B3"] {
            assert_eq!(consent(&under(words), &open), Consent::None, "{words}");
        }
        let closed = |card: &str| Consent::Closed {
            card: card.to_owned(),
            agrees: true,
        };
        let other = if code == "Z9Z9" { "Y9Y9" } else { "Z9Z9" };
        assert_eq!(
            consent(&said(&format!("yes {other}")), &open),
            closed(other)
        );
        let gone = UserMessage {
            card: Some("act#1~0.cc".into()),
            ..said("yes")
        };
        assert_eq!(consent(&gone, &open), closed("act#1~0.cc"));
    }

    #[test]
    fn k35_a_yes_with_a_no_decides_nothing() {
        let one = card("act#1~1.aa");
        let code = one.id.code();
        for words in [
            "no CODE, but yes",
            "no CODE but yes",
            "yes CODE, but no",
            "yes CODE, and then no",
            "No. Yes CODE",
            "不要 CODE，但是好的",
            "好的 CODE，不过不要",
            "CODE 不，好的",
        ] {
            let words = said(&words.replace("CODE", &code));
            let named = words.clone().card(Some(one.id.clone()));
            for words in [words, named] {
                let asked = std::slice::from_ref(&one);
                assert_eq!(consent(&words, asked), Consent::Unbound, "{}", words.text);
                assert_eq!(consent(&words, &[]), Consent::None, "{}", words.text);
            }
        }
    }

    #[test]
    fn k35_a_client_that_repeats_the_card_approves_it() {
        let (one, two) = (card("act#1~1.aa"), card("act#1~2.bb"));
        let shown = |text: &str| UserMessage {
            messages: vec![
                json!({ "role": "assistant", "content": text }),
                json!({ "role": "user", "content": "yes" }),
            ],
            ..said("yes")
        };
        let open = [one.clone(), two.clone()];
        let text = format!("Delete all? reply: yes {}", one.id.code());
        assert_eq!(
            consent(&shown(&text), &open),
            Consent::Given(Box::new(one.clone()), true)
        );
        // The evidence names two cards, so it names none.
        let both = format!("{} {}", one.id.code(), two.id.code());
        assert_eq!(consent(&shown(&both), &open), Consent::Unbound);
        assert_eq!(consent(&shown("Delete all?"), &open), Consent::Unbound);
        // A card that has been answered is not the one that waits now.
        assert_eq!(consent(&shown(&text), &[two]), Consent::Unbound);
    }

    #[test]
    fn k35_without_a_card_short_words_are_for_the_agent() {
        for words in ["yes", "no", "continue"] {
            assert_eq!(consent(&said(words), &[]), Consent::None, "{words}");
        }
    }
}
