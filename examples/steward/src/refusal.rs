//! Words that are not done as they stand: what they leave out, deny or take back, and what would have
//! to be worked out.
use fugato::{
    cli::Lang,
    form::{amount_text, amount_value, cents, text},
    words::{
        RestrictionKind, ShortAnswer, amounts, condition, corrected, dates, has_any_word, money,
        restriction, without_code,
    },
};
use jiff::{ToSpan as _, civil::Date};

use crate::{
    form::FormKind,
    read::{Clause, DocumentQuestion, document_ids},
    service::RuleData,
};

/// The words and marks between days that are named one by one, rather than from one to another.
const BETWEEN: [&str; 11] = [
    " and ", " or ", ", ", "，", "、", "和", "或", "与", "及", "。", ". ",
];
impl RuleData {
    /// Returns the answer to words that are no wish for a task: they make a condition or an exception,
    /// deny a deed, want several deeds, name a card that is not open, or leave open what is meant.
    pub(crate) fn not_a_wish(&self, words: &str, base: Date, lang: Lang) -> Option<String> {
        if let Some(condition) = condition(words) {
            return Some(lang.pick(
                format!("I cannot wait for a condition (“{condition}”), so nothing is done. Say it once it holds."),
                format!("我没法等条件成立（“{condition}”），所以什么也没做。等成立了再告诉我。"),
            ));
        }
        if let Some(code) = answered_code(words) {
            return Some(lang.pick(
                format!("No card {code} is open, so nothing is agreed to."),
                format!("没有打开的卡片{code}，所以什么也没有同意。"),
            ));
        }
        self.of_another(words, lang)
            .or_else(|| self.limited(words, lang))
            .or_else(|| self.several(words, lang))
            .or_else(|| self.taken_back(words, base, lang))
            .or_else(|| self.reckoned(words, base, lang))
            .or_else(|| self.only_some(words, base, lang))
            .or_else(|| self.of_several_amounts(words, base, lang))
            .or_else(|| self.summed(words, base, lang))
            .or_else(|| self.asked_leave(words, base, lang))
            .or_else(|| self.unwanted(words, base, lang))
            .or_else(|| self.filed(words, lang))
    }

    /// Returns the answer to words that put something under a category and do not say which claim.
    fn filed(&self, words: &str, lang: Lang) -> Option<String> {
        self.reader.files_under(words).then(|| {
            lang.pick(
                "Nothing was changed or begun. Say which claim is of which category, for example “change the category of R-1 to transport”.",
                "没有改动任何内容，也没有开始任何单据。请说明哪一张报销单是哪个类别，例如“把R-1的类别改成交通”。",
            )
            .to_owned()
        })
    }

    /// Returns the answer to words that tell of a trip which is not wanted.
    fn unwanted(&self, words: &str, base: Date, lang: Lang) -> Option<String> {
        let tells = || {
            let clauses = self.reader.clauses(self, words, base);
            clauses.iter().any(|it| it.form == FormKind::Application)
        };
        (self.reader.denies_trip(words) && tells()).then(|| {
            lang.pick(
                format!("Nothing is begun, as I take this for no wish: “{words}”."),
                format!("什么也没有开始，因为这听起来不是申请：“{words}”。"),
            )
        })
    }

    /// Returns the answer to a question for leave that tells nothing of a form: "can I claim a bottle of
    /// wine?".
    fn asked_leave(&self, words: &str, base: Date, lang: Lang) -> Option<String> {
        let asks_bound = self.reader.asks_bound(words);
        if !asks_bound && (!self.reader.asks_leave(words) || self.reader.question(words).is_some())
        {
            return None;
        }
        let claims = self.forms.get(&FormKind::Reimbursement);
        let read = claims.map(|form| self.facts.read(form, words, base));
        let of_category = asks_bound && read.is_some_and(|read| read.contains_key("category"));
        let clauses = self.reader.clauses(self, words, base);
        let tells = |clause: &Clause| {
            clause
                .fields
                .keys()
                .any(|name| name != "reason" && name != "category")
        };
        let is_about = of_category || self.reader.form_of(words).is_some() || !clauses.is_empty();
        (is_about && !clauses.iter().any(tells)).then(|| {
            lang.pick(
                format!("I cannot tell what is allowed, so nothing was begun (“{words}”). Tell me the day, the amount and what it is for, and I write it down."),
                format!("我不知道规定允许什么，所以什么也没有开始（“{words}”）。说出日期、金额和用途，我就记下来。"),
            )
        })
    }

