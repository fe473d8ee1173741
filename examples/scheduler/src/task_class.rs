//! A class in the form that a model writes: normalised, and checked as a whole.
mod synonym;

use fugato::state::say;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    schedule::{SECTIONS, Strategy, TaskClass, Terms},
    store::{ClassItem, ClassWrite},
};

/// Makes a class of things to do, or changes one. It schedules nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpsertTaskClassArgs {
    /// 0 makes a new class; otherwise the id of the class that changes.
    #[schemars(extend("x-zh" = "0 表示新建；否则是要改的类别的编号。"))]
    pub id: u32,
    /// `name`, `mode` (auto or manual), `start_date` and `end_date` (YYYY-MM-DD, required for
    /// auto), `subject_type` (quantitative, memory, reading, mixed), `difficulty_level` and
    /// `cognitive_intensity` (low, medium, high), `config` with `total_slots`, `strategy` (steady
    /// or rapid), `allow_filler_course`, `excluded_slots` (1 to 6) and `excluded_days_of_week` (1
    /// to 7), and `items`.
    #[schemars(extend("x-zh" = "`name`，`mode`（auto 或 manual），`start_date` 和 `end_date`（YYYY-MM-DD，auto 必需），`subject_type`（quantitative、memory、reading、mixed），`difficulty_level` 和 `cognitive_intensity`（low、medium、high），`config`（含 `total_slots`、`strategy`（steady 或 rapid）、`allow_filler_course`、`excluded_slots`（1 到 6）和 `excluded_days_of_week`（1 到 7）），以及 `items`。"))]
    pub task_class: Map<String, Value>,
    /// Its items, unless they are in `task_class`: each with `content`, perhaps `order` from 1,
    /// and `id` if it is there already.
    #[schemars(extend("x-zh" = "它的各项（若不在 `task_class` 中）：每项有 `content`，可有从 1 起的 `order`，已存在的还有 `id`。"))]
    pub items: Vec<Value>,
    /// The origin.
    #[schemars(extend("x-zh" = "来源。"))]
    pub source: ClassOrigin,
}

/// Where a class comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClassOrigin {
    /// The person said so.
    #[schemars(extend("x-zh" = "用户说的。"))]
    #[default]
    Chat,
    /// It was remembered.
    #[schemars(extend("x-zh" = "记忆中的。"))]
    Memory,
    /// It was read on the web.
    #[schemars(extend("x-zh" = "网上读到的。"))]
    Web,
}

/// The most items of a class: more than fit into the longest window.
const MOST_ITEMS: usize = 1_000;

/// Normalises the arguments of a model.
///
/// # Errors
/// All problems, one entry each.
pub fn normalised(args: &UpsertTaskClassArgs) -> Result<ClassWrite, Vec<String>> {
    let mut reader = ClassReader::new(&args.task_class);
    let auto = reader.mode();
    let class = TaskClass {
        id: args.id,
        name: reader.text("name"),
        strategy: reader.strategy(),
        total_slots: reader.number("total_slots", 1, u32::MAX),
        allow_filler_course: reader.truth("allow_filler_course"),
        excluded_slots: reader.list("excluded_slots", 6),
        excluded_days_of_week: reader.list("excluded_days_of_week", 7),
        start_date: reader.date("start_date", auto),
        end_date: reader.date("end_date", auto),
        subject_type: reader.word("subject_type", synonym::subject, SUBJECTS),
        difficulty_level: reader.word("difficulty_level", synonym::level, LEVELS),
        cognitive_intensity: reader.word("cognitive_intensity", synonym::level, LEVELS),
        terms: Terms::default(),
    };
    if let (Some(start), Some(end)) = (&class.start_date, &class.end_date)
        && end < start
    {
        reader.wrong(
            "end_date",
            say!(
                "is {end}; it must not be before start_date, {start}",
                "是 {end}；不得早于 start_date {start}"
            ),
        );
    }
    let items = reader.items(&args.items);
    let longest = u32::try_from(items.len())
        .unwrap_or(u32::MAX)
        .saturating_mul(SECTIONS.into());
    if !items.is_empty() && class.total_slots > longest {
        let why = say!(
            "is {}; no item takes more than a day, so at most {longest}",
            "是 {}；每项不超过一天，所以至多 {longest}",
            class.total_slots
        );
        reader.wrong("config.total_slots", why);
    }
    if reader.issues.is_empty() {
        Ok(ClassWrite::new(class, items))
    } else {
        Err(reader.issues)
    }
}

