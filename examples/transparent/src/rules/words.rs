//! The meaning of a wish's words for the tools of this agent.
use fugato::words::{
    TimeReference, after_phrase, day_mentions, keywords, number, number_after, strip_phrase,
};

/// The endings of the names of files, by the words for their kind.
const KINDS: [(&str, &[&str]); 16] = [
    ("markdown", &["md", "markdown"]),
    ("pdf", &["pdf"]),
    ("word document", &["docx", "doc"]),
    ("word doc", &["docx", "doc"]),
    ("word文", &["docx", "doc"]),
    ("spreadsheet", &["xlsx", "xls", "ods", "csv"]),
    ("excel", &["xlsx", "xls"]),
    ("表格", &["xlsx", "xls", "ods", "csv"]),
    ("text file", &["txt"]),
    ("文本文件", &["txt"]),
    ("网页文件", &["html", "htm"]),
    ("照片", &["jpg", "jpeg", "png", "heic"]),
    ("图片", &["jpg", "jpeg", "png", "gif"]),
    ("photo files", &["jpg", "jpeg", "png", "heic"]),
    ("pictures", &["jpg", "jpeg", "png", "gif"]),
    ("picture files", &["jpg", "jpeg", "png", "gif"]),
];
/// Endings that are named by themselves: "mp3 files".
const ENDINGS: [&str; 14] = [
    "md", "docx", "xlsx", "odt", "ods", "html", "txt", "csv", "jpg", "png", "mp3", "mp4", "json",
    "zip",
];

/// Words of a request for files that say nothing about their text.
const NO_SUBJECT: &str = "altogether any are change changed create created docs every except excel folder give got have here i'd \
    how in kind kinds list many markdown mine modified me my not now ones pdf pdfs photo photos please recently see show sort \
    spreadsheet spreadsheets text there today want were which word yesterday";
const NO_SUBJECT_ZH: &str = "一共 总共 麻烦 帮我 请 有什么 有几个 有多少个 有多少 几个 所有 全部 我的 我 的 文件夹 文件 文档 表格 照片 图片 文本 哪些 什么 有没有 有 列出 列一下 列 \
    找出 找一下 找 查一下 一下 改过 修改过 看看 谢谢 今天 昨天 最近 都 里 了 吗 呢";

/// Words of a question that its answer does not hold.
const ASKED: &str = "according anything are contain contains count day describe describes do does get has how if know latest list long many me mention \
    mentioned mentions much need not often or our prefer question read say says so something spreadsheet take talk talks tell text their them there \
    they think us use we which";
const ASKED_ZH: &str = "有没有提到 认识 一共 总共 有多少个 有多少 有几个 有几份 列出 包含 里面写了什么 里写了什么 里写着什么 写了什么 写着什么 里面有什么 里有什么 请问 在第几 第几周 第几天 第几 叫什么名字 叫什么 什么名字 是几月几号 几月几号 是几号 几号 几点 什么时候 在哪里 在哪儿 在哪 哪里 哪个 是什么 什么来着 做什么 干什么 \
    什么 是多少 多少 是谁 谁 怎么样 怎么 为什么 有没有 提到了 提到过 提到 \
    写到了 写到 谈到了 谈到 讲的是 讲了 关于 有关 哪些 举行 文件夹 文件 文档 打开 读一下 读取 念一下 读读 读 查看 看看 搜索 你 还 记得 知道";

/// Returns the endings of the kinds of files that a text names.
pub(super) fn endings(lower: &str) -> Vec<&'static str> {
    let named = KINDS.iter().filter(|(name, _)| lower.contains(name));
    let mut all: Vec<&str> = named
        .flat_map(|(_, endings)| endings.iter().copied())
        .collect();
    let words = |c: char| !c.is_ascii_alphanumeric();
    let own = ENDINGS.iter().filter(|ending| {
        let mut words = lower.split(words);
        words.any(|word| word == **ending)
    });
    all.extend(own);
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns what files are to be about: the words of a request without those for files as such.
pub(super) fn subject(lower: &str) -> Vec<String> {
    let folder = folder(lower).unwrap_or_default();
    let mut rest = lower.to_owned();
    if !folder.is_empty() {
        rest = rest.replace(&folder, " ");
    }
    for (name, _) in KINDS {
        rest = rest.replace(name, " ");
    }
    without(&rest, NO_SUBJECT, NO_SUBJECT_ZH, &ENDINGS)
}

/// Returns the words of a question that its answer holds.
pub(super) fn asked(text: &str) -> Vec<String> {
    without(&text.to_lowercase(), ASKED, ASKED_ZH, &[])
}

