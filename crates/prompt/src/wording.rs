use std::borrow::Cow;

/// The fixed words of a prompt, so that they can be in the user's language.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wording {
    /// The heading of the catalogue of tools.
    pub tools: Cow<'static, str>,
    /// The heading of the rules.
    pub rules: Cow<'static, str>,
    /// The heading of the summary of what is no longer shown.
    pub summary: Cow<'static, str>,
    /// The heading of the conversation.
    pub conversation: Cow<'static, str>,
    /// Who the person is.
    pub user: Cow<'static, str>,
    /// Who the model is.
    pub assistant: Cow<'static, str>,
    /// What stands for a conversation in which nothing was said.
    pub no_conversation: Cow<'static, str>,
    /// The heading of the work in this stage.
    pub work: Cow<'static, str>,
    /// What stands for a stage in which nothing was done.
    pub no_work: Cow<'static, str>,
    /// The heading of the state.
    pub state: Cow<'static, str>,
    /// What stands for a stage without a state.
    pub no_state: Cow<'static, str>,
    /// The heading of the memory.
    pub memory: Cow<'static, str>,
    /// The heading of what is resumed.
    pub resume: Cow<'static, str>,
    /// What was asked.
    pub question: Cow<'static, str>,
    /// What was answered.
    pub reply: Cow<'static, str>,
    /// The heading of the hints for the next step.
    pub hints: Cow<'static, str>,
    /// The heading of the instruction.
    pub instruction: Cow<'static, str>,
    /// What stands for an instruction where there is none.
    pub no_instruction: Cow<'static, str>,
}

macro_rules! wording {
    ($($field:ident: $text:literal),* $(,)?) => {
        Wording { $($field: Cow::Borrowed($text)),* }
    };
}

impl Wording {
    /// English.
    pub fn english() -> Self {
        wording! {
            tools: "Tools",
            rules: "Rules",
            summary: "Summary of what was said before",
            conversation: "Conversation",
            user: "User",
            assistant: "Assistant",
            no_conversation: "(nothing was said yet)",
            work: "Work in this stage",
            no_work: "(nothing was done yet in this stage)",
            state: "State",
            no_state: "(there is no state yet)",
            memory: "Memory",
            resume: "Going on after a question",
            question: "Asked",
            reply: "Answered",
            hints: "Next steps",
            instruction: "Now",
            no_instruction: "Go on.",
        }
    }

    /// Chinese.
    pub fn chinese() -> Self {
        wording! {
            tools: "工具",
            rules: "规则",
            summary: "此前对话摘要",
            conversation: "对话",
            user: "用户",
            assistant: "助手",
            no_conversation: "（暂无对话）",
            work: "本阶段的工作",
            no_work: "（本阶段尚无工作）",
            state: "状态",
            no_state: "（暂无状态）",
            memory: "记忆",
            resume: "提问之后继续",
            question: "提问",
            reply: "回答",
            hints: "下一步提示",
            instruction: "当前任务",
            no_instruction: "请继续。",
        }
    }
}

impl Default for Wording {
    fn default() -> Self {
        Self::english()
    }
}
