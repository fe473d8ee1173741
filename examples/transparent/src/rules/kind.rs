//! The kind of a wish, by its words.
use std::borrow::Cow;

use fugato::{
    agent::memory::{is_taken_back, to_remember},
    words::{
        CronExpression, RestrictionKind, ScheduleError, ShortAnswer, TimeReference, after_word,
        before_word, condition, corrected, courtesy, day_mentions, denied, forget_limit,
        is_negated, is_question, path, restriction, to_forget, wishes,
    },
};
use jiff::{Zoned, civil::date, tz::TimeZone};

use crate::intent::IntentKind;

/// A kind of wish: the intent, the kind of thing, and the complexity.
pub(super) type WishKind = (IntentKind, &'static str, f32);

const CHAT: WishKind = (IntentKind::Chat, "", 0.1);

/// A list of words in both languages, separated by slashes.
struct Words(&'static str);

impl Words {
    /// Returns the position of the first of these words in a text.
    fn at(&self, text: &str) -> Option<usize> {
        let words = self.0.split('/');
        words.filter_map(|word| text.find(word)).min()
    }

    fn are_in(&self, text: &str) -> bool {
        self.at(text).is_some()
    }
}

const ABOUT_ME: Words = Words(
    "know about me/know of me/remember about me/remember of me/remembered about me/do you have about me/notes do i have/notes have i/my notes/did you write down/have you written down/did you note/have you noted/知道我什么/了解我什么/记得我什么/我的什么信息/记住了什么/记了什么/记住了哪些/记了哪些/记下了什么/记下了哪些/有哪些笔记/有哪些备忘",
);
const HELP: Words = Words(
    "what can you do/how can you help/what are you able/你有什么功能/有什么用/你能做什么/你能对/你会什么/能帮我什么/能做些什么",
);
const REMINDER: Words = Words("提醒/定时/remind/scheduled/ jobs/ job-/任务列表");
const CANCEL: Words = Words("取消/删除/删掉/去掉/撤销/停止/cancel/delete/remove/drop/clear/stop ");
/// Questions for the time or the date of here and now, and the words beside them.
const CLOCK: Words = Words(
    "what time is it/what is the time/what's the time/what day is it/what day is today/what date is it/what is the date/what's the date/what is today's date/what's today's date/几点/几号/星期几/周几/什么时间/什么日子/什么日期",
);
const BESIDE_CLOCK: [&str; 20] = [
    "please",
    "hello",
    "hi",
    "right now",
    "now",
    "today",
    "currently",
    "here",
    "请问",
    "现在",
    "今天",
    "一下",
    "钟",
    "了",
    "是",
    "呢",
    "啊",
    "几月",
    "你好",
    "告诉我",
];
const LIST: Words = Words(
    "有哪些/有什么/哪些/看看/看一下/列出/列一下/查看/所有/列表/list/show/what/which/ any /my reminders",
);
const PLUGIN: Words = Words("plugin/插件");
const WEB: Words =
    Words("上网/网上/网页/on the web/the web/on the internet/the internet/google/百度/bing");
const PHOTO: Words = Words("拍照/拍张/拍一张/拍个/take a photo/take a picture/take photo");
const NOTIFY: Words = Words("通知/notify/notification");
const ASKS_MEMORY: Words = Words("记得/do you remember/what did i/what do you know");
const REMEMBER: Words = Words("记住/记一下/记下/别忘了/remember/keep in mind/make a note");
/// Words of a wish that is a reminder where it tells a time.
const CALL: Words = Words(
    "叫我/别忘/不要忘/wake me/don't forget to/dont forget to/do not forget to/don't let me forget",
);
/// Words for one reminder of those that were listed.
const ONE: Words =
    Words("the one /that one/this one/那个/那条/那一个/the first/the second/the last/第");
const FORGET: Words =
    Words("forget /忘掉/忘记/忘了/别记/不要记/不用记/don't remember/do not remember");
/// Requests that no tool serves.
const IMPOSSIBLE: Words = Words(
    "delete/erase/remove/rename/overwrite/email/e-mail/send /run /execute/rm -/删除/删掉/新建/创建/写入/写进/写到/建一个文件/create a file/create file/append /改名/重命名/发给/发到/发送/寄给/打电话/转账",
);
const READ: Words = Words(
    "读/打开/看看/看一下/显示/写了什么/里有什么/内容/里面/read /open /show /what's in/what is in/what does",
);
const FILES: Words = Words("文件/文档/文件夹/pdf/file/document/folder/表格/spreadsheet");
const COUNT: Words =
    Words("how many words/word count/how long is/count the words/多少字/多少个字/字数");
const LISTS_FILES: Words = Words(
    "哪些/有没有/有什么/有几个/有多少/how many/列/所有/全部/里有什么/改过/what is in/what's in/what files/which files/list/every/all /do i have/are there/照片文件/图片文件",
);
/// Questions for what is to be done on a day.
const AGENDA: Words = Words(
    "do i have anything/what do i have/have i anything/anything to do/anything on/anything planned/what's on/what is on/what is planned/what's planned/any reminders/what reminders/which reminders/要做什么/什么要做/要做的/什么安排/有安排/什么事/有事/什么计划/什么日程/什么提醒/哪些提醒/有提醒",
);
/// Words for what the text of a file holds.
const MENTIONS: [&str; 9] = [
    "mention",
    "contain",
    "talk about",
    "say",
    "提到",
    "包含",
    "谈到",
    "写到",
    "讲到",
];
const EXCEPT: Words = Words("but not/except/without/are not/aren't/is not/isn't/除了/不要/不是");
const COMPARE: Words = Words(
    "change last/changed last/last changed/edit last/edited last/last edited/最后改/最后修改/biggest/largest/smallest/newest/oldest/longest/shortest/最大/最小/最新/最旧/最老/最长/最短",
);
/// Questions for the files that hold something.
const WHICH_FILE: Words = Words(
    "which file/what file/which document/what document/any file/any document/哪个文件/哪些文件/哪份文件/什么文件/关于/哪个文档/哪些文档",
);
const SEARCH: Words = Words("找/搜/查/find/search/look for/where is/where are");
const QUESTION: Words = Words(
    "谁/哪天/哪个/对什么/什么颜色/是什么/叫什么/什么名字/什么时候/在哪/哪里/是谁/谁是/多少/几月/几号/几点/做什么/说什么/怎么/为什么/吗/呢/什么来着",
);

/// Returns the kind of a wish. `lower` is its text in lower case.
pub(super) fn kind(lower: &str) -> WishKind {
    let lower = &lower.replace('’', "'");
    if forgets_all(lower) {
        return (IntentKind::Chat, "forget", 0.1);
    }
    if COUNT.are_in(lower) && super::words::file(lower).is_some() {
        return (IntentKind::Chat, "count", 0.1);
    }
    if ABOUT_ME.are_in(lower) {
        return (IntentKind::AskMemory, "all", 0.2);
    }
    if HELP.are_in(lower) {
        return (IntentKind::Chat, "help", 0.1);
    }
    if is_clock(lower) {
        return (IntentKind::Chat, "clock", 0.1);
    }
    let notes = REMEMBER.are_in(lower) || !REMINDER.are_in(lower);
    if notes && !is_question(lower) && meant(lower).is_none() {
        return (IntentKind::Chat, "corrected", 0.1);
    }
    if REMINDER.are_in(lower) && ends_in_no(lower) {
        return (IntentKind::Chat, "corrected", 0.1);
    }
    let lower = match waived(lower) {
        Some((wanted, _)) if repeats(wanted) => return (IntentKind::Chat, "waived", 0.1),
        Some((wanted, _)) => wanted,
        None => lower,
    };
    if several(lower).len() > 1 && both(lower).is_none() {
        return (IntentKind::Chat, "several", 0.1);
    }
    let lower = behind_files(lower).map_or(lower, |(wanted, _)| wanted);
    if AGENDA.are_in(lower) && !FILES.are_in(lower) && !day_mentions(lower).is_empty() {
        return (IntentKind::Execute, "agenda", 0.2);
    }
    if REMINDER.are_in(lower) && is_conditional(lower) {
        return (IntentKind::Chat, "condition", 0.1);
    }
    if reminds_another(lower) {
        return (IntentKind::Chat, "other", 0.1);
    }
    if super::words::moved(lower).is_some() {
        return (IntentKind::Execute, "move", 0.4);
    }
    let searches = |at: usize| SEARCH.at(lower).is_some_and(|verb| verb < at);
    let sought = |at: &usize| searches(*at) && FILES.are_in(lower);
    if let Some(at) = REMINDER.at(lower).filter(|at| !sought(at)) {
        return reminder(lower, at);
    }
    if CANCEL.at(lower).is_some_and(|verb| verb < 8) && ONE.are_in(lower) && !cancels_not(lower) {
        return (IntentKind::Execute, "cancel", 0.3);
    }
    if CALL.are_in(lower) && to_remember(lower).is_none() && is_timed(lower) {
        return (IntentKind::Remind, "", 0.4);
    }
    if PLUGIN.are_in(lower) {
        return (IntentKind::Execute, "plugin", 0.3);
    }
    let keeps = Words("别忘/不要忘/don't forget/dont forget/do not forget").are_in(lower);
    let forgets = FORGET.are_in(lower) && !keeps
        || to_forget(lower)
            .or(forget_limit(lower).map(str::to_owned))
            .is_some();
    if forgets || is_negated(lower, &["remember", "记住"]) || is_taken_back(lower) {
        return (IntentKind::Chat, "forget", 0.1);
    }
    let spoken = [
        (&PHOTO, (IntentKind::Execute, "photo", 0.3)),
        (&NOTIFY, (IntentKind::Execute, "notify", 0.3)),
        (&WEB, (IntentKind::Search, "web", 0.4)),
        (&ASKS_MEMORY, (IntentKind::AskMemory, "", 0.3)),
        (&REMEMBER, (IntentKind::Create, "memory", 0.1)),
        (&IMPOSSIBLE, (IntentKind::Chat, "impossible", 0.1)),
    ];
    if lower.trim_start().starts_with("write ") {
        return (IntentKind::Chat, "impossible", 0.1);
    }
    let found = spoken.into_iter().find(|(words, _)| words.are_in(lower));
    found.map_or_else(|| about_files(lower), |(_, kind)| kind)
}

/// Returns a text without what it takes back itself; none if it is not clear what, or if it corrects
/// what was said before.
pub(crate) fn meant(text: &str) -> Option<Cow<'_, str>> {
    const EARLIER: [&str; 7] = [
        "actually",
        "no wait",
        "i meant",
        "i mean",
        "不对",
        "我说错了",
        "说错了",
    ];
    let lower = text.trim().to_lowercase();
    let is_earlier =
        after_word(&lower, &EARLIER).is_some_and(|rest| rest.contains(char::is_alphanumeric));
    corrected(text).ok().filter(|_| !is_earlier)
}

/// Returns the wishes of a text of which one is to remember or to forget something, or a reminder;
/// only one if there are no others.
pub(crate) fn several(text: &str) -> Vec<&str> {
    const REMINDS: [&str; 3] = ["remind me", "please remind me", "提醒我"];
    let notes = |text: &str| to_remember(text).is_some() || to_forget(text).is_some();
    let is_known = |lower: &str| {
        matches!(
            about_files(lower),
            (IntentKind::Execute, "files" | "read", _)
        )
    };
    let reminds = |text: &str| REMINDER.are_in(&text.to_lowercase());
    let mut parts = wishes(text, |before, part| {
        let lower = part.to_lowercase();
        let said = denied(&lower).unwrap_or(&lower);
        let own = after_word(said, &REMINDS).is_some() || notes(part);
        // What a note says may read like any wish, and what a reminder is about too.
        let before = before.trim_end();
        let is_next = ["then", "再", "然后", "接着"]
            .iter()
            .any(|word| before.to_lowercase().ends_with(word));
        // "Read" alone is done by the person, and a file is read here.
        let of_files = |text: &str| is_of_files(plain(text));
        own || is_next && notes(before) && is_known(&lower)
            || reminds(before) && (of_files(part) || asks(part))
            || of_files(before) && reminds(part)
    });
    let all = parts.len();
    // "No, remember that …" is one wish.
    parts.retain(|part| {
        let lower = part.to_lowercase();
        notes(part) || reminds(part) || is_known(&lower) || all > 1 && asks(part)
    });
    parts
}

/// Returns a text without the marks and the words at its end that lead to what follows it.
fn plain(text: &str) -> &str {
    const LEADS: [&str; 8] = [
        "and", "then", "also", "please", "然后", "再", "接着", "顺便",
    ];
    let trimmed = |text: &'_ str| text.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
    let mut plain = text.get(..trimmed(text)).unwrap_or(text);
    while let Some(before) = before_word(plain, &LEADS) {
        plain = before.get(..trimmed(before)).unwrap_or(before);
    }
    plain
}

/// Returns true if a text wants a list of files, or a file that it names.
fn is_of_files(text: &str) -> bool {
    let lower = text.to_lowercase();
    match about_files(&lower) {
        (IntentKind::Execute, "files", _) => true,
        (IntentKind::Execute, "read", _) => super::words::file(&lower).is_some(),
        _ => false,
    }
}

/// Returns true if a text asks for more than consent: "who wrote it?", but not "ok?".
fn asks(text: &str) -> bool {
    let lower = text.to_lowercase();
    let bare = lower.trim_end().trim_end_matches(['?', '？']);
    let is_kind = ShortAnswer::of(bare).is_some()
        || courtesy(text).is_some()
        || [
            "好吗",
            "可以吗",
            "行吗",
            "好不好",
            "please",
            "will you",
            "would you",
            "can you",
        ]
        .contains(&bare);
    let is_told = after_word(bare, &["tell me", "告诉我"]).is_some();
    !is_kind && (is_told || is_question(bare) || bare.len() < lower.trim_end().len())
}

/// Returns the part of a text that asks for files, and the questions behind it that no rule answers:
/// "what is in plan.md" and "who wrote it?"; none if nothing stands behind it.
pub(crate) fn behind_files(text: &str) -> Option<(&str, Vec<&str>)> {
    let parts = wishes(text, |before, part| {
        let lower = part.to_lowercase();
        let holds = READ.are_in(&lower) || MENTIONS.iter().any(|word| lower.contains(word));
        is_of_files(plain(before)) && asks(part) && !holds && !is_of_files(part)
    });
    let (first, rest) = parts.split_first()?;
    (!rest.is_empty()).then(|| (*first, rest.to_vec()))
}

/// Returns what a text asks to remember and the reminder that it asks for, if it is these two wishes.
fn both(text: &str) -> Option<(&str, &str)> {
    let reminds = |text: &str| REMINDER.are_in(&text.to_lowercase());
    match *several(text) {
        [note, wish] | [wish, note]
            if to_remember(note).is_some() && !reminds(note) && reminds(wish) =>
        {
            Some((note, wish))
        }
        _ => None,
    }
}

/// Returns the part of a text that may ask to remember something; none if it wants several things of
/// which nothing is done.
pub(crate) fn noted(text: &str) -> Option<&str> {
    match both(text) {
        Some((note, _)) => Some(note),
        None => (several(text).len() < 2).then_some(text),
    }
}

/// Returns true if a text takes back all of itself at its end: "…; actually, never mind".
fn ends_in_no(lower: &str) -> bool {
    let marks = [',', '.', ';', '!', '，', '。', '；', '！'];
    let mut parts = lower.trim_end().trim_end_matches(marks).split(marks);
    let last = parts.next_back().unwrap_or_default().trim();
    let last = after_word(last, &["but", "no", "oh", "actually", "还是"]).unwrap_or(last);
    parts.next().is_some() && ShortAnswer::of(last.trim()) == Some(ShortAnswer::Cancel)
}

/// Returns a text without what is only to be remembered beside a reminder.
pub(super) fn beside_note(text: &str) -> &str {
    both(text).map_or(text, |(_, wish)| wish)
}

/// Returns the reminder that a text asks for, without what it takes back itself, and without what it
/// says of other days than those of the reminder.
pub(crate) fn reminded(text: &str) -> Cow<'_, str> {
    let wish = beside_note(text);
    let wish = waived(wish).map_or(wish, |(wanted, _)| wanted);
    meant(wish).unwrap_or(Cow::Borrowed(wish))
}

