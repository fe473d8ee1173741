//! Defects of questions and their answers.
use fugato_graph::{AnswerError, Answers, Context, END, Graph, Outcome, RunErrorKind};
use fugato_state::Question;

use super::bench::{Bench, Calls, Change, Work, did, names, two_questions};

#[tokio::test]
async fn d3_an_answer_goes_to_the_question_of_its_name() {
    let bench = Bench::new();
    let graph = Graph::<Work>::starting_at("act")
        .node("act", async |cx: Context<Work>| {
            let skipped = cx.memo::<bool>()?.is_some();
            if let Some(send) = cx.answer::<bool>("send mail?")? {
                return Ok(Outcome::done([did(format!("send {send}"))]));
            }
            if let Some(delete) = cx.answer::<bool>("delete?")? {
                assert!(skipped && delete);
            }
            let asks = if skipped { "send mail?" } else { "delete?" };
            let ask = Outcome::ask(Question::new::<bool>(asks, asks));
            ask.remember(true)
        })
        .edge("act", END)
        .build()
        .unwrap();
    let runner = bench.runner(&graph);
    runner.start(&bench.thread, ()).await.unwrap();
    let asked = runner
        .resume(&bench.thread, Answers::only(true).unwrap())
        .await
        .unwrap();
    let keys: Vec<_> = asked
        .interrupts()
        .iter()
        .map(|i| i.question.key.as_str())
        .collect();
    assert_eq!(keys, ["send mail?"]);
    let stale = Answers::to("act#1~1", true).unwrap();
    let refused = runner.resume(&bench.thread, stale).await.unwrap_err();
    let open = vec!["act#1~2".into()];
    let unknown = AnswerError::Unknown {
        id: "act#1~1".into(),
        open,
    };
    assert_eq!(refused.kind, RunErrorKind::Answer(unknown));
    let ended = runner
        .resume(&bench.thread, Answers::only(false).unwrap())
        .await
        .unwrap();
    assert_eq!(ended.state().done, names(&["send false"]));
}

#[tokio::test]
async fn d4_null_is_an_answer_and_nothing_is_ignored() {
    let bench = Bench::new();
    let runner = bench.runner(&two_questions(&Calls::default()));
    runner.start(&bench.thread, ()).await.unwrap();
    let head = bench.head().await;
    for (answers, waits) in [
        (Answers::none(), true),
        (Answers::to("x", 1).unwrap(), false),
        (Answers::only(1).unwrap(), false),
    ] {
        let kind = runner
            .resume(&bench.thread, answers)
            .await
            .unwrap_err()
            .kind;
        assert_eq!(
            matches!(kind, RunErrorKind::Waiting { .. }),
            waits,
            "{kind:?}"
        );
        assert_eq!(matches!(kind, RunErrorKind::Answer(_)), !waits, "{kind:?}");
    }
    assert_eq!(bench.head().await, head);
    let nulls = Answers::to("a#1~1", ()).unwrap().and("b#1~2", ()).unwrap();
    let ended = runner.resume(&bench.thread, nulls).await.unwrap();
    assert_eq!(
        ended.state().done,
        names(&["open", "a None", "b None", "last"])
    );
}

#[tokio::test]
async fn d5_two_questions_of_one_task_have_two_ids_and_both_are_shown() {
    let bench = Bench::new();
    let graph = Graph::<Work>::starting_at("tools")
        .node("tools", async |cx: Context<Work>| {
            let answers = (cx.answer::<u8>("one")?, cx.answer::<u8>("two")?);
            Ok::<_, serde_json::Error>(match answers {
                (Some(one), Some(two)) => Outcome::done([did(format!("{one} {two}"))]),
                _ => Outcome::Ask {
                    memo: None,
                    questions: vec![Question::new::<u8>("one", 1), Question::new::<u8>("two", 2)],
                },
            })
        })
        .edge("tools", END)
        .build()
        .unwrap();
    let runner = bench.runner(&graph);
    let parked = runner.start(&bench.thread, ()).await.unwrap();
    let ids: Vec<_> = parked.interrupts().iter().map(|i| i.id.as_str()).collect();
    assert_eq!(ids, ["tools#1~1", "tools#1~2"]);
    let crossed = Answers::to("tools#1~2", 2)
        .unwrap()
        .and("tools#1~1", 1)
        .unwrap();
    let ended = runner.resume(&bench.thread, crossed).await.unwrap();
    assert_eq!(ended.state().done, names(&["1 2"]));
}

