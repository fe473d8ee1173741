use fugato_prompt::spoken;
use fugato_state::{
    Conversation, ConversationUpdate, Lang, Message, Role, RunContext, RunId, State, say,
};
use fugato_tool::{Handoff, Visibility, VisibilityUpdate};
use serde::{Deserialize, Serialize};

use super::receipts::last_said;
use crate::{
    decision::{CorrectionState, ModelFailure},
    toolbox::ToolUse,
};

/// The state of a `ReAct` agent: the conversation of the thread, and the progress of the present
/// run.
///
/// Every field has a default, so that threads of older versions load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct React {
    /// The conversation of all runs.
    pub conversation: Conversation,
    /// The visible tools.
    pub visibility: Visibility,
    /// The context of the next run, until it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<RunContext>,
    /// The progress of the present run, or else of the last one.
    pub run: ReactRun,
}

/// The progress of a run. All of it is reset when a run begins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReactRun {
    /// The run of the thread; none in threads of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<RunId>,
    /// The number of rounds of tools so far.
    pub current_step: u32,
    /// The maximum number of rounds of tools.
    pub max_steps: u32,
    /// The number of the model's answers, with corrected ones and the one without tools.
    pub llm_calls: u32,
    /// The calls of tools with their arguments and results, oldest first.
    pub uses: Vec<ToolUse>,
    /// The names of the tools that were called, each of them once, in the order of their first
    /// calls.
    pub tools_used: Vec<String>,
    /// The number of unusable answers in a row.
    pub corrections: u32,
    /// The reason why the run stops; none while it goes on, and if the model ended it with an
    /// answer.
    pub stop_reason: Option<StopReason>,
    /// The failure of the named model that rules replace; none while the model decides, and if
    /// there is no model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<ModelFailure>,
    /// True if a note was stored because the person asked for it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub remembered: bool,
    /// The context that the caller of the run set.
    #[serde(skip_serializing_if = "is_empty")]
    pub context: RunContext,
    /// The agent to which a tool handed the run; none unless one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
    /// The final reply to the person.
    pub final_reply: String,
}

fn is_empty(context: &RunContext) -> bool {
    *context == RunContext::default()
}

/// The reason why a run stops before the model ends it with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The same calls were repeated, with the same results.
    LoopDetected,
    /// The maximum number of rounds of tools was reached.
    MaxSteps,
    /// Too many answers in a row were unusable.
    Unusable,
    /// The model timed out.
    TimedOut,
    /// The model did not answer.
    Unanswered,
    /// The result of a tool is the reply.
    FinalOutput,
    /// A tool handed the run to another agent.
    Handoff,
}

impl StopReason {
    /// Returns the name for metadata.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LoopDetected => "loop_detected",
            Self::MaxSteps => "max_steps",
            Self::Unusable => "unusable_answers",
            Self::TimedOut => "timed_out",
            Self::Unanswered => "unanswered",
            Self::FinalOutput => "final_output",
            Self::Handoff => "handoff",
        }
    }
}

/// The result of a run, which is the output of the graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReactReply {
    /// The reply to the person.
    pub final_reply: String,
    /// The metadata of the reply.
    pub metadata: ReactMetadata,
}

/// The metadata of a reply. More fields may be added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ReactMetadata {
    /// The number of rounds of tools.
    pub steps_taken: u32,
    /// The names of the tools that were called, each of them once.
    pub tools_used: Vec<String>,
    /// The reason why the run stopped; empty if the model ended it with an answer.
    pub stop_reason: String,
    /// The number of the model's answers. Rules do not count.
    pub llm_calls: u32,
    /// The notice that rules replace the named model, with the reason, in the language of the
    /// person; empty if no model failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub notice: String,
    /// The name of the agent to which a tool handed the run; none unless one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff: Option<String>,
}

impl React {
    /// Returns the history with a result for each call.
    pub(super) fn paired(&self) -> Vec<Message> {
        paired(&self.conversation)
    }

    /// Returns the result of the present run.
    pub fn reply(&self) -> ReactReply {
        let run = &self.run;
        let notice = run.failure.as_ref().map(|it| it.by_rules(last_said(self)));
        ReactReply {
            final_reply: run.final_reply.clone(),
            metadata: ReactMetadata {
                steps_taken: run.current_step,
                tools_used: run.tools_used.clone(),
                stop_reason: run.stop_reason.map_or("", StopReason::as_str).to_owned(),
                llm_calls: run.llm_calls,
                notice: notice.unwrap_or_default(),
                handoff: run.handoff.as_ref().map(|handoff| handoff.to.clone()),
            },
        }
    }
}

