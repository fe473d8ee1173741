//! Failures of a model as sentences for the person: the model, the reason, and the replacement.
use std::error::Error;

use fugato::{
    llm::{AskError, ModelError, ModelErrorKind, RejectedAnswer, RejectedClass},
    state::say,
};

use crate::calendar::Lang;

/// The replacement for a model that did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replacement<'a> {
    /// Rules decide.
    Rules,
    /// The facts of a report do without a remark.
    Facts,
    /// Another model.
    Model(&'a str),
}

/// Returns the failure of the named model and its replacement as one sentence. The text of a server
/// is left to the log.
pub(crate) fn sentence(
    model: &str,
    why: &(dyn Error + 'static),
    instead: Replacement<'_>,
) -> String {
    let why = match unusable(why) {
        None => {
            let reason = reason(why);
            say!("did not answer ({reason})", "没有回答（{reason}）")
        }
        Some(1) => say!("gave an answer that cannot be used", "的回答无法使用"),
        Some(count) => say!(
            "gave {count} answers in a row that cannot be used",
            "连续 {count} 次回答都无法使用"
        ),
    };
    let instead = match instead {
        Replacement::Rules => say!("I go on by rules alone", "我只按规则继续"),
        Replacement::Facts => say!("these are the facts alone", "这里只有事实"),
        Replacement::Model(other) => say!("the model {other} answers", "由模型 {other} 回答"),
    };
    say!(
        "The model {model} {why}, so {instead}.",
        "模型 {model} {why}，因此{instead}。"
    )
}

/// Returns the number of rejected answers in a row, if they are why there is no decision.
fn unusable(why: &(dyn Error + 'static)) -> Option<u32> {
    if why.is::<RejectedAnswer>() {
        return Some(1);
    }
    let undecided = why.downcast_ref::<AskError>()?;
    let answered = undecided.unanswered.is_none();
    answered.then_some(undecided.rejections)
}

/// Returns the failure in a few words, with the status of the server if it gave one.
fn reason(why: &(dyn Error + 'static)) -> String {
    let unanswered = why.downcast_ref::<AskError>();
    let error = unanswered
        .and_then(|undecided| undecided.unanswered.as_ref())
        .or_else(|| why.downcast_ref::<ModelError>());
    let Some(error) = error else {
        return say!("it failed", "模型出错");
    };
    let words = in_words(error.kind);
    match status(&error.context) {
        Some(status) => say!("status {status}: {words}", "状态码 {status}：{words}"),
        // The context of an own limit names it; the text of a server is for its operator.
        None if limits(error.kind) && !error.context.is_empty() => {
            Lang::current().pick(format!("{words}: {}", error.context), words.into())
        }
        None => words.into(),
    }
}

/// Returns true if a limit of this program ended the call.
fn limits(kind: ModelErrorKind) -> bool {
    use ModelErrorKind as Kind;
    matches!(
        kind,
        Kind::TimedOut | Kind::AnswerTooLong | Kind::OutOfBudget | Kind::Skipped
    )
}

/// Returns the status of the server's answer from the context of an error.
fn status(context: &str) -> Option<u16> {
    let (_, after) = context.split_once("status ")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn in_words(kind: ModelErrorKind) -> &'static str {
    let (en, zh) = match kind {
        ModelErrorKind::Denied => ("the key is wrong or missing", "密钥错误或缺失"),
        ModelErrorKind::NotFound => ("there is no such model or address", "没有这个模型或地址"),
        ModelErrorKind::BadRequest => ("it does not accept the request", "不接受这个请求"),
        ModelErrorKind::TooLong => ("the request is too long for it", "请求太长"),
        ModelErrorKind::RateLimited => (
            "it was asked too often or is not paid for",
            "请求太频繁或额度不足",
        ),
        ModelErrorKind::Unavailable => ("its server cannot serve now", "服务器暂时不可用"),
        ModelErrorKind::Unreachable => ("its server cannot be reached", "无法连接服务器"),
        ModelErrorKind::TimedOut => ("it took too long", "等待超时"),
        ModelErrorKind::CutOff => ("its answer broke off", "回答中断"),
        ModelErrorKind::AnswerTooLong => ("its answer was too long", "回答太长"),
        ModelErrorKind::OutOfBudget => ("its answers took too much together", "回答总量超限"),
        ModelErrorKind::Skipped => ("it failed a short time ago", "刚才已经失败"),
        ModelErrorKind::Malformed => ("its answer cannot be read", "回答无法读取"),
        _ => ("it failed", "模型出错"),
    };
    Lang::current().pick(en, zh)
}

/// Returns a sentence with the fault of an answer, and that another one is requested.
pub(crate) fn corrected(rejected: &RejectedAnswer) -> String {
    let (en, zh) = match rejected.class {
        RejectedClass::Empty => ("its answer was empty", "回答是空的"),
        RejectedClass::Truncated => ("its answer was cut off", "回答不完整"),
        RejectedClass::Sense => (
            "what it answered is not allowed here",
            "回答的内容在这里不允许",
        ),
        _ => (
            "its answer did not have the agreed form",
            "回答不符合约定的格式",
        ),
    };
    let fault = Lang::current().pick(en, zh);
    say!("{fault}; it is asked again", "{fault}，再问一次")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_model_status_and_reason_and_no_words_of_the_server() {
        let error = ModelError::new(ModelErrorKind::Denied, "status 401: Incorrect key sk-1");
        assert_eq!(
            sentence("m", &error, Replacement::Rules),
            "The model m did not answer (status 401: the key is wrong or missing), so I go on by rules alone."
        );
        assert_eq!(
            Lang::Zh.scope(|| sentence("m", &error, Replacement::Model("b"))),
            "模型 m 没有回答（状态码 401：密钥错误或缺失），因此由模型 b 回答。"
        );
        let gone = ModelError::new(ModelErrorKind::Unreachable, "");
        let told = sentence("m", &gone, Replacement::Facts);
        assert!(told.contains("(its server cannot be reached)"), "{told}");
    }
}
