//! A question whose answer has another schema than when it was asked: K20.
use expect_test::expect;
use fugato_graph::{BoxError, Context, END, Graph, Outcome};
use fugato_state::Question;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    fixture::{Page, line},
    script::{BuildResult, check},
    world::{Stage, alone},
};
use crate::log::{CheckResult, LogFactory};

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

fn deciding(stage: &Stage) -> BuildResult {
    let graph = Graph::<Page>::starting_at("ask");
    let graph = match &*stage.program {
        "" => graph.pause("ask", |_| "sure?", |_, it: Choice| line(it.yes.to_string())),
        "decision" => graph.pause(
            "ask",
            |_| "sure?",
            |_, it: Decision| line(format!("decided {}", it.yes)),
        ),
        "optional" => graph.pause(
            "ask",
            |_| "sure?",
            |_, it: OptionalReason| line(format!("{} {:?} {}", it.yes, it.why, it.sure)),
        ),
        _ => graph.pause(
            "ask",
            |_| "sure?",
            |_, it: RequiredReason| line(format!("{} because {}", it.yes, it.why)),
        ),
    };
    graph.edge("ask", END).build()
}

/// A question whose answer schema now has other descriptions, another name, or a new optional field
/// is answered as before.
pub async fn k20_an_answer_that_fits_both_schemas_is_taken(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? ask#1~1 "sure?" {yes}
        [created, started -> ask#1, asked ask#1~1] waiting
        > another process then program decision then answer {"yes":true}
        = + decided true
        [answered ask#1~1={"yes":true}, stepped ask#1 +decided true, run_ended] idle
        > fresh then start
        ? ask#1~1 "sure?" {yes}
        [created, started -> ask#1, asked ask#1~1] waiting
        > another process then program optional then answer {"yes":true}
        = + true None false
        [answered ask#1~1={"yes":true}, stepped ask#1 +true None false, run_ended] idle
    "#]];
    check(factory, deciding, expected).await
}

/// An answer that does not fit both schemas changes nothing. The question is asked again, under
/// another id and in its present form, and an operator can finish it as before.
pub async fn k20_an_answer_that_no_longer_fits_is_asked_anew(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? ask#1~1 "sure?" {yes}
        [created, started -> ask#1, asked ask#1~1] waiting
        > another process then program required then answer ask#1~1={"yes":true}
        ? ask#1~2 "sure?" {why, yes}
        [withdrawn ask#1~1, asked ask#1~2] waiting
        > answer ask#1~1={"yes":true}
        ! no open question has the id ask#1~1; open are ask#1~2 (Answer Unknown; waiting)
        > answer ask#1~2={"yes":true,"why":"it rains"}
        = + true because it rains
        [answered ask#1~2={"why":"it rains","yes":true}, stepped ask#1 +true because it rains, run_ended] idle
        > fresh then start
        ? ask#1~1 "sure?" {yes}
        [created, started -> ask#1, asked ask#1~1] waiting
        > another process then program required then finish ask#1
        =
        [amended ask#1 by Ada because by hand, closed, run_ended] idle
    "#]];
    check(factory, deciding, expected).await
}

/// Builds a node that asks for an `A` and reads the answer itself.
fn reading<A>(said: impl Fn(A) -> String + Send + Sync + 'static) -> BuildResult
where
    A: JsonSchema + DeserializeOwned + Send + 'static,
{
    alone("ask", move |cx: Context<Page>| {
        let answer = cx.answer::<A>("q");
        let outcome = answer.map(|answer| match answer {
            Some(answer) => Outcome::done([line(said(answer))]),
            None => Outcome::ask(Question::new::<A>("q", "sure?")),
        });
        std::future::ready(outcome.map_err(BoxError::from))
    })
}

/// A node that cannot read the answer to its own question any more fails, and nothing is lost: it is
/// tried again by a program that can read it, or an operator finishes it.
pub async fn k20_an_answer_that_a_node_cannot_read_fails_its_task(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? ask#1~1 q: "sure?" {yes}
        [created, started -> ask#1, asked ask#1~1] waiting
        > another process then program required then answer {"yes":true}
        ! task ask#1 failed: missing field `why` (Node; failed)
        [answered ask#1~1={"yes":true}] [failed ask#1 (missing field `why`), run_failed] idle
        > program optional then retry
        = + true None false
        [resumed ask#1 try 1] [stepped ask#1 +true None false, run_ended] idle
        > fresh then start
        ? ask#1~1 q: "sure?" {yes}
        [created, started -> ask#1, asked ask#1~1] waiting
        > another process then program required then answer {"yes":true}
        ! task ask#1 failed: missing field `why` (Node; failed)
        [answered ask#1~1={"yes":true}] [failed ask#1 (missing field `why`), run_failed] idle
        > finish ask#1
        =
        [resumed, amended ask#1 by Ada because by hand, closed, run_ended] idle
    "#]];
    let graph = |stage: &Stage| match &*stage.program {
        "" => reading(|it: Choice| it.yes.to_string()),
        "required" => reading(|it: RequiredReason| format!("{} because {}", it.yes, it.why)),
        _ => reading(|it: OptionalReason| format!("{} {:?} {}", it.yes, it.why, it.sure)),
    };
    check(factory, graph, expected).await
}
