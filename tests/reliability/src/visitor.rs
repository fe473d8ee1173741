//! A client of a served agent: one request a connection, and nothing between it and the bytes.
use std::{net::SocketAddr, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::{Instant, timeout},
};

use crate::{BoxError, TrialResult};

/// A server that says nothing for so long is taken for dead.
const PATIENCE: Duration = Duration::from_mins(1);

/// An answer that is read as it comes.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    length: usize,
    reader: BufReader<TcpStream>,
}

/// Asks for something.
pub async fn ask(
    to: SocketAddr,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> TrialResult<Answer> {
    let mut stream = TcpStream::connect(to).await?;
    let body = body.map_or(String::new(), Value::to_string);
    // The same words to the same thread are one request, however often they are sent.
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\naccept: text/event-stream\r\n\
         idempotency-key: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        path.replace('/', "-"),
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Answer {
        status: 0,
        length: 0,
        reader: BufReader::new(stream),
    };
    let first = answer.line().await?;
    let status = first.split(' ').nth(1).and_then(|it| it.parse().ok());
    answer.status = status.ok_or("the answer has no status")?;
    loop {
        let line = answer.line().await?.to_lowercase();
        if let Some(length) = line.strip_prefix("content-length:") {
            answer.length = length.trim().parse()?;
        } else if line.is_empty() {
            return Ok(answer);
        }
    }
}

/// What is at a path, as JSON, and with which status.
pub async fn get(from: SocketAddr, path: &str) -> TrialResult<(u16, Value)> {
    let answer = ask(from, "GET", path, None).await?;
    Ok((answer.status, answer.json().await?))
}

impl Answer {
    async fn line(&mut self) -> TrialResult<String> {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.reader.read_line(&mut line)).await??;
        if read == 0 {
            return Err("the connection was cut".into());
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }

    /// The whole body.
    pub async fn json(mut self) -> TrialResult<Value> {
        let mut body = vec![0; self.length];
        timeout(PATIENCE, self.reader.read_exact(&mut body)).await??;
        Ok(serde_json::from_slice(&body)?)
    }

    /// The next event. No event is cut by the pieces in which a body is sent.
    pub async fn event(&mut self) -> TrialResult<Value> {
        loop {
            if let Some(data) = self.line().await?.strip_prefix("data: ") {
                let data: Value = serde_json::from_str(data)?;
                return Ok(data.get("ev").cloned().unwrap_or(data));
            }
        }
    }
}

/// What an action came to.
#[derive(Debug)]
pub struct ActionOutcome {
    /// How long it took until the first event.
    pub first: Duration,
    /// The durable events, in the order in which they came.
    pub durable: Vec<Value>,
    /// How many events there were.
    pub events: usize,
}

/// Begins a run, or answers, and reads its events until it comes to rest. What was read before the
/// connection was cut is kept.
pub async fn act(
    to: SocketAddr,
    path: &str,
    body: &Value,
    seen: &mut Vec<Value>,
) -> TrialResult<ActionOutcome> {
    let began = Instant::now();
    let mut answer = ask(to, "POST", path, Some(body)).await?;
    if answer.status != 200 {
        let (status, told) = (answer.status, answer.json().await?);
        return Err(format!("{path} was answered with {status}: {told}").into());
    }
    let (mut first, mut durable, mut events) = (None, vec![], 0);
    loop {
        let event = answer.event().await?;
        first.get_or_insert_with(|| began.elapsed());
        events += 1;
        if event.get("seq").is_some() {
            seen.push(event.clone());
            durable.push(event.clone());
        }
        let kind = event
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default();
        match kind {
            "run_finished" | "run_parked" | "run_cancelled" => break,
            "run_failed" => return Err(BoxError::from(format!("a run failed: {event}"))),
            _ => {}
        }
    }
    Ok(ActionOutcome {
        first: first.unwrap_or_default(),
        durable,
        events,
    })
}

/// All durable events of a thread.
pub async fn durable(from: SocketAddr, thread: &str) -> TrialResult<Vec<Value>> {
    let path = format!("/threads/{thread}/events?after=0&follow=false");
    let mut answer = ask(from, "GET", &path, None).await?;
    let mut all = vec![];
    // It ends with the stream.
    while let Ok(event) = answer.event().await {
        if event.get("seq").is_some() {
            all.push(event);
        }
    }
    Ok(all)
}

/// What is said to a question: plans are agreed to, and what would change the calendar that all
/// share is not.
pub fn reply(asked: &Value) -> Value {
    let topic = asked.pointer("/prompt/topic").and_then(Value::as_str);
    let action = if topic == Some("schedule") {
        "reject"
    } else {
        "approve"
    };
    json!({ "action": action })
}
