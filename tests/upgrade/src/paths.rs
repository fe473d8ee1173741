//! The paths of the graph.
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fugato::{
    graph::{
        BoxError, BuildError, Context, END, Effect, Graph, NodePolicy, Outcome, SubgraphInput,
    },
    state::{EffectClass, Question},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::page::{OldPage, Page, Say, say};

/// The outside world of the threads.
#[derive(Clone, Debug, Default)]
pub struct World {
    broken: Arc<AtomicBool>,
    hangs: Arc<AtomicBool>,
    sent: Arc<Mutex<Vec<String>>>,
}

impl World {
    /// One in which nothing works that can fail.
    pub fn broken() -> Self {
        let world = Self::default();
        world.broken.store(true, Ordering::SeqCst);
        world
    }

    /// Lets actions take for ever from now on.
    pub fn hang(&self) {
        self.hangs.store(true, Ordering::SeqCst);
    }

    /// The messages that were sent.
    pub fn sent(&self) -> Vec<String> {
        let sent = self.sent.lock();
        sent.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, text: String) {
        let sent = self.sent.lock();
        sent.unwrap_or_else(PoisonError::into_inner).push(text);
    }

    async fn send(self, text: String) -> Result<String, BoxError> {
        self.note(text.clone());
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.check()?;
        Ok(format!("sent {text}"))
    }

    fn check(&self) -> Result<(), BoxError> {
        if self.broken.load(Ordering::SeqCst) {
            return Err("the world is broken".into());
        }
        Ok(())
    }
}

/// An answer with parts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Seat {
    row: u32,
    side: Side,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Side {
    Window,
    Aisle,
}

/// The nodes to which the first line of a thread can lead.
const PATHS: [&str; 9] = [
    "pause", "approve", "form", "memo", "send", "left", "each", "first", "sleep",
];

fn route(page: &Page) -> Vec<&'static str> {
    let wish = page.lines.last().map_or("", String::as_str);
    match wish {
        "left" => vec!["left", "right"],
        "first" => vec!["first", "second"],
        other => PATHS.into_iter().filter(|path| *path == other).collect(),
    }
}

/// The graph of today's state.
///
/// # Errors
/// Never: it is sound.
pub fn graph(world: &World) -> Result<Graph<Page>, BuildError> {
    let part = part()?;
    let graph = Graph::<Page>::starting_at("open")
        .node("open", async |_: Context<Page>| ())
        .branch("open", PATHS.into_iter().chain(["right", "second"]), route)
        .pause(
            "pause",
            |page| page.lines.len(),
            |_, yes: bool| say(yes.to_string()),
        )
        .approval(
            "approve",
            |page| page.lines.clone(),
            |_, yes: bool| say(format!("approved {yes}")),
        )
        .node("form", form)
        .node("memo", memo)
        .node("each", async |_: Context<Page>| ())
        .scatter("each", "part", |_| ["one", "two"])
        .subgraph(
            "part",
            &part,
            |entering: SubgraphInput<'_, Page>| {
                Ok::<_, BoxError>(Page {
                    lines: vec![entering.item()?],
                })
            },
            |_, part: &Page| part.lines.iter().map(say).collect::<Vec<_>>(),
        )
        .node("first", async |_: Context<Page>| say("first"))
        .pause("second", |_| "the second?", |_, text: String| say(text))
        .join(["first", "second"], "both")
        .node("both", async |_: Context<Page>| say("both"));
    let ends = [
        "pause", "approve", "form", "memo", "part", "both", "left", "right", "send", "sleep",
    ];
    let graph = failing(graph, world);
    ends.into_iter()
        .fold(graph, |graph, end| graph.edge(end, END))
        .build()
}

type Builder = fugato::graph::GraphBuilder<Page>;

/// The nodes that need the world.
fn failing(graph: Builder, world: &World) -> Builder {
    let day = Duration::from_hours(24);
    let (sending, right, sleeping) = (world.clone(), world.clone(), world.clone());
    graph
        .node("send", move |cx: Context<Page>| {
            let world = sending.clone();
            async move {
                let effect = Effect::<String>::from(EffectClass::Once).whole_thread();
                let text = "mail".to_owned();
                let act = move |_| world.send("mail".to_owned());
                let told: String = cx.effect("mail", effect, &text, act).await?;
                Ok::<_, BoxError>(say(told))
            }
        })
        .node("left", async |_: Context<Page>| say("left"))
        .node("right", move |_: Context<Page>| {
            let world = right.clone();
            async move { world.check().map(|()| say("right")) }
        })
        .node("sleep", move |_: Context<Page>| {
            let world = sleeping.clone();
            async move { world.check().map(|()| say("slept")) }
        })
        .policy("sleep", NodePolicy::default().attempts(5).backoff(day, day))
}

/// Several questions at once, of several types.
async fn form(cx: Context<Page>) -> Result<Outcome<Say>, BoxError> {
    let Some(city) = cx.answer::<String>("city")? else {
        let questions = vec![
            Question::new::<String>("city", "which city?"),
            Question::new::<u32>("days", "how many days?"),
            Question::new::<Seat>("seat", serde_json::json!({ "title": "which seat?" })),
            Question::new::<Option<bool>>("meals", "with meals?"),
        ];
        return Ok(Outcome::Ask {
            memo: None,
            questions,
        });
    };
    let days = cx.answer::<u32>("days")?.unwrap_or_default();
    let row = cx.answer::<Seat>("seat")?.map_or(0, |seat| seat.row);
    Ok(Outcome::done([say(format!("{city} {days} {row}"))]))
}

/// One question after another, with what was answered before in the memo.
async fn memo(cx: Context<Page>) -> Result<Outcome<Say>, BoxError> {
    let mut names: Vec<String> = cx.memo()?.unwrap_or_default();
    names.extend(cx.answer::<String>("name")?);
    if names.len() == 3 {
        return Ok(Outcome::done([say(names.join(", "))]));
    }
    let question = Question::new::<String>("name", format!("name {}?", names.len() + 1));
    Ok(Outcome::ask(question).remember(names)?)
}

/// The graph in the scatter.
fn part() -> Result<Graph<Page>, BuildError> {
    Graph::<Page>::starting_at("begin")
        .node("begin", async |_: Context<Page>| say("begun"))
        .pause(
            "ask",
            |page| page.lines.first().cloned(),
            |_, text: String| say(text),
        )
        .edge("begin", "ask")
        .edge("ask", END)
        .build()
}

/// The graph of the state of version 1, which knew one path only.
///
/// # Errors
/// Never: it is sound.
pub fn old_graph() -> Result<Graph<OldPage>, BuildError> {
    Graph::<OldPage>::starting_at("open")
        .node("open", async |_: Context<OldPage>| ())
        .pause("pause", |_| "old?", |_, yes: bool| yes.to_string())
        .edge("open", "pause")
        .edge("pause", END)
        .build()
}
