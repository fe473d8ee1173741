//! The lines of progress, in the language of the conversation.
use fugato::{cli::Lang, stream::EventKind};

/// A phase of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A model plans the request.
    Planning,
    /// Rules read the request, because there is no model.
    Reading,
    /// The fields of the form are judged.
    JudgingFields,
    /// A card waits for a person.
    WaitingForConfirmation,
    /// An action is carried out.
    Executing,
}

impl Phase {
    /// Returns the event that shows it.
    pub(crate) fn event(self, lang: Lang) -> EventKind {
        let (code, en, zh) = match self {
            Self::Planning => ("planning", "a model plans", "模型规划中"),
            Self::Reading => ("planning", "reading the request", "读取请求中"),
            Self::JudgingFields => ("judging_fields", "judging the fields", "字段判断中"),
            Self::WaitingForConfirmation => (
                "waiting_for_confirmation",
                "waiting for your confirmation",
                "等待确认",
            ),
            Self::Executing => ("executing", "carrying it out", "执行动作"),
        };
        EventKind::Status {
            code: code.to_owned(),
            summary: lang.pick(en, zh).to_owned(),
        }
    }
}
