//! From a text to tokens. Names of the schedule, days, times and words of the lexicon compete; the
//! longest wins.
use std::{collections::BTreeMap, sync::LazyLock};

use fugato::words::{DayReference, day_reference, number};
use serde::Deserialize;

use super::{
    Facts,
    names::{Names, Ref},
};

/// An action that a person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verb {
    Move,
    Place,
    Swap,
    Free,
    Busy,
    Cancel,
    Delete,
    Add,
    Done,
    Undone,
    Undo,
    Spread,
    Earlier,
    Later,
    Rearrange,
    Deadline,
    Show,
    Keep,
    Study,
    Help,
    Greet,
    Thank,
}

/// A question of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Query {
    What,
    When,
    Why,
    Count,
    Free,
    Where,
    Who,
}

/// The relation of the words after it to those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Relation {
    Not,
    To,
    From,
    Before,
    After,
    On,
    With,
    Of,
    Or,
    Only,
    Except,
    If,
    Unless,
    Reason,
    Each,
    Then,
    But,
}

/// The things that a word names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Noun {
    All,
    Pending,
    Schedule,
    Item,
    Courses,
    Note,
    Reminder,
    Place,
    Study,
    It,
    Off,
    Day,
    Weeks,
    Hour,
    Minute,
    Section,
    Half,
    Date,
    List,
}

/// A part of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    Morning,
    Noon,
    Afternoon,
    Evening,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Verb(Verb),
    Query(Query),
    Relation(Relation),
    Noun(Noun),
    Part(Part),
    /// Days, and true if they are meant again and again.
    Days(DayReference, bool),
    /// A time of day: the hour, the minute, and true if it is certain which half of the day it is.
    Clock(i8, i8, bool),
    /// Sections of a day, both included.
    Sections(u8, u8),
    Number(i64),
    Name(Ref),
    Quoted(String),
    /// A sign between sentences; true for a question mark.
    Stop(bool),
    /// A comma.
    Pause,
    Filler,
    Unknown,
}

/// A token and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// The text as it was typed.
    pub(super) raw: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    verbs: BTreeMap<Verb, Vec<String>>,
    questions: BTreeMap<Query, Vec<String>>,
    relations: BTreeMap<Relation, Vec<String>>,
    nouns: BTreeMap<Noun, Vec<String>>,
    parts: BTreeMap<Part, Vec<String>>,
    filler: BTreeMap<String, Vec<String>>,
}

/// All phrases by their first character, the longest first.
pub(super) struct Lexicon {
    by_first: BTreeMap<char, Vec<(String, Kind)>>,
    /// The Latin words of all phrases, to recognise misspellings.
    pub(super) words: std::collections::BTreeSet<String>,
}

pub(super) static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let lists: Lists =
        toml::from_str(include_str!("lexicon.toml")).expect("the lexicon is part of the program");
    let mut all: Vec<(String, Kind)> = vec![];
    // Where one phrase has two meanings the later list counts.
    let mut add = |words: Vec<String>, kind: Kind| {
        all.extend(words.into_iter().map(|word| (word, kind.clone())));
    };
    for (_, words) in lists.filler {
        add(words, Kind::Filler);
    }
    for (noun, words) in lists.nouns {
        add(words, Kind::Noun(noun));
    }
    for (relation, words) in lists.relations {
        add(words, Kind::Relation(relation));
    }
    for (part, words) in lists.parts {
        add(words, Kind::Part(part));
    }
    for (verb, words) in lists.verbs {
        add(words, Kind::Verb(verb));
    }
    for (query, words) in lists.questions {
        add(words, Kind::Query(query));
    }
    let mut lexicon = Lexicon {
        by_first: BTreeMap::new(),
        words: std::collections::BTreeSet::new(),
    };
    for (phrase, kind) in all.into_iter().rev() {
        let words = phrase.split([' ', '-']).filter(|word| word.is_ascii());
        lexicon.words.extend(words.map(str::to_owned));
        if let Some(first) = phrase.chars().next() {
            lexicon
                .by_first
                .entry(first)
                .or_default()
                .push((phrase, kind));
        }
    }
    for phrases in lexicon.by_first.values_mut() {
        phrases.sort_by_key(|(phrase, _)| std::cmp::Reverse(phrase.len()));
    }
    lexicon
});

