//! The agent behind a WebSocket.
use std::time::{SystemTime, UNIX_EPOCH};

use axum::{
    extract::{
        Query, State,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    response::Response,
};
use fugato::{
    BoxError, Encoder, Frames,
    state::Millis,
    stream::{EnvelopeEncoder, Resume},
};
use futures::{Stream, StreamExt as _};
use serde_json::Value;

use crate::{PeerOptions, peer_server::PeerServer};

pub(crate) async fn open(
    State(peer_server): State<PeerServer>,
    Query(wish): Query<PeerOptions>,
    upgrade: WebSocketUpgrade,
) -> Response {
    upgrade.on_upgrade(|socket| async move {
        // A client that is gone needs no answer.
        drop(talk(socket, peer_server, wish).await);
    })
}

/// One message of the client after another, each answered by a run.
async fn talk(
    mut socket: WebSocket,
    peer_server: PeerServer,
    wish: PeerOptions,
) -> Result<(), BoxError> {
    let thread = wish.thread.clone().unwrap_or_else(|| "socket".to_owned());
    while let Some(message) = socket.recv().await {
        let Message::Text(text) = message? else {
            continue;
        };
        let request: Value = serde_json::from_str(&text)?;
        let mut encoder = EnvelopeEncoder::new(now).fidelity(wish.fidelity());
        if request.get("event").and_then(Value::as_str) == Some("ping") {
            let mut frames = Frames::new();
            encoder.keep_alive(&mut frames);
            send(&mut socket, &frames).await?;
            continue;
        }
        let said = request.pointer("/data/content").and_then(Value::as_str);
        let said = said.unwrap_or_default().to_owned();
        let events = peer_server.go_on(&thread, Resume::envelope(&request)?, said)?;
        relay(&mut socket, events, &mut encoder).await?;
    }
    Ok(())
}

async fn relay(
    socket: &mut WebSocket,
    events: impl Stream<Item = fugato::Event>,
    encoder: &mut EnvelopeEncoder,
) -> Result<(), BoxError> {
    let mut events = std::pin::pin!(events);
    let mut frames = Frames::new();
    while let Some(event) = events.next().await {
        encoder.encode(&event, &mut frames);
        send(socket, &frames).await?;
        frames.clear();
    }
    encoder.finish(&mut frames);
    send(socket, &frames).await
}

async fn send(socket: &mut WebSocket, frames: &Frames) -> Result<(), BoxError> {
    for frame in frames.iter() {
        socket.send(Message::text(frame)).await?;
    }
    Ok(())
}

/// Milliseconds since the Unix epoch.
fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default().as_millis();
    Millis::try_from(since).unwrap_or(Millis::MAX)
}
