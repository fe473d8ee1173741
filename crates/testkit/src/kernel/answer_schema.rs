//! A question whose answer has another schema than when it was asked: K20.
use std::sync::Arc;

use fugato_graph::{
    AnswerError, Answers, BoxError, Context, END, Graph, Outcome, RunErrorKind, StateEdit,
};
use fugato_state::{Question, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    fixture::{Change, Fixture, Page, fails, finished, line, question, whole},
    world::texts,
};
use crate::log::{Failure, LogFactory, Verdict, holds, same};

/// The answer as the program that asked knew it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Choice {
    yes: bool,
}

/// The same under another name, with words that explain it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Decision {
    /// True if the person wants it.
    yes: bool,
}

/// One with more, which need not be said.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct OptionalReason {
    yes: bool,
    why: Option<String>,
    #[serde(default)]
    sure: bool,
}

/// One with more, which must be said.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct RequiredReason {
    yes: bool,
    why: String,
}

fn deciding<A>(said: impl Fn(A) -> String + Send + Sync + 'static) -> Result<Graph<Page>, Failure>
where
    A: JsonSchema + DeserializeOwned + 'static,
{
    let graph = Graph::<Page>::starting_at("ask")
        .pause("ask", |_| "sure?", move |_, answer: A| line(said(answer)))
        .edge("ask", END);
    Ok(graph.build()?)
}

/// A question whose answer schema now has other descriptions, another name, or a new optional field
/// is answered as before.
pub async fn k20_an_answer_that_fits_both_schemas_is_taken(factory: &dyn LogFactory) -> Verdict {
    let today = [
        deciding(|decision: Decision| format!("decided {}", decision.yes))?,
        deciding(|it: OptionalReason| format!("considered {} {:?} {}", it.yes, it.why, it.sure))?,
    ];
    let expected = ["decided true", "considered true None false"];
    for (today, expected) in today.iter().zip(expected) {
        let mut desk = Fixture::of(factory).await?;
        let before = deciding(|choice: Choice| choice.yes.to_string())?;
        let asked = question(desk.start(&before).await)?;
        desk.another_process();
        let answer = Answers::to(asked.id, Choice { yes: true })?;
        let page = finished(desk.resume(today, answer).await)?;
        same("what was said", page.lines, vec![expected.to_owned()])?;
    }
    Ok(())
}

/// An answer that does not fit both schemas changes nothing. The question is asked again, under
/// another id and in its present form, and an operator can finish it as before.
pub async fn k20_an_answer_that_no_longer_fits_is_asked_anew(factory: &dyn LogFactory) -> Verdict {
    let today = deciding(|it: RequiredReason| format!("{} because {}", it.yes, it.why))?;
    for by_hand in [false, true] {
        let mut desk = Fixture::of(factory).await?;
        let before = deciding(|choice: Choice| choice.yes.to_string())?;
        let asked = question(desk.start(&before).await)?;
        desk.another_process();
        if by_hand {
            let none: [Change; 0] = [];
            let amendment = StateEdit::new(none, "Ada", "no longer asked").finishing("ask#1");
            let runner = desk.runner(&today);
            let page = finished(runner.amend(&desk.thread, amendment).await)?;
            same("what was said", page.lines, vec![])?;
            continue;
        }
        let old = Answers::to(asked.id.clone(), Choice { yes: true })?;
        let anew = question(desk.resume(&today, old.clone()).await)?;
        holds(anew.id != asked.id, || {
            format!("{} was asked again", anew.id)
        })?;
        same(
            "what is asked",
            &anew.question.schema,
            &Schema::of::<RequiredReason>(),
        )?;
        let open = vec![anew.id.clone()];
        let late = AnswerError::Unknown { id: asked.id, open };
        fails(desk.resume(&today, old).await, RunErrorKind::Answer(late))?;
        let yes = RequiredReason {
            yes: true,
            why: "it rains".into(),
        };
        let page = finished(desk.resume(&today, Answers::to(anew.id, yes)?).await)?;
        let said = texts(&["true because it rains"]);
        same("what was said", page.lines, said)?;
    }
    Ok(())
}

/// A node that asks for an `A` and reads the answer itself.
fn reading<A>(said: impl Fn(A) -> String + Send + Sync + 'static) -> Result<Graph<Page>, Failure>
where
    A: JsonSchema + DeserializeOwned + Send + 'static,
{
    let said = Arc::new(said);
    let graph = Graph::<Page>::starting_at("ask")
        .node("ask", move |cx: Context<Page>| {
            let said = said.clone();
            async move {
                let answer = cx.answer::<A>("q")?;
                Ok::<_, BoxError>(match answer {
                    Some(answer) => Outcome::done([line(said(answer))]),
                    None => Outcome::ask(Question::new::<A>("q", "sure?")),
                })
            }
        })
        .edge("ask", END);
    Ok(graph.build()?)
}

/// A node that cannot read the answer to its own question any more fails, and nothing is lost: it is
/// tried again by a program that can read it, or an operator finishes it.
pub async fn k20_an_answer_that_a_node_cannot_read_fails_its_task(
    factory: &dyn LogFactory,
) -> Verdict {
    for by_hand in [false, true] {
        let mut desk = Fixture::of(factory).await?;
        let before = reading(|choice: Choice| choice.yes.to_string())?;
        let asked = question(desk.start(&before).await)?;
        desk.another_process();
        let today = reading(|it: RequiredReason| format!("{} because {}", it.yes, it.why))?;
        let answer = Answers::to(asked.id, Choice { yes: true })?;
        let failed = desk.resume(&today, answer).await.err();
        let why = failed.map(|error| whole(&error)).unwrap_or_default();
        holds(why.contains("missing field `why`"), || why.clone())?;
        let both = reading(|it: OptionalReason| format!("{} {:?} {}", it.yes, it.why, it.sure))?;
        let (ended, said) = if by_hand {
            let none: [Change; 0] = [];
            let edit = StateEdit::new(none, "Ada", "no longer asked").finishing("ask#1");
            (desk.runner(&today).amend(&desk.thread, edit).await, vec![])
        } else {
            let said = texts(&["true None false"]);
            (desk.runner(&both).retry(&desk.thread).await, said)
        };
        same("what was said", finished(ended)?.lines, said)?;
    }
    Ok(())
}
