//! A small agent behind the command line.
use async_trait::async_trait;
use clap::Parser;
use fugato_axum::{BadInput, MessageIntent, ServedAgent, UserMessage};
use fugato_cli::{CliCommand, Flags};
use fugato_graph::Runner;
use fugato_state::{State, ThreadId};

/// The arguments of such a program.
#[derive(Parser)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

/// An agent of any state. Words that begin with `instead` replace the open question.
pub(crate) struct Small<S: State> {
    pub(crate) runner: Runner<S>,
    /// Makes the input of words.
    pub(crate) input: fn(UserMessage) -> Result<Vec<S::Update>, BadInput>,
    /// Returns the title of a conversation.
    pub(crate) title: fn(&S) -> Option<String>,
}

#[async_trait]
impl<S: State> ServedAgent for Small<S> {
    type State = S;

    fn name(&self) -> &'static str {
        "small"
    }

    fn runner(&self) -> &Runner<S> {
        &self.runner
    }

    async fn intent(&self, _: &ThreadId, said: &UserMessage) -> Result<MessageIntent, BadInput> {
        let instead = said.text.starts_with("instead");
        Ok(if instead {
            MessageIntent::Instead
        } else {
            MessageIntent::Request
        })
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<S::Update>, BadInput> {
        (self.input)(said)
    }

    fn title(&self, state: &S) -> Option<String> {
        (self.title)(state)
    }
}
