//! Both clients against a real HTTP server on loopback: what holds of both, whose wires differ only
//! by data.
use std::{error::Error as _, fmt::Debug, sync::Arc, time::Duration};

use fugato_llm::{
    ChatDelta, ChatModel, ChatModelExt as _, ChatRequest, FinishReason, ModelError, ModelErrorKind,
    Retry, RetryAdvice, Usage,
};
use fugato_state::Message;
use futures::StreamExt as _;
use serde_json::Value;
use tokio::sync::Notify;

use crate::server::{Answer, Server};

/// A model that can be shown in a log.
pub(crate) trait Client: ChatModel + Debug {}

impl<T: ChatModel + Debug> Client for T {}

/// A provider's wire.
pub(crate) struct Wire {
    /// The key of the client.
    pub(crate) secret: &'static str,
    pub(crate) client: fn(&Server, key: &str) -> Box<dyn Client>,
    /// The events before the first text; some tell of usage.
    pub(crate) begin: String,
    pub(crate) text: fn(&str) -> String,
    /// The events that keep a connection open.
    pub(crate) ping: String,
    /// The events after the last text of an answer with five tokens of input and two of output.
    pub(crate) end: String,
    /// The answer "Hi" in one piece.
    pub(crate) whole: Value,
    /// The parts of the head of a request.
    pub(crate) head: &'static [&'static str],
    /// The body of a request that says "Hello".
    pub(crate) body: Value,
    /// Failures, each with its body, a header and the advice.
    pub(crate) advice: Vec<(u16, &'static str, &'static str, RetryAdvice)>,
    /// The status of a server that is busy, and its kind.
    pub(crate) busy: (u16, ModelErrorKind),
}

impl Wire {
    fn client(&self, server: &Server) -> Box<dyn Client> {
        (self.client)(server, self.secret)
    }

    /// Returns the pieces of an answer without its end.
    fn said(&self, texts: &[&str]) -> Vec<String> {
        let texts = texts.iter().map(|text| (self.text)(text));
        [self.begin.clone()].into_iter().chain(texts).collect()
    }

    fn answer(&self, texts: &[&str]) -> Answer {
        let end = [self.ping.clone(), self.end.clone()];
        Answer::stream(self.said(texts).into_iter().chain(end))
    }

    /// Returns an answer that stops amid its text, as long as it is not let through.
    fn halted(&self) -> (Answer, Arc<Notify>) {
        let (answer, gate) = Answer::stream(self.said(&["Good "])).gated();
        let rest = [(self.text)("morning"), self.end.clone()];
        (answer.then(rest), gate)
    }

    /// Returns the error in which an answer ends, which never shows the key.
    pub(crate) async fn fails(&self, answer: Answer) -> ModelError {
        let server = Server::start([answer]).await;
        let answered = self.client(&server).complete(ask()).await;
        let error = answered.expect_err("the answer is an error");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(self.secret), "{shown}");
        error
    }
}

fn wires() -> Vec<Wire> {
    vec![
        #[cfg(feature = "anthropic")]
        crate::anthropic::client::wire(),
        #[cfg(feature = "openai")]
        crate::openai::client::wire(),
    ]
}

pub(crate) fn ask() -> ChatRequest {
    ChatRequest::new([Message::user("Hello")])
}

#[tokio::test]
async fn an_answer_is_streamed_to_its_end() {
    for wire in wires() {
        let server = Server::start([wire.answer(&["Good ", "morning"])]).await;
        let response = wire.client(&server).complete(ask()).await.unwrap();
        assert_eq!(response.message, Message::assistant("Good morning"));
        assert_eq!(response.finish, Some(FinishReason::Stop));
        assert_eq!(response.usage, Some(Usage::new(5, 2)));

        let request = server.request().await;
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        for part in wire.head {
            assert!(head.contains(part), "{part} is not in {head}");
        }
        assert_eq!(serde_json::from_str::<Value>(body).unwrap(), wire.body);
    }
}

#[tokio::test]
async fn l13_deltas_arrive_while_the_server_still_speaks() {
    for wire in wires() {
        let (answer, gate) = wire.halted();
        let server = Server::start([answer]).await;
        let mut deltas = wire.client(&server).stream(ask()).await.unwrap();
        let mut next = async || {
            let text = deltas.next().await.unwrap().unwrap();
            match text {
                ChatDelta::Usage(_) => deltas.next().await.unwrap().unwrap(),
                text => text,
            }
        };
        assert_eq!(next().await, ChatDelta::text("Good "));
        gate.notify_one();
        assert_eq!(next().await, ChatDelta::text("morning"));
    }
}