/// Returns a reminder and the clause behind it that says on which other days none is wanted: 后天就不用了.
pub(crate) fn waived(text: &str) -> Option<(&str, &str)> {
    const LEADS: [&str; 5] = ["but", "and", "但是", "但", "不过"];
    const AROUND: [&str; 12] = [
        "on",
        "for",
        "it",
        "to",
        "remind me",
        "any",
        "reminder",
        "了",
        "吧",
        "再",
        "提醒",
        "我",
    ];
    let marks = |c: char| c.is_whitespace() || ",，.。;；!！".contains(c);
    let end = text.trim_end_matches(marks);
    let at = end.rfind([',', '，', ';', '；'])?;
    let (wanted, clause) = (text.get(..at)?, text.get(at..)?.trim_matches(marks));
    // Lower case by ASCII keeps the byte positions.
    let lower = clause.to_ascii_lowercase();
    let said = after_word(&lower, &LEADS).unwrap_or(&lower).trim();
    let day = day_mentions(said).into_iter().next()?;
    let (before, behind) = (said.get(..day.range.start)?, said.get(day.range.end..)?);
    let rest = format!("{before} {behind}");
    let mut left = denied(rest.trim())?.trim_matches(marks);
    while !left.is_empty() {
        left = after_word(left, &AROUND)?.trim_matches(marks);
    }
    let reminds = REMINDER.are_in(&wanted.to_lowercase());
    reminds.then_some((wanted, clause))
}

