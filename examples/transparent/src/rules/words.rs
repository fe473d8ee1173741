//! The meaning of a wish's words for the tools of this agent.
use fugato::words::{after_phrase, strip_phrase};

/// Words with the same meaning, in both languages.
const SAME: [&[&str]; 7] = [
    &["计划书", "proposal", "plan"],
    &["报告", "report"],
    &["会议", "meeting", "minutes"],
    &["合同", "contract"],
    &["发票", "invoice"],
    &["简历", "resume", "cv"],
    &["笔记", "notes"],
];

/// Returns the words with their synonyms, as parts of file names.
pub(super) fn alternatives(keywords: &[String]) -> Vec<String> {
    let mut all: Vec<String> = vec![];
    for word in keywords {
        let same = SAME
            .iter()
            .find(|same| same.iter().any(|other| word.contains(other)));
        let own = same.map_or_else(|| vec![word.as_str()], |same| same.to_vec());
        for word in own {
            let literal: String = word
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
                .collect();
            if !literal.is_empty() && !all.contains(&literal) {
                all.push(literal);
            }
        }
    }
    all
}

/// Returns the name of a job in a text.
pub(super) fn job(text: &str) -> Option<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let mut names = words.filter(|word| word.starts_with("job-"));
    names.next().map(str::to_owned)
}

/// Returns the text of a notification: the words after the verb.
pub(super) fn said(text: &str) -> String {
    let verbs = ["通知我", "通知", "notify me that", "notify me", "notify"];
    after(text, &verbs).to_owned()
}

/// Returns the task of a reminder: the words after the verb and, in English, after the time.
pub(super) fn task(text: &str) -> String {
    let verbs = [
        "提醒我",
        "提醒",
        "remind me to",
        "remind me that",
        "remind me",
        "remind",
    ];
    let rest = after(text, &verbs);
    let timed = ["every ", "at ", "in ", "tomorrow", "today", "daily"];
    match rest.split_once(" to ") {
        Some((_, what)) if strip_phrase(rest, &timed).is_some() => what.to_owned(),
        _ => rest.to_owned(),
    }
}

/// Returns the text after the first of these verbs, without the punctuation around it; else the
/// whole text.
fn after<'t>(text: &'t str, verbs: &[&str]) -> &'t str {
    let marks = |c: char| c.is_whitespace() || "：:，,。.".contains(c);
    let found = after_phrase(text, verbs)
        .unwrap_or(text)
        .trim_matches(marks);
    if found.is_empty() { text.trim() } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trn_8_a_reminder_is_about_what_comes_after_its_time() {
        for (text, about) in [
            ("remind me every day at 9:05 to stretch", "stretch"),
            ("Remind me to call Ada at 15:30", "call Ada at 15:30"),
            ("明天下午3点提醒我开会。", "开会"),
            ("提醒", "提醒"),
        ] {
            assert_eq!(task(text), about);
        }
    }
}
