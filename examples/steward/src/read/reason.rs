//! Why something is wanted, without what belongs into other fields.
use regex::Regex;

use crate::form::{FormKind, Forms};

/// Reads reasons, and keeps facts of other fields out of them.
#[derive(Debug)]
pub struct Reasons {
    named: Regex,
    trips: [Regex; 2],
    claims: [Regex; 2],
    cut: Regex,
    facts: [Regex; 3],
}

impl Reasons {
    pub(super) fn new(forms: &Forms) -> Result<Self, regex::Error> {
        let transport = forms
            .get(FormKind::Application)
            .and_then(|form| form.field("transport"));
        let words = transport
            .iter()
            .flat_map(|field| &field.words)
            .flat_map(|choice| &choice.words);
        let words = words
            .map(|word| regex::escape(word))
            .collect::<Vec<_>>()
            .join("|");
        let end = r"[^，,。；;\n]";
        Ok(Self {
            named: Regex::new(&format!(
                r"(?i)(?:事由|原因|理由|用途|目的|因为|为了|\breason\b|\bpurpose\b|\bbecause(?: of)?\b)(?:是|为|\s+is)?\s*[:：]?\s*({end}+)"
            ))?,
            trips: [
                Regex::new(&format!(
                    r"((?:拜访|参加|出席|洽谈|开会|培训|考察|验收|调研|支持|部署|走访|高铁往返){end}*)"
                ))?,
                Regex::new(&format!(
                    r"(?i)\b(?:for|to)\s+(?:an?\s+|the\s+|my\s+|our\s+)?((?:visit|meet|attend|customer|client|conference|training|project|team|workshop|audit|support|sales|high-speed){end}*)"
                ))?,
            ],
            claims: [
                Regex::new(r"报销(?:一下)?((?:[^，,。；;\n\d¥￥])+)")?,
                Regex::new(
                    r"(?i)\breimburse(?:ment)?(?:\s+me)?(?:\s+(?:for|of))?\s+(?:an?\s+|the\s+|my\s+)?([^,.;\n\d¥]+)",
                )?,
            ],
            cut: Regex::new(
                r"(?i)\s+(?:from|on|by|budget|with|costing|costs?|amount|until|about|for|attach\w*|and)\b.*$",
            )?,
            facts: [
                // A label and a word of another field are a fact of that field.
                Regex::new(&format!(
                    r"(?i)交通(?:方式|工具)?(?:是|为)?\s*[:：]?\s*(?:{words})"
                ))?,
                Regex::new(&format!(
                    r"(?i)(?:\btransport(?:ation)?\s*:?\s*(?:by\s+)?|\bby\s+)(?:{words})\b"
                ))?,
                Regex::new(
                    r"(?i)(?:预算|预计金额|预计费用|预计|金额|目的地|日期|时间|附件|\bbudget|\bamount)(?:是|为)?\s*[:：]?\s*[¥￥\d][\d,.]*\s*[万千百]?(?:k\b)?\s*(?:元|块|yuan)?",
                )?,
            ],
        })
    }

    pub(super) fn read(&self, form: FormKind, text: &str) -> Option<String> {
        if let Some(found) = self.named.captures(text) {
            return self.cleaned(found.get(1)?.as_str());
        }
        let patterns = match form {
            FormKind::Application => &self.trips,
            _ => &self.claims,
        };
        let found = patterns.iter().find_map(|pattern| pattern.captures(text))?;
        let found = found.get(1)?.as_str();
        self.cleaned(&self.cut.replace(found, ""))
    }

    /// A reason without facts of other fields; none if nothing is left. What describes the business
    /// stays, be it about travelling: a transport word alone is no fact of another field.
    pub fn cleaned(&self, reason: &str) -> Option<String> {
        let mut text = reason.to_owned();
        for fact in &self.facts {
            text = fact.replace_all(&text, " ").into_owned();
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        let text = text.trim_matches(|c: char| c.is_whitespace() || ",，.。;；:：、-".contains(c));
        (!text.is_empty()).then(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stw_32_facts_of_other_fields_are_kept_out_of_the_reason() {
        let forms = Forms::load().expect("the forms are data of this crate");
        let reasons = Reasons::new(&forms).expect("the patterns are right");
        let cases = [
            ("拜访客户交通火车", Some("拜访客户")),
            ("拜访客户 交通方式：高铁", Some("拜访客户")),
            ("高铁往返", Some("高铁往返")),
            ("高铁往返培训", Some("高铁往返培训")),
            ("交通调研", Some("交通调研")),
            ("customer visit, transport train", Some("customer visit")),
            ("customer visit by train", Some("customer visit")),
            ("high-speed round trip", Some("high-speed round trip")),
            ("train the sales team", Some("train the sales team")),
            ("验收项目预算1200元", Some("验收项目")),
            ("验收项目预算3千元", Some("验收项目")),
            ("交通火车", None),
        ];
        for (given, expected) in cases {
            assert_eq!(reasons.cleaned(given).as_deref(), expected, "{given}");
        }
    }
}
