use std::borrow::Cow;

use fugato_state::Lang;

/// The fixed texts of a prompt, so that they can be in the user's language.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wording {
    /// The heading of the catalogue of tools.
    pub tools: Cow<'static, str>,
    /// The heading of the rules.
    pub rules: Cow<'static, str>,
    /// The heading of the summary of messages that are no longer shown.
    pub summary: Cow<'static, str>,
    /// The heading of the conversation.
    pub conversation: Cow<'static, str>,
    /// The name of the user's role.
    pub user: Cow<'static, str>,
    /// The name of the model's role.
    pub assistant: Cow<'static, str>,
    /// The text for an empty conversation.
    pub no_conversation: Cow<'static, str>,
    /// The heading of the work in this stage.
    pub work: Cow<'static, str>,
    /// The heading of the summary of work that is no longer shown.
    pub work_summary: Cow<'static, str>,
    /// The text for a stage without work.
    pub no_work: Cow<'static, str>,
    /// The heading of the state.
    pub state: Cow<'static, str>,
    /// The text for a stage without a state.
    pub no_state: Cow<'static, str>,
    /// The heading of the memory.
    pub memory: Cow<'static, str>,
    /// The heading of the question and its answer.
    pub resume: Cow<'static, str>,
    /// The label of the question.
    pub question: Cow<'static, str>,
    /// The label of the answer.
    pub reply: Cow<'static, str>,
    /// The heading of the hints for the next step.
    pub hints: Cow<'static, str>,
    /// The heading of the instruction.
    pub instruction: Cow<'static, str>,
    /// The text for a missing instruction.
    pub no_instruction: Cow<'static, str>,
    /// The heading of the order in which sources are trusted.
    pub trust: Cow<'static, str>,
    /// The explanation of that order.
    pub trust_means: Cow<'static, str>,
    /// The text between a source and what it is trusted for.
    pub trusted_for: Cow<'static, str>,
    /// The text between that and when it is not trusted.
    pub not_trusted: Cow<'static, str>,
    /// The text for messages of the conversation that were left out; `{n}` is their number.
    pub messages_left_out: Cow<'static, str>,
    /// The text for steps of the work that were left out; `{n}` is their number.
    pub steps_left_out: Cow<'static, str>,
    /// The text for the middle of a result that was left out; `{n}` is its length in characters.
    pub characters_left_out: Cow<'static, str>,
}

macro_rules! wording {
    ($($field:ident: $text:literal),* $(,)?) => {
        Wording { $($field: Cow::Borrowed($text)),* }
    };
}

impl Wording {
    /// Returns the English texts.
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
            work_summary: "Summary of the earlier work in this stage",
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
            trust: "Which source to believe",
            trust_means: "Where they contradict each other, the first that says something is right.",
            trusted_for: ": for ",
            not_trusted: "; not ",
            messages_left_out: "(earlier messages that are left out: {n})",
            steps_left_out: "(earlier steps that are left out: {n})",
            characters_left_out: "… (characters left out: {n}) …",
        }
    }

    /// Returns the Chinese texts.
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
            work_summary: "本阶段先前工作的摘要",
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
            trust: "以谁为准",
            trust_means: "各来源互相矛盾时，以排在前面的为准。",
            trusted_for: "：用于",
            not_trusted: "；不适用于",
            messages_left_out: "（较早的消息已省略：{n} 条）",
            steps_left_out: "（较早的步骤已省略：{n} 步）",
            characters_left_out: "…（已省略 {n} 字）…",
        }
    }
}

impl Wording {
    /// Replaces `{n}` by a number.
    pub(crate) fn counted(words: &str, n: usize) -> String {
        words.replace("{n}", &n.to_string())
    }
}

impl Default for Wording {
    /// Returns the texts in the language that is spoken now.
    fn default() -> Self {
        match Lang::current() {
            Lang::En => Self::english(),
            Lang::Zh => Self::chinese(),
        }
    }
}
