//! One task for each item, all at once, and a step that waits for all of them.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use fugato::{BoxError, Context, END, Graph, Report, Runner, State};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Serialize, Deserialize)]
struct Words {
    text: String,
    lengths: Vec<(String, usize)>,
    longest: String,
}

#[derive(Serialize, Deserialize)]
enum Change {
    Given(String),
    Measured(String, usize),
    Chosen(String),
}

impl State for Words {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Given(text) => self.text = text,
            Change::Measured(word, length) => self.lengths.push((word, length)),
            Change::Chosen(word) => self.longest = word,
        }
    }
}

async fn measure(cx: Context<Words>) -> Result<Change, BoxError> {
    let word: String = cx.item()?;
    let length = word.chars().count();
    Ok(Change::Measured(word, length))
}

async fn choose(cx: Context<Words>) -> Change {
    let longest = cx.state().lengths.iter().max_by_key(|(_, length)| *length);
    Change::Chosen(longest.map(|(word, _)| word.clone()).unwrap_or_default())
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Report> {
    let words = |state: &Words| -> Vec<String> {
        state.text.split_whitespace().map(str::to_owned).collect()
    };
    let graph = Graph::<Words>::starting_at("split")
        .node("split", async |_| ())
        .node("measure", measure)
        .node("choose", choose)
        .scatter("split", "measure", words)
        .edge("measure", "choose")
        .edge("choose", END)
        .build()?;
    let given = Change::Given("never lose a single write".into());
    let ended = Runner::ephemeral(graph).run(given).await?;
    println!("{}", ended.state().longest);
    assert_eq!(ended.state().longest, "single");
    Ok(())
}
