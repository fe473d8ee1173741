//! The trouble that a person has with a day, in their words.
use fugato::words::normalize;

/// A reason to repair a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Something was planned and not done.
    Missed,
    /// The person is tired, so what is left of today is too much.
    Tired,
}

/// The words with which each trouble is told, without manners and full stops.
const MISSED: [&str; 34] = [
    "what did i not finish",
    "i did not finish",
    "i did not finish that",
    "i did not finish it",
    "i did not finish this",
    "i did not finish today",
    "i did not finish everything",
    "i did not get it done",
    "i did not get that done",
    "i did not manage that",
    "i did not manage it",
    "i did not do it",
    "i did not do that",
    "i am not done",
    "i am not finished",
    "not finished",
    "not done",
    "i am behind",
    "今天有什么没做完",
    "没做完",
    "我没做完",
    "没有做完",
    "我没有做完",
    "今天没做完",
    "今天没有做完",
    "没完成",
    "我没完成",
    "今天没完成",
    "这个没做完",
    "那个没做完",
    "还没做完",
    "我还没做完",
    "做不完了",
    "来不及了",
];
const TIRED: [&str; 18] = [
    "今天累",
    "我今天累",
    "i am tired",
    "i am tired today",
    "i am too tired",
    "i am too tired today",
    "i am exhausted",
    "i am exhausted today",
    "today is too much",
    "今天太累了",
    "我今天太累了",
    "太累了",
    "我太累了",
    "今天很累",
    "我今天很累",
    "我累了",
    "今天好累",
    "累了",
];
/// Questions for what to do about the day: they ask for a repair of what was missed.
const ASKED: [&str; 22] = [
    "what about today's tasks",
    "what about the tasks of today",
    "what about today",
    "what now",
    "what do i do now",
    "what should i do now",
    "what shall i do now",
    "what do i do about today's tasks",
    "what should i do about today's tasks",
    "what happens to today's tasks",
    "what happens with today's tasks",
    "what do we do about it",
    "what can we do",
    "今天的任务怎么办",
    "今天的任务该怎么办",
    "今天任务怎么办",
    "今天剩下的怎么办",
    "剩下的怎么办",
    "今天怎么办",
    "怎么办",
    "该怎么办",
    "那怎么办",
];

/// Words that take back what was said, and tell nothing else.
const CORRECTS: [&str; 12] = [
    "no", "actually", "wait", "oh", "sorry", "hm", "不", "不对", "其实", "等等", "啊", "抱歉",
];

/// Words that say how much, which change nothing.
const INTENSITY: [&str; 9] = [
    "a bit ",
    "a little ",
    "really ",
    "pretty ",
    "kind of ",
    "rather ",
    "quite ",
    "有点",
    "有些",
];

impl Trouble {
    /// Reads the trouble that a text tells and nothing else; none for other texts.
    pub(crate) fn told(text: &str) -> Option<Self> {
        let text = normalize(text)
            .replace("didn't", "did not")
            .replace("i'm ", "i am ");
        let text = INTENSITY
            .iter()
            .fold(text, |text, word| text.replace(word, ""));
        let parts = text.split(['.', '!', '?', ',', ';']);
        let parts = parts.map(|part| part.trim().trim_end_matches(['啊', '呢', '呀', '了', ' ']));
        let parts = parts.map(|part| part.strip_prefix("actually ").unwrap_or(part));
        let mut told = None;
        for part in parts.filter(|part| !part.is_empty() && !CORRECTS.contains(part)) {
            let says = |words: &[&str]| {
                let mut words = words.iter();
                words.any(|word| word.trim_end_matches('了') == part)
            };
            told = if says(&TIRED) {
                Some(Self::Tired)
            } else if says(&MISSED) || says(&ASKED) {
                told.or(Some(Self::Missed))
            } else {
                return None;
            };
        }
        told
    }

    /// Returns the words with which the program itself asks about what was missed.
    #[cfg(feature = "evening")]
    pub(crate) fn asked(lang: crate::calendar::Lang) -> &'static str {
        lang.pick("What did I not finish?", "今天有什么没做完？")
    }
}