    /// Returns the answer to words that leave something out of what is meant, or deny a deed.
    fn limited(&self, words: &str, lang: Lang) -> Option<String> {
        use DocumentQuestion::{List, Restore, Submit, Total, Ways, Withdraw};
        let asked = self.reader.question(words);
        let limit = restriction(words).filter(|it| it.kind == RestrictionKind::Exception);
        let shown = matches!(asked, Some(Total | List));
        let left_out = || self.reader.left_out(words).filter(|_| shown);
        let limit = limit.map(|it| it.words).or_else(left_out);
        if let Some(limit) = limit.filter(|_| asked != Some(Ways)) {
            return Some(not_left_out(limit, lang));
        }
        let told = match self.reader.denied(words)? {
            Withdraw if asked == Some(Ways) => return None,
            Withdraw => lang.pick(
                "Nothing is withdrawn. “List my documents” shows how they stand.",
                "什么也没有撤回。说“列出我的单据”可以查看状态。",
            ),
            Restore => lang.pick("Nothing is restored.", "什么也没有恢复。"),
            Submit => lang.pick("Nothing is handed in.", "什么也没有提交。"),
            _ => return None,
        };
        Some(told.to_owned())
    }

    /// Returns the answer to words that want several things that no plan has together.
    fn several(&self, words: &str, lang: Lang) -> Option<String> {
        let wishes = self.reader.several_wishes(words);
        (!wishes.is_empty()).then(|| one_by_one(&wishes, lang))
    }

    /// Returns the answer to words under a card that leave it and want something else: "cancel that, and
    /// claim my taxi".
    pub(crate) fn left_for_another(&self, words: &str, base: Date, lang: Lang) -> Option<String> {
        let marks = [",", "，", ";", "；", "。", " and "];
        let (first, rest) = marks.iter().find_map(|mark| words.split_once(mark))?;
        let (first, rest) = (first.trim(), rest.trim());
        let leaves = ShortAnswer::of(first) == Some(ShortAnswer::Cancel);
        let wants = || {
            let clauses = self.reader.clauses(self, rest, base);
            !clauses.is_empty() || self.reader.question(rest).is_some()
        };
        (leaves && wants()).then(|| one_by_one(&[first, rest], lang))
    }

    /// Returns the answer to words about the documents of somebody else: "how much has Bob claimed?".
    fn of_another(&self, words: &str, lang: Lang) -> Option<String> {
        let name = self.reader.somebody_else(words)?;
        Some(lang.pick(
            format!(
                "I see and write your own documents only, and none of {name}, so nothing was done."
            ),
            format!("我只能查看和办理你自己的单据，不能处理{name}的，所以什么也没做。"),
        ))
    }

    /// Returns the answer to words that take back what they say, if it is not clear what takes its
    /// place, or that tell of what was done.
    fn taken_back(&self, words: &str, base: Date, lang: Lang) -> Option<String> {
        let fills = || !self.reader.clauses(self, words, base).is_empty();
        if let Err(said) = corrected(words) {
            return Some(lang.pick(
                format!("I did not understand what takes the place of what with “{said}”, and nothing was changed. Say it once more as it is meant."),
                format!("没明白“{said}”是要替换哪一部分，什么也没改。请重新完整地说一遍。"),
            ));
        }
        (self.reader.means_done(words) && fills()).then(|| {
            let told = lang.pick(
                "Nothing was done. “List my claims” shows what is claimed here already.",
                "什么也没做。说“列出我的报销单”可以查看这里已有的报销。",
            );
            told.to_owned()
        })
    }

