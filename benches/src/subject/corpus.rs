//! Short documents in a language with spaces and in one without.

/// Words of a language with spaces and of one without; a few are in very many documents.
const WORDS: [&str; 24] = [
    "plan",
    "exam",
    "room",
    "budget",
    "travel",
    "invoice",
    "meeting",
    "chemistry",
    "复习",
    "报销",
    "考试",
    "计划书",
    "北京",
    "上海",
    "出差",
    "会议",
    "化学",
    "预算",
    "发票",
    "教室",
    "学习",
    "项目",
    "时间",
    "安排",
];

/// The same numbers on every machine.
#[derive(Debug, Clone, Copy)]
pub struct Chance(u64);

impl Default for Chance {
    fn default() -> Self {
        Self(7)
    }
}

impl Chance {
    /// A number below the limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// A short document. Some words are common, and some characters rare.
    pub fn text(&mut self) -> String {
        let words = 8 + self.below(16);
        let word = |chance: &mut Self| {
            let (a, b) = (chance.below(24), chance.below(24));
            let rare = chance.below(3_000);
            match usize::try_from(a.min(b)).ok().and_then(|n| WORDS.get(n)) {
                Some(word) if rare > 2_000 => (*word).to_owned(),
                _ if rare > 1_000 => format!("w{rare}"),
                _ => {
                    let han = |n: u64| u32::try_from(0x4E00 + n).ok().and_then(char::from_u32);
                    [han(rare), han(chance.below(3_000))]
                        .into_iter()
                        .flatten()
                        .collect()
                }
            }
        };
        let words: Vec<String> = (0..words).map(|_| word(self)).collect();
        words.join(if self.below(2) == 0 { " " } else { "" })
    }
}

/// So many documents.
pub fn documents(count: u64) -> Vec<String> {
    let mut chance = Chance::default();
    (0..count).map(|_| chance.text()).collect()
}

/// Two Chinese characters each, that some of these documents hold: rare ones and common ones.
pub fn pairs(documents: &[String], count: usize) -> Vec<String> {
    let mut chance = Chance(11);
    let mut pairs = vec![];
    while pairs.len() < count && !documents.is_empty() {
        let number = usize::try_from(chance.below(documents.len() as u64)).unwrap_or(0);
        let text: Vec<char> = documents
            .get(number)
            .map_or(vec![], |text| text.chars().collect());
        let han = |c: &char| ('\u{4E00}'..='\u{9FFF}').contains(c);
        let found: Vec<&[char]> = text.windows(2).filter(|two| two.iter().all(han)).collect();
        let nth = usize::try_from(chance.below(found.len().max(1) as u64)).unwrap_or(0);
        pairs.extend(found.get(nth).map(|two| two.iter().collect::<String>()));
        if found.is_empty() && documents.len() < 10 {
            pairs.push("复习".to_owned());
        }
    }
    pairs
}

/// What people ask: pairs of characters, and longer questions in one language and in two.
pub fn questions(documents: &[String]) -> Vec<String> {
    let longer = [
        "复习",
        "报销",
        "化学 exam",
        "北京出差的发票",
        "chemistry plan 计划书",
        "w1500 安排",
        "budget travel meeting",
        "学习项目的时间安排",
    ];
    let longer = longer.map(str::to_owned);
    pairs(documents, 16).into_iter().chain(longer).collect()
}
