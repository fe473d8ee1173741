//! Talk outside of the graph: about a conversation that the graph cannot go on with, and the title of
//! one.
use fugato::{
    futures::Future,
    graph::{RunError, RunErrorKind},
    llm::ChatModelExt as _,
};

use crate::{
    agent::{AgentState, Update},
    calendar::Lang,
    llm_config::{LlmConfig, ModelStage},
    prompts,
    prose::{check, is_echo},
    report::Receipts,
};

/// The longest title, in characters.
const LONGEST: usize = 40;

/// Says that the graph cannot run in a conversation, and why. A model may answer besides, as far as
/// it claims nothing.
pub(crate) async fn plain_talk(
    mind: &LlmConfig,
    text: &str,
    lang: Lang,
    error: &RunError,
) -> String {
    let why = match &error.kind {
        RunErrorKind::Migrate => lang.pick(
            "a newer version of the program wrote it",
            "它由更新版本的程序写入",
        ),
        RunErrorKind::GraphChanged { .. } => lang.pick(
            "it waits in a step that this version of the program does not have",
            "它停在本版本程序没有的步骤",
        ),
        _ => lang.pick(
            "what is stored of it cannot be read",
            "已存储的内容无法读取",
        ),
    };
    let told = lang.pick(
        format!(
            "I cannot work in this conversation: {why}. Nothing was changed, neither here nor in the \
             calendar. A new conversation works, and this one can be read again by the program that \
             wrote it."
        ),
        format!(
            "我无法在这个会话中继续工作：{why}。会话和日程都没有改动。可以开始新的会话；原来的程序仍能读取这个会话。"
        ),
    );
    match answer(mind, text, lang).await {
        Some(answer) => format!("{told}\n\n{answer}"),
        None => told,
    }
}

/// Returns the answer of a model that can only talk; none without one, or if it claims an action.
async fn answer(mind: &LlmConfig, text: &str, lang: Lang) -> Option<String> {
    let model = mind.model.as_ref()?;
    let agent = AgentState {
        lang,
        ..AgentState::default()
    };
    let request = mind.request(&agent, ModelStage::Chat, prompts::plain(text, lang));
    let answer = model.complete(request).await;
    let answer = answer.inspect_err(|why| tracing::warn!(%why, "no plain talk"));
    let words = answer.ok()?.message.content.trim().to_owned();
    let is_fit = !words.is_empty() && check(&words, &Receipts::default()).is_ok();
    is_fit.then_some(words)
}

/// Returns the making of a title by a model; none without a model that answers, and for a
/// conversation that has one or was not answered yet.
pub(crate) fn title_update(
    mind: &LlmConfig,
    agent: &AgentState,
) -> Option<impl Future<Output = Option<Update>> + Send + 'static> {
    let model = mind.model.clone()?;
    if agent.title.is_some() || agent.run.fell_back.is_some() || agent.run.by_hand {
        return None;
    }
    let request = mind.request(agent, ModelStage::Title, prompts::title(agent)?);
    let lang = agent.lang;
    Some(async move {
        let answer = model.complete(request).await;
        let answer = answer.inspect_err(|why| tracing::debug!(%why, "no title"));
        read_title(&answer.ok()?.message.content, lang).map(Update::Titled)
    })
}

/// Reads a title: one short line in the language of the conversation, without quotes around it.
fn read_title(answer: &str, lang: Lang) -> Option<String> {
    let line = answer
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    let line = line
        .trim_start_matches(['#', '*', ' '])
        .trim_start_matches("Title:")
        .trim_start_matches("标题：");
    let is_mark = |c: char| c.is_whitespace() || "\"'“”‘’「」《》*`。.".contains(c);
    let title = line.trim_matches(is_mark);
    let fits = !title.is_empty()
        && title.chars().count() <= LONGEST
        && !title.contains(['{', '<', '['])
        && !title.chars().any(char::is_control)
        && !is_echo(title)
        && Lang::of(title) == lang;
    fits.then(|| title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_short_line_in_the_language_of_the_conversation() {
        let read = |answer: &str, lang| read_title(answer, lang);
        let title = |text: &str| Some(text.to_owned());
        assert_eq!(
            read("\n“Revision next week.”\nMore", Lang::En),
            title("Revision next week")
        );
        assert_eq!(read("标题：《下周复习》", Lang::Zh), title("下周复习"));
        let long = "word ".repeat(20);
        for wrong in [
            "",
            "  \n",
            "\"\"",
            "下周复习",
            "{\"intent\": 1}",
            "<decision>",
            &long,
        ] {
            assert_eq!(read(wrong, Lang::En), None, "{wrong:?}");
        }
        assert_eq!(read("Revision next week", Lang::Zh), None);
    }
}