    /// Returns the answer to words whose amount or day would have to be worked out.
    fn reckoned(&self, words: &str, base: Date, lang: Lang) -> Option<String> {
        let told = self.told(words, base);
        let kinds = [FormKind::Application, FormKind::Reimbursement];
        let is_priced = |form: &FormKind| {
            let form = self.forms.get(form);
            let read = form.map(|form| self.facts.read(form, &told, base));
            read.is_some_and(|it| it.contains_key("amount") || it.contains_key("estimated_amount"))
        };
        let clauses = self.reader.clauses(self, words, base);
        // What was not taken up is asked for before the card.
        let is_asked = |word: &str| {
            let mut unread = clauses.iter().flat_map(|clause| &clause.unread);
            unread.any(|part| part.contains(word))
        };
        if let Some(word) = self.reader.reckons(&told)
            && !is_asked(word)
            && kinds.iter().any(is_priced)
        {
            let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
            return Some(lang.pick(
                format!("I do not work out amounts (“{word}”), so nothing was done. Say each claim or trip with its whole amount."),
                format!("我不推算金额（“{word}”），所以什么也没做。请说出每份单据的总金额。"),
            ));
        }
        let [claim] = &*clauses else {
            return None;
        };
        if claim.form != FormKind::Reimbursement || !document_ids(words).is_empty() {
            return None;
        }
        let days = self.days_apart(&told, base);
        if days.len() > 1 {
            let days: Vec<_> = days.iter().map(Date::to_string).collect();
            return Some(lang.pick(
                format!("A claim is of one day, and these are several ({}), so nothing was done. Say each claim with its day and its amount.", days.join(", ")),
                format!("一份报销单只对应一天，这里有几天（{}），所以什么也没做。请分别说出每份的日期和金额。", days.join("、")),
            ));
        }
        let tomorrow = base.saturating_add(1.day()).to_string();
        let is_ahead = text(&claim.fields, "expense_date") == tomorrow
            && has_any_word(words, &["tomorrow", "明天"]);
        is_ahead.then(|| {
            lang.pick(
                format!("{tomorrow} is yet to come, so nothing was done: a claim is of what was paid already."),
                format!("{tomorrow}还没到，所以什么也没做：只能报销已经花的钱。"),
            )
        })
    }

    /// Returns the answer to words that tell several claims, and want only some of them: "claim only
    /// mine".
    fn only_some(&self, words: &str, base: Date, lang: Lang) -> Option<String> {
        let mut parts = words
            .split([',', '，', ';', '；', '.', '。', '!', '！'])
            .skip(1);
        let only = parts.find(|part| {
            has_any_word(part, &["only", "只", "仅"])
                && !part.contains(|c: char| c.is_ascii_digit())
        })?;
        let clauses = self.reader.clauses(self, words, base);
        let claims = clauses.iter();
        let claims = claims.filter(|it| it.form == FormKind::Reimbursement);
        // One without currencies keeps its further amounts unread.
        let amounts = claims.map(|claim| {
            let mut unread = claim.unread.iter();
            let more = unread.any(|part| part.contains(|c: char| c.is_ascii_digit()));
            1 + usize::from(more)
        });
        (amounts.sum::<usize>() > 1).then(|| not_left_out(only.trim(), lang))
    }

    /// Returns the answer to words that tell one claim with several amounts: "30 euros for the taxi and
    /// 4 euros for the bus", where only one thing has a name that rules know.
    fn of_several_amounts(&self, words: &str, base: Date, lang: Lang) -> Option<String> {
        if self.reader.means_change(words) || self.reader.question(words).is_some() {
            return None;
        }
        let clauses = self.reader.clauses(self, words, base);
        let mut told: Vec<_> = clauses.iter().map(|it| it.amounts.clone()).collect();
        if told.is_empty() {
            told.extend(self.paid(words, base));
        }
        let several = told.into_iter().find(|it| it.len() > 1)?;
        let shown = |(hundredths, code): (i64, &str)| {
            format!("{} {code}", amount_text(&amount_value(hundredths)))
        };
        let shown: Vec<_> = several.into_iter().map(shown).collect();
        Some(lang.pick(
            format!("A claim is of one amount, and these are several ({}), so nothing was done. Say each claim with its amount and what it is for.", shown.join(", ")),
            format!("一份报销单只有一个金额，这里有几个（{}），所以什么也没做。请分别说出每份的金额和用途。", shown.join("、")),
        ))
    }

