use async_trait::async_trait;
use fugato::{
    agent::decision::CorrectionState as _,
    graph::{BoxError, Context, Node, Outcome},
    llm::{ChatResponse, FinishReason, RejectedAnswer},
    prompt::correction,
    state::{Message, say},
    stream::EventKind,
};
use serde_json::json;

use super::{announce, said};
use crate::{
    agent::{AgentState, Update},
    deps::Deps,
    failure::Replacement,
    llm_config::{ModelStage, OnFailure, ask_unseen, show, stand_in, status, status_note},
    prompts, prose,
    report::{self, Receipts},
};

/// The node that summarises the run: the facts, and the remark of a model if it claims nothing
/// else.
#[derive(Debug)]
pub struct Deliver(pub Deps);

#[async_trait]
impl Node<AgentState> for Deliver {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        let mut updates = announce(&cx);
        status(
            &cx,
            "summarizing",
            agent.lang.pick("summing up", "正在总结"),
        );
        let facts = if agent.run.by_hand {
            report::by_hand(agent)
        } else {
            report::summary(agent)
        };
        // The facts come first and from code; a model may remark on them.
        show(&cx, &facts);
        updates.push(said(&facts));
        if is_remarkable(agent) {
            updates.extend(self.remark(&cx, &facts).await?);
        }
        updates.push(Update::Delivered);
        let done = status_note("done", agent.lang.pick("done", "完成"));
        let outcome = Outcome::done(updates).note(done);
        let completed = agent.run.outcome.is_none() && agent.run.has_schedule_changes;
        Ok(if completed {
            // The schedule is read when it is displayed: from the state, which is stored by then.
            outcome.note(EventKind::Card {
                card: "schedule_completed".into(),
                data: json!({}),
            })
        } else {
            outcome
        })
    }
}

/// Returns true if there is a result that a model could put into words.
fn is_remarkable(agent: &AgentState) -> bool {
    let seen = agent.run.evidence.iter().any(|evidence| evidence.success);
    let done = seen || Receipts::of_request(agent).is_any();
    done && !agent.run.by_hand
}

/// The number of answers that are requested before the facts are shown alone.
const TRIES: usize = 2;

impl Deliver {
    /// Returns the model's remark on the facts, marked as its words; nothing if no answer is
    /// allowed.
    async fn remark(&self, cx: &Context<AgentState>, facts: &str) -> Result<Vec<Update>, BoxError> {
        let (agent, mind) = (cx.state(), &self.0.mind);
        let Some(model) = mind.answering(agent) else {
            return Ok(vec![]);
        };
        let mut messages = prompts::deliver(agent, facts);
        for _ in 0..TRIES {
            let request = mind.request(agent, ModelStage::Deliver, messages.clone());
            let response = match ask_unseen(cx, model, request).await {
                Ok(response) => response,
                // A failed remark never fails the run, whatever the policy is.
                Err(error) => {
                    return mind.fall_back(cx, OnFailure::Rules, error, Replacement::Facts);
                }
            };
            match read(agent, facts, &response) {
                Ok(words) => {
                    let words = agent.lang.pick(
                        format!("The model remarks: {words}"),
                        format!("模型的说明：{words}"),
                    );
                    show(cx, &words);
                    let mut told = stand_in(cx, &response.attempts);
                    told.push(said(words));
                    return Ok(told);
                }
                Err(rejected) => {
                    tracing::warn!(task = cx.task(), %rejected, "words held back");
                    cx.emit(EventKind::Correction {
                        message: agent.correction_words(&rejected),
                    });
                    messages.extend(rejected_pair(&rejected));
                }
            }
        }
        Ok(vec![])
    }
}

/// Returns the unusable answer and the reason, for the next request to the model.
fn rejected_pair(rejected: &RejectedAnswer) -> [Message; 2] {
    let [said, _] = rejected.messages();
    let why = say!(
        "{rejected}. Sum up again, in a few sentences and nothing else.",
        "{rejected}。请重新总结，只用几句话，不要写别的。"
    );
    [said, correction(&why)]
}

/// Reads a remark: prose with a complete end, without claims or numbers beyond the facts.
fn read(
    agent: &AgentState,
    facts: &str,
    response: &ChatResponse,
) -> Result<String, RejectedAnswer> {
    let words = response.message.content.trim();
    let refuse = |why: &str| RejectedAnswer::sense(words, "", why);
    if words.is_empty() {
        return Err(refuse(&say!("there are no words in it", "里面没有文字")));
    }
    if response.finish == Some(FinishReason::Length) {
        return Err(refuse(&say!(
            "it was cut off; be shorter",
            "被截断了；请写短一些"
        )));
    }
    prose::check(words, &Receipts::of_request(agent)).map_err(|why| refuse(&why.to_string()))?;
    let seen = prompts::working_area(agent);
    let seen: Vec<_> = seen.iter().map(|seen| seen.content.as_str()).collect();
    if !prose::numbers_are_known(words, &format!("{facts} {}", seen.join(" "))) {
        return Err(refuse(&say!(
            "it names numbers that no result shows",
            "提到了结果里没有的数字"
        )));
    }
    Ok(words.to_owned())
}
