//! Scenarios of consent: K35.
use fugato_graph::{
    AnswerError, Answers, Attribution, BoxError, Context, END, Graph, Outcome, RunErrorKind,
    StateEdit, SubgraphInput, ThreadStatus, machine::Fact,
};
use fugato_state::Question;
use fugato_store::Status;
use serde_json::json;

use super::{
    fixture::{Fixture, Page, fails, finished, line, parked, question, thread},
    world::{WiringExt, texts},
};
use crate::log::{Failure, LogFactory, Verdict, holds, same};

/// Builds two approvals, one after the other, of the page's lines.
fn two_approvals() -> Result<Graph<Page>, Failure> {
    let shown = |page: &Page| page.lines.clone();
    Ok(Graph::<Page>::starting_at("first")
        .approval("first", shown, |_, ok: bool| line(format!("first {ok}")))
        .approval("second", shown, |_, ok: bool| line(format!("second {ok}")))
        .way(&["first", "second", END])
        .build()?)
}

/// Builds a node that asks midway for approval of the newest line.
fn asking_node() -> Result<Graph<Page>, Failure> {
    let act = |cx: Context<Page>| async move {
        let newest = cx.state().lines.last().cloned().unwrap_or_default();
        let mut asked = Question::new::<bool>("agree", newest.as_str());
        asked.digest = Some(newest.clone());
        Ok::<_, BoxError>(match cx.consent::<bool>(&asked)? {
            Some(ok) => Outcome::done([line(format!("{newest}: {ok}"))]),
            None => Outcome::ask(asked),
        })
    };
    Ok(Graph::<Page>::starting_at("act")
        .node("act", act)
        .edge("act", END)
        .build()?)
}

/// An answer without an id approves nothing, although only one question is open; only its id does.
pub async fn k35_an_approval_needs_its_id(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let runner = desk.runner(&two_approvals()?);
    let asked = question(runner.start(&desk.thread, line("delete")).await)?;
    let head = desk.head().await?;
    let id = asked.id.clone();
    fails(
        runner.resume(&desk.thread, Answers::only(true)?).await,
        RunErrorKind::Answer(AnswerError::Unbound { id }),
    )?;
    same("the head", desk.head().await?, head)?;
    let next = question(desk.answer(&runner, asked.id, true).await)?;
    same("what is asked next", next.task.as_str(), "second#1")
}

/// The same question in another thread, or in a new incarnation of the thread, has another id: an
/// answer to one does not answer the other.
pub async fn k35_an_id_belongs_to_one_incarnation(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let runner = desk.runner(&two_approvals()?);
    let other = thread("another");
    let here = question(runner.start(&desk.thread, line("delete")).await)?;
    let there = question(runner.start(&other, line("delete")).await)?;
    holds(here.id != there.id, || format!("{} is used twice", here.id))?;
    let (id, open) = (here.id.clone(), vec![there.id]);
    fails(
        runner
            .resume(&other, Answers::to(here.id.clone(), true)?)
            .await,
        RunErrorKind::Answer(AnswerError::Unknown { id, open }),
    )
}

/// An amendment that changes the content of an open approval withdraws it, and the question is
/// asked again.
pub async fn k35_a_changed_value_is_asked_anew(factory: &dyn LogFactory) -> Verdict {
    changed(factory, two_approvals()?).await
}

/// The same for a node that has asked midway.
pub async fn k35_a_changed_value_of_a_node_is_asked_anew(factory: &dyn LogFactory) -> Verdict {
    changed(factory, asking_node()?).await
}

async fn changed(factory: &dyn LogFactory, graph: Graph<Page>) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let runner = desk.runner(&graph);
    let shown = question(runner.start(&desk.thread, line("delete one")).await)?;
    let amendment = StateEdit::new([line("delete all")], "an operator", "a test");
    let today = question(runner.amend(&desk.thread, amendment).await)?;
    holds(today.id != shown.id, || format!("{} still waits", shown.id))?;
    holds(
        today.question.prompt.to_string().contains("delete all"),
        || format!("an old card: {}", today.question.prompt),
    )?;
    let head = desk.head().await?;
    let unknown = RunErrorKind::Answer(AnswerError::Unknown {
        id: shown.id.clone(),
        open: vec![today.id.clone()],
    });
    fails(desk.answer(&runner, shown.id.clone(), true).await, unknown)?;
    same("the head", desk.head().await?, head)?;
    // The thread can still go on.
    match desk.answer(&runner, today.id, true).await {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::from(error)),
    }
}

/// A repeated request gets the result of the first, whatever has opened since, and in another
/// process too.
pub async fn k35_a_repeat_approves_nothing_else(factory: &dyn LogFactory) -> Verdict {
    repeats(factory, two_approvals()?).await
}

