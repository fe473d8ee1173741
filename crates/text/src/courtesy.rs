//! Words that only greet, thank, say goodbye, or ask how somebody is.
use fugato_state::Lang;

use crate::{normalize, word::after_word};

/// The courtesy of a message that says nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Courtesy {
    /// "Hello", 你好.
    Greeting,
    /// "Thanks a lot", 谢谢你.
    Thanks,
    /// "Goodbye", 再见.
    Farewell,
    /// "How are you?", 你好吗.
    WellBeing,
    /// "Who are you?", 你是真人吗.
    Identity,
}

/// The words of courtesy. Of words with the same beginning the longest comes first.
const WORDS: [(&str, Courtesy); 69] = [
    ("how are you doing", Courtesy::WellBeing),
    ("how are you", Courtesy::WellBeing),
    ("how are things", Courtesy::WellBeing),
    ("how's it going", Courtesy::WellBeing),
    ("how is it going", Courtesy::WellBeing),
    ("how do you do", Courtesy::WellBeing),
    ("你好吗", Courtesy::WellBeing),
    ("你还好吗", Courtesy::WellBeing),
    ("最近怎么样", Courtesy::WellBeing),
    ("你怎么样", Courtesy::WellBeing),
    ("who are you", Courtesy::Identity),
    ("what are you", Courtesy::Identity),
    ("are you real", Courtesy::Identity),
    ("are you human", Courtesy::Identity),
    ("are you a human", Courtesy::Identity),
    ("are you a person", Courtesy::Identity),
    ("are you a robot", Courtesy::Identity),
    ("are you a bot", Courtesy::Identity),
    ("你是谁", Courtesy::Identity),
    ("你是什么", Courtesy::Identity),
    ("你是真人吗", Courtesy::Identity),
    ("你是机器人吗", Courtesy::Identity),
    ("你是人吗", Courtesy::Identity),
    ("thank you", Courtesy::Thanks),
    ("thank u", Courtesy::Thanks),
    ("many thanks", Courtesy::Thanks),
    ("thanks", Courtesy::Thanks),
    ("thankyou", Courtesy::Thanks),
    ("thx", Courtesy::Thanks),
    ("cheers", Courtesy::Thanks),
    ("much appreciated", Courtesy::Thanks),
    ("谢谢", Courtesy::Thanks),
    ("多谢", Courtesy::Thanks),
    ("感谢", Courtesy::Thanks),
    ("谢了", Courtesy::Thanks),
    ("谢啦", Courtesy::Thanks),
    ("辛苦", Courtesy::Thanks),
    ("good morning", Courtesy::Greeting),
    ("good afternoon", Courtesy::Greeting),
    ("good evening", Courtesy::Greeting),
    ("good day", Courtesy::Greeting),
    ("hello", Courtesy::Greeting),
    ("hey", Courtesy::Greeting),
    ("hi", Courtesy::Greeting),
    ("你们好", Courtesy::Greeting),
    ("你好", Courtesy::Greeting),
    ("您好", Courtesy::Greeting),
    ("大家好", Courtesy::Greeting),
    ("早上好", Courtesy::Greeting),
    ("上午好", Courtesy::Greeting),
    ("下午好", Courtesy::Greeting),
    ("晚上好", Courtesy::Greeting),
    ("嗨", Courtesy::Greeting),
    ("哈喽", Courtesy::Greeting),
    ("goodbye", Courtesy::Farewell),
    ("good night", Courtesy::Farewell),
    ("bye", Courtesy::Farewell),
    ("see you", Courtesy::Farewell),
    ("have a nice day", Courtesy::Farewell),
    ("have a good day", Courtesy::Farewell),
    ("best regards", Courtesy::Farewell),
    ("kind regards", Courtesy::Farewell),
    ("祝您愉快", Courtesy::Farewell),
    ("祝你愉快", Courtesy::Farewell),
    ("祝好", Courtesy::Farewell),
    ("再见", Courtesy::Farewell),
    ("拜拜", Courtesy::Farewell),
    ("回头见", Courtesy::Farewell),
    ("晚安", Courtesy::Farewell),
];

/// The words that go with courtesy, and ask for nothing.
const BESIDE: [&str; 47] = [
    "today",
    "very much",
    "so much",
    "a lot",
    "a million",
    "again",
    "there",
    "then",
    "for your help",
    "for the help",
    "for that",
    "for this",
    "everyone",
    "all",
    "later",
    "tomorrow",
    "soon",
    "for now",
    "that's great",
    "that is great",
    "perfect",
    "great",
    "good",
    "nice",
    "ok",
    "okay",
    "well",
    "and",
    "you",
    "your",
    "help",
    "你们",
    "你",
    "您",
    "大家",
    "非常",
    "十分",
    "太",
    "帮忙",
    "帮助",
    "啦",
    "了",
    "啊",
    "呀",
    "哦",
    "的",
    "好",
];

/// Returns the courtesy of a message that asks for nothing else; of several the last.
///
/// ```
/// use fugato_text::{Courtesy, courtesy};
///
/// assert_eq!(courtesy("Great, thanks a lot!"), Some(Courtesy::Thanks));
/// assert_eq!(courtesy("你好啊"), Some(Courtesy::Greeting));
/// assert_eq!(courtesy("hi, how are you today?"), Some(Courtesy::WellBeing));
/// assert_eq!([courtesy("你是谁呀？"), courtesy("who are you meeting?")], [Some(Courtesy::Identity), None]);
/// assert_eq!([courtesy("hi, what time is it?"), courtesy("no thanks"), courtesy("ok")], [None; 3]);
/// ```
pub fn courtesy(text: &str) -> Option<Courtesy> {
    let text = normalize(text);
    let mark = |c: char| !c.is_alphanumeric();
    let (mut rest, mut found) = (text.trim_start_matches(mark), None);
    while !rest.is_empty() {
        let word = WORDS.iter().find_map(|(word, courtesy)| {
            let behind = after_word(rest, &[word])?;
            Some((behind, *courtesy))
        });
        let behind = match word {
            Some((behind, courtesy)) => {
                found = Some(courtesy);
                behind
            }
            None => after_word(rest, &BESIDE)?,
        };
        rest = behind.trim_start_matches(mark);
    }
    found
}

impl Courtesy {
    /// Returns a short polite sentence in return.
    pub fn reply(self, lang: Lang) -> &'static str {
        match self {
            Self::Greeting => lang.pick(
                "Hello. What can I do for you? “Help” tells what I understand.",
                "你好，有什么可以帮你？说“帮助”可以看我能做什么。",
            ),
            Self::Thanks => lang.pick("You are welcome.", "不客气。"),
            Self::Farewell => lang.pick("Goodbye.", "再见。"),
            Self::WellBeing => lang.pick(
                "I work as I should, thank you. “Help” tells what I understand.",
                "一切正常，谢谢。说“帮助”可以看我能做什么。",
            ),
            Self::Identity => lang.pick(
                "I am a program, and no person. “Help” tells what I understand.",
                "我是一个程序，不是真人。说“帮助”可以看我能做什么。",
            ),
        }
    }
}
