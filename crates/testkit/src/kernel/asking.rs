//! Scenarios of questions to people: K7 to K9.
use std::time::Duration;

use fugato_graph::{
    AnswerError, Answers, Context, END, Graph, Outcome, RunErrorKind, ThreadStatus,
};
use fugato_state::{InterruptId, Question, Schema};

use super::{
    fixture::{Calls, Change, Fixture, Page, fails, finished, kind, line, parked, question},
    world::{NamedNodesExt, WiringExt},
};
use crate::log::{Failure, LogFactory, Verdict, holds, same};

type Silence = Box<dyn Fn(&Page) -> Vec<Change> + Send + Sync>;

/// Builds open, then the pauses size and colour at once, and a node in parallel.
fn two_pauses(calls: &Calls) -> Result<Graph<Page>, Failure> {
    Ok(Graph::<Page>::starting_at("open")
        .says(calls, &["open", "work", "last"])
        .pause(
            "size",
            |_| "how large?",
            |_, size: u8| line(format!("size {size}")),
        )
        .pause(
            "colour",
            |_| "which colour?",
            |_, colour: Option<String>| line(format!("colour {colour:?}")),
        )
        .fork("open", &["size", "colour", "work"], "last")
        .edge("last", END)
        .build()?)
}

/// Several questions can be open at once, each with its own id, its prompt, and the schema of its
/// answer. An answer without an id needs exactly one open question.
pub async fn k7_several_questions_are_open_at_once(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = two_pauses(&calls)?;
    let runner = desk.runner(&graph);
    let open = parked(runner.start(&desk.thread, ()).await)?;
    let seen: Vec<_> = open
        .iter()
        .map(|i| {
            (
                i.id.as_str(),
                i.task.as_str(),
                i.question.prompt.clone(),
                i.question.schema.clone(),
            )
        })
        .collect();
    let expected = vec![
        (
            "size#1~1",
            "size#1",
            "how large?".into(),
            Schema::of::<u8>(),
        ),
        (
            "colour#1~2",
            "colour#1",
            "which colour?".into(),
            Schema::of::<Option<String>>(),
        ),
    ];
    same("the open questions", seen, expected)?;
    same(
        "how it stands",
        runner.status(&desk.thread).await?,
        ThreadStatus::Waiting(open.clone()),
    )?;
    let ids: Vec<_> = open.iter().map(|interrupt| interrupt.id.clone()).collect();
    let expected = RunErrorKind::Answer(AnswerError::Bare { open: ids.clone() });
    fails(
        runner.resume(&desk.thread, Answers::only(3)?).await,
        expected,
    )?;
    fails(
        runner.start(&desk.thread, ()).await,
        RunErrorKind::Waiting { open: ids },
    )?;
    let left = parked(desk.answer(&runner, "size#1~1", 3).await)?;
    same(
        "what is still open",
        left,
        open.get(1..).unwrap_or_default().to_vec(),
    )?;
    let page = finished(runner.resume(&desk.thread, Answers::only("red")?).await)?;
    let said = ["open", "size 3", "colour Some(\"red\")", "work", "last"];
    page.said(&said)
}

/// An id is never used again in its thread: not in later steps or runs, and not after expiry.
pub async fn k7_d19_ids_are_never_used_again(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let graph = Graph::<Page>::starting_at("ask")
        .pause(
            "ask",
            |_| "more?",
            |_, more: bool| Change::Route(if more { "ask" } else { END }.into()),
        )
        .branch("ask", ["ask", END], |page| page.route.clone())
        .build()?;
    let mut ids = vec![];
    let mut parked = desk.start(&graph).await;
    for more in [true, true, false] {
        ids.push(question(parked)?.id);
        desk.another_process();
        parked = desk.resume(&graph, Answers::only(more)?).await;
    }
    finished(parked)?;
    ids.push(question(desk.start(&graph).await)?.id);
    let mut distinct = ids.clone();
    distinct.sort();
    distinct.dedup();
    holds(distinct.len() == 4, || {
        format!("ids were used again: {ids:?}")
    })
}

