use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use fugato_state::{Message, ToolCall};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{ChatModelExt as _, ResponseFold, ToolCallDelta};

#[derive(Clone, Default)]
struct Tape(Arc<Mutex<Vec<u8>>>);

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no test panics with it").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Tape {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no test panics with it").clone())
            .expect("JSON is UTF-8")
    }
}

/// A model with a fixed answer. That of the testkit would use another build of this crate.
struct FixedModel(Vec<ChatDelta>, Option<ModelError>);

#[async_trait::async_trait]
impl crate::ChatModel for FixedModel {
    async fn stream(&self, _: ChatRequest) -> Result<crate::DeltaStream, ModelError> {
        let deltas = self
            .0
            .clone()
            .into_iter()
            .map(Ok)
            .chain(self.1.clone().map(Err));
        Ok(Box::pin(futures::stream::iter(deltas)))
    }
}

fn record(says: FixedModel, request: ChatRequest, secrets: Secrets) -> String {
    let tape = Tape::default();
    let model = Recorder::new(says, tape.clone()).secrets(secrets);
    let answered = futures::executor::block_on(model.complete(request));
    drop(answered);
    tape.text()
}

/// Returns the text in pieces, cut at these places.
fn cut(text: &str, cuts: &[prop::sample::Index]) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
    at.extend([0, chars.len()]);
    at.sort_unstable();
    at.windows(2)
        .map(|pair| chars[pair[0]..pair[1]].iter().collect())
        .collect()
}

/// Returns every string of a value.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            found.push(name.clone());
            texts(field, found);
        }),
        Value::String(text) => found.push(text.clone()),
        leaf => found.push(leaf.to_string()),
    }
}

proptest! {
    #[test]
    fn no_key_is_ever_on_a_cassette(
        secret in "[A-Za-z0-9\"\\\\/+ =-]{8,24}",
        (before, after) in ("[a-z长 ]{0,6}", "[a-z长 ]{0,6}"),
        twice in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let glued = if twice { secret.clone() } else { String::new() };
        let text = format!("{before}{secret}{glued}{after}");
        let arguments = json!({ "header": text, &text: 1 });
        let call = ToolCall::new(&text, &text, arguments.clone());
        let request = ChatRequest::new([
            Message::system(&text),
            Message::assistant(&text).with_tool_calls([call]),
            Message::tool(&text, json!({ "key": text }).to_string()),
        ])
        .metadata(&text, &text);
        let pieces = |text: &str| cut(text, &cuts);
        let mut deltas: Vec<_> = pieces(&text).into_iter().map(ChatDelta::Text).collect();
        deltas.extend(pieces(&text).into_iter().map(ChatDelta::Reasoning));
        deltas.extend(pieces(&arguments.to_string()).into_iter().map(|piece| {
            ChatDelta::ToolCall(ToolCallDelta::new(0, piece).id(&text))
        }));
        deltas.push(ChatDelta::Kept { by: "a".into(), value: json!([{ "b": text }]) });
        deltas.push(ChatDelta::Finish(crate::FinishReason::Other(text.clone())));
        let error = ModelError::new(ModelErrorKind::Other, &text);

        let line = record(FixedModel(deltas, Some(error)), request, Secrets::new([&secret]));
        let exchange: Exchange = serde_json::from_str(&line).unwrap();
        let mut fold = ResponseFold::default();
        exchange.deltas.iter().cloned().for_each(|delta| fold.push(delta));
        let mut found = vec![];
        texts(&exchange.request, &mut found);
        texts(&serde_json::to_value(fold.finish()).unwrap(), &mut found);
        texts(&serde_json::to_value(exchange.error).unwrap(), &mut found);
        let leaks: Vec<_> = found.iter().filter(|text| text.contains(&secret)).collect();
        prop_assert_eq!(leaks, Vec::<&String>::new());
        prop_assert!(!line.contains(&secret), "{line}");
        prop_assert!(line.contains('•'), "something was hidden: {line}");
    }

    #[test]
    fn what_holds_no_secret_is_kept_as_it_is(text in "[ -~长•]{0,40}", cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
        let mut deltas: Vec<_> = cut(&text, &cuts).into_iter().map(ChatDelta::Text).collect();
        let whole = deltas.clone();
        Secrets::new(["0000-not-in-there-0000"]).scrub_deltas(&mut deltas);
        prop_assert_eq!(deltas, whole);
    }
}

#[test]
fn what_looks_like_a_key_is_hidden_unasked() {
    for (text, expected) in [
        ("key sk-abcdefghij0123456789.", "key ‹•••›"),
        (
            "Authorization: Bearer abc.def/ghi+9=",
            "Authorization: Bearer ‹•••›",
        ),
        ("{\"t\":\"bearer 0123456789\"}", "{\"t\":\"bearer ‹•••›\"}"),
        ("eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl", "‹•••›"),
        ("长sk-abcdefghij0123456789长", "长‹•••›长"),
        ("sk-learn is a library", "sk-learn is a library"),
        ("the bearer of news", "the bearer of news"),
    ] {
        assert_eq!(Secrets::default().scrub(text), expected);
    }
    assert_eq!(
        format!("{:?}", Secrets::new(["abc"])),
        "Secrets([1 hidden])"
    );
    assert_eq!(Secrets::new(["aba"]).scrub("xababay"), "x‹•••›y");
}

#[test]
fn a_line_that_was_changed_or_is_newer_is_refused() {
    let line = record(
        FixedModel(vec![], None),
        ChatRequest::default(),
        Secrets::default(),
    );
    let refused = |line: &str| {
        Replay::from_lines(line)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(&format!(
            "\n{}",
            line.replace("\"tools\":[]", "\"tools\":[1]")
        )),
        "the request in line 2 of the cassette was changed; record it anew"
    );
    assert_eq!(
        refused(&line.replace("\"version\":1", "\"version\":2")),
        "line 1 of the cassette has version 2, and not 1"
    );
    assert_eq!(
        refused("{\"version\":1"),
        "line 1 of the cassette cannot be read"
    );
    assert!(matches!(
        Replay::open("/nowhere/at/all"),
        Err(CassetteError::Open { .. })
    ));
}

/// A cassette of version 1, as the first release of the format wrote it.
#[test]
fn cassettes_of_version_1_are_read() {
    let old = include_str!("../../tests/data/cassette-v1.jsonl");
    let replay = Replay::from_lines(old).unwrap();
    let request = ChatRequest::new([Message::user("Hello")]).temperature(0.2);
    let response = futures::executor::block_on(replay.complete(request)).unwrap();
    assert_eq!(response.message.content, "Good morning");
    assert_eq!(replay.left(), 0);
}
