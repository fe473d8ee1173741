use super::{ReactMetadata, StopReason};
use crate::reply::is_chinese;

impl StopReason {
    /// Returns the reason in words, in the language of `said`: Chinese if it has a Chinese
    /// character, else English.
    pub fn why(self, said: &str) -> &'static str {
        let (en, zh) = match self {
            Self::LoopDetected => (
                "the same steps came again and again without anything new",
                "同样的步骤一再重复，没有新的结果",
            ),
            Self::MaxSteps => ("it took more steps than I may take", "步骤超出了允许的数量"),
            Self::Unusable => (
                "I could not put the next step into a usable form",
                "下一步没能写成可用的形式",
            ),
            Self::TimedOut => (
                "the model took longer than I may wait",
                "模型回答得太慢，我不能再等了",
            ),
            Self::Unanswered => ("the model did not answer", "模型没有回答"),
            Self::FinalOutput => ("a tool had the last word", "工具给出了最后的结果"),
            Self::Handoff => ("another agent takes over", "由另一个助手接手"),
        };
        if is_chinese(said) { zh } else { en }
    }

    /// Returns the explanation of a run that stops without words of the model, with the tools that
    /// were called, in the language of `said`.
    pub fn told(self, said: &str, metadata: &ReactMetadata) -> String {
        let (why, tools, chinese) = (self.why(said), &metadata.tools_used, is_chinese(said));
        let stopped = if chinese {
            format!("还没做完我就停下了：{why}。")
        } else {
            format!("I stopped before I was done: {why}.")
        };
        match (tools.is_empty(), chinese) {
            (true, _) => stopped,
            (false, false) => format!("{stopped} Steps that I took: {}.", tools.join(", ")),
            (false, true) => format!("{stopped}做过的步骤：{}。", tools.join("、")),
        }
    }
}
