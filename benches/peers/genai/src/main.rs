//! The workload `chat-stream` on genai.
use std::process::ExitCode;

use futures::StreamExt;
use genai::{
    Client, ModelIden, ServiceTarget,
    adapter::AdapterKind,
    chat::{ChatMessage, ChatRequest, ChatStreamEvent},
    resolver::{AuthData, Endpoint},
};
use peer_harness::{
    Bench, BoxError,
    measure::{Measurement, one_core, rounds, timed},
};

/// How long the word is that the server repeats.
const WORD: u64 = 5;

fn main() -> ExitCode {
    peer_harness::answer(|bench| match bench.workload.as_str() {
        "chat-stream" => stream(bench).map(Ok),
        _ => Ok(Err("it calls models and does nothing else")),
    })
}

fn stream(bench: &Bench) -> Result<Measurement, BoxError> {
    let url = bench
        .setting
        .server
        .as_deref()
        .ok_or("there is no server")?;
    let (runtime, client) = (one_core()?, Client::new()?);
    let model = ModelIden::new(AdapterKind::OpenAI, format!("burst-{}", bench.size));
    let target = ServiceTarget {
        endpoint: Endpoint::from_owned(format!("{url}/v1/")),
        auth: AuthData::from_single("none"),
        model,
    };
    let request = ChatRequest::new(vec![ChatMessage::user("Go on")]);
    rounds(&bench.setting, bench.size, || {
        let (said, spent) = timed(|| {
            runtime.block_on(async {
                let answer = client
                    .exec_chat_stream(target.clone(), request.clone(), None)
                    .await?;
                let (mut deltas, mut said) = (answer.stream, 0);
                while let Some(delta) = deltas.next().await {
                    if let ChatStreamEvent::Chunk(chunk) = delta? {
                        said += chunk.content.len() as u64;
                    }
                }
                Ok::<_, BoxError>(said)
            })
        });
        assert_eq!(said?, WORD * bench.size, "every word arrives");
        Ok(spent)
    })
}
