//! The correction loop, with a scripted model and with what a small model really says.

use fugato_llm::ChatModel as _;
use fugato_llm::{
    Ask, CallOutcome, ChatRequest, Contract, DecisionSource, ModelError, ModelErrorKind,
    ObjectDelta, ObjectPiece, RejectedClass, Tag, TagEnd, TagPiece, TaggedDelta, Usage,
    read_object, split_tag,
};
use fugato_state::{Message, Role};
use fugato_testkit::{Scripted, ScriptedReply};
use futures::StreamExt as _;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Continue,
    AskUser,
    Done,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct Decision {
    action: Action,
    #[serde(default)]
    reason: String,
}

fn contract() -> Contract<Decision> {
    Contract::new("decision").check(|decision: &Decision, objections| {
        if decision.action == Action::Done && decision.reason.is_empty() {
            objections.push("/reason", "say why nothing is left to do");
        }
    })
}

fn ask() -> Ask<'static, Decision> {
    Ask::json("now", &contract())
}

fn request() -> ChatRequest {
    ChatRequest::new([Message::user("What now?")])
}

fn done() -> Decision {
    Decision {
        action: Action::Done,
        reason: "all placed".into(),
    }
}

#[tokio::test]
async fn sch_57_the_model_is_told_what_was_wrong_until_it_fits() {
    let model = Scripted::new([
        ScriptedReply::text("").usage(Usage::new(10, 0)),
        ScriptedReply::text("{\"action\": \"done\"}").usage(Usage::new(20, 5)),
        ScriptedReply::text("{\"action\": \"done\", \"reason\": \"all placed\"}"),
    ]);
    let answer = ask().run(&model, request()).await.unwrap();
    assert_eq!((&answer.value, answer.usage), (&done(), Usage::new(30, 5)));
    assert_eq!(answer.record.source, DecisionSource::LlmAnswer);
    let went = answer.record.traces.iter();
    let went: Vec<_> = went
        .map(|trace| (trace.outcome, trace.error.as_deref()))
        .collect();
    let unfit = "the answer is rejected: the JSON object is well-formed and not allowed here: \
                 /reason: say why nothing is left to do";
    let expected = [
        (
            CallOutcome::Rejected,
            Some("the answer is rejected: it is empty"),
        ),
        (CallOutcome::Rejected, Some(unfit)),
        (CallOutcome::MainSucceeded, None),
    ];
    assert_eq!(went, expected);

    let last = model.requests().pop().unwrap().messages;
    let roles: Vec<_> = last.iter().map(|message| message.role).collect();
    assert_eq!(
        roles,
        [
            Role::User,
            Role::Assistant,
            Role::User,
            Role::Assistant,
            Role::User
        ]
    );
    assert_eq!(last[1].content, "(empty answer)");
    assert_eq!(last[3].content, "{\"action\": \"done\"}");
    assert!(
        last[4]
            .content
            .contains("/reason: say why nothing is left to do")
    );
}

#[tokio::test]
async fn sch_57_three_failures_in_a_row_are_an_error_with_the_whole_story() {
    let model = Scripted::new([
        "no",
        "{\"action\": \"go\"}",
        "{\"action\": \"continue|done\"}",
        "left",
    ]);
    let why = ask().run(&model, request()).await.unwrap_err();
    assert!(why.unanswered.is_none() && why.rejections == 3, "{why}");
    let story: Vec<_> = why
        .rejected
        .iter()
        .map(|r| (r.class, r.raw.as_str()))
        .collect();
    let expected = [
        (RejectedClass::NotJson, "no"),
        (RejectedClass::Schema, "{\"action\": \"go\"}"),
        (
            RejectedClass::Alternatives,
            "{\"action\": \"continue|done\"}",
        ),
    ];
    assert_eq!(story, expected);
    assert_eq!(model.left(), 1);
}

#[tokio::test]
async fn l4_the_rule_decides_when_the_model_does_not() {
    let ask = ask().rejections(2).or_rule(|_| done());
    let garbage = Scripted::new(["no", "no", "left"]);
    let answer = ask.run(&garbage, request()).await.unwrap();
    assert_eq!((answer.value, garbage.left()), (done(), 1));
    let record = answer.record;
    assert_eq!(
        (record.source, record.traces.len()),
        (DecisionSource::Rule, 2)
    );
    let why = "the answer is rejected: it contains no valid JSON object";
    assert_eq!(record.fallback_reason.as_deref(), Some(why));

    let down = Scripted::new([ModelError::new(ModelErrorKind::Unreachable, "")]);
    let record = ask.run(&down, request()).await.unwrap().record;
    assert_eq!(record.source, DecisionSource::Rule);
    // The rule is no request: the one trace is that of the model.
    let [trace] = &record.traces[..] else {
        panic!("{record:?}")
    };
    assert_eq!(trace.outcome, CallOutcome::AllFailed);
    let failure = trace.attempts[0].failure.as_ref();
    assert_eq!(failure.map(|it| it.kind), Some(ModelErrorKind::Unreachable));
}

#[tokio::test]
async fn l4_what_a_decision_says_streams_before_it_is_complete() {
    let said = "```json\n{\"reason\": \"looking\", \"action\": \"continue\"}\n```";
    let model = Scripted::new([ScriptedReply::chunked(said, 3)]);
    let deltas = model.stream(request()).await.unwrap();
    let (mut shown, mut fields, mut end) = (vec![], vec![], None);
    for delta in read_object(deltas)
        .map(Result::unwrap)
        .collect::<Vec<_>>()
        .await
    {
        match delta {
            ObjectDelta::Piece(ObjectPiece::Text { name, more }) => shown.push((name, more)),
            ObjectDelta::Piece(ObjectPiece::Field { name, .. }) => fields.push(name),
            ObjectDelta::End { raw, found } => {
                assert_eq!(raw, said);
                end = Some(contract().read_value(found.unwrap().object.into()).unwrap());
            }
            other => assert!(matches!(other, ObjectDelta::Other(_)), "{other:?}"),
        }
    }
    let reasons = shown.iter().filter(|(name, _)| &**name == "reason");
    let reason: Vec<_> = reasons.map(|(_, more)| more.as_str()).collect();
    assert!(
        reason.len() > 1 && reason.concat() == "looking",
        "{reason:?}"
    );
    assert_eq!(fields, ["reason".into(), "action".into()]);
    let expected = Decision {
        action: Action::Continue,
        reason: "looking".into(),
    };
    assert_eq!(end, Some(expected));
}

#[tokio::test]
async fn sch_49_a_tagged_answer_is_split_as_it_streams() {
    let said = "<decision nonce=\"n1\">{\"action\": \"continue\"}</decision>\nLooking.";
    let model = Scripted::new([ScriptedReply::chunked(said, 3)]);
    let deltas = model.stream(request()).await.unwrap();
    let split = split_tag(deltas, Tag::around("decision", "n1"));
    let (mut text, mut action, mut end) = (String::new(), None, None);
    for delta in split.map(Result::unwrap).collect::<Vec<_>>().await {
        match delta {
            TaggedDelta::Piece(TagPiece::Found(found)) => {
                action = Some(contract().read(&found.body).unwrap().action);
            }
            TaggedDelta::Piece(TagPiece::Text(more)) => text.push_str(&more),
            TaggedDelta::End(last) => end = Some(last),
            other => assert!(matches!(other, TaggedDelta::Other(_))),
        }
    }
    assert_eq!(
        (text.as_str(), action),
        ("Looking.", Some(Action::Continue))
    );
    assert_eq!(
        end,
        Some(TagEnd::Tagged {
            before: String::new()
        })
    );
}
