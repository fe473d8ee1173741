//! The workload `chat-stream` on async-openai.
use std::process::ExitCode;

use async_openai::{
    Client,
    config::OpenAIConfig,
    types::chat::{ChatCompletionRequestUserMessage, CreateChatCompletionRequestArgs},
};
use futures::StreamExt;
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
    let config = OpenAIConfig::new()
        .with_api_base(format!("{url}/v1"))
        .with_api_key("none");
    let (runtime, client) = (one_core()?, Client::with_config(config));
    let request = CreateChatCompletionRequestArgs::default()
        .model(format!("burst-{}", bench.size))
        .messages([ChatCompletionRequestUserMessage::from("Go on").into()])
        .build()?;
    rounds(&bench.setting, bench.size, || {
        let (said, spent) = timed(|| {
            runtime.block_on(async {
                let (mut deltas, mut said) =
                    (client.chat().create_stream(request.clone()).await?, 0);
                while let Some(delta) = deltas.next().await {
                    for choice in delta?.choices {
                        said += choice.delta.content.map_or(0, |text| text.len() as u64);
                    }
                }
                Ok::<_, BoxError>(said)
            })
        });
        assert_eq!(said?, WORD * bench.size, "every word arrives");
        Ok(spent)
    })
}
