//! An agent that shows everything that a wire has to carry.
use std::sync::Arc;

use fugato::{
    Context, END, EventKind, Graph, Outcome, Question, State,
    graph::{BoxError, BuildError},
    tool::ToolStatus,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Semaphore;

/// What is known of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PeerState {
    wish: String,
    placed: Option<bool>,
    week: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Change {
    Wished(String),
    Judged { placed: bool, week: Option<String> },
}

impl State for PeerState {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Wished(wish) => {
                *self = Self {
                    wish,
                    ..Self::default()
                };
            }
            Change::Judged { placed, week } => {
                self.placed = Some(placed);
                self.week = week;
            }
        }
    }
}

/// What the model says, piece by piece; a character of four bytes and a line end are among it.
const SAID: [&str; 5] = ["Let me ", "look: ", "\"今天\"\n", "", "😀 ok."];

/// The graph: think, look, ask a person, place, say so. Where the wish says "slow", it waits in the
/// middle of a text until `gate` lets it go on.
pub(crate) fn graph(gate: Arc<Semaphore>) -> Result<Graph<PeerState>, BuildError> {
    Graph::<PeerState>::starting_at("think")
        .node("think", move |cx: Context<PeerState>| {
            let gate = gate.clone();
            async move { think(&cx, &gate).await }
        })
        .node("ask", async |cx: Context<PeerState>| ask(&cx))
        .node("place", async |cx: Context<PeerState>| place(&cx))
        .branch("think", ["ask", END], |desk| {
            if desk.wish.contains("talk") {
                END
            } else {
                "ask"
            }
        })
        .edge("ask", "place")
        .edge("place", END)
        .output(|desk| {
            let answer = match desk.placed {
                Some(true) => "placed",
                Some(false) => "left",
                None => "talked",
            };
            answer.to_owned()
        })
        .build()
}

async fn think(cx: &Context<PeerState>, gate: &Semaphore) -> Result<Outcome<Change>, BoxError> {
    let wish = cx.state().wish.clone();
    for text in ["Which ", "day?"] {
        cx.emit(EventKind::ReasoningDelta {
            block: "thought".into(),
            text: text.into(),
        });
    }
    cx.emit(EventKind::ReasoningFinished {
        block: "thought".into(),
    });
    cx.emit(EventKind::Status {
        code: "planning".into(),
        summary: "planning your week".into(),
    });
    for (n, text) in SAID.into_iter().enumerate() {
        if n == 2 && wish.contains("slow") {
            gate.acquire().await?.forget();
        }
        cx.emit(EventKind::TextDelta {
            block: "answer".into(),
            text: text.into(),
        });
    }
    if wish.contains("fail") {
        return Err("the model is not there".into());
    }
    cx.emit(EventKind::TextFinished {
        block: "answer".into(),
    });
    let (call, name) = (|| "c1".to_owned(), || "find_free".to_owned());
    Ok(Outcome::done([])
        .note(EventKind::Custom {
            name: "plan".into(),
            data: json!({ "steps": ["look", "place"] }),
        })
        .note(EventKind::ToolCallProposed {
            call: call(),
            name: name(),
            arguments: json!({ "duration": 2 }),
        })
        .note(EventKind::ToolStarted {
            call: call(),
            name: name(),
            preview: "duration=2".into(),
        })
        .note(EventKind::ToolFinished {
            call: call(),
            name: name(),
            status: ToolStatus::Ok,
            summary: "day 2 is free".into(),
            result: Some(json!({ "days": [2] })),
        })
        .note(EventKind::Custom {
            name: "usage".into(),
            data: json!({ "prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12 }),
        })
        .note(EventKind::Card {
            card: "week".into(),
            data: json!({ "days": 7 }),
        }))
}

/// The arguments of the call that a person is asked about.
fn place_call() -> EventKind {
    EventKind::ToolCallProposed {
        call: "c2".into(),
        name: "place".into(),
        arguments: json!({ "task": "Algebra", "day": 2 }),
    }
}

/// A call to approve, and a question that has nothing to do with one.
fn ask(cx: &Context<PeerState>) -> Result<Outcome<Change>, BoxError> {
    let (placed, week) = (cx.answer("place")?, cx.answer("week")?);
    if let Some(placed) = placed {
        return Ok(Outcome::done([Change::Judged { placed, week }]));
    }
    cx.emit(place_call());
    let confirm = json!({
        "type": "confirm", "title": "Place it?", "summary": "Algebra on day 2", "call": "c2",
    });
    let mut questions = vec![Question::new::<bool>("place", confirm).expires_at(4_102_444_800_000)];
    if cx.state().wish.contains("two") {
        questions.push(Question::new::<String>("week", "Which week?"));
    }
    Ok(Outcome::Ask {
        memo: None,
        questions,
    })
}

fn place(cx: &Context<PeerState>) -> Outcome<Change> {
    let placed = cx.state().placed == Some(true);
    let week = cx.state().week.clone().unwrap_or_else(|| "this".into());
    let (call, name) = (|| "c2".to_owned(), || "place".to_owned());
    let (status, summary) = if placed {
        (ToolStatus::Ok, format!("placed in week {week}"))
    } else {
        (ToolStatus::Blocked, "you did not want it".to_owned())
    };
    cx.emit(EventKind::TextDelta {
        block: "answer".into(),
        text: if placed { "Done, 好的." } else { "Left." }.into(),
    });
    Outcome::done([])
        .note(EventKind::ToolStarted {
            call: call(),
            name: name(),
            preview: "Algebra".into(),
        })
        .note(EventKind::ToolFinished {
            call: call(),
            name: name(),
            status,
            summary,
            result: None,
        })
}
