use fugato_state::{Conversation, ConversationUpdate, Message, State};
use fugato_tool::{Visibility, VisibilityUpdate};
use serde::{Deserialize, Serialize};

use super::receipts::last_said;
use crate::{Corrects, ModelFailure, ToolUse};

/// What a `ReAct` agent keeps: what lasts as long as the thread, and what begins anew with each run.
///
/// Every field has a default, so that threads of older versions load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct React {
    /// What was said and done, of all runs.
    pub conversation: Conversation,
    /// Which tools are visible.
    pub visibility: Visibility,
    /// How far the present run is, or how far the last one came.
    pub run: ReactRun,
}

/// How far a run is. All of it is reset when a run begins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReactRun {
    /// How many rounds of tools there were.
    pub current_step: u32,
    /// How many there may be.
    pub max_steps: u32,
    /// How often the model was asked, the call without tools included.
    pub llm_calls: u32,
    /// Which tools were called, with which arguments, and what came out: oldest first.
    pub uses: Vec<ToolUse>,
    /// The names of the tools that were called, each once, in the order of their first calls.
    pub tools_used: Vec<String>,
    /// How many answers in a row could not be used.
    pub corrections: u32,
    /// Why the run stops; none while it goes on, and if it ended because the model had answered.
    pub stop_reason: Option<StopReason>,
    /// Why rules go on in the place of a model that was named; none while it decides, and where
    /// none was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<ModelFailure>,
    /// What the person is told in the end.
    pub final_reply: String,
}

/// Why a run stops before the model has answered by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The same calls came again, with the same results.
    LoopDetected,
    /// There were as many rounds of tools as there may be.
    MaxSteps,
    /// Too many answers in a row could not be used.
    Unusable,
    /// The model took too long.
    TimedOut,
    /// The model did not answer.
    Unanswered,
}

impl StopReason {
    /// The name in metadata.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LoopDetected => "loop_detected",
            Self::MaxSteps => "max_steps",
            Self::Unusable => "unusable_answers",
            Self::TimedOut => "timed_out",
            Self::Unanswered => "unanswered",
        }
    }
}

/// What a run came to: what the graph puts out at its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReactReply {
    /// What the person is told.
    pub final_reply: String,
    /// How it came about. More may be added.
    pub metadata: ReactMetadata,
}

/// How a reply came about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ReactMetadata {
    /// How many rounds of tools there were.
    pub steps_taken: u32,
    /// The names of the tools that were called, each once.
    pub tools_used: Vec<String>,
    /// Why the run stopped; empty if the model had answered.
    pub stop_reason: String,
    /// How often the model was asked. Rules are none.
    pub llm_calls: u32,
    /// That rules answer in the place of a model that was named, and why, in the language of the
    /// person; empty where no model failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub notice: String,
}

impl React {
    /// What the present run came to.
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
            },
        }
    }
}

/// A change of what a `ReAct` agent keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReactUpdate {
    /// Something was said, pinned or cleared.
    Talked(ConversationUpdate),
    /// Other tools are visible.
    Visible(VisibilityUpdate),
    /// A run begins: everything of the last one is gone but the conversation, in which calls that
    /// never got a result are given one.
    Began {
        /// How many rounds of tools there may be.
        max_steps: u32,
    },
    /// The model answered, with text, calls or both.
    Answered(Message),
    /// Rules answered, with text, calls or both: no model was asked, or it did not answer.
    Ruled {
        /// The answer.
        message: Message,
        /// Why the model that was named did not answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<ModelFailure>,
    },
    /// The model's answer could not be used.
    Corrected(Box<[Message; 2]>),
    /// A tool was called: the pair of its call, which is in the conversation, is complete.
    Used {
        /// The id of the call.
        call: String,
        /// The tool, its arguments and its result.
        tool: ToolUse,
    },
    /// What these calls have brought need not hold any more.
    Expired {
        /// Their ids.
        calls: Vec<String>,
    },
    /// All calls of a round have their results.
    RoundEnded,
    /// The run stops.
    Stopped(StopReason),
    /// The run has come to this.
    Finished {
        /// What the person is told.
        final_reply: String,
    },
}

/// What stands for the result of a call that was never carried out.
pub(crate) const CANCELLED: &str = "cancelled";
/// What stands for a result that need not hold any more.
const EXPIRED: &str = "this may have changed since; call the tool again";

impl ReactUpdate {
    /// The person says something: what a run is started with.
    pub fn user(text: impl Into<String>) -> Self {
        Self::said(Message::user(text))
    }

    fn said(message: Message) -> Self {
        Self::Talked(ConversationUpdate::Said(message))
    }
}

impl From<VisibilityUpdate> for ReactUpdate {
    fn from(update: VisibilityUpdate) -> Self {
        Self::Visible(update)
    }
}

impl State for React {
    type Update = ReactUpdate;

    fn apply(&mut self, update: ReactUpdate) {
        let run = &mut self.run;
        match update {
            ReactUpdate::Talked(update) => self.conversation.apply(update),
            ReactUpdate::Visible(update) => self.visibility.apply(update),
            ReactUpdate::Began { max_steps } => {
                self.conversation.history = self.conversation.paired(CANCELLED);
                *run = ReactRun {
                    max_steps,
                    ..ReactRun::default()
                };
            }
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
                let told = Message::tool(call, tool.result.clone());
                self.conversation.history.push(told);
                run.uses.push(tool);
            }
            ReactUpdate::Expired { calls } => {
                let is_old = |message: &&mut Message| {
                    let id = message.tool_call_id.as_ref();
                    id.is_some_and(|id| calls.contains(id))
                };
                let messages = self.conversation.history.iter_mut();
                let old = messages.filter(is_old);
                old.for_each(|message| EXPIRED.clone_into(&mut message.content));
            }
            ReactUpdate::RoundEnded => run.current_step += 1,
            ReactUpdate::Stopped(reason) => run.stop_reason = Some(reason),
            ReactUpdate::Finished { final_reply } => run.final_reply = final_reply,
        }
    }
}

impl Corrects for React {
    fn corrections(&self) -> u32 {
        self.run.corrections
    }

    fn history(&self) -> &[Message] {
        &self.conversation.history
    }

    fn corrected(pair: [Message; 2]) -> Vec<ReactUpdate> {
        vec![ReactUpdate::Corrected(Box::new(pair))]
    }
}
