//! Answers of a model, from the socket to whoever asked.
use std::{collections::VecDeque, sync::Arc};

use fugato_graph::{BoxError as NodeError, Context, END, Graph, Runner};
use fugato_llm::{AnswerDecoder as _, ChatDelta, ChatModel as _, ChatRequest, SseParser};
use fugato_providers::openai::{ChunkDecoder, OpenAi};
use fugato_state::{Message, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::{Encoder as _, EventKind, Frames, OpenAiEncoder};
use futures::{StreamExt as _, future::try_join_all};

use crate::{
    BoxError,
    host::chat::{self, BURST, PACED},
    measure::{Measurement, Setting, one_core, ranked, rounds, runtime, timed},
    subject::Still,
    workload::PACED_WORDS,
};

fn ask() -> ChatRequest {
    ChatRequest::new([Message::user("Go on")])
}

fn model(setting: &Setting, name: String) -> Result<OpenAi, BoxError> {
    let url = setting.server.as_deref().ok_or("there is no server")?;
    Ok(OpenAi::new(url, name))
}

/// One answer over HTTP.
pub(super) fn stream(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, model) = (one_core()?, model(setting, format!("{BURST}-{size}"))?);
    rounds(setting, size, || {
        let (said, spent) = timed(|| {
            runtime.block_on(async {
                let (mut deltas, mut said) = (model.stream(ask()).await?, 0);
                while let Some(delta) = deltas.next().await {
                    if let ChatDelta::Text(text) = delta? {
                        said += text.len() as u64;
                    }
                }
                Ok::<_, BoxError>(said)
            })
        });
        assert_eq!(said?, chat::WORD.len() as u64 * size, "every word arrives");
        Ok(spent)
    })
}

/// The same bytes in memory.
pub(super) fn decode(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (events, body) = chat::kilobytes(size);
    rounds(setting, size, || {
        let (said, spent) = timed(|| {
            let (mut parser, mut decoder) = (SseParser::default(), ChunkDecoder::default());
            let (mut deltas, mut said, mut failure) = (VecDeque::new(), 0, None);
            for piece in body.as_bytes().chunks(chat::PIECE) {
                parser.push(piece, |data| {
                    let read = decoder.decode(data, &mut deltas);
                    for delta in deltas.drain(..) {
                        if let ChatDelta::Text(text) = delta {
                            said += text.len() as u64;
                        }
                    }
                    failure = failure.take().or(read.err());
                })?;
            }
            failure.map_or(Ok::<_, BoxError>(said), |error| Err(error.into()))
        });
        assert_eq!(
            said?,
            chat::WORD.len() as u64 * events,
            "every word is read"
        );
        Ok(spent)
    })
}

/// Many answers at once, each through a node to a reader of another protocol.
pub(super) fn relay(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let model = Arc::new(model(setting, format!("{PACED}-{PACED_WORDS}-{size}"))?);
    let graph = Graph::<Still>::starting_at("talk")
        .node("talk", move |cx: Context<Still>| {
            let model = Arc::clone(&model);
            async move { talk(&cx, &model).await }
        })
        .edge("talk", END)
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let (relayed, spent) = timed(|| {
        runtime.block_on(try_join_all((0..size).map(|number| {
            let runner = runner.clone();
            let relayed = async move { read(&runner, number).await };
            async { tokio::spawn(relayed).await? }
        })))
    });
    let took: Vec<f64> = relayed?.concat();
    let words = size * PACED_WORDS;
    assert_eq!(took.len() as u64, words, "every word is relayed");
    Ok(ranked(took, spent, words))
}

async fn talk(cx: &Context<Still>, model: &OpenAi) -> Result<(), NodeError> {
    let mut deltas = model.stream(ask()).await?;
    while let Some(delta) = deltas.next().await {
        if let ChatDelta::Text(text) = delta? {
            let block = "b".into();
            let text = text.into();
            cx.emit(EventKind::TextDelta { block, text });
        }
    }
    Ok(())
}

/// How long each word took from when it was said until its frame could be written, in
/// microseconds.
async fn read(runner: &Runner<Still>, number: u64) -> Result<Vec<f64>, BoxError> {
    let thread = ThreadId::new(format!("thread-{number}"))?;
    let mut events = runner.start(&thread, None);
    let mut encoder = OpenAiEncoder::new("run-1", "desk", 1_700_000_000);
    let (mut frames, mut took) = (Frames::new(), vec![]);
    while let Some(event) = events.next().await {
        encoder.encode(&event, &mut frames);
        assert!(
            !frames.as_str().is_empty() || !event.kind.is_delta(),
            "it is written"
        );
        frames.clear();
        if let EventKind::TextDelta { text, .. } = &event.kind {
            let now = chat::now();
            // Words that waited for the reader come in one piece.
            for said in text.split_whitespace() {
                took.push(chat::micros_since(said.parse()?, now));
            }
        }
    }
    Ok(took)
}