/// Returns true if a text asks to forget all that is known of the person.
pub(super) fn forgets_all(lower: &str) -> bool {
    const ENDS: Words = Words("delete /erase /forget /clear /wipe /删/清空/忘掉/忘记");
    const KNOWN: Words = Words(
        "everything you know/all you know/everything you remember/all you remember/all my notes/all notes/everything about me/all about me/what you know about me/关于我的一切/我的一切/关于我的所有/关于我的全部/所有记忆/全部记忆",
    );
    ENDS.are_in(lower) && KNOWN.are_in(lower)
}

/// Returns true if a reminder is wanted under a condition, also where it is asked for kindly.
fn is_conditional(lower: &str) -> bool {
    let wish = lower.trim_end().trim_end_matches(['?', '？', '吗']);
    condition(wish).is_some() || wish.contains("的话")
}

/// Returns true if somebody else is to be reminded: "remind Bob to call".
fn reminds_another(lower: &str) -> bool {
    const FIRST: [&str; 14] = [
        "me", "myself", "us", "to", "that", "of", "about", "at", "in", "on", "every", "tomorrow",
        "today", "again",
    ];
    let verb = [
        "remind ",
        "please remind ",
        "can you remind ",
        "could you remind ",
    ];
    let rest = verb
        .iter()
        .find_map(|verb| lower.trim_start().strip_prefix(verb));
    let named = rest.and_then(|rest| rest.split([' ', ',', '.', ':']).next());
    let english = named.is_some_and(|word| !FIRST.contains(&word) && word.is_ascii());
    english || Words("提醒他/提醒她/提醒它/提醒大家/提醒我妈/提醒我爸/提醒小/提醒老").are_in(lower)
}

