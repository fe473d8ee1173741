//! Scenarios of actions in doubt: K10.
use std::{sync::Arc, time::Duration};

use fugato_graph::{
    AnswerError, Answers, BoxError, Context, END, Effect, EffectClass, Graph, InDoubt, Outcome,
    Reconciliation, RunErrorKind, StateEdit, machine::Fact,
};
use fugato_state::{Interrupt, Question};
use fugato_store::LeaseRequest;
use tokio::sync::Notify;

use super::{
    AppendFault,
    fixture::{Calls, Change, Fixture, Page, fails, finished, kind, line, question},
    world::{MailNode, between, texts},
};
use crate::log::{Failure, LogFactory, Verdict, holds, same};

fn happened(what: &str) -> Result<Answers, Failure> {
    Ok(Answers::only(InDoubt::Happened(what.into()))?)
}

/// Returns a field of the prompt that a person sees, as text.
fn shown(asked: &Interrupt, field: &str) -> String {
    let shown = asked.question.prompt.get(field);
    let text = shown.and_then(|shown| shown.as_str());
    text.unwrap_or_default().to_owned()
}

fn did_not_happen() -> Result<Answers, Failure> {
    Ok(Answers::only(InDoubt::DidNotHappen)?)
}

/// Returns a thread whose process died after its mail was sent and before the receipt was stored.
async fn in_doubt(
    factory: &dyn LogFactory,
    mails: &MailNode,
) -> Result<(Fixture, Graph<Page>), Failure> {
    let mut desk = Fixture::of(factory).await?;
    let graph = between(mails.clone())?;
    die_at_the_receipt(&mut desk, 3, || desk_start(&graph)).await?;
    Ok((desk, graph))
}

fn desk_start(graph: &Graph<Page>) -> (Graph<Page>, Option<Answers>) {
    (graph.clone(), None)
}

/// Runs until the nth append from now, at which the process dies; another process takes over.
async fn die_at_the_receipt(
    desk: &mut Fixture,
    nth: usize,
    how: impl FnOnce() -> (Graph<Page>, Option<Answers>),
) -> Verdict {
    desk.log.cut(nth, AppendFault::DiesBefore);
    let (graph, answers) = how();
    let runner = desk.runner(&graph);
    kind(match answers {
        Some(answers) => runner.resume(&desk.thread, answers).await,
        None => runner.start(&desk.thread, ()).await,
    })?;
    desk.another_process();
    Ok(())
}

/// An action before a crash is never repeated blindly: a person sees its input, and answers that it
/// happened, with its result, or that it did not.
pub async fn k10_d21_a_person_is_asked_about_a_doubt(factory: &dyn LogFactory) -> Verdict {
    for did_happen in [true, false] {
        let world = Calls::default();
        let mails = MailNode::of(&world, EffectClass::Once);
        let (desk, graph) = in_doubt(factory, &mails).await?;
        let asked = question(desk.recover(&graph).await)?;
        same("done before the answer", world.count(), 1)?;
        same("the task that asks", &*asked.task, "send#1")?;
        let shown = ["in_doubt", "input"].map(|field| shown(&asked, field));
        same(
            "what is shown",
            shown,
            ["mail", "to all"].map(str::to_owned),
        )?;
        let answers = if did_happen {
            happened("told")?
        } else {
            did_not_happen()?
        };
        let page = finished(desk.resume(&graph, answers).await)?;
        let (said, times) = if did_happen {
            ("told", 1)
        } else {
            ("sent 2", 2)
        };
        page.said(&["a", said, "b"])?;
        same("what was done", world.count(), times)?;
    }
    Ok(())
}

/// An answer that the node cannot use is not taken for the result: the person is asked again, with
/// the reason.
pub async fn k10_an_answer_of_another_type_is_asked_anew(factory: &dyn LogFactory) -> Verdict {
    let world = Calls::default();
    let (desk, graph) = in_doubt(factory, &MailNode::of(&world, EffectClass::Once)).await?;
    question(desk.recover(&graph).await)?;
    let number = Answers::only(InDoubt::Happened(7.into()))?;
    let again = question(desk.resume(&graph, number).await)?;
    let problem = shown(&again, "problem");
    holds(problem.contains("invalid type"), || {
        format!("the problem was {problem:?}")
    })?;
    finished(desk.resume(&graph, happened("told")?).await)?.said(&["a", "told", "b"])?;
    same("what was done", world.count(), 1)
}

