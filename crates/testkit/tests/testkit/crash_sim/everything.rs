//! A graph with every class of effect, scatter, join, pause, question midway, retries with
//! back-off, a nested subgraph, and keys of the whole thread.
use std::time::Duration;

use fugato_graph::{BoxError, Context, END, Effect, Graph, InDoubt, NodePolicy, Outcome};
use fugato_state::{EffectClass, Interrupt, Question, State};
use fugato_testkit::sim::World;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lines(pub(crate) Vec<String>);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Say(String);

impl State for Lines {
    type Update = Say;

    fn apply(&mut self, Say(line): Say) {
        self.0.push(line);
    }
}

pub(crate) fn say(line: impl Into<String>) -> Say {
    Say(line.into())
}

/// Returns the lines in a fixed order.
pub(crate) fn sorted(lines: &Lines) -> Value {
    let mut lines = lines.0.clone();
    lines.sort();
    json!(lines)
}

/// Answers every question in the same way, whenever it is asked.
pub(crate) fn answer(interrupt: &Interrupt) -> Option<Value> {
    match interrupt.question.key.as_str() {
        "answer" => Some(json!(true)),
        "size" => Some(json!(7)),
        _ => None,
    }
}

type SayResult = Result<Say, BoxError>;

/// Does one action of a class.
async fn does(
    cx: Context<Lines>,
    world: World,
    class: EffectClass,
    name: &'static str,
) -> SayResult {
    let done: String = cx
        .effect(name, class, &name, move |key| async move {
            world.act_as(class, name, key).await
        })
        .await?;
    Ok(say(done))
}

/// Does two actions of class `Once`, one of which can be reconciled.
async fn sends(cx: Context<Lines>, world: World) -> SayResult {
    let there = world.clone();
    let mail: String = cx
        .effect("mail", EffectClass::Once, &"all", move |key| async move {
            there.act("mail", key).await
        })
        .await?;
    let (there, later) = (world.clone(), world);
    let address = format!("/{}/parcel", cx.task());
    let parcel = Effect::once().reconcile(move || async move {
        let found = later.find("parcel", &address);
        let found = found.map_or(InDoubt::DidNotHappen, InDoubt::Happened);
        Ok::<_, BoxError>(Some(found))
    });
    let parcel: String = cx
        .effect("parcel", parcel, &"Ada", move |key| async move {
            there.act("parcel", key).await
        })
        .await?;
    Ok(say(format!("{mail}, {parcel}")))
}

/// Does an action that the whole thread does once, in whichever task.
async fn pays(cx: Context<Lines>, world: World) -> SayResult {
    let fee: String = cx
        .effect(
            "fee",
            Effect::once().whole_thread(),
            &5,
            move |key| async move { world.act("fee", key).await },
        )
        .await?;
    Ok(say(fee))
}

/// Asks midway, between two actions of class `Once`.
async fn asks(cx: Context<Lines>, world: World) -> Result<Outcome<Say>, BoxError> {
    let there = world.clone();
    let before: String = cx
        .effect("before", EffectClass::Once, &1, move |key| async move {
            there.act("before", key).await
        })
        .await?;
    let Some(size) = cx.answer::<u32>("size")? else {
        return Ok(Outcome::ask(Question::new::<u32>("size", "how large?")));
    };
    let after: String = cx
        .effect("after", EffectClass::Once, &size, move |key| async move {
            world.act("after", key).await
        })
        .await?;
    Ok(Outcome::done([say(format!("{before}, {size}, {after}"))]))
}

/// Does an action, and fails twice after it.
async fn stumbles(cx: Context<Lines>, world: World) -> SayResult {
    let there = world.clone();
    let first: String = cx
        .effect("first", EffectClass::Once, &(), move |key| async move {
            there.act("first", key).await
        })
        .await?;
    world.fail(cx.task(), 2)?;
    Ok(say(format!("{first}, at last")))
}

fn step<F, Fut>(world: &World, run: F) -> impl Fn(Context<Lines>) -> Fut + Send + Sync + 'static
where
    F: Fn(Context<Lines>, World) -> Fut + Send + Sync + 'static,
{
    let world = world.clone();
    move |cx| run(cx, world.clone())
}

/// Builds the subgraph, which asks before it pays.
fn inner(world: &World) -> Result<Graph<Lines>, BoxError> {
    Ok(Graph::<Lines>::starting_at("one")
        .node(
            "one",
            step(world, |cx, world| {
                does(cx, world, EffectClass::Once, "inner")
            }),
        )
        .pause(
            "ask",
            |_| "go on?",
            |_, yes: bool| say(format!("yes: {yes}")),
        )
        .node("pays", step(world, pays))
        .edge("one", "ask")
        .edge("ask", "pays")
        .edge("pays", END)
        .build()?)
}

/// Builds a graph with every feature of the engine.
pub(crate) fn everything(world: &World) -> Result<Graph<Lines>, BoxError> {
    let patient = NodePolicy::default()
        .attempts(20)
        .backoff(Duration::from_secs(1), Duration::from_secs(20));
    let entering = |at: fugato_graph::SubgraphInput<'_, Lines>| {
        Ok::<_, BoxError>(Lines(vec![at.item::<u32>()?.to_string()]))
    };
    Ok(Graph::<Lines>::starting_at("open")
        .node("open", async |_: Context<Lines>| say("open"))
        .node(
            "keyed",
            step(world, |cx, world| {
                does(cx, world, EffectClass::Keyed, "keyed")
            }),
        )
        .node(
            "same",
            step(world, |cx, world| {
                does(cx, world, EffectClass::Idempotent, "same")
            }),
        )
        .node(
            "pure",
            step(world, |cx, world| {
                does(cx, world, EffectClass::Pure, "pure")
            }),
        )
        .node("sends", step(world, sends))
        .node("plan", async |_: Context<Lines>| say("plan"))
        .subgraph("worker", &inner(world)?, entering, |_, inner: &Lines| {
            say(inner.0.join(", "))
        })
        .node("asks", step(world, asks))
        .node("stumbles", step(world, stumbles))
        .policy("stumbles", patient)
        .edge("open", "keyed")
        .edge("open", "same")
        .edge("open", "pure")
        .join(["keyed", "same", "pure"], "sends")
        .edge("sends", "plan")
        .scatter("plan", "worker", |_| 1..=2_u32)
        .edge("worker", "asks")
        .edge("asks", "stumbles")
        .edge("stumbles", END)
        .build()?)
}
