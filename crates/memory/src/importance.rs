/// Estimates how much a text matters, from 0 to 1, by keywords. Requests to remember something and
/// rules ("always", "never") score high, small talk low. It is a guess for texts without an
/// importance mark.
pub fn importance(text: &str) -> f32 {
    let text = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&STRONG) {
        0.9
    } else if has(&SOME) {
        0.7
    } else if text.chars().filter(|c| c.is_alphanumeric()).count() <= 24 && has(&SMALL_TALK) {
        0.1
    } else {
        0.5
    }
}

const STRONG: [&str; 11] = [
    "remember",
    "important",
    "never ",
    "always ",
    "must ",
    "记住",
    "务必",
    "重要",
    "永远",
    "必须",
    "千万",
];
const SOME: [&str; 12] = [
    "prefer", "decided", "decision", "deadline", "birthday", "allerg", "喜欢", "决定", "截止",
    "生日", "过敏", "偏好",
];
const SMALL_TALK: [&str; 9] = [
    "hello",
    "thanks",
    "thank you",
    "good morning",
    "bye",
    "你好",
    "谢谢",
    "早上好",
    "再见",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trn_11_what_people_want_to_be_remembered_matters_more() {
        let texts = [
            "请记住：我对花生过敏",
            "I prefer mornings",
            "The room is 12",
            "谢谢！",
        ];
        let tenths = texts.map(|text| format!("{:.1}", importance(text)));
        assert_eq!(tenths, ["0.9", "0.7", "0.5", "0.1"]);
    }
}