/// `reconcile` is called before a person is asked, and only in doubt. If it finds nothing, or
/// fails, a person is asked.
pub async fn k10_reconcile_is_asked_first(factory: &dyn LogFactory) -> Verdict {
    for found in ["happened", "did not", "unknown", "fails", "panics"] {
        let (world, asked) = (Calls::default(), Calls::default());
        let asks = asked.clone();
        let effect = move || {
            let asks = asks.clone();
            Effect::once().reconcile(move || async move {
                asks.note(found);
                match found {
                    "happened" => Ok(Reconciliation::Happened("found".to_owned())),
                    "did not" => Ok(Reconciliation::DidNotHappen),
                    "unknown" => Ok(Reconciliation::Unknown),
                    "fails" => Err("no connection"),
                    _ => std::panic::panic_any("reconcile panics"),
                }
            })
        };
        let (desk, graph) = in_doubt(factory, &MailNode::with(&world, effect)).await?;
        same("asked without a doubt", asked.count(), 0)?;
        let ended = desk.recover(&graph).await;
        let (said, times) = match found {
            "happened" => (finished(ended)?, 1),
            "did not" => (finished(ended)?, 2),
            _ => {
                question(ended)?;
                let answered = desk.resume(&graph, happened("told")?);
                (finished(answered.await)?, 1)
            }
        };
        let expected = match found {
            "happened" => "found",
            "did not" => "sent 2",
            _ => "told",
        };
        same(found, said.lines, texts(&["a", expected, "b"]))?;
        same("how often it was done", world.count(), times)?;
        same("how often it was asked", asked.count(), 1)?;
    }
    Ok(())
}

/// No question is asked before the action can no longer be under way, by the clock of the store.
pub async fn k10_nobody_is_asked_before_its_time(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let (world, asked) = (Calls::default(), Calls::default());
    let (notes, clock) = (asked.clone(), desk.clock.clone());
    let mails = MailNode::with(&world, move || {
        let (notes, clock) = (notes.clone(), clock.clone());
        Effect::once()
            .timeout(Duration::from_millis(200))
            .reconcile(move || async move {
                notes.note(clock.now().to_string());
                Ok::<_, BoxError>(Reconciliation::Happened("found".to_owned()))
            })
    });
    let graph = between(mails)?;
    desk.log.cut(3, AppendFault::DiesBefore);
    kind(desk.start(&graph).await)?;
    let history = desk.opened.clone();
    desk.log = super::RecordingLog::over(history);
    let facts = desk.runner(&graph).history(&desk.thread, 1, 100).await?;
    let intended = facts.iter().find_map(|entry| match &entry.fact {
        Fact::Intended { not_after, .. } => Some(*not_after),
        _ => None,
    });
    let not_after = intended.ok_or_else(|| Failure::new("the intent is not stored"))?;
    // The lease is released before its time, and the other process starts at once.
    let head = desk.log_of().head(&desk.thread).await?;
    let fence = head.map_or(0, |head| head.fence);
    let thread = desk.thread.clone();
    desk.log_of()
        .lease(LeaseRequest::Release { thread, fence })
        .await?;
    let early = 100;
    desk.clock.advance(not_after - early - desk.clock.now());
    let began = std::time::Instant::now();
    finished(desk.recover(&graph).await)?;
    let waited = began.elapsed();
    holds(waited >= Duration::from_millis(99), || {
        format!("it was asked after {waited:?}")
    })?;
    same("how often it was asked", asked.count(), 1)?;
    same("how often it was done", world.count(), 1)
}

/// The same doubt after another crash is asked again, under another id: an old answer does not
/// answer it.
pub async fn k10_the_same_doubt_again_is_asked_anew(factory: &dyn LogFactory) -> Verdict {
    let world = Calls::default();
    let (mut desk, graph) = in_doubt(factory, &MailNode::of(&world, EffectClass::Once)).await?;
    let first = question(desk.recover(&graph).await)?;
    // After the answer "it did not happen", the action is done, and the process dies again
    // before the receipt: the answer is stored, then the new intent, and the receipt is not.
    let mut answers = Some(did_not_happen()?);
    die_at_the_receipt(&mut desk, 3, || (graph.clone(), answers.take())).await?;
    same("what was done", world.count(), 2)?;
    let second = question(desk.recover(&graph).await)?;
    holds(first.id != second.id, || {
        format!("{} is asked again", first.id)
    })?;
    same("done before the answer", world.count(), 2)?;
    let stale = Answers::to(first.id.clone(), InDoubt::DidNotHappen)?;
    let unknown = AnswerError::Unknown {
        id: first.id,
        open: vec![second.id],
    };
    fails(
        desk.resume(&graph, stale).await,
        RunErrorKind::Answer(unknown),
    )?;
    desk.another_process();
    finished(desk.resume(&graph, happened("told")?).await)?.said(&["a", "told", "b"])?;
    same("what was done", world.count(), 2)
}

