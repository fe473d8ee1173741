//! Requests for a function call: corrections, attempts over all models, and forms of calls.
use std::time::Duration;

use fugato_llm::{
    Answer, Ask, AskError, CallOutcome, ChatModel, ChatRequest, DecisionSource, Fallback,
    ModelError, ModelErrorKind, RejectedAnswer, Retry, Settlement, ToolChoice, ToolSchema,
};
use fugato_state::{Message, Schema, ToolCall};
use fugato_testkit::{Scripted, ScriptedReply};
use serde_json::{Value, json};

fn book(seats: i64) -> ScriptedReply {
    ScriptedReply::tool_calls([ToolCall::new("f1", "book", json!({ "seats": seats }))])
}

fn down() -> ModelError {
    ModelError::new(ModelErrorKind::Unavailable, "maintenance")
}

fn read(arguments: &Value) -> Result<i64, RejectedAnswer> {
    let seats = arguments.get("seats").and_then(Value::as_i64);
    let wrong = || RejectedAnswer::sense(arguments.to_string(), "/seats", "1 to 9 are allowed");
    seats
        .filter(|seats| (1..10).contains(seats))
        .ok_or_else(wrong)
}

async fn ask(model: &dyn ChatModel) -> Result<Answer<i64>, AskError> {
    let schema = Schema::of::<Value>();
    let function = ToolSchema::new("book", "Books seats.", schema);
    let ask = Ask::function("table", function, read).timeout(Duration::from_secs(10));
    let request = ChatRequest::new([Message::user("A table")]);
    ask.run(model, request).await
}

fn outcomes(traces: &[fugato_llm::CallTrace]) -> Vec<CallOutcome> {
    traces.iter().map(|trace| trace.outcome).collect()
}

#[tokio::test]
async fn a_call_that_does_not_fit_is_corrected_until_it_does() {
    let model = Scripted::new([book(0), book(2)]);
    let called = ask(&model).await.unwrap();
    let native = DecisionSource::LlmFunctionCall;
    assert_eq!((called.value, called.record.source), (2, native));
    let went = [CallOutcome::Rejected, CallOutcome::MainSucceeded];
    assert_eq!(outcomes(&called.record.traces), went);
    assert!(
        called
            .record
            .traces
            .iter()
            .all(|trace| trace.stage == "table")
    );
    let [first, second] = &model.requests()[..] else {
        panic!("two questions")
    };
    assert_eq!(first.tool_choice, ToolChoice::Named("book".into()));
    assert_eq!((first.attempts, second.attempts), (Some(3), Some(2)));
    let told = &second.messages.last().unwrap().content;
    assert!(told.contains("1 to 9 are allowed"), "{told}");
}

