//! A client of OpenAI's protocol that keeps its conversations itself.
use fugato_testkit::{ModelServer, TestProgram};
use serde_json::json;

#[test]
fn what_a_client_says_was_said_before_reaches_the_model() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_react"));
    let messages = json!([
        { "role": "system", "content": "You are a pirate." },
        { "role": "user", "content": "My cat is called Tom." },
        { "role": "assistant", "content": "A fine name for a cat." },
        { "role": "user", "content": "Tell me a story about my cat." },
    ]);
    let (status, asked) = ModelServer::asked_for(&program, "Tom was a cat.", &messages);
    assert_eq!(status, 200);
    let heard = |words: &str| asked.iter().any(|body| body.to_string().contains(words));
    assert!(heard("about my cat"), "{asked:?}");
    assert!(heard("My cat is called Tom."), "{asked:?}");
    assert!(
        !heard("pirate"),
        "instructions are the operator's: {asked:?}"
    );
}