/// An answered doubt stays answered if the process dies before the answer was used.
pub async fn k10_an_answer_to_a_doubt_survives_a_crash(factory: &dyn LogFactory) -> Verdict {
    for nth in 1..=4 {
        let world = Calls::default();
        let (mut desk, graph) = in_doubt(factory, &MailNode::of(&world, EffectClass::Once)).await?;
        question(desk.recover(&graph).await)?;
        desk.log.cut(nth, AppendFault::DiesAfter);
        let died = desk.resume(&graph, happened("told")?);
        died.await.err();
        desk.another_process();
        desk.recover(&graph).await.ok();
        let page = desk.page(&graph).await?;
        page.said(&["a", "told", "b"])?;
        same("what was done", world.count(), 1)?;
    }
    Ok(())
}

/// The ways in which a node ignores an action or its error.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Careless {
    Catches,
    Selects,
    TimesOut,
    Spawns,
    Asks,
}

async fn careless(cx: &Context<Page>, how: Careless, world: &Calls) -> Result<(), BoxError> {
    let (notes, begun) = (world.clone(), Arc::new(Notify::new()));
    let begins = begun.clone();
    let act = move |_| async move {
        notes.note("act");
        begins.notify_one();
        // Long enough for nodes that do not wait; the connection is lost in the end.
        tokio::time::sleep(Duration::from_millis(20)).await;
        Err::<String, _>("the connection was lost")
    };
    let acting = cx.effect("mail", EffectClass::Once, &(), act);
    match how {
        Careless::Catches | Careless::Asks => drop(acting.await),
        Careless::Selects => tokio::select! {
            _ = acting => {}
            () = begun.notified() => {}
        },
        Careless::TimesOut => drop(tokio::time::timeout(Duration::from_millis(5), acting).await),
        Careless::Spawns => {
            let polled = futures::future::select(acting, Box::pin(begun.notified())).await;
            drop(polled);
        }
    }
    Ok(())
}

/// A doubt is not lost if a node catches every error, drops the action's future or ends before it:
/// the thread asks, and continues after the answer.
pub async fn k10_no_node_can_lose_a_doubt(factory: &dyn LogFactory) -> Verdict {
    let all = [
        Careless::Catches,
        Careless::Selects,
        Careless::TimesOut,
        Careless::Spawns,
        Careless::Asks,
    ];
    for how in all {
        let desk = Fixture::of(factory).await?;
        let world = Calls::default();
        let notes = world.clone();
        let acts = move |cx: Context<Page>| {
            let notes = notes.clone();
            async move {
                careless(&cx, how, &notes).await?;
                Ok::<_, BoxError>(match how {
                    Careless::Asks if cx.answer::<bool>("ok")?.is_none() => {
                        Outcome::ask(Question::new::<bool>("ok", "ok?"))
                    }
                    _ => Outcome::done([line("done")]),
                })
            }
        };
        let graph = between(acts)?;
        let asked = question(desk.start(&graph).await)?;
        let what = format!("{how:?}: what is asked");
        same(&what, shown(&asked, "in_doubt"), "mail".to_owned())?;
        let mut ended = desk.resume(&graph, happened("told")?).await;
        if how == Careless::Asks {
            question(ended)?;
            ended = desk.resume(&graph, Answers::only(true)?).await;
        }
        finished(ended)?.said(&["a", "done", "b"])?;
        world.ran(&["act"])?;
    }
    Ok(())
}

/// A node that does not wait for a successful action causes no question: the action runs to its
/// end, and its result is then known.
pub async fn k10_an_action_goes_on_without_its_node(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let world = Calls::default();
    let notes = world.clone();
    let acts = move |cx: Context<Page>| {
        let notes = notes.clone();
        async move {
            let begun = Arc::new(Notify::new());
            let begins = begun.clone();
            let act = move |_| async move {
                begins.notify_one();
                tokio::time::sleep(Duration::from_millis(20)).await;
                notes.note("act");
                Ok::<_, BoxError>("sent".to_owned())
            };
            let acting = cx.effect("mail", EffectClass::Once, &(), act);
            match cx.attempt() {
                1 => tokio::select! {
                    _ = acting => Err("nobody waits for so long".into()),
                    () = begun.notified() => Err("the node gives up".into()),
                },
                _ => Ok::<_, BoxError>(line(acting.await?)),
            }
        }
    };
    let policy = fugato_graph::NodePolicy::default().attempts(2);
    let graph = Graph::<Page>::starting_at("send")
        .node("send", acts)
        .policy("send", policy.backoff(Duration::ZERO, Duration::ZERO))
        .edge("send", END)
        .build()?;
    finished(desk.start(&graph).await)?.said(&["sent"])?;
    world.ran(&["act"])
}