/// Any node can ask midway, and several questions at once: its memo stays, and when all questions
/// are answered it is called again. Asking is a value, never an error, so that no catch-all can
/// swallow a question.
pub async fn k7_d5_d25_a_node_asks_midway(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = midway(&calls)?;
    let open = parked(desk.start(&graph).await)?;
    let asked = open
        .iter()
        .map(|i| (i.id.as_str(), i.question.key.as_str()));
    let expected = vec![("book#1~1", "from"), ("book#1~2", "to")];
    same("what is asked", asked.collect(), expected)?;
    desk.another_process();
    let to = open
        .get(1)
        .map(|i| i.id.clone())
        .ok_or_else(|| Failure::new("two are open"))?;
    let left = question(desk.resume(&graph, Answers::to(to, 9)?).await)?;
    same("what is still open", left.question.key, "from".to_owned())?;
    calls.ran(&["book#1"])?;
    desk.another_process();
    finished(desk.resume(&graph, Answers::only(4)?).await)?.said(&["memo 17: from 4 to 9"])?;
    calls.ran(&["book#1"])?;
    // Both at once, the later one first.
    parked(desk.start(&graph).await)?;
    let answers = Answers::to("book#2~4", 9)?.and("book#2~3", 4)?;
    finished(desk.resume(&graph, answers).await)?.said(&["memo 17: from 4 to 9"; 2])
}

/// An answer goes to the question of its name, also if its task asks another one after it: the
/// other has an id of its own, and the earlier answer does not answer it.
pub async fn k7_d3_an_answer_goes_to_the_question_of_its_name(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = Graph::<Page>::starting_at("act")
        .node("act", async |cx: Context<Page>| {
            let skipped = cx.memo::<bool>()?.is_some();
            let delete = cx.answer::<bool>("delete?")?;
            if let Some(send) = cx.answer::<bool>("send mail?")? {
                return Ok(Outcome::done([line(format!("{delete:?}, send {send}"))]));
            }
            let asks = match (skipped, delete) {
                (false, None) => "delete?",
                (true, Some(true)) => "send mail?",
                other => std::panic::panic_any(format!("it was told {other:?}")),
            };
            Outcome::ask(Question::new::<bool>(asks, asks)).remember(true)
        })
        .edge("act", END)
        .build()?;
    question(desk.start(&graph).await)?;
    let asked = question(desk.resume(&graph, Answers::only(true)?).await)?;
    same("what is asked next", &*asked.question.key, "send mail?")?;
    let (id, open) = ("act#1~1".into(), vec!["act#1~2".into()]);
    let unknown = RunErrorKind::Answer(AnswerError::Unknown { id, open });
    fails(
        desk.resume(&graph, Answers::to("act#1~1", true)?).await,
        unknown,
    )?;
    let page = finished(desk.resume(&graph, Answers::only(false)?).await)?;
    page.said(&["Some(true), send false"])
}

pub(super) fn midway(calls: &Calls) -> Result<Graph<Page>, Failure> {
    let calls = calls.clone();
    Ok(Graph::<Page>::starting_at("book")
        .node("book", move |cx: Context<Page>| {
            calls.note(cx.task());
            // A wrapper that turns every error into a text.
            let booked = book(&cx).unwrap_or_else(|error| Outcome::done([line(error.to_string())]));
            std::future::ready(booked)
        })
        .edge("book", END)
        .build()?)
}

fn book(cx: &Context<Page>) -> Result<Outcome<Change>, serde_json::Error> {
    if let (Some(from), Some(to)) = (cx.answer::<u32>("from")?, cx.answer::<u32>("to")?) {
        let memo = cx.memo::<u32>()?.unwrap_or_default();
        let said = format!("memo {memo}: from {from} to {to}");
        return Ok(Outcome::done([line(said)]));
    }
    let questions = vec![
        Question::new::<u32>("from", "from when?"),
        Question::new::<u32>("to", "until when?"),
    ];
    let memo = None;
    Outcome::Ask { memo, questions }.remember(17)
}