/// Returns true if a text asks for the time or the date of here and now, and for nothing else.
fn is_clock(lower: &str) -> bool {
    let mut phrases = CLOCK
        .0
        .split('/')
        .filter(|phrase| lower.contains(phrase))
        .peekable();
    if phrases.peek().is_none() {
        return false;
    }
    let rest = phrases.fold(lower.to_owned(), |text, phrase| text.replace(phrase, " "));
    let rest = BESIDE_CLOCK
        .iter()
        .fold(rest, |text, word| text.replace(word, " "));
    !rest.contains(char::is_alphanumeric)
}

/// Returns true if a text names a day or a time, of whatever day it is said.
fn is_timed(lower: &str) -> bool {
    !matches!(schedule(lower), None | Some(Err(ScheduleError::NoTime)))
}

/// Returns true if a text names a time that comes again.
fn repeats(lower: &str) -> bool {
    matches!(
        schedule(lower),
        Some(Ok(CronExpression { once: false, .. }))
    )
}

/// Returns the schedule that a text names on any day.
fn schedule(lower: &str) -> Option<Result<CronExpression, ScheduleError>> {
    let any_day: Option<Zoned> = date(2026, 1, 1).to_zoned(TimeZone::UTC).ok();
    any_day.map(|day| CronExpression::of(lower, &day))
}

