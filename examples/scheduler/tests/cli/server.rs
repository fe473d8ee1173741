//! A model server without usable answers.
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
};

use crate::work::Work;

/// Answers every request with prose, and never with a decision.
fn prattle() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(answer));
    url
}

fn answer(socket: TcpStream) {
    let mut reader = BufReader::new(socket);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        if let Some(found) = line.to_lowercase().strip_prefix("content-length:") {
            length = found.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let delta = r#"{"choices":[{"index":0,"delta":{"content":"What a lovely day!"}}]}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {delta}\n\ndata: [DONE]\n\n"
    );
    let _ = reader.get_mut().write_all(answer.as_bytes());
}

#[test]
fn a_model_that_talks_nonsense_is_replaced_by_rules() {
    let work = Work::new();
    let said = work.ok(&["--yes", "--base-url", &prattle(), "--model", "parrot"]);
    assert!(said.contains("the model is corrected"), "{said}");
    assert!(
        said.contains("The model parrot gave 3 answers in a row that cannot be used"),
        "{said}"
    );
    assert_eq!(
        work.read("scheduler-data/default/schedule.ics")
            .matches("BEGIN:VEVENT")
            .count(),
        21
    );
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
