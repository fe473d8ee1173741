//! Interpretation of words that are typed under a card. The page of `fugato-axum` offers the same
//! choices as buttons.
use fugato_state::Interrupt;
use fugato_stream::{QuestionAnswer, ReplyForm, takes_words};
use fugato_text::{Phrases, ShortAnswer};
use serde_json::{Value, json};

use crate::Lang;

/// The forms of an answer. The form follows from the schema of the answer and from the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One of several options.
    Choice,
    /// Yes or no, and nothing else.
    Flag,
    /// Yes, or no, which may have a reason.
    Consent,
    /// The same, or words that the agent reads itself, such as a change of what is asked.
    Wish,
    /// Words, in the field `text` of an object.
    Text,
    /// Words.
    Words,
    /// Anything else.
    Json,
}

/// One of several answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    pub(crate) name: String,
    value: Value,
}

impl Form {
    fn of(asked: &Interrupt) -> Self {
        let (prompt, schema) = (&asked.question.prompt, asked.question.schema.as_value());
        let is = |kind: &str| schema.get("type").and_then(Value::as_str) == Some(kind);
        let acts = schema.pointer("/properties/action").is_some();
        match () {
            () if !options(asked).is_empty() => Self::Choice,
            () if is("boolean") => Self::Flag,
            () if acts && prompt.get("type").and_then(Value::as_str) == Some("confirm") => {
                if takes_words(asked) {
                    Self::Wish
                } else {
                    Self::Consent
                }
            }
            () if is("object") => Self::Text,
            () if is("string") => Self::Words,
            () => Self::Json,
        }
    }
}

/// Returns the options of a card, in the order of their numbers.
pub(crate) fn options(asked: &Interrupt) -> Vec<Choice> {
    let prompt = asked.question.prompt.get("options");
    let options = prompt.or_else(|| asked.question.schema.as_value().get("enum"));
    let options = options.and_then(Value::as_array).into_iter().flatten();
    options
        .map(|option| {
            let field = |names: &[&str]| names.iter().find_map(|name| option.get(name)).cloned();
            let value = field(&["value", "id", "label"]).unwrap_or_else(|| option.clone());
            let name = field(&["label", "title"]).unwrap_or_else(|| value.clone());
            let name = name
                .as_str()
                .map_or_else(|| name.to_string(), str::to_owned);
            Choice { name, value }
        })
        .collect()
}

/// Reads the typed words as an answer; none if they do not fit the form.
pub(crate) fn read(asked: &Interrupt, said: &str) -> Option<QuestionAnswer> {
    let (mut reason, agrees) = (None, Phrases::default().consent(said));
    let reply = match Form::of(asked) {
        Form::Choice => {
            let number: Option<usize> = said.trim_end_matches('.').parse().ok();
            let chosen = options(asked).into_iter().enumerate().find(|(at, option)| {
                number == Some(at + 1) || option.name.eq_ignore_ascii_case(said)
            });
            ReplyForm::Value(chosen?.1.value)
        }
        Form::Flag | Form::Consent | Form::Wish if agrees == Some(true) => ReplyForm::Approve,
        Form::Flag | Form::Consent | Form::Wish if agrees == Some(false) || is_cancelled(said) => {
            ReplyForm::Reject
        }
        Form::Flag => return None,
        Form::Wish => ReplyForm::Value(json!({ "action": "say", "text": said })),
        // Only a clear no declines: a question or a doubt leaves the card open.
        Form::Consent => {
            reason = Some(Phrases::default().decline_reason(said)?.to_owned());
            ReplyForm::Reject
        }
        Form::Text => ReplyForm::Value(json!({ "text": said })),
        Form::Words => ReplyForm::Value(said.into()),
        Form::Json => ReplyForm::Value(serde_json::from_str(said).unwrap_or_else(|_| said.into())),
    };
    Some(answered(asked, reply, reason))
}

fn is_cancelled(said: &str) -> bool {
    Phrases::default().read(said) == Some(ShortAnswer::Cancel)
}

/// Creates an answer from a value.
pub(crate) fn value(asked: &Interrupt, value: Value) -> QuestionAnswer {
    answered(asked, ReplyForm::Value(value), None)
}

/// Creates an approval, if the card asks for one.
pub(crate) fn agreed(asked: &Interrupt) -> Option<QuestionAnswer> {
    let agrees = matches!(Form::of(asked), Form::Flag | Form::Consent | Form::Wish);
    agrees.then(|| answered(asked, ReplyForm::Approve, None))
}

/// Creates an answer with the card's digest: the person was shown the card.
fn answered(asked: &Interrupt, reply: ReplyForm, reason: Option<String>) -> QuestionAnswer {
    let mut answered = QuestionAnswer::to(asked.id.clone(), reply);
    answered.reason = reason;
    answered.digest.clone_from(&asked.question.digest);
    answered
}

/// Returns the input prompt of a card.
pub(crate) fn prompt(asked: &Interrupt, lang: Lang) -> &'static str {
    match Form::of(asked) {
        Form::Choice => lang.pick("a number or a name: ", "[编号或名称] "),
        Form::Flag => lang.pick("[y]es or [n]o: ", "[是/否] "),
        Form::Consent => lang.pick("[y]es, [n]o, or no and why: ", "[是/否，或“不，原因”] "),
        Form::Wish => lang.pick(
            "[y]es, [n]o, or what you want instead: ",
            "[是/否，或者说您想怎么改] ",
        ),
        Form::Text | Form::Words | Form::Json => "> ",
    }
}

