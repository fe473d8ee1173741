use async_trait::async_trait;
use fugato::{
    command::Command,
    tool::{EffectClass, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec},
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent::{Agent, Update};

/// The tool.
pub const NOTIFY: &str = "notify";
/// The card by which the page shows it.
pub const NOTIFICATION: &str = "notification";

/// Tells the desktop, if there is a command for it. The page is told by the node that calls it.
pub(super) struct Notify(pub(super) Option<Command>);

/// What to tell.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotifyArgs {
    /// What to tell, in a line.
    pub text: String,
}

#[async_trait]
impl Tool<Agent, Update> for Notify {
    type Input = NotifyArgs;

    fn spec(&self) -> ToolSpec {
        ToolSpec::write(
            NOTIFY,
            "Tells the person something at once, on the page and the desktop.",
        )
        // After a crash it may be told twice, which is better than never.
        .effect(EffectClass::Idempotent)
        .argument_alias("message", "text")
        .argument_alias("content", "text")
        .preview(["text"])
    }

    async fn call(
        &self,
        _: ToolContext<'_, Agent>,
        args: NotifyArgs,
    ) -> Result<ToolOutput<Update>, ToolFailure> {
        let shown = match &self.0 {
            None => "shown on the page; no command tells the desktop",
            Some(command) => {
                command.run(&[("text", &args.text)]).await?;
                "shown on the page and the desktop"
            }
        };
        Ok(ToolOutput::new(format!("{}\n({shown})", args.text)).summary(args.text))
    }
}
