//! Our client, contracts and the correction loop against a small model on llama.cpp, which mostly
//! answers garbage. Where it is not installed there is nothing to ask.
#![expect(
    clippy::print_stdout,
    reason = "what the model came to is worth reading"
)]

use std::{sync::LazyLock, time::Duration};

use fugato::{
    Ask, BoxError, ChatModel, ChatModelExt as _, ChatRequest, Contract, OpenAi,
    llm::{
        ApiKey, CallOutcome, ChatDelta, DecisionSource, FinishReason, ModelErrorKind, ObjectDelta,
        RetryAdvice, read_object,
    },
    state::Message,
};
use futures::StreamExt as _;
use scheduler::contract::{ActionKind, ExecutorDecision};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use servers::{Llama, Server};
use tokio::{sync::Mutex, time::timeout};

const KEY: &str = "sk-small-0123456789";
/// Far more than any answer of so few tokens takes.
const PATIENCE: Duration = Duration::from_mins(5);
/// How often each question is asked.
const RUNS: usize = 3;

static SERVER: LazyLock<Option<Server>> = LazyLock::new(|| Llama::start(KEY));
/// It answers one request after the other anyway.
static TURN: Mutex<()> = Mutex::const_new(());

fn model() -> Option<OpenAi> {
    let server = SERVER.as_ref()?;
    Some(OpenAi::new(server.url(), "small").key(ApiKey::new(KEY)))
}

fn ask(text: &str, tokens: u32) -> ChatRequest {
    ChatRequest::new([Message::user(text)])
        .max_tokens(tokens)
        .temperature(0.2)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Choice {
    Yes,
    No,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Reply {
    answer: Choice,
}

#[tokio::test]
async fn an_answer_streams_until_its_length_stops_it() -> Result<(), BoxError> {
    let Some(model) = model() else { return Ok(()) };
    // A small model ends where it likes: told so, the server does not let it.
    let model = model.extra("ignore_eos", json!(true));
    let _turn = TURN.lock().await;
    let deltas = model.stream(ask("Count from one to twenty.", 8)).await?;
    let deltas: Vec<_> = timeout(PATIENCE, deltas.collect()).await?;
    let deltas: Vec<ChatDelta> = deltas.into_iter().collect::<Result<_, _>>()?;
    let texts = deltas
        .iter()
        .filter(|delta| matches!(delta, ChatDelta::Text(_)));
    assert!(texts.count() > 1, "{deltas:?}");
    assert!(
        deltas.contains(&ChatDelta::Finish(FinishReason::Length)),
        "{deltas:?}"
    );
    let output = deltas.iter().find_map(|delta| match delta {
        ChatDelta::Usage(usage) => Some(usage.output),
        _ => None,
    });
    assert_eq!(output, Some(8));
    Ok(())
}

#[tokio::test]
async fn a_server_that_keeps_to_a_schema_answers_as_the_contract_wants() -> Result<(), BoxError> {
    let Some(model) = model() else { return Ok(()) };
    let _turn = TURN.lock().await;
    let contract = Contract::<Reply>::new("reply");
    let request =
        ask("Is the sky blue? Answer in JSON.", 100).response_format(contract.response_format());
    let deltas = model.stream(request).await?;
    let mut end = None;
    let mut deltas = read_object(deltas);
    while let Some(delta) = timeout(PATIENCE, deltas.next()).await? {
        if let ObjectDelta::End { raw, .. } = delta? {
            end = Some(raw);
        }
    }
    let raw = end.ok_or("a stream has an end")?;
    let read = contract.read(&raw)?;
    println!("kept to a schema: {:?}", read.answer);
    Ok(())
}

#[tokio::test]
async fn refusals_are_told_apart() -> Result<(), BoxError> {
    let (Some(model), Some(server)) = (model(), SERVER.as_ref()) else {
        return Ok(());
    };
    let stranger = OpenAi::new(server.url(), "small").key(ApiKey::new("sk-wrong"));
    let nonsense = model
        .clone()
        .extra("response_format", json!({ "type": "nonsense" }));
    let denied = stranger
        .complete(ask("Hello", 4))
        .await
        .expect_err("the key is wrong");
    let bad = nonsense
        .complete(ask("Hello", 4))
        .await
        .expect_err("there is no such format");
    assert_eq!(
        [denied.kind, bad.kind],
        [ModelErrorKind::Denied, ModelErrorKind::BadRequest]
    );
    assert_eq!([denied.advice, bad.advice], [RetryAdvice::Never; 2]);
    assert!(!format!("{denied} {denied:?}").contains("sk-wrong"));
    Ok(())
}

/// What became of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    Decided,
    ByRule,
    Error,
}

#[tokio::test]
async fn the_correction_loop_always_ends() -> Result<(), BoxError> {
    let Some(model) = model() else { return Ok(()) };
    let _turn = TURN.lock().await;
    let contract = ExecutorDecision::contract(true);
    for (lang, wish) in [
        (
            "en",
            "Plan step 1 of 2: look at what is scheduled from day 3 to day 5.",
        ),
        ("zh", "当前步骤 1/2：查看第3天到第5天的安排。"),
    ] {
        for run in 0..RUNS {
            // The server keeps to the schema in the last run, and to nothing before.
            let mut request = ask(&prompt(&contract, wish), 60);
            if run + 1 == RUNS {
                request = request.response_format(contract.response_format());
            }
            let came = timeout(PATIENCE, decided(&model, request, &contract, run)).await??;
            println!("{lang} {run}: {came:?}");
        }
    }
    Ok(())
}

fn prompt(contract: &Contract<ExecutorDecision>, wish: &str) -> String {
    let keys = contract.outline();
    format!("{wish}\nAnswer with one JSON object and nothing else. Its keys:\n{keys}")
}

async fn decided(
    model: &OpenAi,
    request: ChatRequest,
    contract: &Contract<ExecutorDecision>,
    run: usize,
) -> Result<Came, BoxError> {
    let mut ask = Ask::json("llama", contract);
    if run.is_multiple_of(2) {
        ask = ask.or_rule(|_| ExecutorDecision::of(ActionKind::Continue));
    }
    let came = match ask.run(model, request).await {
        Ok(answer) => {
            let went = |outcome| {
                let traces = answer.record.traces.iter();
                traces.filter(|trace| trace.outcome == outcome).count()
            };
            let (came, rejected) = match answer.record.source {
                DecisionSource::Rule if went(CallOutcome::AllFailed) == 0 => (Came::ByRule, 3..=3),
                DecisionSource::Rule => (Came::ByRule, 0..=2),
                _ => (Came::Decided, 0..=2),
            };
            assert!(rejected.contains(&went(CallOutcome::Rejected)));
            let value = serde_json::to_value(&answer.value)?;
            contract.json_schema().check(&value)?;
            came
        }
        Err(error) => {
            match &error.unanswered {
                None => assert_eq!(error.rejected.len(), 3),
                why => println!("  {why:?}"),
            }
            Came::Error
        }
    };
    Ok(came)
}
