//! Notices that a backup model or rules replace the named model, in plain words with the reason.
use std::borrow::Cow;

use fugato_graph::Context;
use fugato_llm::{
    AskError, AskRecord, Attempt, CallOutcome, DecisionSource, ModelError, ModelErrorKind,
};
use fugato_state::{Lang, State};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    reply::is_chinese,
    text::{custom, short},
};

/// The failure of the named models, after which a backup or rules go on.
///
/// *Contract*
/// - **plain**: [`by_rules`](Self::by_rules) is a sentence for a person, with the reason in words.
/// - **no secrets**: it contains nothing that is not in the error of the model.
///
/// ```
/// use fugato_agent::decision::ModelFailure;
/// use fugato_llm::{ModelError, ModelErrorKind};
///
/// let error = ModelError::new(ModelErrorKind::Denied, "status 401");
/// let failure = ModelFailure::of("mini", &error);
/// assert_eq!(
///     failure.by_rules("hello"),
///     "The model `mini` did not answer: its server refused the key (status 401). I go on by rules."
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelFailure {
    /// The names of the models that were asked, each of them once.
    pub models: Vec<String>,
    /// The kind of the last failure; none if the answers could not be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ModelErrorKind>,
    /// The server's message, shortened; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// The maximum number of characters of a server's message.
const MOST: usize = 160;

impl ModelFailure {
    /// The name of the event that rules go on.
    pub const BY_RULE: &str = "decided_by_rule";
    /// The name of the event that a backup answers.
    pub const BY_BACKUP: &str = "answered_by_backup";

    /// Returns the failure of a model with this error. The attempts in the error name the models.
    pub fn of(model: &str, error: &ModelError) -> Self {
        Self {
            models: names(&error.attempts, model),
            kind: Some(error.kind),
            detail: short(&error.context, MOST),
        }
    }

    /// Returns the failure of a model that gave no answer that was accepted.
    pub fn of_no_answer(model: &str, why: &AskError) -> Self {
        match &why.unanswered {
            Some(error) => Self::of(model, error),
            None => Self::unusable(model),
        }
    }

    /// Returns the failure of a model whose answers could not be used.
    pub fn unusable(model: &str) -> Self {
        Self {
            models: vec![model.to_owned()],
            kind: None,
            detail: String::new(),
        }
    }

    /// Returns the failure of the models that made these attempts; none if none of them failed.
    pub(crate) fn of_attempts(attempts: &[Attempt]) -> Option<Self> {
        let last = attempts.iter().rev().find_map(|it| it.failure.as_ref())?;
        Some(Self {
            models: names(attempts, ""),
            kind: Some(last.kind),
            // The text before the colon describes the kind.
            detail: last
                .message
                .split_once(": ")
                .map_or_else(String::new, |(_, said)| short(said, MOST)),
        })
    }

    /// Returns the failure as a sentence, and one that rules go on, in the language of `said`.
    pub fn by_rules(&self, said: &str) -> String {
        let failed = self.sentence(said);
        if is_chinese(said) {
            format!("{failed}我改按规则继续。")
        } else {
            format!("{failed} I go on by rules.")
        }
    }

    /// Returns the failure as a sentence with the models and the reason, in the language of `said`.
    pub fn sentence(&self, said: &str) -> String {
        let chinese = is_chinese(said);
        let names: Vec<_> = self.models.iter().map(|name| format!("`{name}`")).collect();
        let (en, zh) = self.reason();
        let mut why = Cow::Borrowed(if chinese { zh } else { en });
        if !self.detail.is_empty() {
            let detail = &self.detail;
            why = Cow::Owned(if chinese {
                format!("{why}（{detail}）")
            } else {
                format!("{why} ({detail})")
            });
        }
        let silent = self.kind.is_some();
        match (chinese, names.len()) {
            (true, _) => {
                let how = if silent {
                    "没有回答"
                } else {
                    "的回答用不了"
                };
                format!("模型{}{how}：{why}。", names.join("、"))
            }
            (false, many) => {
                let (models, how) = match (many > 1, silent) {
                    (true, true) => ("models", "did not answer"),
                    (false, true) => ("model", "did not answer"),
                    (true, false) => ("models", "did not answer usably"),
                    (false, false) => ("model", "did not answer usably"),
                };
                format!("The {models} {} {how}: {why}.", names.join(", "))
            }
        }
    }

    fn reason(&self) -> (&'static str, &'static str) {
        use ModelErrorKind as Kind;
        match self.kind {
            None => (
                "its answers are not in the form that was asked for",
                "回答不合要求的格式",
            ),
            Some(Kind::Denied) => ("its server refused the key", "服务器拒绝了密钥"),
            Some(Kind::NotFound) => (
                "its server knows no such model or address",
                "服务器上没有这个模型或地址",
            ),
            Some(Kind::BadRequest) => ("its server refused the request", "服务器拒绝了请求"),
            Some(Kind::TooLong) => ("the request is too long for it", "请求太长"),
            Some(Kind::RateLimited) => (
                "its server was asked too often and wants a pause",
                "请求太频繁，服务器要求稍后再试",
            ),
            Some(Kind::Unavailable) => (
                "its server is there and cannot serve now",
                "服务器暂时不能服务",
            ),
            Some(Kind::Unreachable) => ("its server could not be reached", "连不上服务器"),
            Some(Kind::TimedOut) => ("it took too long", "回答得太慢"),
            Some(Kind::CutOff) => ("its answer broke off", "回答中断了"),
            Some(Kind::Malformed) => (
                "what its server sent is no answer of a model",
                "服务器返回的不是模型的回答",
            ),
            Some(_) => ("it failed", "出错了"),
        }
    }

    /// Announces on the stream at once that rules go on, in the language of `said`.
    pub fn announce<S: State>(&self, cx: &Context<S>, said: &str) {
        let (task, why) = (cx.task(), Lang::En.scope(|| self.sentence("")));
        tracing::warn!(task, why, "decided by rule");
        let text = self.by_rules(said);
        let data = json!({
            "task": task, "why": why, "text": text, "models": self.models, "kind": self.kind,
        });
        cx.emit(custom(Self::BY_RULE, data));
    }
}

/// Announces on the stream at once that a backup model or a rule decides instead of the named model,
/// and why, in the language of `said`. Does nothing if no model was called.
pub fn announce<S: State>(cx: &Context<S>, record: &AskRecord, said: &str) {
    let Some(last) = record.traces.last() else {
        return;
    };
    if record.source != DecisionSource::Rule {
        return announce_backup(cx, &last.attempts, said);
    }
    let silent = last.outcome == CallOutcome::AllFailed;
    let failure = silent.then(|| ModelFailure::of_attempts(&last.attempts));
    let failure = failure.flatten().unwrap_or_else(|| {
        let model = last.attempts.last().map_or("model", |it| &it.model);
        ModelFailure::unusable(model)
    });
    failure.announce(cx, said);
}

/// Announces on the stream that a backup model answers, if the last attempt was by another model
/// than the first and succeeded.
pub(crate) fn announce_backup<S: State>(cx: &Context<S>, attempts: &[Attempt], said: &str) {
    let (Some(first), Some(last)) = (attempts.first(), attempts.last()) else {
        return;
    };
    if first.model == last.model || last.failure.is_some() {
        return;
    }
    let before = attempts.split_last().map_or(&[][..], |(_, before)| before);
    let Some(failure) = ModelFailure::of_attempts(before) else {
        return;
    };
    let (failed, by) = (failure.sentence(said), &last.model);
    let text = if is_chinese(said) {
        format!("{failed}由备用模型 `{by}` 回答。")
    } else {
        format!("{failed} The backup `{by}` answers.")
    };
    let data = json!({ "task": cx.task(), "text": text, "models": failure.models, "by": by });
    cx.emit(custom(ModelFailure::BY_BACKUP, data));
}

/// Returns the names of the models that were asked, each of them once; else `model`.
fn names(attempts: &[Attempt], model: &str) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for attempt in attempts {
        if !names.contains(&attempt.model) {
            names.push(attempt.model.clone());
        }
    }
    if names.is_empty() {
        names.push(model.to_owned());
    }
    names
}