/// A node that asks nothing, or two questions under one key, fails; its thread can go on.
pub async fn k7_a_malformed_question_is_an_error(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    for questions in [
        vec![],
        vec![Question::new::<u8>("a", "1"), Question::new::<u8>("a", "2")],
    ] {
        let graph = Graph::<Page>::starting_at("ask")
            .node("ask", move |_: Context<Page>| {
                let questions = questions.clone();
                async move {
                    Outcome::<Change>::Ask {
                        memo: None,
                        questions,
                    }
                }
            })
            .edge("ask", END)
            .build()?;
        let error = kind(desk.start(&graph).await)?;
        holds(matches!(error, RunErrorKind::Question { .. }), || {
            format!("got {error:?}")
        })?;
    }
    Ok(())
}

/// A wrong answer is refused with a typed error, and nothing changes.
pub async fn k8_d4_a_wrong_answer_changes_nothing(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = two_pauses(&Calls::default())?;
    let runner = desk.runner(&graph);
    parked(runner.start(&desk.thread, ()).await)?;
    parked(desk.answer(&runner, "size#1~1", 3).await)?;
    let head = desk.head().await?;
    let open = || vec![InterruptId::from("colour#1~2")];
    let unknown = |id: &str| AnswerError::Unknown {
        id: id.into(),
        open: open(),
    };
    let twice = Answers::to("colour#1~2", "red")?.and("colour#1~2", "blue")?;
    let half = Answers::to("colour#1~2", "red")?.and("nobody", 1)?;
    for (answers, expected) in [
        (Answers::to("nobody", 1)?, unknown("nobody")),
        (Answers::to("size#1~1", 3)?, unknown("size#1~1")),
        (twice, unknown("colour#1~2")),
        (half, unknown("nobody")),
    ] {
        fails(
            runner.resume(&desk.thread, answers).await,
            RunErrorKind::Answer(expected),
        )?;
        same("the head", desk.head().await?, head)?;
    }
    let schema = kind(runner.resume(&desk.thread, Answers::only(7)?).await)?;
    holds(
        matches!(schema, RunErrorKind::Answer(AnswerError::Schema { .. })),
        || format!("an answer of another type: got {schema:?}"),
    )?;
    fails(
        runner.resume(&desk.thread, Answers::none()).await,
        RunErrorKind::Waiting { open: open() },
    )?;
    same("the head", desk.head().await?, head)?;
    // The schema allows null, so that null is an answer.
    let page = finished(runner.resume(&desk.thread, Answers::only(())?).await)?;
    holds(page.lines.contains(&"colour None".to_owned()), || {
        format!("said {:?}", page.lines)
    })?;
    fails(
        runner.resume(&desk.thread, Answers::only(1)?).await,
        RunErrorKind::Answer(AnswerError::NothingAsked),
    )?;
    let nobody = super::fixture::thread("nobody");
    fails(
        runner.resume(&nobody, Answers::only(1)?).await,
        RunErrorKind::Answer(AnswerError::NothingAsked),
    )?;
    same("a thread that never was", desk.log_head(&nobody).await?, 0)
}

