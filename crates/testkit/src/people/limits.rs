//! The limits of people, each of whom has used up another one.
use super::{Client, client, key_with};
use crate::{FaultyServer, ServerFault, TestProgram};

/// Serves a program, with a model, to people who have limits, and fails if one of them can be
/// exceeded, if a refusal does not say which, or if it is a limit of somebody else. `words` are some
/// about which the program asks a model.
///
/// # Panics
/// At the first limit that does not hold.
pub async fn limited(program: &TestProgram, words: &str) {
    let [free, often, large, tokens] = [
        ("free", "--runs-at-a-time", "9"),
        ("often", "--runs-a-day", "6"),
        ("large", "--megabytes", "0"),
        ("tokens", "--tokens-a-day", "1"),
    ]
    .map(|(name, limit, most)| key_with(program, name, &[limit, most]));
    let model = FaultyServer::start(ServerFault::LongText(40));
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--base-url",
        model.url(),
        "--model",
        "m",
    ];
    let server = program.server(&serve);
    let [free, often, large, tokens] = [free, often, large, tokens].map(|key| client(&server, key));
    // The trial says something by six protocols.
    accepts(&often, words).await;
    accepts(&tokens, words).await;
    assert!(model.requests() > 0, "no model was asked about {words:?}");
    for (person, kind, allowed) in [
        (&often, "runs_per_day", "6 runs"),
        (&large, "storage", "0 MB"),
        (&tokens, "tokens_per_day", "1 tokens"),
    ] {
        refuses(person, words, kind, allowed).await;
        let listed = person.get("/threads").await;
        assert_eq!(listed.status, 200, "{kind}: {listed:?}");
    }
    accepts(&free, words).await;
    let asked = model.requests();
    refuses(&tokens, words, "tokens_per_day", "1 tokens").await;
    assert_eq!(
        model.requests(),
        asked,
        "a model was asked beyond the limit"
    );
    drop(server);
    let again = program.server(&serve);
    let [often, tokens] = [often, tokens].map(|person| client(&again, person.key));
    refuses(&tokens, words, "tokens_per_day", "1 tokens").await;
    refuses(&often, words, "runs_per_day", "6 runs").await;
    drop(again);
    let chinese = program.server(&[&serve[..], &["--lang", "zh"]].concat());
    let [often, large, tokens] = [often, large, tokens].map(|person| client(&chinese, person.key));
    for (person, kind, allowed) in [
        (&often, "runs_per_day", "6 次运行"),
        (&large, "storage", "最多保存 0 MB"),
        (&tokens, "tokens_per_day", "最多用 1 个"),
    ] {
        // The words are answered in their own language, and what has none in that of the server.
        refuses(person, "给我讲一个关于向日葵的故事", kind, allowed).await;
        refuses(person, "42", kind, allowed).await;
    }
    refuses(&often, words, "runs_per_day", "6 runs").await;
}

async fn accepts(person: &Client, words: &str) {
    for (protocol, said) in person.say_everywhere("before", words).await {
        let is_limit = said.status == 429 || said.body.contains("_per_day");
        // Who uses up the tokens is refused from then on.
        if is_limit && protocol != "runs" {
            return;
        }
        assert!(said.status < 300, "{protocol}: {said:?}");
    }
}

async fn refuses(person: &Client, words: &str, kind: &str, allowed: &str) {
    for (protocol, said) in person.say_everywhere("after", words).await {
        let is_refused = said.status == 429 || protocol == "websocket";
        let tells = said.body.contains(kind) && said.body.contains(allowed);
        assert!(is_refused && tells, "{kind} by {protocol}: {said:?}");
    }
}
