//! Sentences in another language than that of the conversation.
use fugato_llm::ChatRequest;
use fugato_state::Lang;

/// Returns the first words of a text that are not in the language: three or more English words in a
/// row, or a Chinese character. Words that are in `given` are data, such as what the person typed,
/// names and quoted files.
///
/// ```
/// use fugato_state::Lang;
/// use fugato_testkit::language::foreign;
///
/// let text = "没有完成：made the trader 小明，模型 glimmer";
/// assert_eq!(foreign(Lang::Zh, text, "创建交易员小明"), Some("made the trader".to_owned()));
/// assert_eq!(foreign(Lang::Zh, "已写入 notes/a.md：to be done", "写入：to be done"), None);
/// assert_eq!(foreign(Lang::En, "Bought 0.1 of 比特币", "buy 0.1 比特币"), None);
/// assert_eq!(foreign(Lang::En, "Done. 完成", "buy it"), Some("完成".to_owned()));
/// ```
pub fn foreign(lang: Lang, text: &str, given: &str) -> Option<String> {
    let given = given.to_lowercase();
    let is_of = |c: char| match lang {
        Lang::Zh => c.is_ascii_alphabetic() || matches!(c, ' ' | '\''),
        Lang::En => Lang::of(c.encode_utf8(&mut [0; 4])) == Lang::Zh,
    };
    let most = match lang {
        Lang::Zh => 2,
        Lang::En => 0,
    };
    let mut parts = text.split(|c| !is_of(c)).map(str::trim);
    let found = parts.find(|part| {
        part.split_whitespace().count() > most && !given.contains(&part.to_lowercase())
    });
    found.map(str::to_owned)
}

/// Returns the first such words of a request to a model: of its messages, and of its tools and
/// their arguments.
pub fn foreign_in_request(lang: Lang, request: &ChatRequest, given: &str) -> Option<String> {
    let messages = request.messages.iter().map(|it| it.content.clone());
    let tools = request.tools.iter().map(|tool| {
        let parameters = serde_json::to_string(&tool.parameters).unwrap_or_default();
        format!("{}\n{parameters}", tool.description)
    });
    let mut texts = messages.chain(tools);
    texts.find_map(|text| foreign(lang, &text, given))
}

/// Asserts that requests to a model are in the language of their conversation.
///
/// # Panics
/// If there is none, or one of them has words of the other language that are not in `given`.
pub fn assert_prompts(lang: Lang, requests: &[ChatRequest], given: &str) {
    assert!(!requests.is_empty(), "no model was asked");
    for request in requests {
        let found = foreign_in_request(lang, request, given);
        assert_eq!(found, None, "in {lang}: {request:#?}");
    }
}
