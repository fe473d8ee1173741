//! The rounds of an ask in a graph: corrections counted in the state, and a rule that decides.
use std::sync::Arc;

use async_trait::async_trait;
use fugato_agent::{
    CorrectionState, ModelFailure, OnFailure, StreamedParts, ask, settle,
    trace::{ModelCall, RecordedModel, model_calls, recorded},
};
use fugato_graph::{
    BoxError, BudgetUnit, Context, END, Graph, Node, Outcome, Runner, RunnerOptions,
};
use fugato_llm::{Ask, ChatModel, ChatRequest, ChatResponse, RejectedAnswer, Settlement};
use fugato_state::{Message, State, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use fugato_testkit::Scripted;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};

/// A table, with the corrections of the model that is asked for its seats.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Table {
    corrections: u32,
    history: Vec<Message>,
    seats: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
enum Change {
    Corrected([Message; 2]),
    Seated(u32),
}

impl State for Table {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Corrected(pair) => {
                self.corrections += 1;
                self.history.extend(pair);
            }
            Change::Seated(seats) => {
                self.corrections = 0;
                self.seats.push(seats);
            }
        }
    }
}

impl CorrectionState for Table {
    fn corrections(&self) -> u32 {
        self.corrections
    }

    fn corrected(pair: [Message; 2]) -> Vec<Change> {
        vec![Change::Corrected(pair)]
    }
}

fn read(response: &ChatResponse) -> Result<u32, RejectedAnswer> {
    let seats = response.message.content.parse();
    seats.map_err(|_| RejectedAnswer::sense(&response.message.content, "", "a number is allowed"))
}

/// The node that asks the model once; after three unusable answers in a row a rule seats two.
struct Seat(Arc<dyn ChatModel>);

#[async_trait]
impl Node<Table> for Seat {
    async fn run(&self, cx: Context<Table>) -> Result<Outcome<Change>, BoxError> {
        let question = Ask::reading("seats", read);
        let said = [Message::user("A table")].into_iter();
        let request = ChatRequest::new(said.chain(cx.state().history.iter().cloned()));
        let request = question.request(request);
        let answer = ask(&cx, &*self.0, request, StreamedParts::Reasoning).await;
        match settle(&cx, &question, &answer) {
            Settlement::Decided(seats) => Ok(Outcome::done([Change::Seated(seats)])),
            Settlement::Again(outcome) => Ok(outcome),
            Settlement::Failed(why) => {
                OnFailure::Rules.fall_back(&cx, why, (self.0.name(), "A table"))?;
                Ok(Outcome::done([Change::Seated(2)]))
            }
        }
    }
}

/// What is known of a run: its end, the calls of models in the log, and the names of the events.
struct Told {
    table: Table,
    calls: Vec<ModelCall>,
    events: Vec<String>,
}

/// Runs until there are two decisions, beginning with so many corrections, and at most so many
/// calls of models.
async fn run(model: &Scripted, corrections: u32, calls: u64) -> Result<Told, BoxError> {
    let node = recorded(Seat(Arc::new(RecordedModel::new(model.clone()))));
    let begin = move || Table {
        corrections,
        ..Table::default()
    };
    let graph = Graph::<Table>::with_initial("seat", begin)
        .node("seat", node)
        .branch("seat", ["seat", END], |table| {
            if table.seats.len() < 2 { "seat" } else { END }
        })
        .build()?;
    // A run that has used up a budget fails before its next step.
    let options = RunnerOptions::default().budget(BudgetUnit::ModelCalls, calls + 1);
    let runner = Runner::new(graph, Arc::new(MemoryLog::default())).options(options);
    let thread = ThreadId::new("t")?;
    let (events, end) = runner.start(&thread, vec![]).split();
    let events = events.filter_map(|event| async move {
        match event.kind {
            EventKind::Correction { .. } => Some("correction".to_owned()),
            EventKind::Custom { name, .. } if name != ModelCall::NAME => Some(name),
            _ => None,
        }
    });
    let (events, ended) = futures::join!(events.collect(), end);
    let table = ended?.state().clone();
    let runs = runner.trace(&thread).await?;
    let tasks = runs.iter().flat_map(|run| &run.tasks);
    Ok(Told {
        table,
        calls: tasks.flat_map(model_calls).collect(),
        events,
    })
}

#[tokio::test]
async fn a_rule_that_decides_is_no_call_of_a_model() -> Result<(), BoxError> {
    let model = Scripted::new(["no", "no", "no", "4"]);
    let told = run(&model, 0, 4).await?;
    assert_eq!(told.table.seats, [2, 4]);
    // Three rejected answers, and the one after the rule.
    assert_eq!((told.calls.len(), model.requests().len()), (4, 4));
    let expected = ["correction", "correction", ModelFailure::BY_RULE];
    assert_eq!(told.events, expected);
    Ok(())
}

#[tokio::test]
async fn corrections_are_counted_in_the_state_and_told_to_the_model() -> Result<(), BoxError> {
    let model = Scripted::new(["no", "no", "4"]);
    // One answer was rejected before this process began.
    let told = run(&model, 1, 3).await?;
    assert_eq!((told.table.seats, told.calls.len()), (vec![2, 4], 3));
    assert_eq!(told.events, ["correction", ModelFailure::BY_RULE]);
    let requests = model.requests();
    let [.., said, correction] = &requests[1].messages[..] else {
        panic!("the second request has the correction")
    };
    assert_eq!(said, &Message::assistant("no"));
    assert!(fugato_prompt::is_correction(correction));
    assert!(correction.content.contains("a number is allowed"));
    Ok(())
}