#[tokio::test]
async fn d6_answering_runs_no_prefix_again() {
    let mut bench = Bench::new();
    let calls = Calls::default();
    let graph = two_questions(&calls);
    bench.runner(&graph).start(&bench.thread, ()).await.unwrap();
    for id in ["a#1~1", "b#1~2"] {
        bench.another_process();
        bench
            .runner(&graph)
            .resume(&bench.thread, Answers::to(id, 1).unwrap())
            .await
            .unwrap();
    }
    assert_eq!(calls.take(), names(&["open", "last"]));
}

#[tokio::test]
async fn d7_a_node_renamed_while_a_thread_waits_in_it_loses_no_answer() {
    let bench = Bench::new();
    let graph = |name: &str, old: Option<&str>| {
        let graph = Graph::<Work>::starting_at(name)
            .pause(name, |_| "well?", |_, ok: bool| did(ok.to_string()))
            .edge(name, END);
        match old {
            Some(old) => graph.renamed(old, name).build().unwrap(),
            None => graph.build().unwrap(),
        }
    };
    bench
        .runner(&graph("ask", None))
        .start(&bench.thread, ())
        .await
        .unwrap();
    let answers = Answers::only(true).unwrap();
    let lost = bench
        .runner(&graph("confirm", None))
        .resume(&bench.thread, answers.clone())
        .await;
    let gone = RunErrorKind::GraphChanged {
        gone: vec!["node \"ask\"".into()],
    };
    assert_eq!(lost.unwrap_err().kind, gone);
    let kept = bench
        .runner(&graph("confirm", Some("ask")))
        .resume(&bench.thread, answers)
        .await;
    assert_eq!(kept.unwrap().state().done, names(&["true"]));
}

#[tokio::test]
async fn d17_an_answer_reaches_one_task_and_finished_siblings_stay() {
    let bench = Bench::new();
    let graph = two_questions(&Calls::default());
    let runner = bench.runner(&graph);
    runner.start(&bench.thread, ()).await.unwrap();
    let left = runner
        .resume(&bench.thread, Answers::to("a#1~1", 1).unwrap())
        .await
        .unwrap();
    let open: Vec<_> = left.interrupts().iter().map(|i| i.id.as_str()).collect();
    assert_eq!(open, ["b#1~2"]);
    let ended = runner
        .resume(&bench.thread, Answers::only(2).unwrap())
        .await
        .unwrap();
    assert_eq!(
        ended.state().done,
        names(&["open", "a Some(1)", "b Some(2)", "last"])
    );
}

#[tokio::test]
async fn d19_a_gate_is_passed_once_it_is_answered() {
    let bench = Bench::new();
    let graph = Graph::<Work>::starting_at("gate")
        .pause(
            "gate",
            |_| "pass?",
            |_, pass: bool| did(format!("gate {pass}")),
        )
        .node("act", Calls::default().node("act"))
        .branch("gate", ["gate", "act"], |work| {
            if work.done.last().is_some_and(|last| last == "gate true") {
                "act"
            } else {
                "gate"
            }
        })
        .edge("act", END)
        .build()
        .unwrap();
    let runner = bench.runner(&graph);
    runner.start(&bench.thread, ()).await.unwrap();
    runner
        .resume(&bench.thread, Answers::only(false).unwrap())
        .await
        .unwrap();
    let ended = runner
        .resume(&bench.thread, Answers::only(true).unwrap())
        .await
        .unwrap();
    assert_eq!(
        ended.state().done,
        names(&["gate false", "gate true", "act"])
    );
}

fn asks(cx: &Context<Work>) -> Result<Outcome<Change>, serde_json::Error> {
    Ok(match cx.answer::<bool>("ok")? {
        Some(ok) => Outcome::done([did(ok.to_string())]),
        None => Outcome::ask(Question::new::<bool>("ok", "ok?")),
    })
}

#[tokio::test]
async fn d25_a_catch_all_cannot_swallow_a_question() {
    let bench = Bench::new();
    let graph = Graph::<Work>::starting_at("tool")
        .node("tool", async |cx: Context<Work>| {
            // A wrapper that turns every error into a text for the model.
            asks(&cx).unwrap_or_else(|error| Outcome::done([did(error.to_string())]))
        })
        .edge("tool", END)
        .build()
        .unwrap();
    let runner = bench.runner(&graph);
    let parked = runner.start(&bench.thread, ()).await.unwrap();
    assert_eq!(parked.interrupts().len(), 1);
    let ended = runner
        .resume(&bench.thread, Answers::only(true).unwrap())
        .await
        .unwrap();
    assert_eq!(ended.state().done, names(&["true"]));
}
