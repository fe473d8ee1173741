use async_trait::async_trait;
use fugato_memory::Notebook;
use fugato_state::say;
use fugato_tool::{EffectClass, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;

/// Returns the tool `forget`, which removes a note that people asked to remember from this
/// notebook. Gates ask a person before it does.
pub fn forget<S: Sync, U>(notebook: Notebook) -> impl Tool<S, U> {
    Forget { notebook }
}

struct Forget {
    notebook: Notebook,
}

/// The arguments of `forget`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForgetArgs {
    /// The whole note, as `recall` tells it.
    #[schemars(extend("x-zh" = "整条笔记，与 `recall` 给出的一致。"))]
    note: String,
}

/// Returns what is told of a note that is not there.
fn absent(note: &str) -> String {
    say!(
        "the notebook has no note {note:?}",
        "记事本里没有 {note:?} 这条笔记"
    )
}

#[async_trait]
impl<S: Sync, U> Tool<S, U> for Forget {
    type Input = ForgetArgs;

    fn spec(&self) -> ToolSpec {
        let what = "Removes a note that the person no longer wants to be remembered.";
        ToolSpec::write("forget", what)
            .chinese("删除一条用户不再要记住的笔记。")
            .titled("Forget a note", "忘掉一条笔记")
            .label("note", "note", "笔记")
            .effect(EffectClass::Idempotent)
            .preview(["note"])
    }

    fn consequence(&self, ForgetArgs { note }: &ForgetArgs) -> Option<String> {
        // The call itself reports the reason why a notebook cannot be read.
        self.notebook.has(note).ok().map(|_| {
            say!(
                "removes this note, for all conversations",
                "将删除这条笔记，所有对话都不再有它"
            )
        })
    }

    fn refusal(&self, ForgetArgs { note }: &ForgetArgs) -> Option<String> {
        let is_there = self.notebook.has(note).unwrap_or(true);
        (!is_there).then(|| absent(note))
    }

    async fn call(
        &self,
        cx: ToolContext<'_, S>,
        ForgetArgs { note }: ForgetArgs,
    ) -> Result<ToolOutput<U>, ToolFailure> {
        let removed = self.notebook.forget(&note);
        let removed =
            removed.map_err(|error| ToolFailure::failed(error.to_string()).because(error))?;
        if !removed && !cx.is_repeat() {
            let advice = say!(
                "`recall` tells those that there are",
                "用 `recall` 查看现有的笔记"
            );
            return Err(ToolFailure::failed(absent(&note)).advice(advice));
        }
        Ok(ToolOutput::new(say!("forgotten: {note}", "已忘掉：{note}")))
    }
}