impl Lexicon {
    /// Returns the longest phrase at the beginning of a text: its kind and its length in bytes.
    fn longest(&self, rest: &str, is_noun: bool) -> Option<(&Kind, usize)> {
        let phrases = self.by_first.get(&rest.chars().next()?)?;
        let fits = |phrase: &str| {
            let tail = rest.strip_prefix(phrase);
            let latin = phrase.ends_with(|c: char| c.is_ascii_alphanumeric());
            tail.is_some_and(|tail| !(latin && tail.starts_with(is_inner)))
        };
        let (phrase, kind) = phrases.iter().find(|(phrase, _)| fits(phrase))?;
        // "The plan" is a thing, "plan" is something to do.
        let mut same = phrases.iter().filter(|(other, _)| other == phrase);
        let noun = same.find(|(_, kind)| is_noun && matches!(kind, Kind::Noun(_)));
        Some((noun.map_or(kind, |(_, noun)| noun), phrase.len()))
    }
}

fn is_inner(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

/// Returns the tokens of a text.
pub(super) fn tokens(text: &str, facts: &Facts<'_>) -> Vec<Token> {
    let names = Names::of(facts.schedule);
    let typed: Vec<char> = text.chars().collect();
    let plain = normal(text);
    let text = names.spelled(&plain);
    let is_same = text == plain && plain.chars().count() == typed.len();
    let mut tokens: Vec<Token> = vec![];
    let (mut at, mut count) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let before = text.get(..at).unwrap_or_default();
        let (kind, length) = next(rest, before, &names);
        let taken = rest.get(..length).unwrap_or(rest);
        let is_space = taken.trim().is_empty();
        let chars = taken.chars().count();
        let raw: String = if is_same {
            typed
                .get(count..count + chars)
                .into_iter()
                .flatten()
                .collect()
        } else {
            taken.to_owned()
        };
        count += chars;
        if !is_space {
            match (tokens.last_mut(), &kind) {
                // Unknown characters of a script without spaces are one run.
                (Some(last), Kind::Unknown)
                    if last.kind == Kind::Unknown
                        && !taken.is_ascii()
                        && !last.text.is_ascii()
                        && !before.ends_with(' ') =>
                {
                    last.text.push_str(taken);
                    last.raw.push_str(&raw);
                }
                _ => tokens.push(Token {
                    kind,
                    text: taken.to_owned(),
                    raw,
                }),
            }
        }
        at += length.max(1);
    }
    tokens
}

/// Returns the token at the beginning of a text, and its length in bytes.
fn next(rest: &str, before: &str, names: &Names<'_>) -> (Kind, usize) {
    let first = rest.chars().next().unwrap_or(' ');
    if first.is_whitespace() {
        return (Kind::Filler, first.len_utf8());
    }
    if let Some((inner, length)) = quoted(rest) {
        let named = names.exact(inner.trim());
        return (
            named.map_or_else(|| Kind::Quoted(inner.trim().to_owned()), Kind::Name),
            length,
        );
    }
    match first {
        '?' => return (Kind::Stop(true), 1),
        '.' | '!' | ';' | '\n' => return (Kind::Stop(false), 1),
        ',' | ':' | '-' | '(' | ')' | '/' => return (Kind::Pause, 1),
        _ => {}
    }
    let inside = before.ends_with(is_inner) && is_inner(first);
    let mut found: Vec<(Kind, usize)> = vec![];
    if !inside {
        found.extend(
            names
                .longest(rest)
                .map(|(name, length)| (Kind::Name(name), length)),
        );
        if let Some((days, tail)) = day_reference(rest, before) {
            let length = rest.len() - tail.len();
            let taken = rest.get(..length).unwrap_or_default();
            let again = taken.ends_with("days")
                || taken.ends_with("ends")
                || before.trim_end().ends_with('每')
                || before.trim_end().ends_with("every");
            found.push((Kind::Days(days, again), length));
        }
        found.extend(clock(rest));
        found.extend(sections(rest));
        let lead = before.trim_end();
        let is_noun = ["the", "my", "our", "this", "your", "a", "whole", "entire"]
            .iter()
            .any(|word| {
                lead.strip_suffix(word)
                    .is_some_and(|head| head.is_empty() || head.ends_with(|c: char| !is_inner(c)))
            });
        found.extend(
            LEXICON
                .longest(rest, is_noun)
                .map(|(kind, length)| (kind.clone(), length)),
        );
        found.extend(number(rest).map(|(n, tail)| (Kind::Number(n), rest.len() - tail.len())));
    }
    // Of equally long ones the first counts.
    let longest = found.iter().map(|(_, length)| *length).max();
    if let Some((kind, length)) = found
        .into_iter()
        .find(|(_, length)| Some(*length) == longest)
    {
        return (kind, length);
    }
    if is_inner(first) || first == '\'' {
        let end = rest
            .find(|c: char| !is_inner(c) && c != '\'')
            .unwrap_or(rest.len());
        return (Kind::Unknown, end.max(1));
    }
    (Kind::Unknown, first.len_utf8())
}