/// An approval whose digest no longer matches is refused, and one that matches is not.
pub async fn k8_an_approval_of_something_else_is_refused(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = |extra: &'static str| {
        Graph::<Page>::starting_at("confirm")
            .approval(
                "confirm",
                move |page| format!("{:?}{extra}", page.lines),
                |_, ok: bool| line(format!("approved {ok}")),
            )
            .edge("confirm", END)
            .build()
    };
    let runner = desk.runner(&graph("")?);
    let asked = question(runner.start(&desk.thread, line("delete 3 files")).await)?;
    let head = desk.head().await?;
    let digest = asked.question.digest.clone().unwrap_or_default();
    let other = Answers::none().approving(asked.id.clone(), true, "0123")?;
    let error = |answered: &str| {
        let (id, asked, answered) = (asked.id.clone(), digest.clone(), answered.to_owned());
        RunErrorKind::Answer(AnswerError::Digest {
            id,
            asked,
            answered,
        })
    };
    fails(runner.resume(&desk.thread, other).await, error("0123"))?;
    same("the head", desk.head().await?, head)?;
    let answer = Answers::none().approving(asked.id.clone(), true, digest.clone())?;
    finished(runner.resume(&desk.thread, answer).await)?
        .said(&["delete 3 files", "approved true"])?;
    // An outdated prompt cannot be approved: the question is asked again in its present form.
    let shown = question(runner.start(&desk.thread, line("delete 3 files")).await)?;
    let changed = desk.runner(&graph(" and more")?);
    let answer = Answers::to(shown.id.clone(), true)?;
    let today = question(changed.resume(&desk.thread, answer).await)?;
    holds(today.id != shown.id, || {
        format!("{} is asked anew", shown.id)
    })?;
    let page = finished(desk.answer(&changed, today.id, true).await)?;
    let last = page.lines.last().map(String::as_str);
    same("what was said", last, Some("approved true"))
}

/// An expired question ends in its update, or is asked again under a new id: the thread can go on.
pub async fn k8_an_expired_question_is_no_dead_end(factory: &dyn LogFactory) -> Verdict {
    for silent in [true, false] {
        let mut desk = Fixture::of(factory).await?;
        let graph = || {
            let then = silent.then(|| -> Silence { Box::new(|_| vec![line("silence")]) });
            Graph::<Page>::starting_at("ask")
                .pause_for(
                    "ask",
                    Duration::from_secs(5),
                    |_| "well?",
                    |_, ok: bool| line(ok.to_string()),
                    then,
                )
                .edge("ask", END)
                .build()
        };
        let asked = question(desk.runner(&graph()?).start(&desk.thread, ()).await)?;
        fails(
            desk.runner(&graph()?).recover(&desk.thread).await,
            RunErrorKind::Waiting {
                open: vec![asked.id.clone()],
            },
        )?;
        desk.another_process();
        let head = desk.head().await?;
        let expired = AnswerError::Expired {
            id: asked.id.clone(),
        };
        fails(
            desk.runner(&graph()?)
                .resume(&desk.thread, Answers::only(true)?)
                .await,
            RunErrorKind::Answer(expired),
        )?;
        same("the head", desk.head().await?, head)?;
        let ended = desk
            .runner(&graph()?)
            .resume(&desk.thread, Answers::none())
            .await;
        if silent {
            finished(ended)?.said(&["silence"])?;
            continue;
        }
        let anew = question(ended)?;
        holds(anew.id != asked.id, || {
            format!("{} was asked again under its old id", anew.id)
        })?;
        finished(
            desk.runner(&graph()?)
                .resume(&desk.thread, Answers::only(true)?)
                .await,
        )?
        .said(&["true"])?;
    }
    Ok(())
}

/// Answering one question touches only its own task: no finished task runs again, and the other
/// questions stay open.
pub async fn k9_d6_d17_an_answer_touches_only_its_task(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = two_pauses(&calls)?;
    parked(desk.start(&graph).await)?;
    calls.ran(&["open#1", "work#1"])?;
    desk.another_process();
    let answers = Answers::to("colour#1~2", "red")?;
    let left = question(desk.resume(&graph, answers).await)?;
    same("what is still open", left.id.as_str(), "size#1~1")?;
    let colour = r#"[{"answered":{"answers":[["colour#1~2","red"]]}}, {"finished":{"task":"colour#1","updates":[{"line":"colour Some(\"red\")"}]}}] Waiting { expires: None }"#;
    same(
        "what was learned",
        desk.log.brackets().trim_end().to_owned(),
        colour.to_owned(),
    )?;
    calls.ran(&[])?;
    finished(desk.resume(&graph, Answers::only(1)?).await)?;
    calls.ran(&["last#1"])
}