/// Returns the message for words that are no answer to a card.
pub(crate) fn refusal(asked: &Interrupt, said: &str, lang: Lang) -> String {
    let allowed = prompt(asked, lang).trim_end_matches([':', ' ']);
    let allowed = allowed.replace(['[', ']'], "");
    let code = asked.id.code();
    lang.pick(
        format!("Card {code} waits, and “{said}” does not answer it. Nothing has changed; answer with {allowed}."),
        format!("卡片 {code} 在等待，“{said}”不能回答它，什么都没有改变。可以回答：{allowed}。"),
    )
}

/// Returns an example of an answer for `--answer`.
pub(crate) fn example(asked: &Interrupt) -> String {
    match Form::of(asked) {
        Form::Choice => {
            let first = options(asked).into_iter().next();
            first.map_or_else(|| "null".into(), |option| option.value.to_string())
        }
        Form::Flag => "true".into(),
        Form::Consent | Form::Wish => r#"{"action": "approve"}"#.into(),
        Form::Text => r#"{"text": "…"}"#.into(),
        Form::Words => r#""…""#.into(),
        Form::Json => "…".into(),
    }
}

#[cfg(test)]
mod tests {
    use fugato_state::{Question, Schema};

    use super::*;

    fn asking(schema: Value, prompt: Value) -> Interrupt {
        let mut question = Question::new::<bool>("answer", prompt).digest("d1");
        question.schema = serde_json::from_value::<Schema>(schema).unwrap();
        Interrupt {
            id: "i".into(),
            task: "ask#1".into(),
            question,
        }
    }

    fn consent() -> Interrupt {
        let schema = json!({ "type": "object", "properties": { "action": {}, "text": {} } });
        asking(schema, json!({ "type": "confirm" }))
    }

    fn reply(asked: &Interrupt, said: &str) -> Option<(ReplyForm, Option<String>)> {
        let answered = read(asked, said)?;
        assert_eq!(answered.digest.as_deref(), Some("d1"));
        Some((answered.reply, answered.reason))
    }

    #[test]
    fn only_the_whole_utterance_is_yes_or_no() {
        for yes in ["Yes!", "好的。", "确定"] {
            assert_eq!(reply(&consent(), yes), Some((ReplyForm::Approve, None)));
        }
        for no in ["no", "算了"] {
            assert_eq!(reply(&consent(), no), Some((ReplyForm::Reject, None)));
        }
        for (no, why) in [
            ("no, not on Friday", "not on Friday"),
            ("不要：太晚", "太晚"),
        ] {
            let rejected = Some((ReplyForm::Reject, Some(why.into())));
            assert_eq!(reply(&consent(), no), rejected, "{no}");
        }
        for neither in [
            "yes, but later",
            "go ahead",
            "yes?",
            "嗯",
            "maybe",
            "why?",
            "",
        ] {
            assert_eq!(reply(&consent(), neither), None, "{neither}");
        }
    }

    #[test]
    fn words_that_answer_no_card_are_told_what_does() {
        let asked = consent();
        let (english, chinese) = (Lang::En, Lang::Zh);
        let told = refusal(&asked, "what time is it", english);
        assert!(
            told.contains("answer with yes, no, or no and why"),
            "{told}"
        );
        let told = refusal(&asked, "几点了", chinese);
        assert!(told.contains("“几点了”不能回答它"), "{told}");
    }

    #[test]
    fn words_go_to_an_agent_that_reads_them_itself() {
        let action = json!({ "$ref": "#/$defs/Action" });
        let defs = json!({ "Action": { "oneOf": [{ "const": "approve" }, { "const": "say" }] } });
        let schema = json!({ "type": "object", "properties": { "action": action }, "$defs": defs });
        let asked = asking(schema, json!({ "type": "confirm" }));
        let said = ReplyForm::Value(json!({ "action": "say", "text": "make it 1800" }));
        assert_eq!(reply(&asked, "make it 1800"), Some((said, None)));
        assert_eq!(reply(&asked, "yes"), Some((ReplyForm::Approve, None)));
        assert_eq!(reply(&asked, "no"), Some((ReplyForm::Reject, None)));
    }

    #[test]
    fn a_flag_is_never_guessed() {
        let flag = asking(json!({ "type": "boolean" }), json!({}));
        assert_eq!(reply(&flag, "ok"), Some((ReplyForm::Approve, None)));
        assert_eq!(reply(&flag, "no"), Some((ReplyForm::Reject, None)));
        assert_eq!(reply(&flag, "yes, but not on Friday"), None);
    }

    #[test]
    fn yes_to_a_question_is_its_answer() {
        let said = |value: Value| Some((ReplyForm::Value(value), None));
        let words = asking(json!({ "type": "string" }), json!("Before noon?"));
        assert_eq!(reply(&words, "yes"), said("yes".into()));
        let text = asking(json!({ "type": "object" }), json!("Before noon?"));
        assert_eq!(reply(&text, "yes"), said(json!({ "text": "yes" })));
        let number = asking(json!({ "type": "integer" }), json!("How many?"));
        assert_eq!(reply(&number, "12"), said(12.into()));
    }

    #[test]
    fn an_option_is_chosen_by_its_number_or_its_name() {
        let options = json!({ "options": [{ "label": "Oslo", "value": 7 }, "Bergen"] });
        let city = asking(json!({}), options);
        let said = |value: Value| Some((ReplyForm::Value(value), None));
        assert_eq!(reply(&city, "1."), said(7.into()));
        assert_eq!(reply(&city, "bergen"), said("Bergen".into()));
        assert_eq!(reply(&city, "Rome"), None);
        assert_eq!(reply(&city, "3"), None);
        assert_eq!(agreed(&city), None);
    }
}