/// An update of a `ReAct` agent.
#[derive(derive_more::From, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReactUpdate {
    /// A message was added, pinned or cleared.
    Talked(ConversationUpdate),
    /// The caller of the run that begins sets its context. It comes after the message.
    #[from]
    Context(RunContext),
    /// The visible tools have changed.
    #[from]
    Visible(VisibilityUpdate),
    /// A run begins: the progress of the last run is reset, and calls in the conversation without a
    /// result get one.
    Began {
        /// The maximum number of rounds of tools.
        max_steps: u32,
        /// The run of the thread.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<RunId>,
    },
    /// A note was stored, as the person asked.
    Remembered,
    /// The model answered, with text, calls or both.
    Answered(Message),
    /// Rules answered, with text, calls or both: no model was asked, or it did not answer.
    Ruled {
        /// The answer.
        message: Message,
        /// The failure of the named model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<ModelFailure>,
    },
    /// The model's answer was unusable; the pair is the answer and its correction.
    Corrected(Box<[Message; 2]>),
    /// A tool was called; its result completes the call in the conversation.
    Used {
        /// The id of the call.
        call: String,
        /// The tool, its arguments and its result.
        tool: ToolUse,
    },
    /// The results of these calls may no longer be true.
    Expired {
        /// The ids of the calls.
        calls: Vec<String>,
    },
    /// All calls of a round have their results.
    RoundEnded,
    /// The run stops.
    Stopped(StopReason),
    /// The run stops for another agent.
    HandedOff(Handoff),
    /// The run has ended with this reply.
    Finished {
        /// The reply to the person.
        final_reply: String,
    },
}

fn spoken_in(conversation: &Conversation) -> Lang {
    let said = spoken(&conversation.history).filter(|it| it.role == Role::User);
    let said: Vec<_> = said.map(|message| message.content.as_str()).collect();
    Lang::of_first(said.into_iter().rev())
}

/// Returns the history with a result for each call: one that was never carried out is cancelled.
fn paired(conversation: &Conversation) -> Vec<Message> {
    let cancelled = spoken_in(conversation).pick("cancelled", "已取消");
    conversation.paired(cancelled)
}

/// Returns the text that replaces a result that may no longer be true.
fn expired() -> String {
    say!(
        "this may have changed since; call the tool again",
        "此后情况可能已变；请重新调用这个工具"
    )
}

impl ReactUpdate {
    /// Returns the update for a message of the person, with which a run is started. With a context:
    /// [`request`](Self::request).
    pub fn user(text: impl Into<String>) -> Self {
        Self::said(Message::user(text))
    }

    /// Returns the updates with which a run for this message is started in a context.
    pub fn request(text: impl Into<String>, context: RunContext) -> Vec<Self> {
        let said = Self::user(text);
        if is_empty(&context) {
            return vec![said];
        }
        vec![said, Self::Context(context)]
    }

    pub(super) fn said(message: Message) -> Self {
        Self::Talked(ConversationUpdate::Said(message))
    }
}

impl State for React {
    type Update = ReactUpdate;

    /// Returns the language of the person's last message that has words.
    fn lang(&self) -> Lang {
        spoken_in(&self.conversation)
    }

    fn apply(&mut self, update: ReactUpdate) {
        let run = &mut self.run;
        match update {
            ReactUpdate::Talked(update) => {
                // The context of a message whose run never began is not that of the next.
                let is_new = |message: &Message| message.role == Role::User;
                if matches!(&update, ConversationUpdate::Said(message) if is_new(message)) {
                    self.next = None;
                }
                self.conversation.apply(update);
            }
            ReactUpdate::Context(context) => self.next = Some(context),
            ReactUpdate::Visible(update) => self.visibility.apply(update),
            ReactUpdate::Began { max_steps, id } => {
                self.conversation.history = paired(&self.conversation);
                // An agent that takes over goes on in the same run of the same caller.
                let is_taken_over = run.handoff.is_some() && id.is_some() && run.id == id;
                let taken_over = is_taken_over.then(|| std::mem::take(&mut run.context));
                *run = ReactRun {
                    id,
                    max_steps,
                    context: self.next.take().or(taken_over).unwrap_or_default(),
                    ..ReactRun::default()
                };
            }
            ReactUpdate::Remembered => run.remembered = true,
            ReactUpdate::Answered(message) => {
                run.llm_calls += 1;
                run.corrections = 0;
                self.conversation.history.push(message);
            }
            ReactUpdate::Ruled { message, failure } => {
                run.corrections = 0;
                run.failure = failure.or(run.failure.take());
                self.conversation.history.push(message);
            }
            ReactUpdate::Corrected(pair) => {
                run.llm_calls += 1;
                run.corrections += 1;
                self.conversation.history.extend(*pair);
            }
            ReactUpdate::Used { call, tool } => {
                if !run.tools_used.contains(&tool.name) {
                    run.tools_used.push(tool.name.clone());
                }
                let told = tool.message(call);
                self.conversation.history.push(told);
                run.uses.push(tool);
            }
            ReactUpdate::Expired { calls } => {
                let is_old = |message: &&mut Message| {
                    let id = message.tool_call_id.as_ref();
                    id.is_some_and(|id| calls.contains(id))
                };
                let text = self.lang().scope(expired);
                let messages = self.conversation.history.iter_mut();
                let old = messages.filter(is_old);
                old.for_each(|message| message.content.clone_from(&text));
            }
            ReactUpdate::RoundEnded => run.current_step += 1,
            ReactUpdate::Stopped(reason) => run.stop_reason = Some(reason),
            ReactUpdate::HandedOff(handoff) => {
                run.stop_reason = Some(StopReason::Handoff);
                run.handoff = Some(handoff);
            }
            ReactUpdate::Finished { final_reply } => run.final_reply = final_reply,
        }
    }
}

impl CorrectionState for React {
    fn corrections(&self) -> u32 {
        self.run.corrections
    }

    fn corrected(pair: [Message; 2]) -> Vec<ReactUpdate> {
        vec![ReactUpdate::Corrected(Box::new(pair))]
    }
}