fn without(lower: &str, english: &str, chinese: &str, more: &[&str]) -> Vec<String> {
    let mut rest = lower.to_owned();
    for noise in chinese.split_whitespace() {
        rest = rest.replace(noise, " ");
    }
    let mut words = keywords(&rest);
    words.retain(|word| {
        let noise = english.split_whitespace().any(|noise| noise == word);
        // A number says something.
        let single = word.chars().nth(1).is_none() && !word.chars().all(char::is_numeric);
        !(noise || single || more.contains(&word.as_str()))
    });
    words
}

/// Returns the folder that a text names: 笔记文件夹, "the folder notes".
pub(super) fn folder(lower: &str) -> Option<String> {
    let name = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    if let Some((before, _)) = lower.split_once("文件夹") {
        let tail: Vec<char> = before.chars().rev().take_while(name).collect();
        let folder: String = tail.into_iter().rev().collect();
        let folder = folder.trim_start_matches(['我', '的', '在', '看', '列', '出']);
        return (!folder.is_empty()).then(|| folder.to_owned());
    }
    let behind = after_phrase(lower, &["in the folder ", "in folder "]);
    let folder: String = if let Some(behind) = behind {
        behind.chars().take_while(name).collect()
    } else {
        // "In the documents folder".
        let (before, _) = lower.split_once(" folder")?;
        let (before, folder) = before.rsplit_once(' ')?;
        let leads = ["in the", "in my", "in"];
        let is_named = leads.iter().any(|lead| before.ends_with(lead))
            && !["the", "this", "that", "my", "a"].contains(&folder);
        folder.chars().filter(|_| is_named).collect()
    };
    (!folder.is_empty()).then_some(folder)
}

/// Returns the words as literal parts of file names and texts.
pub(super) fn literals(keywords: &[String]) -> Vec<String> {
    let literal = |word: &String| -> String {
        let fits = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        word.chars()
            .filter(fits)
            .collect::<String>()
            .replace('.', r"\.")
    };
    let mut all: Vec<String> = vec![];
    for literal in keywords.iter().map(literal) {
        if !literal.is_empty() && !all.contains(&literal) {
            all.push(literal);
        }
    }
    all
}

/// Returns the file that a text names, also amid words without spaces: 看看lease.docx写了什么.
pub(super) fn file(text: &str) -> Option<String> {
    let fits = |c: &char| c.is_alphanumeric() || matches!(c, '/' | '~' | '.' | '_' | '-');
    let dots = text.match_indices('.').map(|(at, _)| at);
    let mut found = dots.filter_map(|at| {
        let (before, behind) = text.split_at_checked(at)?;
        let ending: String = behind
            .chars()
            .skip(1)
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        let is_ending =
            (1..=5).contains(&ending.len()) && ending.contains(|c: char| c.is_ascii_alphabetic());
        let name: Vec<char> = before.chars().rev().take_while(fits).collect();
        let name: String = name.into_iter().rev().collect();
        let named = name.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
        (is_ending && named).then(|| format!("{}.{ending}", bare(&name)))
    });
    found.next()
}

/// Returns a path as it is meant: without the Chinese words that are written together with it.
pub(super) fn bare(path: &str) -> &str {
    let verbs = [
        "我的",
        "读取",
        "读一下",
        "读",
        "打开",
        "查看",
        "看看",
        "看一下",
        "看",
        "显示",
    ];
    let found = verbs.iter().find_map(|verb| path.strip_prefix(verb));
    let path = found.unwrap_or(path);
    let asks = [
        "里写",
        "里有",
        "里面",
        "里的",
        "里是",
        "中写",
        "中的",
        "写了",
        "的内容",
    ];
    let ends = asks.iter().filter_map(|asks| path.find(asks));
    let end = ends.filter(|end| *end > 0).min();
    end.and_then(|end| path.get(..end)).unwrap_or(path)
}

/// Returns the name of a job in a text.
pub(super) fn job(text: &str) -> Option<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let mut names = words.filter(|word| word.starts_with("job-"));
    names.next().map(str::to_owned)
}

/// Returns true if a text is about all of something.
pub(super) fn all(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words = [
        "全部",
        "所有",
        "都",
        "任何",
        "all ",
        "every ",
        "everything",
        "anything",
    ];
    words.iter().any(|word| lower.contains(word))
}

