//! Questions about what was to be remembered.

/// Returns what a message asks to be told of the memory: “tea” of “what do you remember about tea?”,
/// 茶 of 你记得什么关于茶的; empty for everything, and none if it asks for nothing of the kind.
///
/// ```
/// use fugato_agent::memory::to_recall;
///
/// assert_eq!(to_recall("What do you remember about tea?").as_deref(), Some("tea"));
/// assert_eq!(to_recall("关于茶你还记得什么？").as_deref(), Some("茶"));
/// assert_eq!(to_recall("what do you know about me?").as_deref(), Some(""));
/// assert_eq!(to_recall("你记住了哪些东西？").as_deref(), Some(""));
/// assert_eq!(to_recall("记得买茶").as_deref(), None);
/// ```
pub fn to_recall(message: &str) -> Option<String> {
    let lower = message.trim().to_lowercase().replace('’', "'");
    let plain = lower.trim_end_matches(MARKS).trim();
    let topic = in_english(plain)
        .or_else(|| in_chinese(plain))
        .or_else(|| of_notes(plain))?;
    let topic = topic.trim_matches(MARKS).trim();
    let everything = [
        "",
        "me",
        "myself",
        "so far",
        "我",
        "我的",
        "我什么",
        "东西",
        "内容",
        "事",
    ];
    Some(
        if everything.contains(&topic) {
            ""
        } else {
            topic
        }
        .to_owned(),
    )
}

const MARKS: fn(char) -> bool = |c| c.is_whitespace() || "?？!！.。,，:：;；".contains(c);

/// The ways to ask. After “about” or “of” comes what it is about, and after the others a clause.
const ASKS: [&str; 14] = [
    "what do you remember",
    "what do you still remember",
    "what else do you remember",
    "what can you remember",
    "what do you know",
    "what have you remembered",
    "what have you noted",
    "what did you note",
    "what did i tell you",
    "what did i say",
    "what have i told you",
    "what did i ask you to remember",
    "do you remember",
    "do you still remember",
];
/// The words before them.
const BEFORE: [&str; 11] = [
    "please tell me ",
    "tell me ",
    "can you tell me ",
    "could you tell me ",
    "please ",
    "hi, ",
    "hello, ",
    "so, ",
    "so ",
    "and ",
    "anything else: ",
];

fn in_english(text: &str) -> Option<&str> {
    const ABOUT: [&str; 6] = [
        "anything about ",
        "about ",
        "of ",
        "concerning ",
        "regarding ",
        "on the subject of ",
    ];
    let mut text = text;
    while let Some(rest) = BEFORE.iter().find_map(|before| text.strip_prefix(before)) {
        text = rest;
    }
    // “About tea, what do you remember?”
    let asks = |text: &str| ASKS.contains(&text);
    if let Some((topic, question)) = text.split_once(',')
        && let Some(topic) = ABOUT.iter().find_map(|about| topic.strip_prefix(about))
        && asks(question.trim())
    {
        return Some(topic);
    }
    let mut rests = ASKS.iter().filter_map(|asks| text.strip_prefix(asks));
    let rest = rests.find(|rest| rest.is_empty() || rest.starts_with(MARKS))?;
    let rest = rest.trim_start();
    let about = ABOUT.iter().find_map(|about| rest.strip_prefix(about));
    Some(about.unwrap_or(rest))
}

/// The verbs of a question about the memory. “记得” without “you” may be a wish: 记得买茶.
const VERBS: [&str; 16] = [
    "你还记得",
    "您还记得",
    "你都记得",
    "您都记得",
    "你记得",
    "您记得",
    "你记住了",
    "您记住了",
    "你记了",
    "您记了",
    "让你记住",
    "让您记住",
    "你知道我",
    "您知道我",
    "你了解我",
    "您了解我",
];
/// Words that ask for something said to the agent itself: 我跟你说过什么关于茶的.
const TOLD: [&str; 8] = [
    "我跟你说过",
    "我和你说过",
    "我对你说过",
    "我告诉过你",
    "我跟您说过",
    "我和您说过",
    "我对您说过",
    "我告诉过您",
];
/// The words of a topic that follow 关于 until one of these.
const BEHIND: [&str; 17] = [
    "的事情",
    "的事",
    "的内容",
    "的信息",
    "的东西",
    "的话",
    "，",
    ",",
    "你",
    "您",
    "我跟",
    "我和你",
    "我说",
    "说过",
    "提过",
    "什么",
    "有哪些",
];
const ENDS: [&str; 16] = [
    "的事情",
    "什么事情",
    "什么事",
    "哪些事",
    "的事",
    "的内容",
    "的信息",
    "的东西",
    "什么",
    "哪些",
    "些",
    "吗",
    "么",
    "呢",
    "了",
    "的",
];

/// The words before what a question is about.
const NAMED: [&str; 3] = ["关于", "有关", "对于"];

