//! Scenarios of consent: K35.
use expect_test::expect;
use fugato_graph::{
    Answers, Attribution, BoxError, Context, END, Graph, HistoryEvent, Outcome, ThreadStatus,
};
use fugato_state::Question;
use fugato_store::Status;
use serde_json::json;

use super::{
    fixture::{Fixture, Page, line, question, thread},
    script::{BuildResult, check},
    wiring::{enter, leave},
    world::{Stage, WiringExt, alone, texts},
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

/// Builds two approvals, one after the other, of the page's lines.
fn two_approvals(_: &Stage) -> BuildResult {
    let shown = |page: &Page| page.lines.clone();
    Graph::<Page>::starting_at("first")
        .approval("first", shown, |_, ok: bool| line(format!("first {ok}")))
        .approval("second", shown, |_, ok: bool| line(format!("second {ok}")))
        .way(&["first", "second", END])
        .build()
}

/// Builds a node that asks midway for approval of the newest line.
fn asking_node(_: &Stage) -> BuildResult {
    let act = |cx: Context<Page>| async move {
        let newest = cx.state().lines.last().cloned().unwrap_or_default();
        let mut asked = Question::new::<bool>("agree", newest.as_str());
        asked.digest = Some(newest.clone());
        Ok::<_, BoxError>(match cx.consent::<bool>(&asked)? {
            Some(ok) => Outcome::done([line(format!("{newest}: {ok}"))]),
            None => Outcome::ask(asked),
        })
    };
    alone("act", act)
}

/// An answer without an id approves nothing, although only one question is open; only its id does.
pub async fn k35_an_approval_needs_its_id(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start delete
        ? first#1~A ["delete"] boolean, to approve
        + delete
        [created, started -> first#1 +delete, asked first#1~A] waiting
        > answer true
        ! first#1~A asks for approval, so the answer must name it (Answer Unbound; waiting)
        > answer first#1~A=true
        ? second#1~B ["delete","first true"] boolean, to approve
        + first true
        [answered first#1~A=true, stepped first#1 -> second#1 +first true,
         asked second#1~B] waiting
    "#]];
    check(factory, two_approvals, expected).await
}

/// The same question in another thread, or in a new incarnation of the thread, has another id: an
/// answer to one does not answer the other.
pub async fn k35_an_id_belongs_to_one_incarnation(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start delete
        ? first#1~A ["delete"] boolean, to approve
        + delete
        [created, started -> first#1 +delete, asked first#1~A] waiting
        > thread another then start delete
        ? first#1~B ["delete"] boolean, to approve
        + delete
        [created, started -> first#1 +delete, asked first#1~B] waiting
        > answer first#1~A=true
        ! no open question has the id first#1~A; open are first#1~B (Answer Unknown; waiting)
    "#]];
    check(factory, two_approvals, expected).await
}

/// An amendment that changes the content of an open approval withdraws it, and the question is
/// asked again.
pub async fn k35_a_changed_value_is_asked_anew(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start delete one
        ? first#1~A ["delete one"] boolean, to approve
        + delete one
        [created, started -> first#1 +delete one, asked first#1~A] waiting
        > amend delete all
        ? first#1~B ["delete one","delete all"] boolean, to approve
        + delete all
        [amended by Ada +delete all because by hand, withdrawn first#1~A,
         asked first#1~B] waiting
        > answer first#1~A=true
        ! no open question has the id first#1~A; open are first#1~B (Answer Unknown; waiting)
        > answer first#1~B=true
        ? second#1~C ["delete one","delete all","first true"] boolean, to approve
        + first true
        [answered first#1~B=true, stepped first#1 -> second#1 +first true,
         asked second#1~C] waiting
    "#]];
    check(factory, two_approvals, expected).await
}

/// The same for a node that has asked midway.
pub async fn k35_a_changed_value_of_a_node_is_asked_anew(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start delete one
        ? act#1~A agree: "delete one" boolean, to approve
        + delete one
        [created, started -> act#1 +delete one, asked act#1~A] waiting
        > amend delete all
        ? act#1~B agree: "delete all" boolean, to approve
        + delete all
        [amended by Ada +delete all because by hand, withdrawn act#1~A]
        [asked act#1~B] waiting
        > answer act#1~A=true
        ! no open question has the id act#1~A; open are act#1~B (Answer Unknown; waiting)
        > answer act#1~B=true
        = + delete all: true
        [answered act#1~B=true] [stepped act#1 +delete all: true, run_ended] idle
    "#]];
    check(factory, asking_node, expected).await
}

/// A repeated request gets the result of the first, whatever has opened since, and in another
/// process too.
pub async fn k35_a_repeat_approves_nothing_else(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start delete
        ? first#1~A ["delete"] boolean, to approve
        + delete
        [created, started -> first#1 +delete, asked first#1~A] waiting
        > answer first#1~A=true as yes-1/yes
        ? second#1~B ["delete","first true"] boolean, to approve
        + first true
        [answered first#1~A=true as yes-1, stepped first#1 -> second#1 +first true,
         asked second#1~B] waiting
        > answer first#1~A=true as yes-1/yes
        ? second#1~B ["delete","first true"] boolean, to approve
        > answer first#1~A=null again yes-1/yes
        ? second#1~B ["delete","first true"] boolean, to approve
        > answer first#1~A=true as yes-1/no
        ! the request "yes-1" was made before with another input (RequestChanged; waiting)
        > answer second#1~B=true again yes-2/yes
        ! the thread waits for answers to second#1~B (Waiting; waiting)
        > another process then answer first#1~A=true as yes-1/yes
        ? second#1~B ["delete","first true"] boolean, to approve
        > answer second#1~B=false
        = + second false
        [answered second#1~B=false, stepped second#1 +second false, run_ended] idle
        > answer first#1~A=true as yes-1/yes
        =
    "#]];
    check(factory, two_approvals, expected).await
}

/// The same for the questions of a subgraph: the thread keeps the request names.
pub async fn k35_a_repeat_inside_a_subgraph_approves_nothing_else(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > start delete
        ? inside#1/first#1~A ["delete"] boolean, to approve
        + delete
        [created, started -> inside#1 +delete, entered@inside#1 -> first#1 of delete,
         asked@inside#1 inside#1/first#1~A] waiting
        > answer inside#1/first#1~A=true as yes-1/yes
        ? inside#1/second#1~B ["delete","first true"] boolean, to approve
        [answered as yes-1, answered@inside#1 inside#1/first#1~A=true,
         stepped@inside#1 first#1 -> second#1 +first true,
         asked@inside#1 inside#1/second#1~B] waiting
        > answer inside#1/first#1~A=true as yes-1/yes
        ? inside#1/second#1~B ["delete","first true"] boolean, to approve
        > answer inside#1/first#1~A=null again yes-1/yes
        ? inside#1/second#1~B ["delete","first true"] boolean, to approve
        > answer inside#1/first#1~A=true as yes-1/no
        ! the request "yes-1" was made before with another input (RequestChanged; waiting)
        > answer inside#1/second#1~B=true again yes-2/yes
        ! the thread waits for answers to inside#1/second#1~B (Waiting; waiting)
        > another process then answer inside#1/first#1~A=true as yes-1/yes
        ? inside#1/second#1~B ["delete","first true"] boolean, to approve
        > answer inside#1/second#1~B=false
        = + (delete first true second false)
        [answered@inside#1 inside#1/second#1~B=false,
         stepped@inside#1 second#1 +second false, stepped inside#1 +(delete first true second false),
         run_ended] idle
        > answer inside#1/first#1~A=true as yes-1/yes
        =
    "#]];
    let graph = |stage: &Stage| {
        let graph = stage.wire("inside; inside: elsewhere")?;
        graph
            .subgraph("inside", &two_approvals(stage)?, enter, leave)
            .build()
    };
    check(factory, graph, expected).await
}

/// The record of an answer has its author, its endpoint, its name and its standing consent.
pub async fn k35_an_answer_records_its_origin(factory: &dyn LogFactory) -> CheckResult {
    let stage = Stage::of(Fixture::of(factory).await?, "");
    let desk = &stage.desk;
    let runner = desk.runner(&two_approvals(&stage)?);
    let asked = question(runner.start(&desk.thread, line("delete")).await)?;
    let by = Attribution::new("anna", "terminal").standing("--yes");
    let answers = Answers::to(asked.id.clone(), true)?.by(by).keyed("k", &1)?;
    question(runner.resume(&desk.thread, answers).await)?;
    let history = runner.history(&desk.thread, 1, 100).await?;
    let known = history.iter().find_map(|entry| match entry.event() {
        HistoryEvent::Answered { answers, by } => Some((answers, by)),
        _ => None,
    });
    let (answers, by) = known.ok_or_else(|| Failure::new("no answer is in the log"))?;
    same("what was answered", answers, &[(asked.id, json!(true))])?;
    let by = by.ok_or_else(|| Failure::new("the log does not say who answered"))?;
    let told = (by.caller.as_str(), by.door.as_str(), by.standing.as_deref());
    same("who answered", told, ("anna", "terminal", Some("--yes")))?;
    same("under which name", by.request_key(), Some("k"))
}

/// A node that is called again with an answer acts only if its action is still the one that was
/// shown.
pub async fn k35_a_node_acts_on_what_was_shown(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start delete
        ? act#1~A agree: "delete" boolean, to approve
        + delete
        [created, started -> act#1 +delete, asked act#1~A] waiting
        > answer act#1~A=true
        = + delete: true
        [answered act#1~A=true] [stepped act#1 +delete: true, run_ended] idle
    "#]];
    check(factory, asking_node, expected).await
}

/// An approval that an older program asked, with an id that is not bound to what it shows, is asked
/// anew, after an answer and after a crash; nothing is approved before.
pub async fn k35_a_card_of_an_older_program_is_asked_anew(factory: &dyn LogFactory) -> CheckResult {
    for by_answer in [true, false] {
        let (stage, old) = (Stage::of(Fixture::of(factory).await?, ""), thread("old"));
        let desk = &stage.desk;
        let runner = desk.runner(&two_approvals(&stage)?);
        let asked = question(runner.start(&desk.thread, line("delete")).await)?;
        let (bound, plain) = (asked.id.as_str(), "first#1~1");
        for (_, record) in desk.log_of().read(&desk.thread, 1, 100).await? {
            let body = String::from_utf8_lossy(&record.0).replace(bound, plain);
            let waits = Status::Waiting { expires: None };
            desk.foreign(&old, body.into_bytes(), waits).await?;
        }
        let ThreadStatus::Waiting(open) = runner.status(&old).await? else {
            return Err(Failure::new("the thread waits"));
        };
        let ids: Vec<_> = open.iter().map(|asked| asked.id.as_str()).collect();
        same("what waits", ids, vec![plain])?;
        let anew = question(if by_answer {
            runner.resume(&old, Answers::to(plain, true)?).await
        } else {
            runner.recover(&old).await
        })?;
        holds(anew.id.as_str() != plain, || {
            format!("{plain} is asked again")
        })?;
        let said = |page: Option<std::sync::Arc<Page>>| page.map(|page| page.lines.clone());
        let before = said(runner.state(&old).await?);
        same("before the answer", before, Some(texts(&["delete"])))?;
        question(runner.resume(&old, Answers::to(anew.id, true)?).await)?;
        let after = said(runner.state(&old).await?);
        same(
            "after the answer",
            after,
            Some(texts(&["delete", "first true"])),
        )?;
    }
    Ok(())
}
