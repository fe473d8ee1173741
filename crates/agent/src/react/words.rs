use super::{ReactMetadata, StopReason};
use crate::wording::is_chinese;

/// What the person is told when a run stops and the model has said nothing, in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopWords {
    /// All of it, with `{why}` where the reason stands.
    pub stopped: &'static str,
    /// What follows where tools were called, with `{tools}` where their names stand.
    pub used: &'static str,
    /// Between these names.
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
    /// In English.
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

    /// In Chinese.
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

    /// In the language of these words: Chinese as soon as one character is.
    pub fn of(words: &str) -> Self {
        if is_chinese(words) {
            Self::ZH
        } else {
            Self::EN
        }
    }

    /// The whole of it.
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