#[tokio::test]
async fn an_answer_in_one_piece_is_read_too() {
    for wire in wires() {
        let server = Server::start([Answer::json(200, &wire.whole.to_string())]).await;
        let response = wire.client(&server).complete(ask()).await.unwrap();
        assert_eq!(response.message.content, "Hi");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_after_what_came() {
    for wire in wires() {
        let error = wire.fails(Answer::stream(wire.said(&["a"]))).await;
        let told = (error.kind, error.context.as_str());
        assert_eq!(told, (ModelErrorKind::CutOff, "the stream ended early"));
        let error = wire.fails(Answer::stream(wire.said(&["a"])).torn()).await;
        let told = (error.kind, error.advice);
        assert_eq!(told, (ModelErrorKind::CutOff, RetryAdvice::Now));
        assert!(error.source().is_some());
        let malformed = ["data: {\"choices\":[{]\n\n", "data: {\"type\":\n\n"];
        for frame in malformed {
            let broken = wire.said(&["a"]).into_iter().chain([frame.to_owned()]);
            let error = wire.fails(Answer::stream(broken)).await;
            assert_eq!(error.kind, ModelErrorKind::Malformed);
        }

        let texts = ["Good ", "mor"].map(wire.text).concat();
        let broken = Answer::stream([texts + "data: nonsense\n\n"]);
        let server = Server::start([broken]).await;
        let deltas = wire.client(&server).stream(ask()).await.unwrap();
        let deltas: Vec<_> = deltas.collect().await;
        let delivered: Vec<_> = deltas.iter().flatten().cloned().collect();
        let expected = ["Good ", "mor"].map(ChatDelta::text);
        assert_eq!((delivered, deltas.len()), (expected.to_vec(), 3));
    }
}

#[tokio::test]
async fn the_advice_of_a_server_is_passed_on() {
    for wire in wires() {
        for (status, body, header, advice) in &wire.advice {
            let error = wire.fails(Answer::json(*status, body).header(header)).await;
            assert_eq!(error.advice, *advice, "{status} {header}");
        }
    }
}

#[tokio::test]
async fn retry_reaches_the_answer_without_a_lost_or_doubled_delta() {
    for wire in wires() {
        let (status, kind) = wire.busy;
        let busy = Answer::json(status, "{}").header("retry-after: 0");
        let cut = Answer::stream([": ping\n\n"]);
        let good = wire.answer(&["Good ", "morning"]);
        let server = Server::start([busy, cut, good]).await;
        let model = Retry::new(wire.client(&server)).pause(Duration::from_millis(1));
        let response = model.complete(ask()).await.unwrap();
        assert_eq!(response.message.content, "Good morning");
        let failures = response.attempts.iter();
        let failures = failures.map(|attempt| Some(attempt.failure.as_ref()?.kind));
        let expected = [Some(kind), Some(ModelErrorKind::CutOff), None];
        assert_eq!(failures.collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn a_server_that_is_slow_or_gone_is_told_apart() {
    for wire in wires() {
        let (answer, _gate) = wire.halted();
        let server = Server::start([answer]).await;
        let client = wire.client(&server);
        let request = ask().timeout(Duration::from_millis(100));
        let error = client.complete(request).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::TimedOut);
        drop(server);
        let error = client.complete(ask()).await.unwrap_err();
        let told = (error.kind, error.advice);
        assert_eq!(told, (ModelErrorKind::Unreachable, RetryAdvice::Now));
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    for wire in wires() {
        let (answer, _gate) = wire.halted();
        let server = Server::start([answer]).await;
        let mut deltas = wire.client(&server).stream(ask()).await.unwrap();
        assert!(deltas.next().await.unwrap().is_ok());
        drop(deltas);
        server.disconnected().await;
    }
}

#[tokio::test]
async fn the_key_is_never_shown() {
    for wire in wires() {
        let server = Server::start([]).await;
        assert!(!format!("{:?}", wire.client(&server)).contains(wire.secret));
        let broken = (wire.client)(&server, "sk-very\nsecret");
        let error = broken.complete(ask()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the model server denied access: the key has characters that no header can hold"
        );
    }
}
