//! Envelopes over a WebSocket.
use std::{pin::Pin, sync::Arc};

use axum::{
    Extension,
    extract::{
        State,
        ws::{
            CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code,
            rejection::WebSocketUpgradeRejection,
        },
    },
    http::StatusCode,
};
use fugato_state::{Lang, RunId, say};
use fugato_store::system_clock;
use fugato_stream::{Encoder as _, EnvelopeEncoder, Event, Frames, Resume};
use futures::{StreamExt as _, future::BoxFuture, stream::BoxStream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Interval;

use crate::{
    Caller, ThreadAccess, UserMessage,
    address::Address,
    app_state::{AppState, admission::RunRequest},
    body::QueryInput,
    erased::AnswerRequest,
    error::{ApiError, ApiResult},
    follow::follow,
    guard::Admission,
    health::OpenStream,
    incoming,
    load::LoadPermit,
    misfit, relay,
};

#[derive(Deserialize)]
pub(crate) struct Chat {
    thread: Option<String>,
}

/// `GET /ws/chat?thread=name`.
pub(crate) async fn open(
    State(app_state): State<Arc<AppState>>,
    QueryInput(chat): QueryInput<Chat>,
    caller: Caller,
    Extension(admission): Extension<Admission>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> ApiResult {
    let upgrade = upgrade.map_err(|_| {
        let message = say!(
            "this path is a WebSocket: send the headers connection: upgrade, upgrade: websocket, \
             sec-websocket-version: 13 and sec-websocket-key",
            "这个路径是 WebSocket：请发送请求头 connection: upgrade、upgrade: websocket、\
             sec-websocket-version: 13 和 sec-websocket-key"
        );
        ApiError::new(StatusCode::UPGRADE_REQUIRED, "websocket", message)
    })?;
    let to = match &chat.thread {
        Some(name) => app_state.find(&caller, name, ThreadAccess::Read).await?,
        None => Address::fresh(&caller)?,
    };
    let open = (app_state.reader(&caller)?, app_state.metrics.stream());
    let head = app_state.agent.log().head(&to.thread).await?;
    let after = head.map_or(0, |head| head.seq);
    let limit = app_state.limits.body;
    let upgrade = upgrade.max_message_size(limit).max_frame_size(limit);
    let lang = Lang::current();
    Ok(upgrade.on_upgrade(move |socket| async move {
        let session = SocketSession {
            events: follow(&app_state, &to, after),
            encoder: EnvelopeEncoder::new(system_clock),
            frames: Frames::new(),
            beat: relay::beat(),
            run: None,
            socket,
            app_state,
            to,
            open,
            revoked: Box::pin(admission.revoked()),
        };
        // A client that is gone needs no answer.
        drop(lang.scope_future(session.go_on()).await);
    }))
}

/// One connection.
struct SocketSession {
    socket: WebSocket,
    events: BoxStream<'static, Event>,
    encoder: EnvelopeEncoder,
    frames: Frames,
    beat: Interval,
    /// The run of the last event.
    run: Option<RunId>,
    app_state: Arc<AppState>,
    to: Address,
    open: (LoadPermit, OpenStream),
    /// The end of the caller's right to it.
    revoked: BoxFuture<'static, ()>,
}

impl SocketSession {
    async fn go_on(mut self) -> Result<(), axum::Error> {
        let name = json!({ "code": "conversation", "summary": self.to.name });
        self.encoder.message("status", &name, &mut self.frames);
        let closed = self.app_state.closed();
        let mut closed: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(closed);
        loop {
            self.send().await?;
            tokio::select! {
                message = self.socket.recv() => match message {
                    Some(Ok(Message::Text(text))) => self.receive(&text).await,
                    Some(Ok(Message::Binary(_))) => self.complain(&ApiError::bad(say!(
                        "a message must be a text frame with JSON, {{\"event\", \"data\"}}; this one \
                         is a binary frame",
                        "消息应为装有 JSON {{\"event\", \"data\"}} 的文本帧；这是二进制帧"
                    ))),
                    Some(Ok(Message::Close(_))) | None => break,
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Err(error)) => return Err(error),
                },
                Some(event) = self.events.next() => {
                    if let Err(error) = self.show(event).await {
                        self.complain(&error);
                        self.send().await?;
                        break;
                    }
                }
                _ = self.beat.tick() => self.encoder.keep_alive(&mut self.frames),
                () = &mut closed => {
                    let ends = say!("the server ends", "服务器正在结束");
                    self.close(close_code::AWAY, ends).await?;
                    break;
                }
                () = &mut self.revoked => {
                    let revoked = say!("this key is not valid any more", "这个密钥已失效");
                    self.close(close_code::POLICY, revoked).await?;
                    break;
                }
            }
        }
        drop(self.open);
        Ok(())
    }

    /// Encodes an event. The first event of a run checks the access: on a new thread, another
    /// caller may have begun the conversation.
    async fn show(&mut self, event: Event) -> ApiResult<()> {
        if self.run.replace(event.run) != Some(event.run) {
            self.app_state.allows(&self.to, ThreadAccess::Read).await?;
        }
        self.app_state.metrics.events(1);
        self.encoder.encode(&event, &mut self.frames);
        Ok(())
    }

    async fn send(&mut self) -> Result<(), axum::Error> {
        for frame in self.frames.iter() {
            self.socket.send(Message::text(frame)).await?;
        }
        self.frames.clear();
        Ok(())
    }

    async fn close(&mut self, code: u16, reason: String) -> Result<(), axum::Error> {
        let reason = reason.into();
        let close = Message::Close(Some(CloseFrame { code, reason }));
        self.socket.send(close).await
    }

    async fn receive(&mut self, text: &str) {
        if let Err(error) = self.take(text).await {
            self.complain(&error);
        }
    }

    fn complain(&mut self, error: &ApiError) {
        let data = json!({ "type": error.kind, "message": error.message, "recoverable": true });
        self.encoder.message("error", &data, &mut self.frames);
    }

    /// Handles one message of the client.
    async fn take(&mut self, text: &str) -> ApiResult<()> {
        let message: Value = serde_json::from_str(text).map_err(|error| {
            let what = misfit::of_json(&error);
            ApiError::bad(say!(
                "the message is not JSON: {what}",
                "消息不是 JSON：{what}"
            ))
        })?;
        match incoming::required(&message, "event")? {
            "ping" => {
                self.encoder.message("pong", &json!({}), &mut self.frames);
                Ok(())
            }
            "pong" => Ok(()),
            "user_input" => self.say(message.get("data").unwrap_or(&Value::Null)).await,
            "answer" => {
                let data = message.get("data").unwrap_or(&Value::Null);
                incoming::only(data, &["id", "answer", "digest", "extra"])?;
                let answering = AnswerRequest {
                    key: None,
                    door: "websocket",
                    answers: Resume::envelope(&message)?.answers,
                    extra: incoming::object(data, "extra")?,
                };
                self.begin(RunRequest::Resume(answering)).await
            }
            "resume" => self.resume(&message),
            "cancel" => self.app_state.cancel(&self.to, incoming::NO_REASON).await,
            other => Err(ApiError::bad(say!(
                "{other:?} is no event: user_input, answer, resume, cancel, ping and pong are",
                "{other:?} 不是事件；可以是 user_input、answer、resume、cancel、ping 和 pong"
            ))),
        }
    }

    async fn say(&mut self, data: &Value) -> ApiResult<()> {
        incoming::only(data, &["content", "card", "extra", "model", "retry_of"])?;
        let text = incoming::text(data, "content")?;
        let text = text.ok_or_else(|| {
            ApiError::bad(say!(
                "\"content\" must say what is wanted",
                "\"content\" 要写明想要什么"
            ))
        })?;
        let said = UserMessage {
            extra: incoming::object(data, "extra")?,
            ..UserMessage::new(self.to.caller.clone(), text)
        };
        let said = said.under(data)?.with_choice(data)?;
        let said = Box::new(said.by("websocket"));
        self.begin(RunRequest::Start { key: None, said }).await
    }

    /// Begins a run; its events come over the stream that is open already.
    async fn begin(&mut self, wish: RunRequest) -> ApiResult<()> {
        self.app_state.begin(&self.to, wish).await?;
        Ok(())
    }

    /// Replays everything after a position.
    fn resume(&mut self, message: &Value) -> ApiResult<()> {
        let after = Resume::envelope(message)?.after;
        let after = after.ok_or_else(|| {
            ApiError::bad(say!(
                "\"after\" must be the last position seen",
                "\"after\" 应为最后看到的位置"
            ))
        })?;
        self.encoder = EnvelopeEncoder::new(system_clock);
        self.events = follow(&self.app_state, &self.to, after);
        Ok(())
    }
}
