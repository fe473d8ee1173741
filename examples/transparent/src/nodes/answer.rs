use async_trait::async_trait;
use fugato::{
    BoxError, Context, Node, Outcome,
    agent::{
        reply::{RunReport, ask_reply, show},
        toolbox::ToolUse,
    },
    prompt::Stage,
    state::say,
    tool::Access,
};

use super::by_rule;
use crate::{
    agent::{AgentState, Update},
    deps::Deps,
    prompts, rules,
};

/// The node that answers the person, from the whole prompt and the results of the turn. Code
/// reports the writes; a model words the rest.
#[derive(Debug)]
pub struct AnswerNode(pub Deps);

fn what() -> String {
    say!(
        "Answer the person in their language, with what was found and done, and nothing else. Name files by their paths. Where something failed, say so.",
        "用用户的语言回答，只说找到了什么、做了什么。文件用路径称呼。失败的地方要说明失败了。"
    )
}

#[async_trait]
impl Node<AgentState> for AnswerNode {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let (mut updates, spoken) = self.spoken(&cx).await?;
        let spoken = spoken.filter(|text| !text.trim().is_empty());
        let text = spoken.unwrap_or_else(|| {
            let text = rules::answer(cx.state(), !updates.is_empty());
            show(&cx, &text);
            text
        });
        updates.push(Update::Answered { text });
        Ok(Outcome::done(updates))
    }
}

impl AnswerNode {
    /// Returns the updates and the words of the model; no words if rules decide.
    async fn spoken(
        &self,
        cx: &Context<AgentState>,
    ) -> Result<(Vec<Update>, Option<String>), BoxError> {
        let (deps, agent) = (&self.0, cx.state());
        let Some(model) = deps.model.as_ref().filter(|_| agent.turn.by_rule.is_none()) else {
            return Ok((vec![], None));
        };
        let stage = Stage::new(say!("You answer.", "你负责回答。")).instruction(what());
        let request = match prompts::request(deps, agent, "answer", stage) {
            Ok(request) => request,
            Err(error) => return Ok((by_rule(deps, cx, error)?, None)),
        };
        let (report, said) = (receipts(deps, agent), agent.in_language());
        match ask_reply(cx, &**model, request, (&report, said)).await {
            Ok(text) => Ok((vec![], Some(text))),
            Err(error) => Ok((by_rule(deps, cx, error)?, None)),
        }
    }
}

/// Returns the report of the writes of a turn, done or not.
fn receipts(deps: &Deps, agent: &AgentState) -> RunReport {
    let turn = &agent.turn;
    let access = |name: &str| deps.toolbox.access(name, agent);
    let writes = turn.uses.iter();
    let writes = writes.filter(|made| access(&made.call.name) == Some(Access::Write));
    let writes = writes.map(|made| {
        let (name, arguments) = (&made.call.name, made.call.arguments.clone());
        let used = ToolUse::new(name, arguments, &made.text);
        used.status(made.status).told(made.told.clone())
    });
    let writes: Vec<_> = writes.collect();
    let report = RunReport::of(&writes).remembered(turn.remembered);
    report.titled(|tool| deps.toolbox.title(tool))
}