/// Returns what a question for notes is about: "do I have any notes about tea", 我有笔记吗. Words
/// that say anything else make it another question.
fn of_notes(text: &str) -> Option<&str> {
    /// The words around the notes, and around nothing else.
    const AROUND: &str = "a all and any anything are at can could did do down ever everything for \
        from got have how i in is list made make many me much my note notebook notes noted of please \
        see show so some something still take taken tell that the there what which wrote write written you your";
    const AROUND_ZH: &str = "有没有 没有 有什么 有哪些 什么 哪些 哪几 多少 一共 总共 现在 目前 到底 记事本 备忘录 \
        备忘 笔记 记过 记下 记了 写下 写过 东西 内容 一下 列出 看看 查看 告诉 显示 给我 所有 全部 任何 我 你 您 请 \
        条 个 的 里 都 还 些 几 过 了 有 在 是 吗 呢 么 吧";
    const FIRST: [&str; 13] = [
        "do", "did", "have", "are", "is", "how", "what", "which", "any", "show", "list", "can",
        "could",
    ];
    if !text.is_ascii() {
        let asks = [
            "没有", "什么", "哪", "多少", "几", "吗", "看看", "列出", "查看",
        ];
        let asks = asks.iter().any(|it| text.contains(it));
        let (head, topic) = match NAMED.iter().find_map(|about| text.split_once(about)) {
            Some((before, topic)) => {
                let end = ["的", "，", ",", "有", "记", "我"];
                let cut = end.iter().filter_map(|end| topic.find(end));
                let cut = cut.filter(|cut| *cut > 0).min().unwrap_or(topic.len());
                let (topic, behind) = topic.split_at_checked(cut)?;
                (format!("{before} {behind}"), topic)
            }
            None => (text.to_owned(), ""),
        };
        let notes = ["笔记", "备忘", "记过", "记下", "写下", "记事本"];
        let named = notes.iter().any(|note| head.contains(note));
        let around = AROUND_ZH.split_whitespace();
        let rest = around.fold(head, |head, word| head.replace(word, " "));
        return (asks && named && !rest.contains(char::is_alphanumeric)).then_some(topic);
    }
    let (head, topic) = match text.split_once(" about ") {
        Some((head, topic)) => (head, topic),
        None => (text, ""),
    };
    let words = head.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let has = |any: &[&str]| words.iter().any(|word| any.contains(word));
    let named = has(&["note", "notes", "noted", "notebook"])
        || has(&["down"]) && has(&["written", "wrote", "write"]);
    let asks = words.first().is_some_and(|first| FIRST.contains(first));
    let around = |word: &&str| AROUND.split_whitespace().any(|it| it == *word);
    (asks && named && words.iter().all(around)).then_some(topic)
}

fn in_chinese(text: &str) -> Option<&str> {
    let asks = ["什么", "哪", "吗", "么", "呢", "多少", "几", "谁"];
    let asks = asks.iter().any(|word| text.contains(word));
    let verb = |verbs: &[&'static str]| -> Option<usize> {
        let found = verbs
            .iter()
            .filter_map(|verb| Some(text.find(verb)? + verb.len()));
        found.max()
    };
    let named = NAMED.iter();
    let mut named = named.filter_map(|about| Some(text.split_once(about)?.1));
    let named = named.next();
    // 你知道几点吗 asks nothing of the memory.
    let known = || named.and_then(|_| verb(&["你知道", "您知道"]));
    let end = verb(&VERBS).or_else(|| verb(&TOLD)).or_else(known);
    let end = end.filter(|_| asks)?;
    if let Some(topic) = named {
        let cuts = BEHIND.iter().filter_map(|end| topic.find(end));
        let cut = cuts.filter(|cut| *cut > 0).min().unwrap_or(topic.len());
        return topic
            .get(..cut)
            .map(|topic| topic.strip_suffix('的').unwrap_or(topic));
    }
    let mut rest = text.get(end..)?;
    for first in ["有", "什么", "哪些"] {
        rest = rest.strip_prefix(first).unwrap_or(rest);
    }
    while let Some(shorter) = ENDS.iter().find_map(|end| rest.strip_suffix(end)) {
        rest = shorter;
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rct_4_a_question_about_the_memory_says_what_it_is_about() {
        for (message, topic) in [
            ("what do you remember about tea?", "tea"),
            ("What do you know of my cat?", "my cat"),
            ("Please tell me what you had", "-"),
            ("so, what did I tell you about Oslo", "oslo"),
            ("About tea, what do you remember?", "tea"),
            ("do you remember my cat?", "my cat"),
            ("what do you remember", ""),
            ("what do you know about me?", ""),
            ("what do you know?", ""),
            ("你记得什么关于茶的", "茶"),
            ("你记得哪些关于绿茶的事？", "绿茶"),
            ("关于茶你记得什么", "茶"),
            ("关于茶，你还记得什么？", "茶"),
            ("关于我的猫你记得什么", "我的猫"),
            ("你还记得我关于茶说过什么吗", "茶"),
            ("我跟你说过什么关于茶的", "茶"),
            ("你记得我的暗号吗", "我的暗号"),
            ("你记得我妹妹叫什么吗？", "我妹妹叫"),
            ("你记得喝茶吗", "喝茶"),
            ("你还记得哪些茶的事", "茶"),
            ("你记住了什么？", ""),
            ("你记得什么", ""),
            ("你知道我什么", ""),
            ("我让你记住了什么", ""),
            ("你了解我什么呢", ""),
            ("你记得我的什么", ""),
            ("你都记得我些什么？", ""),
            ("关于我你知道些什么？", ""),
            ("do I have any notes?", ""),
            ("have I got notes at all?", ""),
            ("Have I written anything down about tea?", "tea"),
            ("how many notes do I have", ""),
            ("show me my notes about Bob", "bob"),
            ("我有笔记吗？", ""),
            ("我记过什么东西没有？", ""),
            ("我一共有几条笔记？", ""),
            ("有没有关于茶的笔记？", "茶"),
            ("make a note", "-"),
            ("are there notes in Oslo?", "-"),
            ("我的笔记本电脑有几个接口？", "-"),
            ("你知道几点吗", "-"),
            ("记得买茶", "-"),
            ("你记得买茶", "-"),
            ("关于茶的文件有哪些", "-"),
            ("我记得什么都没说", "-"),
            ("what do you see?", "-"),
            ("do you remembering", "-"),
        ] {
            let found = to_recall(message);
            assert_eq!(found.as_deref().unwrap_or("-"), topic, "{message}");
        }
    }
}