/// Returns true if a text wants nothing cancelled: "don't cancel the reminder".
fn cancels_not(lower: &str) -> bool {
    is_negated(lower, &["cancel", "delete", "remove", "取消", "删"])
}

/// Returns what is wanted of reminders, of which the word stands here.
fn reminder(lower: &str, at: usize) -> WishKind {
    let timed = TimeReference::of(lower).is_some();
    let refuses = is_negated(lower, &["remind", "提醒"]);
    if cancels_not(lower) {
        return (IntentKind::Execute, "jobs", 0.2);
    }
    let cancels = CANCEL.at(lower).is_some_and(|verb| {
        verb < at || !timed && (lower.starts_with('把') || lower.trim_end().ends_with("取消"))
    });
    if cancels || refuses {
        return (IntentKind::Execute, "cancel", 0.3);
    }
    let plural = Words("reminders/jobs/提醒列表/任务列表/定时任务").are_in(lower);
    let ends = |text: &str| {
        text.trim_end_matches(['?', '？', '。', '吗', '了'])
            .ends_with("提醒")
    };
    if !timed && LIST.are_in(lower) && (plural || ends(lower.trim_end())) {
        return (IntentKind::Execute, "jobs", 0.2);
    }
    (IntentKind::Remind, "", 0.4)
}

