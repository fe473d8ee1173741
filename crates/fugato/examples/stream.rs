//! A run as server-sent events, as a page gets them.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use fugato::{
    Encoder, Frames, Report, agent,
    futures::StreamExt as _,
    stream::{NamedSseEncoder, Vocabulary},
};
use fugato_testkit::Scripted;

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Report> {
    let model = Scripted::new(["It is noon."]);
    let mut run = agent(model).stream("What time is it?")?;
    let mut encoder = NamedSseEncoder::new(Vocabulary::REACT);
    let (mut frames, mut page) = (Frames::new(), String::new());
    while let Some(event) = run.next().await {
        encoder.encode(&event, &mut frames);
        page.push_str(frames.as_str());
        frames.clear();
    }
    println!("{page}");
    assert!(
        page.contains("event: llm_token\ndata: {\"token\":\"It is noon.\""),
        "{page}"
    );
    assert!(page.contains("event: run_finished\n"), "{page}");
    Ok(())
}
