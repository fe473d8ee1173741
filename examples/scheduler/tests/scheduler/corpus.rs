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
    sync::Arc,
    time::Duration,
};

use fugato::{
    ChatModel, OpenAi,
    llm::{ApiKey, Timeout},
};
use fugato_testkit::share;
use scheduler::calendar::Lang;
use servers::Llama;

use self::{
    case::{Case, corpus, known},
    models::{MisbehavingModel, Misbehaviour},
    world::World,
};

/// Runs cases of a language, and returns those that fail with what is wrong.
async fn failures(lang: Lang, cases: &[Case]) -> BTreeMap<String, Vec<String>> {
    let mut failed = BTreeMap::new();
    for case in cases {
        let outcome = World::new(case, lang, None).await.run(case).await;
        let mut wrong = check::wrong(case, &outcome);
        wrong.extend(check::foreign(case, &outcome));
        if !wrong.is_empty() {
            failed.insert(case.id.clone(), wrong);
        }
    }
    failed
}

/// Asserts that of the [share] of the cases that is tried exactly those that are known to fail do.
async fn assert_understood(lang: Lang) {
    let cases: Vec<_> = corpus(lang).into_iter().step_by(share()).collect();
    let failed = failures(lang, &cases).await;
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
    let is_tried = |id: &String| cases.iter().any(|case| case.id == *id);
    let listed: BTreeSet<_> = known.into_keys().filter(is_tried).collect();
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
    for case in corpus(lang).into_iter().step_by(share()) {
        let misbehaved = Arc::new(MisbehavingModel::new(model));
        let outcome = World::new(&case, lang, Some(misbehaved))
            .await
            .run(&case)
            .await;
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

/// The requests of each language that are asked of a small model: it takes a minute for each.
const ASKED_OF_A_SMALL_MODEL: usize = 5;

/// Asserts that nothing unasked or illegal is written, and nothing is said to be done that is not,
/// by a real model that mostly talks garbage.
async fn assert_small_model(lang: Lang, model: &Arc<dyn ChatModel>) {
    let cases = corpus(lang);
    let every = cases.len() / ASKED_OF_A_SMALL_MODEL;
    for case in cases.iter().step_by(every).take(ASKED_OF_A_SMALL_MODEL) {
        let outcome = World::new(case, lang, Some(model.clone()))
            .await
            .run(case)
            .await;
        show(&format!("> {}\n{}", case.text, outcome.reply.trim()));
        let mut wrong = check::unconsented(case, &outcome);
        wrong.extend(check::illegal(&outcome));
        wrong.extend(check::untrue(&outcome));
        assert_eq!(
            wrong,
            Vec::<String>::new(),
            "{}: {}",
            case.id,
            outcome.reply
        );
    }
}

/// `tests/peers/install-llama` installs the model; where it is not, there is nothing to ask.
#[tokio::test(flavor = "multi_thread")]
async fn ten_requests_go_through_a_small_real_model() {
    let key = "sk-corpus-0123456789";
    let Some(server) = Llama::start(key) else {
        return;
    };
    let model = OpenAi::new(server.url(), "small").key(ApiKey::new(key));
    let model: Arc<dyn ChatModel> = Arc::new(Timeout::new(model).total(Duration::from_mins(2)));
    assert_small_model(Lang::En, &model).await;
    assert_small_model(Lang::Zh, &model).await;
}
