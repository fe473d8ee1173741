use super::{ReactMetadata, StopReason};
use crate::wording::is_chinese;

/// The explanation of a run that stops without words of the model, in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopWords {
    /// The whole text, with the placeholder `{why}` for the reason.
    pub stopped: &'static str,
    /// The addition if tools were called, with the placeholder `{tools}` for their names.
    pub used: &'static str,
    /// The separator between these names.
    pub between: &'static str,
    /// [`StopReason::LoopDetected`]
    pub loop_detected: &'static str,
    /// [`StopReason::MaxSteps`]
    pub max_steps: &'static str,
    /// [`StopReason::Unusable`]
    pub unusable: &'static str,
    /// [`StopReason::TimedOut`]
    pub timed_out: &'static str,
    /// [`StopReason::Unanswered`]
    pub unanswered: &'static str,
}

impl StopWords {
    /// The words in English.
    pub const EN: Self = Self {
        stopped: "I stopped before I was done: {why}.",
        used: " I used {tools}.",
        between: ", ",
        loop_detected: "the same steps came again and again without anything new",
        max_steps: "it took more steps than I may take",
        unusable: "I could not put the next step into a usable form",
        timed_out: "the model took longer than I may wait",
        unanswered: "the model did not answer",
    };

    /// The words in Chinese.
    pub const ZH: Self = Self {
        stopped: "还没做完我就停下了：{why}。",
        used: "已用过{tools}。",
        between: "、",
        loop_detected: "同样的步骤一再重复，没有新的结果",
        max_steps: "步骤超出了允许的数量",
        unusable: "下一步没能写成可用的形式",
        timed_out: "模型回答得太慢，我不能再等了",
        unanswered: "模型没有回答",
    };

    /// Returns the words in the language of a text: Chinese if it has a Chinese character.
    pub fn of(words: &str) -> Self {
        if is_chinese(words) {
            Self::ZH
        } else {
            Self::EN
        }
    }

    /// Returns the whole explanation.
    pub fn told(&self, reason: StopReason, metadata: &ReactMetadata) -> String {
        let why = match reason {
            StopReason::LoopDetected => self.loop_detected,
            StopReason::MaxSteps => self.max_steps,
            StopReason::Unusable => self.unusable,
            StopReason::TimedOut => self.timed_out,
            StopReason::Unanswered => self.unanswered,
        };
        let tools = match &metadata.tools_used[..] {
            [] => String::new(),
            tools => self.used.replace("{tools}", &tools.join(self.between)),
        };
        self.stopped.replace("{why}", why) + &tools
    }
}