    /// Returns the amounts with a currency in words that name something that a claim is for.
    fn paid(&self, words: &str, base: Date) -> Option<Vec<(i64, &'static str)>> {
        let form = self.forms.get(&FormKind::Reimbursement)?;
        let told = self.told(words, base);
        let category = form.field("category")?;
        let names_some = category.is_named(&told);
        names_some.then(|| amounts(&dates(&told, base, form.toward).rest))
    }

    /// Returns the answer to words whose sum is not that of the amounts that they tell.
    fn summed(&self, words: &str, base: Date, lang: Lang) -> Option<String> {
        let (said, sum) = self.reader.sum_said(words)?;
        let clauses = self.reader.clauses(self, words, base);
        let amounts = |clause: &Clause| {
            let told = ["amount", "estimated_amount"];
            let mut told = told.iter();
            let told = told.find_map(|name| cents(clause.fields.get(*name)?));
            // Of a trip that tells several none is read.
            let parts = clause.unread.iter().filter(|part| !said.contains(*part));
            let parts = parts.filter_map(|part| money(part));
            told.map_or_else(|| parts.collect(), |told| vec![told])
        };
        let amounts: Vec<i64> = clauses.iter().flat_map(amounts).collect();
        let come: i64 = amounts.iter().sum();
        let is_other = amounts.len() > 1 && come != sum && !amounts.contains(&sum);
        let come = amount_text(&amount_value(come));
        is_other.then(|| {
            lang.pick(
                format!("The amounts come to {come}, and that is not “{said}”, so nothing was done. Say each claim or trip with its whole amount."),
                format!("各项金额加起来是{come}，与“{said}”不符，所以什么也没做。请说出每份单据的总金额。"),
            )
        })
    }

    /// Returns the days of a claim that words name one by one.
    fn days_apart(&self, words: &str, base: Date) -> Vec<Date> {
        let Some(form) = self.forms.get(&FormKind::Reimbursement) else {
            return vec![];
        };
        let mut parts = vec![words];
        for mark in BETWEEN {
            parts = parts
                .into_iter()
                .flat_map(|part| part.split(mark))
                .collect();
        }
        let days = parts
            .into_iter()
            .map(|part| dates(part, base, form.toward).dates);
        let mut days: Vec<Date> = days.filter_map(|days| days.first().copied()).collect();
        days.sort_unstable();
        days.dedup();
        days
    }
}

/// Returns the answer to wishes that no plan has together.
fn one_by_one(wishes: &[&str], lang: Lang) -> String {
    let quoted: Vec<_> = wishes.iter().map(|it| format!("“{it}”")).collect();
    lang.pick(
        format!(
            "Please say this one after the other; nothing was done: {}.",
            quoted.join(", ")
        ),
        format!("请一件一件地说；什么也没做：{}。", quoted.join("、")),
    )
}

/// Returns the answer to words that leave something out of what they name.
fn not_left_out(limit: &str, lang: Lang) -> String {
    lang.pick(
        format!("I cannot leave anything out (“{limit}”), so nothing was done. Name each document that is meant."),
        format!("我不能把一部分排除在外（“{limit}”），所以什么也没做。请把要办的单据一张一张说出来。"),
    )
}

/// Returns the code of a card that words answer and say nothing else to.
fn answered_code(words: &str) -> Option<String> {
    let (rest, code) = without_code(words);
    ShortAnswer::of(&rest).and(code)
}