/// The same for the questions of a subgraph: the thread keeps the request names.
pub async fn k35_a_repeat_inside_a_subgraph_approves_nothing_else(
    factory: &dyn LogFactory,
) -> Verdict {
    let graph = Graph::<Page>::starting_at("inside")
        .subgraph(
            "inside",
            &two_approvals()?,
            |entering: SubgraphInput<'_, Page>| Ok::<_, BoxError>(entering.state().clone()),
            |_, inside: &Page| inside.lines.last().map(line),
        )
        .edge("inside", END)
        .build()?;
    repeats(factory, graph).await
}

async fn repeats(factory: &dyn LogFactory, graph: Graph<Page>) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let runner = desk.runner(&graph);
    let first = question(runner.start(&desk.thread, line("delete")).await)?;
    let yes = |what: &str| {
        let (sent, id) = (what.to_owned(), first.id.clone());
        Ok::<_, Failure>(Answers::to(id, true)?.keyed("yes-1", &sent)?)
    };
    let second = question(runner.resume(&desk.thread, yes("yes")?).await)?;
    let head = desk.head().await?;
    for _ in 0..2 {
        let again = question(runner.resume(&desk.thread, yes("yes")?).await)?;
        same("what waits", &again.id, &second.id)?;
        let only = Answers::to(first.id.clone(), ())?.repeating("yes-1", &"yes")?;
        let open = parked(runner.resume(&desk.thread, only).await)?;
        same("what waits", open.len(), 1)?;
    }
    let key = "yes-1".to_owned();
    fails(
        runner.resume(&desk.thread, yes("no")?).await,
        RunErrorKind::RequestChanged { key },
    )?;
    let never = Answers::to(second.id.clone(), true)?.repeating("yes-2", &"yes")?;
    let open = vec![second.id.clone()];
    fails(
        runner.resume(&desk.thread, never).await,
        RunErrorKind::Waiting { open },
    )?;
    same("the head", desk.head().await?, head)?;
    desk.another_process();
    let runner = desk.runner(&graph);
    let again = question(runner.resume(&desk.thread, yes("yes")?).await)?;
    same("what waits elsewhere", &again.id, &second.id)?;
    let page = finished(desk.answer(&runner, second.id, false).await)?;
    let last = page.lines.last().map(String::as_str);
    same("what was said", last, Some("second false"))?;
    let page = finished(runner.resume(&desk.thread, yes("yes")?).await)?;
    same(
        "what was said then",
        page.lines.last().map(String::as_str),
        Some("second false"),
    )
}

/// The record of an answer has its author, its endpoint, its name and its standing consent.
pub async fn k35_an_answer_records_its_origin(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let runner = desk.runner(&two_approvals()?);
    let asked = question(runner.start(&desk.thread, line("delete")).await)?;
    let by = Attribution::new("anna", "terminal").standing("--yes");
    let answers = Answers::to(asked.id.clone(), true)?.by(by).keyed("k", &1)?;
    question(runner.resume(&desk.thread, answers).await)?;
    let history = runner.history(&desk.thread, 1, 100).await?;
    let known = history.into_iter().find_map(|entry| match entry.fact {
        Fact::Answered { answers, by } => Some((answers, by)),
        _ => None,
    });
    let (answers, by) = known.ok_or_else(|| Failure::new("no answer is in the log"))?;
    same("what was answered", answers, vec![(asked.id, json!(true))])?;
    let by = by.ok_or_else(|| Failure::new("the log does not say who answered"))?;
    let told = (by.caller.as_str(), by.door.as_str(), by.standing.as_deref());
    same("who answered", told, ("anna", "terminal", Some("--yes")))?;
    same(
        "under which name",
        by.key.map(|key| key.key),
        Some("k".to_owned()),
    )
}

/// A node that is called again with an answer acts only if its action is still the one that was
/// shown.
pub async fn k35_a_node_acts_on_what_was_shown(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let runner = desk.runner(&asking_node()?);
    let asked = question(runner.start(&desk.thread, line("delete")).await)?;
    let page = finished(desk.answer(&runner, asked.id, true).await)?;
    let last = page.lines.last().map(String::as_str);
    same("what was done", last, Some("delete: true"))
}

/// An approval that an older program asked, with an id that is not bound to what it shows, is asked
/// anew, after an answer and after a crash; nothing is approved before.
pub async fn k35_a_card_of_an_older_program_is_asked_anew(factory: &dyn LogFactory) -> Verdict {
    for by_answer in [true, false] {
        let (desk, old) = (Fixture::of(factory).await?, thread("old"));
        let runner = desk.runner(&two_approvals()?);
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