#[tokio::test]
async fn after_the_last_attempt_nobody_is_asked() {
    let model = Scripted::new([book(0), book(0), book(0), book(2)]);
    let refused = ask(&model).await.unwrap_err();
    assert_eq!(outcomes(&refused.traces), [CallOutcome::Rejected; 3]);
    assert!(refused.reason().contains("1 to 9 are allowed"), "{refused}");
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted_over_all_models_and_corrections() {
    let backup = Scripted::new([book(0), book(2)]).named("backup");
    let main = Scripted::new([down(), down()]).named("main");
    let chain = Retry::new(Fallback::new(main.clone()).or(backup.clone())).attempts(9);
    let refused = ask(&chain).await.unwrap_err();
    // Two of three attempts are used when the backup is corrected, and the main model takes the
    // last one.
    let went = [CallOutcome::Rejected, CallOutcome::AllFailed];
    assert_eq!(outcomes(&refused.traces), went);
    assert!(refused.reason().contains("maintenance"), "{refused}");
    assert_eq!((main.requests().len(), backup.requests().len()), (2, 1));

    let chain = Fallback::new(Scripted::new([down()]).named("main")).or(backup);
    let called = ask(&chain).await.unwrap();
    assert_eq!(
        outcomes(&called.record.traces),
        [CallOutcome::BackupSucceeded]
    );
    assert_eq!(
        called.record.traces[0].to_string(),
        "table: backup_succeeded\n  main unavailable after 0 ms\n  backup answered after 0 ms"
    );
}

#[tokio::test(start_paused = true)]
async fn a_model_that_keeps_no_time_is_left() {
    let begin = tokio::time::Instant::now();
    let refused = ask(&Scripted::new([ScriptedReply::hang()]))
        .await
        .unwrap_err();
    assert_eq!(outcomes(&refused.traces), [CallOutcome::AllFailed]);
    let told = refused.traces[0].to_string();
    assert!(told.ends_with(" timed_out after 30000 ms"), "{told}");
    assert_eq!(begin.elapsed(), Duration::from_secs(30));
}

#[tokio::test]
async fn a_call_in_another_form_is_read_or_given_up_at_once() {
    let cases = [
        (
            "<tool_call>{\"name\": \"book\", \"arguments\": {\"seats\": 2}}</tool_call>",
            Ok(2),
        ),
        ("{\"name\": \"book\", \"arguments\": {\"seats\": 2}}", Ok(2)),
        ("[TOOL_CALLS] book(2)", Err(CallOutcome::ForeignFormat)),
        (
            "<function=book>2</function>",
            Err(CallOutcome::ForeignFormat),
        ),
        ("Of course!", Err(CallOutcome::NoCall)),
    ];
    for (said, expected) in cases {
        let model = Scripted::new([said, said]);
        match (ask(&model).await, expected) {
            (Ok(called), Ok(seats)) => {
                let as_text = DecisionSource::LlmTextCall;
                assert_eq!(
                    (called.value, called.record.source),
                    (seats, as_text),
                    "{said}"
                );
                assert_eq!(
                    outcomes(&called.record.traces),
                    [CallOutcome::ForeignFormat]
                );
            }
            (Err(refused), Err(outcome)) => {
                assert_eq!(outcomes(&refused.traces), [outcome], "{said}");
                assert!(refused.reason().contains("call book"), "{refused}");
            }
            (asked, _) => panic!("{said}: {asked:?}"),
        }
        assert_eq!(model.requests().len(), 1, "{said}");
    }
}

#[test]
fn an_outcome_is_called_as_it_is_stored() {
    for outcome in [
        CallOutcome::MainSucceeded,
        CallOutcome::BackupSucceeded,
        CallOutcome::AllFailed,
        CallOutcome::ForeignFormat,
        CallOutcome::NoCall,
        CallOutcome::Rejected,
    ] {
        assert_eq!(json!(outcome), json!(outcome.as_str()));
    }
}

#[test]
fn a_settlement_depends_on_the_count_and_the_answer_alone() {
    let ask = Ask::reading("seats", read).rejections(2);
    let unfit = Ok(json!({ "seats": 0 }));
    for _ in 0..2 {
        let Settlement::Again(rejected) = ask.settle(0, &unfit) else {
            panic!("it is the first one")
        };
        assert!(rejected.messages()[1].content.contains("1 to 9"));
    }
    let fit = ask.settle(7, &Ok(json!({ "seats": 2 })));
    assert!(matches!(fit, Settlement::Decided(2)));
    for (settled, expected) in [
        (
            ask.settle(1, &unfit),
            "2 unusable answers in a row, the last one: the answer is rejected: the JSON object \
             is well-formed and not allowed here: /seats: 1 to 9 are allowed",
        ),
        (
            ask.settle(1, &Err(down())),
            "no answer after 1 unusable answers in a row: the model server is unavailable: \
             maintenance",
        ),
        (
            ask.settle(0, &Err(down())),
            "the model server is unavailable: maintenance",
        ),
    ] {
        let Settlement::Failed(why) = settled else {
            panic!("{expected}")
        };
        assert_eq!(why.to_string(), expected);
    }
    assert_eq!(AskError::default().to_string(), "there is no model");
}
