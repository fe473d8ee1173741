//! The corpus of requests, without a model and with models that misbehave.
//!
//! `tests/corpus/README.md` defines worlds, cases and checks. Every case runs through the doors of
//! the program: its agent, its graph, its store, and the answers to its cards.
mod case;
mod check;
mod models;
mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use scheduler::calendar::Lang;

use self::{
    case::{corpus, known},
    models::Misbehaviour,
    world::World,
};

/// Runs all cases of a language, and returns those that fail with what is wrong.
async fn failures(lang: Lang) -> BTreeMap<String, Vec<String>> {
    let mut failed = BTreeMap::new();
    for case in corpus(lang) {
        let outcome = World::new(lang, None).await.run(&case).await;
        let wrong = check::wrong(&case, &outcome);
        if !wrong.is_empty() {
            failed.insert(case.id.clone(), wrong);
        }
    }
    failed
}

/// Asserts that exactly the cases that are known to fail do.
async fn assert_understood(lang: Lang) {
    let failed = failures(lang).await;
    let cases = corpus(lang);
    let (all, right) = (cases.len(), cases.len() - failed.len());
    let percent = right * 100 / all;
    let mut report = format!("{lang}: {right} of {all} requests are served right ({percent} %)\n");
    for (id, wrong) in &failed {
        let text = cases
            .iter()
            .find(|case| case.id == *id)
            .map_or("", |case| &case.text);
        let wrong = wrong.join("\n    ");
        // Writing into a string cannot fail.
        let _ = writeln!(report, "  {id}: {text}\n    {wrong}");
    }
    show(&report);
    let known = known(lang);
    let failed: BTreeSet<_> = failed.into_keys().collect();
    let listed: BTreeSet<_> = known.into_keys().collect();
    let new: Vec<_> = failed.difference(&listed).collect();
    let mended: Vec<_> = listed.difference(&failed).collect();
    assert!(
        new.is_empty() && mended.is_empty(),
        "fail and are not listed: {new:?}\nare listed and hold: {mended:?}\n{report}"
    );
}

/// Shows the share with `cargo test corpus -- --nocapture`, and whole where the test fails.
#[expect(clippy::print_stderr, reason = "the share is what one runs this for")]
fn show(report: &str) {
    eprintln!("{report}");
}

#[tokio::test]
async fn requests_in_english_are_understood_without_a_model() {
    assert_understood(Lang::En).await;
}

#[tokio::test]
async fn requests_in_chinese_are_understood_without_a_model() {
    assert_understood(Lang::Zh).await;
}

/// Asserts that whatever the model does, nothing is written to which nobody agreed.
async fn assert_harmless(lang: Lang, model: Misbehaviour) {
    for case in corpus(lang) {
        let outcome = World::new(lang, Some(model)).await.run(&case).await;
        let wrong = check::unconsented(&case, &outcome);
        assert_eq!(wrong, Vec::<String>::new(), "{} with {model:?}", case.id);
    }
}

#[tokio::test]
async fn a_model_that_fails_writes_nothing_unasked() {
    assert_harmless(Lang::En, Misbehaviour::Fails).await;
    assert_harmless(Lang::Zh, Misbehaviour::Fails).await;
}

#[tokio::test]
async fn a_model_that_talks_rubbish_writes_nothing_unasked() {
    assert_harmless(Lang::En, Misbehaviour::Rubbish).await;
    assert_harmless(Lang::Zh, Misbehaviour::Rubbish).await;
}

#[tokio::test]
async fn a_model_that_breaks_every_contract_writes_nothing_unasked() {
    assert_harmless(Lang::En, Misbehaviour::WrongContract).await;
    assert_harmless(Lang::Zh, Misbehaviour::WrongContract).await;
}