/// An action that exceeds its timeout is dropped and in doubt, and so is one that panics or fails,
/// or whose result cannot be stored. It is reconciled at once if it can be, and never repeated.
pub async fn k10_what_ends_badly_is_in_doubt(factory: &dyn LogFactory) -> Verdict {
    for (how, found) in ["late", "panics", "fails"]
        .into_iter()
        .flat_map(|how| [(how, false), (how, true)])
    {
        let desk = Fixture::of(factory).await?;
        let world = Calls::default();
        let notes = world.clone();
        let acts = move |cx: Context<Page>| {
            let notes = notes.clone();
            async move {
                let act = move |_| async move {
                    notes.note("act");
                    match how {
                        "late" => std::future::pending().await,
                        "panics" => std::panic::panic_any("the action panics"),
                        _ => Err::<String, _>("the connection was lost"),
                    }
                };
                let mut effect = Effect::once().timeout(Duration::from_millis(10));
                if found {
                    let found = Reconciliation::Happened("found".to_owned());
                    effect = effect.reconcile(|| async { Ok::<_, BoxError>(found) });
                }
                Ok::<_, BoxError>(line(cx.effect("mail", effect, &(), act).await?))
            }
        };
        let graph = between(acts)?;
        let mut ended = desk.start(&graph).await;
        if !found {
            let asked: Interrupt = question(ended)?;
            same(how, shown(&asked, "in_doubt"), "mail".to_owned())?;
            ended = desk.resume(&graph, happened("told")?).await;
        }
        let said = if found { "found" } else { "told" };
        finished(ended)?.said(&["a", said, "b"])?;
        world.ran(&["act"])?;
    }
    Ok(())
}

/// A doubt about an action of the whole thread outlives the task that started it.
pub async fn k10_no_task_can_lose_a_doubt_of_the_thread(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let world = Calls::default();
    let notes = world.clone();
    let acts = move |cx: Context<Page>| {
        let notes = notes.clone();
        async move {
            let begun = Arc::new(Notify::new());
            let begins = begun.clone();
            let act = move |_| async move {
                notes.note("act");
                begins.notify_one();
                tokio::time::sleep(Duration::from_millis(20)).await;
                Err::<String, _>("the connection was lost")
            };
            let whole = Effect::once().whole_thread();
            tokio::select! {
                _ = cx.effect("mail", whole, &(), act) => {}
                () = begun.notified() => {}
            }
            Change::Line("done".into())
        }
    };
    let graph = between(acts)?;
    let asked = question(desk.start(&graph).await)?;
    same(
        "what is asked",
        shown(&asked, "in_doubt"),
        "mail".to_owned(),
    )?;
    finished(desk.resume(&graph, happened("told")?).await)?.said(&["a", "done", "b"])?;
    world.ran(&["act"])
}

/// A doubt that a person has settled stays settled, although the node does not call the action
/// again.
pub async fn k10_a_settled_doubt_needs_no_further_call(factory: &dyn LogFactory) -> Verdict {
    for answers in [happened("told")?, did_not_happen()?] {
        let desk = Fixture::of(factory).await?;
        let world = Calls::default();
        let notes = world.clone();
        let acts = move |cx: Context<Page>| {
            let notes = notes.clone();
            async move {
                // This node keeps no record of its first call.
                if notes.count() == 0 {
                    careless(&cx, Careless::Catches, &notes).await?;
                }
                Ok::<_, BoxError>(line("done"))
            }
        };
        let graph = between(acts)?;
        question(desk.start(&graph).await)?;
        finished(desk.resume(&graph, answers).await)?.said(&["a", "done", "b"])?;
        world.ran(&["act"])?;
    }
    Ok(())
}

/// An operator finishes the task that asks about an action of the whole thread, which stays in
/// doubt: the run does not end well before the action is settled.
pub async fn k10_an_operator_settles_a_doubt_of_the_thread(factory: &dyn LogFactory) -> Verdict {
    let (mut desk, graph) = {
        let whole = || Effect::once().whole_thread();
        in_doubt(factory, &MailNode::with(&Calls::default(), whole)).await?
    };
    question(desk.recover(&graph).await)?;
    desk.another_process();
    let runner = desk.runner(&graph);
    let by_hand = StateEdit::new([line("by hand")], "Ada", "it hung").finishing("send#1");
    let effects = texts(&["mail"]);
    let in_doubt = RunErrorKind::InDoubt { effects };
    fails(runner.amend(&desk.thread, by_hand).await, in_doubt.clone())?;
    let none: [Change; 0] = [];
    let settling =
        |key| StateEdit::new(none.clone(), "Ada", "asked").settling(key, InDoubt::DidNotHappen);
    let (key, open) = ("post".into(), vec!["mail".into()]);
    let unknown = RunErrorKind::NotInDoubt {
        key,
        in_doubt: open,
    };
    fails(runner.amend(&desk.thread, settling("post")).await, unknown)?;
    fails(runner.retry(&desk.thread).await, in_doubt)?;
    runner.amend(&desk.thread, settling("mail")).await?;
    finished(runner.retry(&desk.thread).await)?.said(&["a", "by hand", "b"])
}
