//! What is in the words: what is sought, where, and when.

/// What is left out of a wish before it is searched for, longest first.
const NOISE_ZH: &str = "帮我找出 帮我找一下 帮我找 帮我查 帮我搜 找一下 查一下 搜一下 列出文件 还记得 记得 上个月 这个月 \
    什么时候 本月 上周 本周 这周 昨天 今天 明天 最近 我写的 写的 是什么 在哪里 在哪儿 在哪 上网 网上 搜索 查找 找出 一下 那个 那份 我的 \
    请 帮 我 你 找 查 搜 的 吗 呢 吧 了";
const NOISE_EN: &str = "a about all and any at can could did do document documents file files find for from google have i in \
    internet is it know last list look me month my of on out please remember search show some that the this to today up was \
    web week were what when where who with written wrote yesterday you";

/// The words of a wish that say what it is about.
pub(super) fn keywords(text: &str) -> Vec<String> {
    let mut rest = text.to_lowercase();
    for noise in NOISE_ZH.split_whitespace() {
        rest = rest.replace(noise, " ");
    }
    let split = rest.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
    let words = split
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty());
    let mut kept: Vec<String> = vec![];
    for word in words.filter(|word| !NOISE_EN.split_whitespace().any(|noise| noise == *word)) {
        if !kept.iter().any(|there| there == word) {
            kept.push(word.to_owned());
        }
    }
    kept
}

/// Words that mean the same thing, in both languages.
const SAME: [&[&str]; 7] = [
    &["计划书", "proposal", "plan"],
    &["报告", "report"],
    &["会议", "meeting", "minutes"],
    &["合同", "contract"],
    &["发票", "invoice"],
    &["简历", "resume", "cv"],
    &["笔记", "notes"],
];

/// The words, and others for them: what a file may be called.
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

/// A span of time, and how many days ago it may have begun.
pub(super) fn period(text: &str) -> Option<(&'static str, u32)> {
    const PERIODS: [(&str, u32); 14] = [
        ("上个月", 62),
        ("last month", 62),
        ("本月", 31),
        ("这个月", 31),
        ("this month", 31),
        ("上周", 14),
        ("last week", 14),
        ("本周", 7),
        ("这周", 7),
        ("this week", 7),
        ("昨天", 2),
        ("yesterday", 2),
        ("今天", 1),
        ("today", 1),
    ];
    PERIODS.into_iter().find(|(name, _)| text.contains(name))
}

/// A path or a file: what has a slash or an ending.
pub(super) fn path(text: &str) -> Option<String> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '/' | '~' | '.' | '_' | '-');
    let mut words = text
        .split(|c: char| !fits(c))
        .map(|word| word.trim_end_matches('.'));
    let found = words.find(|word| {
        let ending = word.rsplit_once('.').is_some_and(|(name, ending)| {
            !name.is_empty()
                && (1..=5).contains(&ending.len())
                && ending.chars().all(|c| c.is_ascii_alphanumeric())
        });
        word.contains('/') || ending
    });
    found.map(str::to_owned)
}

/// The name of a job.
pub(super) fn job(text: &str) -> Option<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let mut names = words.filter(|word| word.starts_with("job-"));
    names.next().map(str::to_owned)
}

/// What is to be said to somebody: what comes after the verb.
pub(super) fn said(text: &str) -> String {
    after(
        text,
        &["通知我", "通知", "notify me that", "notify me", "notify"],
    )
}

/// What a reminder is about: what comes after the verb and, in English, after the time.
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
    let timed = timed
        .iter()
        .any(|word| rest.to_lowercase().starts_with(word));
    match rest.split_once(" to ") {
        Some((_, what)) if timed => what.to_owned(),
        _ => rest,
    }
}

fn after(text: &str, verbs: &[&str]) -> String {
    let lower = text.to_lowercase();
    let found = verbs.iter().find_map(|verb| {
        let at = lower.find(verb)? + verb.len();
        text.get(at..)
    });
    let trimmed = found
        .unwrap_or(text)
        .trim_matches(|c: char| c.is_whitespace() || "：:，,。.".contains(c));
    if trimmed.is_empty() {
        text.trim().to_owned()
    } else {
        trimmed.to_owned()
    }
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