fn about_files(lower: &str) -> WishKind {
    let named = super::words::file(lower).is_some() || path(lower).is_some();
    let searches = SEARCH.are_in(lower);
    let limit = restriction(lower).filter(|it| it.kind == RestrictionKind::Exception);
    if limit.is_some() && (named || FILES.are_in(lower)) {
        return (IntentKind::Execute, "except", 0.3);
    }
    let told = Words("read /open /please read /读/念/打开").at(lower) == Some(0);
    let told = told || Words("打开/写了什么/写着什么").are_in(lower);
    if READ.are_in(lower) && (named || told) {
        return (IntentKind::Execute, "read", 0.4);
    }
    let typed = !super::words::endings(lower).is_empty();
    let lists = LISTS_FILES.are_in(lower) || searches && typed;
    let of_files = FILES.are_in(lower) || typed;
    if of_files && COMPARE.are_in(lower) {
        return (IntentKind::Execute, "compare", 0.3);
    }
    let subject = super::words::subject(lower);
    if lists && of_files && EXCEPT.are_in(lower) && (typed || subject.is_empty()) {
        return (IntentKind::Execute, "except", 0.3);
    }
    let mentions = MENTIONS.iter().any(|word| lower.contains(word));
    let asks = WHICH_FILE.are_in(lower) || lists && mentions;
    let denies = is_negated(lower, &MENTIONS) || Words("but not/without/但没/但不").are_in(lower);
    if asks && of_files && mentions && denies {
        return (IntentKind::Execute, "except", 0.3);
    }
    let unsought = Words("search/look/find/查/找/搜");
    if denied(lower).is_some_and(|what| unsought.at(what) == Some(0)) {
        return CHAT;
    }
    if (lists && of_files || typed && is_question(lower)) && subject.is_empty() {
        return (IntentKind::Execute, "files", 0.3);
    }
    if of_files && asks {
        return (IntentKind::Search, "about", 0.4);
    }
    if searches {
        return (IntentKind::Search, "document", 0.7);
    }
    if QUESTION.are_in(lower) || is_question(lower) || lower.starts_with("who") {
        return (IntentKind::AskMemory, "", 0.3);
    }
    CHAT
}
