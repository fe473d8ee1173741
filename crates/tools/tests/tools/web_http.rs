//! A search service and pages on this machine, and the texts that are read.
use axum::{
    Json, Router,
    extract::Query,
    http::header,
    response::{Html, Redirect},
    routing::get,
};
use fugato_tools::web::{HttpWeb, Web as _, WebHit};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::net::TcpListener;

/// The address of a server that is gone with the test.
async fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let endless = "x".repeat(3 * 1024 * 1024);
    let search = |Query(asked): Query<BTreeMap<String, String>>| async move {
        let title = asked.get("q").cloned().unwrap_or_default();
        let hit = |n: u32| json!({ "title": format!("{title} {n}"), "url": format!("https://a.example/{n}"), "content": "says", "engine": "e" });
        Json::<Value>(json!({ "query": title, "results": [hit(1), hit(2), hit(3)] }))
    };
    let app = Router::new()
        .route("/search", get(search))
        .route(
            "/page",
            get(|| async { Html("<h1>Tides</h1><p>Twice a day</p>") }),
        )
        .route("/moved", get(|| async { Redirect::temporary("/page") }))
        .route("/round", get(|| async { Redirect::temporary("/round") }))
        .route(
            "/away",
            get(|| async { Redirect::temporary("http://other.example/") }),
        )
        .route("/endless", get(|| async move { endless }))
        .route(
            "/photo",
            get(|| async { ([(header::CONTENT_TYPE, "image/jpeg")], "no text") }),
        );
    tokio::spawn(async { axum::serve(listener, app).await });
    url
}

#[tokio::test]
async fn trn_8_a_search_service_is_asked_by_its_url() {
    let url = server().await;
    let web = HttpWeb::new(&format!("{url}/search?lang=zh")).expect("a service");
    let found = web.search("潮汐 & tides", 2).await.expect("an answer");
    let hit = |n: u32| {
        WebHit::new(
            format!("潮汐 & tides {n}"),
            format!("https://a.example/{n}"),
            "says",
        )
    };
    assert_eq!(found, [hit(1), hit(2)]);
    let page = HttpWeb::new(&format!("{url}/page")).expect("a service");
    let error = page
        .search("tides", 2)
        .await
        .expect_err("a page is no answer");
    assert!(error.to_string().contains("JSON"), "{error}");
    for bad in ["", "ftp://a.example/", "search"] {
        assert!(HttpWeb::new(bad).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn a_page_is_read_as_text_and_a_redirection_does_not_lead_away() {
    let url = server().await;
    let web = HttpWeb::new(&url).expect("a service");
    for page in ["page", "moved"] {
        let text = web.fetch(&format!("{url}/{page}")).await.expect("a page");
        assert_eq!(text, "Tides\nTwice a day", "{page}");
    }
    let endless = web
        .fetch(&format!("{url}/endless"))
        .await
        .expect("its beginning");
    assert_eq!(endless.len(), 2 * 1024 * 1024);
    for (page, told) in [
        ("away", "could not be reached"),
        ("round", "could not be reached"),
        ("none", "status 404"),
        ("photo", "only text can be read"),
    ] {
        let error = web.fetch(&format!("{url}/{page}")).await.expect_err(page);
        assert!(error.to_string().contains(told), "{page}: {error}");
    }
}