/// Reads a text in quotation marks at the beginning, and returns it with the length of both.
fn quoted(rest: &str) -> Option<(&str, usize)> {
    const MARKS: [(char, char); 6] = [
        ('"', '"'),
        ('“', '”'),
        ('‘', '’'),
        ('「', '」'),
        ('《', '》'),
        ('『', '』'),
    ];
    let first = rest.chars().next()?;
    let (_, close) = MARKS.into_iter().find(|(open, _)| *open == first)?;
    let inner = rest.get(first.len_utf8()..)?;
    let end = inner.find(close)?;
    Some((inner.get(..end)?, first.len_utf8() + end + close.len_utf8()))
}

/// Reads `16:00`, `4pm`, `4 o'clock`, `四点半`; the parts of the day before it are tokens of their
/// own.
fn clock(rest: &str) -> Option<(Kind, usize)> {
    let (hour, tail) = number(rest)?;
    let hour = i8::try_from(hour)
        .ok()
        .filter(|hour| (0..=24).contains(hour))?;
    let half = |tail: &str, hour: i8| {
        let trimmed = tail.trim_start();
        let said = [("am", 0), ("a.m.", 0), ("pm", 12), ("p.m.", 12)];
        let (word, more) = said.into_iter().find(|(word, _)| {
            trimmed
                .strip_prefix(word)
                .is_some_and(|tail| !tail.starts_with(is_inner))
        })?;
        let hour = if hour < 12 {
            hour + more
        } else if hour == 12 && more == 0 {
            0
        } else {
            hour
        };
        Some((hour, tail.len() - trimmed.len() + word.len()))
    };
    let at = |hour: i8, minute: i64, sure: bool, tail: &str| {
        let (hour, sure, more) = match half(tail, hour) {
            Some((hour, more)) => (hour, true, more),
            None => (hour, sure || hour > 12, 0),
        };
        let minute = i8::try_from(minute)
            .ok()
            .filter(|minute| (0..60).contains(minute))?;
        (hour < 24).then_some((
            Kind::Clock(hour, minute, sure),
            rest.len() - tail.len() + more,
        ))
    };
    if let Some(tail) = tail.strip_prefix(':') {
        let (minute, after) = number(tail)?;
        return (tail.len() - after.len() == 2).then(|| at(hour, minute, hour > 7, after))?;
    }
    if let Some(tail) = tail.strip_prefix('点').or_else(|| tail.strip_prefix('时')) {
        if tail.starts_with(['儿', '都', '也']) {
            return None;
        }
        if let Some(tail) = tail.strip_prefix('半') {
            return at(hour, 30, false, tail);
        }
        if let Some(tail) = tail.strip_prefix("钟") {
            return at(hour, 0, false, tail);
        }
        return match number(tail) {
            Some((minute, after)) if after.starts_with('分') => at(
                hour,
                minute,
                false,
                after.strip_prefix('分').unwrap_or(after),
            ),
            Some((minute, after)) if minute >= 10 => at(hour, minute, false, after),
            _ => at(hour, 0, false, tail),
        };
    }
    let tail_words = tail.trim_start();
    if let Some(after) = tail_words.strip_prefix("o'clock") {
        return at(hour, 0, false, after);
    }
    let (hour, more) = half(tail, hour)?;
    (hour < 24).then_some((Kind::Clock(hour, 0, true), rest.len() - tail.len() + more))
}

