//! The embeddings client against a real HTTP server on loopback.

use std::sync::Arc;

use fugato_llm::{ModelError, ModelErrorKind};
use fugato_memory::{EmbedError, Embedder as _, Embeddings, HybridSearch, MemoryIndex, NoteFile};
use fugato_providers::openai::{ApiKey, OpenAiEmbedder};
use serde_json::{Value, json};

use crate::server::{Answer, Server};

const SECRET: &str = "sk-very-secret";

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn embedder(server: &Server) -> OpenAiEmbedder {
    OpenAiEmbedder::new(&server.url(), "small").key(ApiKey::new(SECRET))
}

fn answer(vectors: &Value) -> Answer {
    Answer::json(
        200,
        &json!({ "data": vectors, "usage": { "prompt_tokens": 3, "total_tokens": 3 } }).to_string(),
    )
}

#[tokio::test]
async fn l15_texts_become_vectors_in_their_order() {
    let first = json!([
        { "index": 1, "embedding": [0.0, 1.0] },
        { "index": 0, "embedding": [0.5, -0.25] },
    ]);
    let second = json!([{ "embedding": [1, 0] }]);
    let server = Server::start([answer(&first), answer(&second)]).await;
    let model = embedder(&server).batch(2).dimensions(2);
    let found = model.embed(&texts(&["a", "长", "c"])).await.unwrap();
    let vectors = [vec![0.5, -0.25], vec![0.0, 1.0], vec![1.0, 0.0]];
    assert_eq!(found, Embeddings::new(vectors).tokens(6));

    let request = server.request().await;
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("POST /v1/embeddings HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.contains("\r\nauthorization: Bearer sk-very-secret\r\n"),
        "{head}"
    );
    let expected = json!({
        "model": "small", "input": ["a", "长"], "encoding_format": "float", "dimensions": 2,
    });
    assert_eq!(serde_json::from_str::<Value>(body).unwrap(), expected);
}

fn refused(error: &EmbedError) -> (ModelErrorKind, &str) {
    let error = error.source.downcast_ref::<ModelError>();
    let error = error.expect("what the client met is the source");
    (error.kind, &error.context)
}

#[tokio::test]
async fn l15_the_client_is_what_the_search_embeds_by() {
    let chunks = json!([{ "embedding": [1.0, 0.0] }, { "embedding": [0.0, 1.0] }]);
    let query = json!([{ "embedding": [0.1, 0.9] }]);
    let server = Server::start([answer(&chunks), answer(&query)]).await;
    let search = HybridSearch::new(Arc::new(MemoryIndex::default()))
        .embedded_by(Arc::new(embedder(&server).dimensions(2)));
    let note = NoteFile {
        path: "MEMORY.md".into(),
        text: "# Rent\ndue on the third\n# Dentist\nin May\n".into(),
    };
    let synced = search.sync(&[note]).await.unwrap();
    assert!(synced.text_alone.is_none(), "{synced:?}");
    let found = search.search(search.query("teeth").limit(1)).await.unwrap();
    assert!(found.text_alone.is_none(), "{found:?}");
    assert_eq!(found.hits[0].id, "md:MEMORY.md#Dentist~1", "{found:?}");
}

#[test]
fn vectors_of_other_lengths_have_another_name() {
    let model = OpenAiEmbedder::new("http://localhost", "small");
    assert_eq!(model.name(), "small");
    assert_eq!(model.dimensions(2).name(), "small-2");
}

#[tokio::test]
async fn no_texts_ask_nobody() {
    let server = Server::start([]).await;
    let model = embedder(&server);
    drop(server);
    assert_eq!(model.embed(&[]).await.unwrap(), Embeddings::default());
}

#[tokio::test]
async fn an_answer_that_does_not_fit_the_texts_is_malformed() {
    for (vectors, why) in [
        (json!([{ "embedding": [1] }]), "a text has no vector"),
        (
            json!([{ "index": 0, "embedding": [1] }, { "index": 0, "embedding": [1] }]),
            "a vector belongs to no text",
        ),
        (
            json!([{ "index": 2, "embedding": [1] }, { "index": 0, "embedding": [1] }]),
            "a vector belongs to no text",
        ),
        (
            json!([{ "embedding": [] }, { "embedding": [1] }]),
            "a vector is empty or infinite",
        ),
        (
            json!([{ "embedding": [1, 2] }, { "embedding": [1] }]),
            "the vectors have different dimensions",
        ),
    ] {
        let server = Server::start([answer(&vectors)]).await;
        let error = embedder(&server)
            .embed(&texts(&["a", "b"]))
            .await
            .unwrap_err();
        assert_eq!(refused(&error), (ModelErrorKind::Malformed, why));
    }
}

#[tokio::test]
async fn a_refusal_has_its_kind_and_shows_no_key() {
    let said = json!({ "error": { "message": format!("wrong key {SECRET}") } });
    let server = Server::start([Answer::json(401, &said.to_string())]).await;
    let model = embedder(&server);
    let error = model.embed(&texts(&["a"])).await.unwrap_err();
    assert_eq!(
        refused(&error),
        (ModelErrorKind::Denied, "status 401: wrong key [key]")
    );
    assert!(!format!("{model:?}").contains(SECRET));
}
