//! A model server without usable answers.
use fugato_testkit::{ModelAnswer, ModelServer, assert_contains, check_stock_client};

use super::work::Work;

#[test]
fn a_model_that_talks_nonsense_is_replaced_by_rules() {
    let work = Work::new();
    let prose = ModelAnswer::text("What a lovely day!", "stop");
    let url = ModelServer::in_turn([prose]).url();
    let said = work.ok(&["--yes", "--base-url", &url, "--model", "parrot"]);
    assert!(said.contains("the model is corrected"), "{said}");
    assert_contains(
        &said,
        "The model parrot gave 3 answers in a row that cannot be used",
    );
    assert_eq!(work.events(), 21);
    // The log keeps the name of the model and the purpose of the request: rules continued alone.
    let trace = work.ok(&["trace"]);
    assert!(trace.contains("model: chat: parrot "), "{trace}");
    assert!(!trace.contains("model: execute: parrot "), "{trace}");
    let rules = Work::new();
    rules.ok(&["--yes"]);
    assert_eq!(work.placed(), rules.placed());
}

#[test]
fn a_server_needs_the_name_of_a_model() {
    let error = Work::new().err(&["--base-url", "http://127.0.0.1:1"]);
    assert!(error.contains("--model"), "{error}");
}

#[test]
fn what_a_client_says_was_said_before_reaches_the_model() {
    check_stock_client(&Work::new(), &[]);
}
