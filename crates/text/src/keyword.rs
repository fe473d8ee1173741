//! The subject of a request: its keywords, its path, and its period.
use std::collections::HashSet;

/// Words of a request that do not describe its subject. Of words with the same beginning the
/// longest comes first.
const NOISE_ZH: &str = "帮我找出 帮我找一下 帮我找 帮我查 帮我搜 找一下 查一下 搜一下 列出文件 还记得 记得 上个月 这个月 \
    什么时候 本月 上周 本周 这周 昨天 今天 明天 最近 我写的 写的 是什么 在哪里 在哪儿 在哪 上网 网上 搜索 查找 找出来 找出 一下 那个 那份 我的 关于 有关的 有关 相关的 相关 文件夹 文件 文档";
const NOISE_EN: &str = "a about all and any at can could did do document documents file files find for from google have i in \
    internet is it know last list look me month my of on out please remember search show some that the this to today up was \
    web week were what when where who with written wrote yesterday you";
/// The same as single characters, removed only at the ends of a word: 申请, 检查, 了解.
const BEFORE: [char; 7] = ['请', '帮', '我', '你', '找', '查', '搜'];
const BEHIND: [char; 4] = ['吗', '呢', '吧', '了'];

/// Returns the words that describe the subject of a request, each once and in lower case.
pub fn keywords(text: &str) -> Vec<String> {
    let mut rest = text.to_lowercase();
    // What is to be found may stand before the verb: 把三月的照片找出来.
    if let Some(object) = rest.strip_prefix('把').filter(|rest| rest.contains('找')) {
        rest = object.to_owned();
    }
    // 和计划有关: the word before the subject says nothing either.
    if let Some((before, about)) = rest.split_once(['和', '跟', '与', '同'])
        && ["有关", "相关"].iter().any(|word| about.contains(word))
    {
        rest = format!("{before} {about}");
    }
    for noise in NOISE_ZH.split_whitespace() {
        rest = rest.replace(noise, " ");
    }
    let is_noise = |word: &str| NOISE_EN.split_whitespace().any(|noise| noise == word);
    let (mut kept, mut seen) = (vec![], HashSet::new());
    for run in rest.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))) {
        let run = run.trim_matches('.').trim_start_matches(BEFORE);
        let run = run.trim_end_matches(BEHIND);
        // What it belongs to said nothing: 项目的 is left of 关于项目的文件, and 目的 is a word.
        let owns = run
            .strip_suffix('的')
            .filter(|it| !it.ends_with('目') || it.ends_with("项目"));
        let run = owns.filter(|it| it.chars().nth(1).is_some()).unwrap_or(run);
        for word in parts(run) {
            if !word.is_empty() && !is_noise(word) && seen.insert(word) {
                kept.push(word.to_owned());
            }
        }
    }
    kept
}

/// Splits a run at 的, unless that is a part of a word: 目的地.
fn parts(mut run: &str) -> Vec<&str> {
    let is_word = |part: &str| part.chars().nth(1).is_some();
    let mut found = vec![];
    while let Some((before, behind)) = run.split_once('的') {
        if !(is_word(before) && is_word(behind)) {
            break;
        }
        found.push(before);
        run = behind;
    }
    found.push(run);
    found
}

/// Returns a past or present period that a text names, and the greatest number of days since its
/// beginning. The comparison is case-sensitive.
pub fn period(text: &str) -> Option<(&'static str, u32)> {
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

/// Returns the first path or file name in a text: a word with a slash or an extension.
pub fn path(text: &str) -> Option<String> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '/' | '~' | '.' | '_' | '-');
    // A Chinese word goes on right behind the ending: 清单.txt里.
    let whole = |word: &'_ str| -> usize {
        let end = word.rfind('.').map_or(word.len(), |at| at + 1);
        let ending = word.get(end..).unwrap_or_default();
        let latin = ending.find(|c: char| !c.is_ascii_alphanumeric());
        match latin {
            Some(length @ 1..=5) if word.contains('.') => end + length,
            _ => word.len(),
        }
    };
    let mut words = text
        .split(|c: char| !fits(c))
        .map(|word| word.trim_end_matches('.'))
        .map(|word| word.get(..whole(word)).unwrap_or(word));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_about_what_is_left_without_its_manners() {
        for (text, about) in [
            ("帮我找出上周写的项目计划书", "项目计划书"),
            ("找一下体检报告", "体检报告"),
            ("把三月的旅行照片找出来", "三月 旅行照片"),
            ("把手的照片", "把手 照片"),
            ("还记得门牌号吗", "门牌号"),
            ("申请书在哪", "申请书"),
            ("检查报告和旅行的目的地", "检查报告和旅行 目的地"),
            (
                "Find the project plan I wrote last week, the PLAN",
                "project plan",
            ),
            ("what is a_b-c.md?", "a_b-c.md"),
            ("Find the plan.", "plan"),
            ("小王的申请表的附件", "小王 申请表 附件"),
            ("你好", "好"),
            ("找一下和计划有关的文件", "计划"),
            ("与和平条约相关的文档", "和平条约"),
            ("有关于项目的文件", "有 项目"),
            ("…", ""),
        ] {
            assert_eq!(keywords(text).join(" "), about, "{text}");
        }
    }

    #[test]
    fn a_path_has_a_slash_or_an_ending() {
        for (text, found) in [
            ("read ~/Documents/plan.md.", Some("~/Documents/plan.md")),
            ("打开 计划.md，谢谢", Some("计划.md")),
            ("写到购物清单.txt里", Some("写到购物清单.txt")),
            ("I waited. And then", None),
            ("e.g.", Some("e.g")),
        ] {
            assert_eq!(path(text).as_deref(), found, "{text}");
        }
    }

    #[test]
    fn a_period_may_have_begun_so_many_days_ago() {
        assert_eq!(period("上周写的"), Some(("上周", 14)));
        assert_eq!(period("what i wrote last month"), Some(("last month", 62)));
        assert_eq!(period("next week"), None);
    }
}
