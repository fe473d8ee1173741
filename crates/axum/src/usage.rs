//! The tokens of a run, from the calls of models in its events.
use fugato_state::RunId;
use fugato_stream::{Event, EventKind};
use futures::{Stream, StreamExt as _, stream};
use serde_json::{Value, json};

/// The name of the custom event that records the call of a model.
const CALL: &str = "model_call";

/// The name of the custom event with the counts of a run.
const USAGE: &str = "usage";

/// Adds an event with the counts so far of the run after each call of a model whose server counts
/// tokens, under OpenAI's names. It says nothing else of the call, so everybody may see it.
pub(crate) fn counted(
    events: impl Stream<Item = Event> + Send + 'static,
) -> impl Stream<Item = Event> + Send + 'static {
    let mut counts = Counts::default();
    events.flat_map(move |event| {
        let total = counts.add(&event);
        stream::iter(std::iter::once(event).chain(total))
    })
}

#[derive(Default)]
struct Counts {
    run: Option<RunId>,
    input: u64,
    output: u64,
}

impl Counts {
    fn add(&mut self, event: &Event) -> Option<Event> {
        let EventKind::Custom { name, data } = &event.kind else {
            return None;
        };
        let usage = data.get("usage").filter(|_| name == CALL)?;
        let count = |name| usage.get(name).and_then(Value::as_u64);
        let (input, output) = (count("input")?, count("output")?);
        if self.run != Some(event.run) {
            *self = Self {
                run: Some(event.run),
                ..Self::default()
            };
        }
        self.input = self.input.saturating_add(input);
        self.output = self.output.saturating_add(output);
        let data = json!({
            "prompt_tokens": self.input,
            "completion_tokens": self.output,
            "total_tokens": self.input.saturating_add(self.output),
        });
        Some(Event {
            seq: None,
            origin: None,
            kind: EventKind::Custom {
                name: USAGE.to_owned(),
                data,
            },
            ..event.clone()
        })
    }
}