const SUBJECTS: &str = "quantitative, memory, reading, mixed";
const LEVELS: &str = "low, medium, high";

/// A reader of the fields of a class that collects their problems.
struct ClassReader<'a> {
    class: &'a Map<String, Value>,
    config: Option<&'a Map<String, Value>>,
    issues: Vec<String>,
}

impl<'a> ClassReader<'a> {
    fn new(class: &'a Map<String, Value>) -> Self {
        Self {
            class,
            config: class.get("config").and_then(Value::as_object),
            issues: vec![],
        }
    }

    fn wrong(&mut self, field: &str, why: impl std::fmt::Display) {
        self.issues.push(format!("{field} {why}"));
    }

    /// Returns a field, written either next to the configuration or inside it.
    fn field(&self, name: &str) -> Option<&'a Value> {
        let inside = self.config.and_then(|config| config.get(name));
        self.class
            .get(name)
            .or(inside)
            .filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &str) -> String {
        let text = self.field(name).and_then(Value::as_str).map(str::trim);
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            return text.to_owned();
        }
        self.wrong(name, say!("is missing; it needs a text", "缺失；需要文字"));
        String::new()
    }

    fn mode(&mut self) -> bool {
        match self.field("mode").map(|mode| mode.as_str()) {
            None | Some(Some("auto")) => true,
            Some(Some("manual")) => false,
            Some(_) => {
                self.wrong(
                    "mode",
                    say!("is neither auto nor manual", "既不是 auto 也不是 manual"),
                );
                false
            }
        }
    }

    fn strategy(&mut self) -> Strategy {
        let Some(value) = self.field("strategy") else {
            return Strategy::Steady;
        };
        value
            .as_str()
            .and_then(synonym::strategy)
            .unwrap_or_else(|| {
                self.wrong(
                    "config.strategy",
                    say!(
                        "is {value}; allowed are steady, rapid",
                        "是 {value}；可以是 steady、rapid"
                    ),
                );
                Strategy::Steady
            })
    }

    fn number(&mut self, name: &str, least: u32, most: u32) -> u32 {
        let found = self.field(name);
        let number = found
            .and_then(whole)
            .filter(|number| (least..=most).contains(number));
        number.unwrap_or_else(|| {
            let is = found.map_or(say!("missing", "缺失"), ToString::to_string);
            self.wrong(
                &format!("config.{name}"),
                say!(
                    "is {is}; it needs a number from {least} on",
                    "是 {is}；需要从 {least} 起的数"
                ),
            );
            least
        })
    }

    fn truth(&mut self, name: &str) -> bool {
        match self.field(name) {
            None => false,
            Some(Value::Bool(truth)) => *truth,
            Some(other) => {
                self.wrong(
                    &format!("config.{name}"),
                    say!(
                        "is {other}; allowed are true, false",
                        "是 {other}；可以是 true、false"
                    ),
                );
                false
            }
        }
    }

    fn list(&mut self, name: &str, most: u32) -> Vec<u8> {
        let Some(value) = self.field(name) else {
            return vec![];
        };
        let numbers = value.as_array().map(|numbers| {
            let number = |value: &Value| whole(value).filter(|number| (1..=most).contains(number));
            let numbers = numbers
                .iter()
                .map(|value| u8::try_from(number(value)?).ok());
            numbers.collect::<Option<std::collections::BTreeSet<u8>>>()
        });
        if let Some(numbers) = numbers.flatten() {
            return numbers.into_iter().collect();
        }
        let why = say!(
            "is {value}; it needs a list of numbers from 1 to {most}",
            "是 {value}；需要 1 到 {most} 的数的列表"
        );
        self.wrong(&format!("config.{name}"), why);
        vec![]
    }

    fn date(&mut self, name: &str, required: bool) -> Option<String> {
        let Some(value) = self.field(name) else {
            if required {
                self.wrong(
                    name,
                    say!(
                        "is missing; mode auto needs it, as YYYY-MM-DD",
                        "缺失；mode auto 需要它，形如 YYYY-MM-DD"
                    ),
                );
            }
            return None;
        };
        let text = value
            .as_str()
            .filter(|text| text.len() == 10 && text.is_ascii());
        let date = text.and_then(|text| text.parse::<jiff::civil::Date>().ok());
        if date.is_none() {
            self.wrong(
                name,
                say!(
                    "is {value}; it needs a date as YYYY-MM-DD",
                    "是 {value}；需要 YYYY-MM-DD 形式的日期"
                ),
            );
        }
        date.map(|date| date.to_string())
    }

    fn word<T>(&mut self, name: &str, read: fn(&str) -> Option<T>, allowed: &str) -> Option<T> {
        let found = self.field(name);
        let word = found.and_then(Value::as_str).and_then(read);
        if word.is_none() {
            let is = found.map_or(say!("missing", "缺失"), |found| format!("{found}"));
            self.wrong(
                name,
                say!(
                    "is {is}; allowed are {allowed}",
                    "是 {is}；可以是 {allowed}"
                ),
            );
        }
        word
    }

    fn items(&mut self, top: &[Value]) -> Vec<ClassItem> {
        let nested = self.field("items").and_then(Value::as_array);
        let written = nested.map_or(top, |nested| if nested.is_empty() { top } else { nested });
        if written.is_empty() || written.len() > MOST_ITEMS {
            let why = say!(
                "has {} entries; it needs 1 to {MOST_ITEMS}",
                "有 {} 项；需要 1 到 {MOST_ITEMS} 项",
                written.len()
            );
            self.wrong("items", why);
            return vec![];
        }
        let mut items: Vec<ClassItem> = vec![];
        for (value, n) in written.iter().zip(1_u32..) {
            let Some(item) = self.item(value, n) else {
                continue;
            };
            let order = item.order;
            if items.iter().any(|before| before.order == order) {
                self.wrong(
                    &format!("items[{n}].order"),
                    say!(
                        "is {order}, like that of one before it",
                        "是 {order}，与前面的一项相同"
                    ),
                );
            }
            items.push(item);
        }
        items.sort_by_key(|item| item.order);
        items
    }

    fn item(&mut self, value: &Value, n: u32) -> Option<ClassItem> {
        let names = ["content", "description", "title", "name"];
        let field = |name: &str| value.get(name).filter(|value| !value.is_null());
        let content = value
            .as_str()
            .or_else(|| names.iter().find_map(|name| field(name)?.as_str()));
        let content = content.map(str::trim).filter(|content| !content.is_empty());
        let Some(content) = content else {
            self.wrong(
                &format!("items[{n}].content"),
                say!("is missing; it needs a text", "缺失；需要文字"),
            );
            return None;
        };
        let order = match field("order") {
            None => Some(n),
            Some(order) => whole(order).filter(|order| *order > 0),
        };
        let task = match field("id") {
            None => Some(None),
            Some(id) => whole(id).map(|id| Some(id).filter(|id| *id > 0)),
        };
        let (Some(order), Some(task)) = (order, task) else {
            self.wrong(
                &format!("items[{n}]"),
                say!(
                    "has an order or id that is no whole number from 1 on",
                    "的 order 或 id 不是从 1 起的整数"
                ),
            );
            return None;
        };
        Some(ClassItem {
            task,
            order,
            content: content.to_owned(),
            terms: None,
        })
    }
}

/// Reads a whole number, also one that was written as a text.
fn whole(value: &Value) -> Option<u32> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    number.or_else(|| value.as_str()?.trim().parse().ok())
}

#[cfg(test)]
mod tests;
