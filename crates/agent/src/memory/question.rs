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
    let topic = in_english(plain).or_else(|| in_chinese(plain))?;
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

fn in_chinese(text: &str) -> Option<&str> {
    let asks = ["什么", "哪", "吗", "么", "呢", "多少", "几", "谁"];
    let asks = asks.iter().any(|word| text.contains(word));
    let verb = |verbs: &[&'static str]| -> Option<usize> {
        let found = verbs
            .iter()
            .filter_map(|verb| Some(text.find(verb)? + verb.len()));
        found.max()
    };
    let is_told = verb(&TOLD);
    let end = verb(&VERBS).or(is_told).filter(|_| asks)?;
    let named = ["关于", "有关", "对于"];
    if let Some(topic) = named
        .iter()
        .find_map(|about| Some(text.split_once(about)?.1))
    {
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