/// Returns what the reminder that a person no longer wants is about.
pub(super) fn unwanted(text: &str) -> String {
    const NOISE: [&str; 34] = [
        "以后",
        "的事情",
        "的事",
        "什么都",
        "任何",
        "那一个",
        "那个",
        "这个",
        "那条",
        "这条",
        "再也",
        "叫我",
        "不要再",
        "不用再",
        "别再",
        "不要",
        "不用",
        "不必",
        "取消",
        "删除",
        "删掉",
        "去掉",
        "撤销",
        "停止",
        "提醒我",
        "提醒",
        "全部",
        "所有",
        "的",
        "把",
        "掉",
        "了",
        "别",
        "请",
    ];
    const WORDS: &str = "a about all any anymore anything at cancel clear delete do don don't dont drop everything ever i it job \
        jobs longer me more my need no not of one please remind reminder reminders reminding remove stop that the this to want";
    let mut rest = text.to_lowercase().replace('’', "'");
    for noise in NOISE {
        rest = rest.replace(noise, " ");
    }
    let ends = |c: char| !(c.is_alphanumeric() || c == '\'');
    let words = rest.split(ends).filter(|word| !word.is_empty());
    let words = words.filter(|word| !WORDS.split_whitespace().any(|noise| noise == *word));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the place of the reminder that a text names by its number, of so many, from 0: "reminder
/// 2", 第二个提醒, "the last reminder". There may be none at that place.
pub(super) fn place(text: &str, many: usize) -> Option<usize> {
    const NTH: [(&str, usize); 5] = [
        ("first", 1),
        ("second", 2),
        ("third", 3),
        ("fourth", 4),
        ("fifth", 5),
    ];
    let lower = text.to_lowercase();
    let figure = number_after(&lower, &["reminder", "job", "number", "#", "no.", "提醒"]);
    let chinese = || {
        let (count, rest) = number(lower.split_once('第')?.1)?;
        rest.starts_with(['个', '条', '项']).then_some(count)
    };
    let figure = figure.or_else(chinese);
    let figure = figure.map(|it| usize::try_from(it).unwrap_or(0));
    let ends = ["reminder", "one", "job"];
    let names = |word: &str| {
        ends.iter()
            .any(|end| lower.contains(&format!("{word} {end}")))
    };
    let nth = || {
        NTH.into_iter()
            .find(|(word, _)| names(word))
            .map(|(_, at)| at)
    };
    let last = || (names("last") || lower.contains("最后一")).then_some(many);
    let figure = figure.or_else(nth).or_else(last)?;
    Some(figure.checked_sub(1).unwrap_or(usize::MAX))
}

/// Returns what the reminder that a text moves is about, and the words for its other time: "move the
/// mom reminder to 6pm", 把妈妈的提醒改到六点; none if it moves none.
pub(super) fn moved(text: &str) -> Option<(String, String)> {
    const MOVES: [&str; 8] = [
        "move ",
        "change ",
        "reschedule ",
        "postpone ",
        "shift ",
        "delay ",
        "set ",
        "push ",
    ];
    const TO: [&str; 9] = [
        "改到",
        "改成",
        "改为",
        "挪到",
        "移到",
        "推迟到",
        "提前到",
        "调到",
        "换到",
    ];
    /// Words for the only reminder.
    const IT: [&str; 9] = [
        "it",
        "that",
        "that one",
        "this",
        "",
        "它",
        "把它",
        "把这个",
        "把那个",
    ];
    let is_time = |said: &str| {
        let lower = said.to_lowercase();
        let clock = TimeReference::of(&format!("at {lower}"));
        let is_hour = lower.trim().parse::<u8>().is_ok_and(|hour| hour < 24);
        clock.is_some() || is_hour || !day_mentions(&lower).is_empty()
    };
    let plain = text
        .trim()
        .trim_end_matches(['.', '!', '。', '！', '吧', '?', '？']);
    let asks = [
        "please ",
        "can you ",
        "could you ",
        "actually, ",
        "actually ",
    ];
    let mut rest = plain;
    while let Some(shorter) = strip_phrase(rest, &asks) {
        rest = shorter;
    }
    let english = strip_phrase(rest, &MOVES).and_then(|rest| {
        let lower = rest.to_ascii_lowercase();
        let cut = [" to ", " until "]
            .iter()
            .filter_map(|to| Some((lower.rfind(to)?, to.len())));
        let (at, length) = cut.max()?;
        let about = lower.get(..at)?;
        let is_it = IT.contains(&about) && is_time(rest.get(at + length..)?);
        (is_it || about.contains("remind")).then_some(())?;
        Some((rest.get(..at)?, rest.get(at + length..)?))
    });
    let chinese = || {
        let mut cuts = TO.iter().filter_map(|to| plain.split_once(to));
        cuts.find(|(about, time)| {
            about.ends_with("提醒")
                || about.starts_with('把') && about.contains("提醒")
                || IT.contains(about) && is_time(time)
        })
    };
    let (about, time) = english.or_else(chinese)?;
    let about = if IT.contains(&about) {
        String::new()
    } else {
        unwanted(about)
    };
    let noise = ["time", "的时间", "时间"];
    let words = about.split(' ').filter(|word| !noise.contains(word));
    Some((words.collect::<Vec<_>>().join(" "), time.trim().to_owned()))
}

/// Returns true if a task is what a person means by these words: it holds all of them.
pub(super) fn is_about(task: &str, words: &str) -> bool {
    let task = task.to_lowercase();
    let mut all = words.split(' ').filter(|word| !word.is_empty()).peekable();
    all.peek().is_some() && all.all(|word| task.contains(word))
}

/// Returns the text of a notification: the words after the verb.
pub(super) fn said(text: &str) -> String {
    let verbs = [
        "通知我",
        "发通知",
        "发个通知",
        "通知",
        "send me a notification",
        "notify me that",
        "notify me",
        "notify",
    ];
    let said = after(text, &verbs);
    let said = strip_phrase(said, &["now", "right now", "at once", "现在", "马上"]).unwrap_or(said);
    said.trim_start_matches([' ', ':', '：', ',', '，'])
        .to_owned()
}

/// Returns the task of a reminder: the words after the verb and, in English, after the time.
pub(super) fn task(text: &str) -> String {
    let verbs = [
        "提醒我",
        "提醒",
        "remind me to ",
        "remind me that ",
        "remind me of ",
        "remind me about ",
        "remind me",
        "remind",
        "别忘了叫我",
        "不要忘了叫我",
        "叫我",
        "别忘了",
        "不要忘了",
        "don't forget to ",
        "don't let me forget to ",
    ];
    let rest = after(text, &verbs);
    let timed = ["every ", "at ", "in ", "on ", "tomorrow", "today", "daily"];
    match rest.split_once(" to ") {
        Some((_, what)) if strip_phrase(rest, &timed).is_some() => what.to_owned(),
        _ => rest.to_owned(),
    }
}

/// Returns the text that a plugin is given: what is quoted, or what comes after a colon.
pub(super) fn given(text: &str) -> Option<&str> {
    let between = |begin: char, end: char| {
        let (_, rest) = text.split_once(begin)?;
        rest.split_once(end).map(|(inside, _)| inside)
    };
    let quoted = between('“', '”').or_else(|| between('"', '"'));
    let quoted = quoted.or_else(|| between('「', '」'));
    let behind = || {
        text.split_once([':', '：'])
            .map(|(_, behind)| behind.trim())
    };
    quoted.or_else(behind).filter(|given| !given.is_empty())
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

    #[test]
    fn a_reminder_is_cancelled_by_what_it_is_about() {
        for (text, words) in [
            ("cancel the reminder to call Bert", "call bert"),
            ("delete the bread reminder", "bread"),
            ("取消开会的提醒", "开会"),
            ("不要提醒我买面包了", "买面包"),
            ("don't remind me to drink water", "drink water"),
            ("把提醒全部取消", ""),
            ("cancel the one about mom", "mom"),
            ("取消给妈妈打电话的那个", "给妈妈打电话"),
            ("dont remind me of anything anymore", ""),
            ("以后什么都别提醒我了", ""),
        ] {
            assert_eq!(unwanted(text), words, "{text}");
        }
        for (text, at) in [
            ("delete reminder 2", Some(1)),
            ("删除第2个提醒", Some(1)),
            ("cancel the last reminder", Some(2)),
            ("delete reminder 9", Some(8)),
            ("cancel the reminder to buy 2 eggs", None),
        ] {
            assert_eq!(place(text, 3), at, "{text}");
        }
        for (text, about, time) in [
            ("move the mom reminder to 6pm", "mom", "6pm"),
            ("change the reminder to call mom to 7", "call mom", "7"),
            ("把妈妈的提醒改到六点", "妈妈", "六点"),
        ] {
            assert_eq!(moved(text), Some((about.into(), time.into())), "{text}");
        }
        assert_eq!(moved("remind me to move the car at 6pm"), None);
        assert!(is_about("buy bread", "bread") && is_about("开会", "开会"));
        assert!(!is_about("call Anna", "call bert") && !is_about("call Anna", ""));
    }

    #[test]
    fn files_are_listed_by_kind_and_folder_and_asked_by_subject() {
        assert_eq!(endings("find all markdown files"), ["markdown", "md"]);
        assert_eq!(endings("有没有pdf文件"), ["pdf"]);
        assert_eq!(folder("笔记文件夹里有什么？").as_deref(), Some("笔记"));
        for lower in [
            "what files do i have?",
            "麻烦帮我列一下所有的文件，谢谢",
            "今天改过哪些文件",
        ] {
            assert_eq!(subject(lower), [""; 0], "{lower}");
        }
        assert_eq!(subject("文件里有没有提到小行星？"), ["提到小行星"]);
        assert_eq!(
            file("看看lease.docx写了什么").as_deref(),
            Some("lease.docx")
        );
        assert_eq!(
            file("read ../threads.db. It is v1.5").as_deref(),
            Some("../threads.db")
        );
        assert_eq!(asked("团建的负责人是谁"), ["团建", "负责人"]);
        assert_eq!(asked("How long do I bake the cake?"), ["bake", "cake"]);
    }
}