/// Reads `sections 3-4`, `section 3`, `第3节`, `第三到四节`, `第二大节`.
fn sections(rest: &str) -> Option<(Kind, usize)> {
    let range = |tail: &str| {
        let (first, after) = number(tail)?;
        let joined = after.trim_start();
        let joined = ["-", "到", "至", "to", "~", "、", "and"]
            .iter()
            .find_map(|word| joined.strip_prefix(word));
        let second = joined
            .map(str::trim_start)
            .map(|tail| tail.strip_prefix('第').unwrap_or(tail));
        let (last, after) = second.and_then(number).unwrap_or((first, after));
        let number = |n: i64| u8::try_from(n).ok().filter(|n| (1..=12).contains(n));
        Some((
            number(first)?,
            number(last)?,
            rest.len() - after.len(),
            after.len(),
        ))
    };
    let english = ["sections ", "section ", "periods ", "period "];
    if let Some(tail) = english.iter().find_map(|word| rest.strip_prefix(word)) {
        let (first, last, length, _) = range(tail)?;
        return Some((Kind::Sections(first, last), length));
    }
    let tail = rest.strip_prefix('第')?;
    let (first, last, length, left) = range(tail)?;
    let after = rest.get(rest.len() - left..)?;
    if after.starts_with("大节") {
        return Some((
            Kind::Sections(first * 2 - 1, (last * 2).min(12)),
            length + "大节".len(),
        ));
    }
    after
        .starts_with('节')
        .then_some((Kind::Sections(first, last), length + '节'.len_utf8()))
}

/// Returns a text in the form that is read: lower case, half width, simplified characters.
pub(super) fn normal(text: &str) -> String {
    const FROM: &str = "我個們這時間請幫週禮後點複習動還沒對換過來開關為麼誰幾無課節號學業試題寫讀書筆記備錄見說話種樣頭邊裡裏處實驗會議醫語數線導權統計歷體應聽當與從給讓將於並雖嗎讚謝歡東張單雙顯顏調變發現樓進遠運達適選邏鐘錯釋長門問閱預須領類顧風飛飯養驚齊講務陣熱練績劃劇組織結級經維總繼續罷聯臨舊製討訂設許評詞該詳誤論諾證識護貴買賣費資質賽趕軟載輕輸轉辦農隨險雜難電靜項順頓頻願飲屬連錢鋼鐵閉陽陰際隊場報壞聲壓夢婦寶審對導層島幣帶幫師廠廣張強彈後憶愛態慶懷戲戶擇據擔擇擺斷晝曉東條極構橋機歲歸殘氣決沒況溫滿漢澤災烏無爾狀獎獨現產畢異疊療盡監盤礎禮稱穩窮節紅納純紙細終給網綠編緩縣縮羅義聞職肅腦腳膽臉舉藝範莊華萬葉藥蘭號蟲補裝見規視覺觀觸計訊訓託訪試詩誠課談請諸謀謂講謝貓財責貨販貧貿賓趙跡踐蹤車軍較輔輛輝輪轟辭邊邁還鄉鄰醜鏡閃閒隔離雲霧韓響頂頁頌頸顆額騎騙魚鮮鳥鳴麗麥黃點黨龍龜";
    const TO: &str = "我个们这时间请帮周礼后点复习动还没对换过来开关为么谁几无课节号学业试题写读书笔记备录见说话种样头边里里处实验会议医语数线导权统计历体应听当与从给让将于并虽吗赞谢欢东张单双显颜调变发现楼进远运达适选逻钟错释长门问阅预须领类顾风飞饭养惊齐讲务阵热练绩划剧组织结级经维总继续罢联临旧制讨订设许评词该详误论诺证识护贵买卖费资质赛赶软载轻输转办农随险杂难电静项顺顿频愿饮属连钱钢铁闭阳阴际队场报坏声压梦妇宝审对导层岛币带帮师厂广张强弹后忆爱态庆怀戏户择据担择摆断昼晓东条极构桥机岁归残气决没况温满汉泽灾乌无尔状奖独现产毕异叠疗尽监盘础礼称稳穷节红纳纯纸细终给网绿编缓县缩罗义闻职肃脑脚胆脸举艺范庄华万叶药兰号虫补装见规视觉观触计讯训托访试诗诚课谈请诸谋谓讲谢猫财责货贩贫贸宾赵迹践踪车军较辅辆辉轮轰辞边迈还乡邻丑镜闪闲隔离云雾韩响顶页颂颈颗额骑骗鱼鲜鸟鸣丽麦黄点党龙龟";
    let simple = |c: char| {
        let at = FROM.chars().position(|known| known == c);
        at.and_then(|at| TO.chars().nth(at)).unwrap_or(c)
    };
    let narrow = |c: char| match c {
        '。' | '！' | '；' => '.',
        '？' => '?',
        '，' | '：' => ',',
        '’' => '\'',
        '（' => '(',
        '）' => ')',
        '～' | '–' | '—' => '-',
        '\u{3000}' => ' ',
        '\u{ff10}'..='\u{ff5a}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    };
    let text: String = text.chars().map(narrow).map(simple).collect();
    text.to_lowercase().replace("weekend's", "weekends")
}
