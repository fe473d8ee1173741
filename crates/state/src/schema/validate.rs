//! Checks of values against a JSON Schema: draft 2020-12, and the tuples and dependencies of draft
//! 7. `format` and the keywords about contents are annotations. References are followed within the
//! schema.
use std::{cell::Cell, cmp::Ordering};

use serde_json::{Map, Number, Value};

use crate::{Lang, say};

use super::{
    Violation,
    compare::{has_type, is_multiple, is_same, matches, order},
    evaluated::declared,
};

/// The greatest number of schemas within each other, references included: a schema that refers to
/// itself must not exhaust the stack.
pub(super) const DEEPEST: usize = 512;
/// The greatest number of schemas that are applied, for one that refers to itself twice.
const MOST: usize = 1_000_000;

/// Returns the violations of a value, in the order of the schema's keywords.
pub(super) fn violations(root: &Value, value: &Value) -> Vec<Violation> {
    let left = Cell::new(MOST);
    let mut checker = Checker::new(root, &left, 0);
    checker.apply(root, value);
    if left.get() > 0 {
        return checker.found;
    }
    vec![Violation {
        path: String::new(),
        message: say!(
            "it is nested too deeply, or too large, to be checked",
            "嵌套太深或太大，无法检查"
        ),
    }]
}

/// Finds the schema of a reference within the root schema.
pub(super) fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let name = percent_decoded(reference.strip_prefix('#')?)?;
    if name.is_empty() || name.starts_with('/') {
        return root.pointer(&name);
    }
    anchored(root, &name)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = vec![];
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        decoded.push(match byte {
            b'%' => u8::try_from(digit()? * 16 + digit()?).ok()?,
            byte => byte,
        });
    }
    String::from_utf8(decoded).ok()
}

fn anchored<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    match schema {
        Value::Object(rules) if rules.get("$anchor").and_then(Value::as_str) == Some(name) => {
            Some(schema)
        }
        Value::Object(rules) => rules.values().find_map(|rule| anchored(rule, name)),
        Value::Array(rules) => rules.iter().find_map(|rule| anchored(rule, name)),
        _ => None,
    }
}

fn strings(rule: &Value) -> impl Iterator<Item = &str> {
    let list = rule.as_array().into_iter().flatten();
    list.filter_map(Value::as_str)
}

fn quoted<'v>(values: impl IntoIterator<Item = &'v Value>, last: &str) -> String {
    let mut texts: Vec<_> = values.into_iter().map(Value::to_string).collect();
    match texts.pop() {
        Some(end) if texts.is_empty() => end,
        Some(end) => format!("{}{last}{end}", texts.join(", ")),
        None => String::new(),
    }
}

/// A check of one value: the violations so far, and the place that is checked.
pub(super) struct Checker<'s> {
    pub(super) root: &'s Value,
    /// The number of schemas that may still be applied; 0 ends the whole check.
    pub(super) left: &'s Cell<usize>,
    found: Vec<Violation>,
    path: String,
    pub(super) depth: usize,
}

impl<'s> Checker<'s> {
    pub(super) fn new(root: &'s Value, left: &'s Cell<usize>, depth: usize) -> Self {
        Self {
            root,
            left,
            found: vec![],
            path: String::new(),
            depth,
        }
    }

    fn report(&mut self, message: String) {
        let path = self.path.clone();
        self.found.push(Violation { path, message });
    }

    fn demand(&mut self, holds: bool, message: impl FnOnce() -> String) {
        if !holds {
            self.report(message());
        }
    }

    /// Returns true if a value fits a schema.
    pub(super) fn fits(&self, schema: &'s Value, value: &Value) -> bool {
        let mut checker = Self::new(self.root, self.left, self.depth);
        checker.apply(schema, value);
        checker.found.is_empty()
    }

    /// Checks the value at a key or an index of the present one.
    fn within(&mut self, key: &str, schema: &'s Value, value: &Value) {
        let outer = self.path.len();
        self.path.push('/');
        self.path
            .push_str(&key.replace('~', "~0").replace('/', "~1"));
        self.apply(schema, value);
        self.path.truncate(outer);
    }

    fn apply(&mut self, schema: &'s Value, value: &Value) {
        let left = if self.depth < DEEPEST {
            self.left.get()
        } else {
            0
        };
        self.left.set(left.saturating_sub(1));
        let rules = match schema {
            _ if left == 0 => return,
            Value::Object(rules) => rules,
            Value::Bool(false) => {
                return self.report(say!(
                    "no value is allowed, and it is {value}",
                    "这里不允许任何值，而它是 {value}"
                ));
            }
            _ => return,
        };
        self.depth += 1;
        for (keyword, rule) in rules {
            match value {
                Value::Number(number) => self.number(keyword, rule, number),
                Value::String(text) => self.string(keyword, rule, text),
                Value::Array(items) => self.array(keyword, rule, rules, items),
                Value::Object(fields) => self.object(keyword, rule, rules, fields),
                Value::Null | Value::Bool(_) => {}
            }
            self.any(keyword, rule, rules, value);
        }
        self.depth -= 1;
    }

    /// Checks the keywords for values of all types.
    fn any(
        &mut self,
        keyword: &str,
        rule: &'s Value,
        rules: &'s Map<String, Value>,
        value: &Value,
    ) {
        match (keyword, rule) {
            ("$ref", Value::String(reference)) => match resolve(self.root, reference) {
                Some(schema) => self.apply(schema, value),
                None => self.report(say!(
                    "the schema has nothing at {reference}",
                    "模式中没有 {reference}"
                )),
            },
            ("type", Value::String(name)) => self.demand(has_type(value, name), || {
                say!("{value} is not of type {rule}", "{value} 的类型不是 {rule}")
            }),
            ("type", Value::Array(names)) => {
                let fits = strings(rule).any(|name| has_type(value, name));
                self.demand(fits, || {
                    say!(
                        "{value} is not of types {}",
                        "{value} 的类型不是 {} 之一",
                        quoted(names, ", ")
                    )
                });
            }
            ("enum", Value::Array(allowed)) => {
                let fits = allowed.iter().any(|one| is_same(one, value));
                self.demand(fits, || {
                    say!(
                        "{value} is not one of {}",
                        "{value} 不是 {} 之一",
                        quoted(allowed, Lang::current().pick(" or ", "、"))
                    )
                });
            }
            ("const", _) => self.demand(is_same(rule, value), || {
                say!("{rule} was expected", "应为 {rule}")
            }),
            ("allOf", Value::Array(all)) => all.iter().for_each(|schema| self.apply(schema, value)),
            ("anyOf", Value::Array(any)) => {
                let fits = any.iter().any(|schema| self.fits(schema, value));
                self.demand(fits, || no_branch(value, keyword));
            }
            ("oneOf", Value::Array(one)) => {
                let fitting = one.iter().filter(|schema| self.fits(schema, value));
                match fitting.take(2).count() {
                    0 => self.report(no_branch(value, keyword)),
                    1 => {}
                    _ => self.report(say!(
                        "{value} is valid under more than one of the schemas listed in the 'oneOf' keyword",
                        "{value} 同时符合 'oneOf' 中的多个模式"
                    )),
                }
            }
            ("not", _) => self.demand(!self.fits(rule, value), || {
                say!(
                    "{rule} is not allowed for {value}",
                    "{value} 不得符合 {rule}"
                )
            }),
            ("if", _) => {
                let branch = if self.fits(rule, value) {
                    "then"
                } else {
                    "else"
                };
                if let Some(schema) = rules.get(branch) {
                    self.apply(schema, value);
                }
            }
            _ => {}
        }
    }

    fn number(&mut self, keyword: &str, rule: &Value, number: &Number) {
        let Value::Number(limit) = rule else { return };
        let ordered = || order(number, limit);
        match keyword {
            "minimum" => self.demand(ordered() != Some(Ordering::Less), || {
                say!(
                    "{number} is less than the minimum of {limit}",
                    "{number} 小于最小值 {limit}"
                )
            }),
            "maximum" => self.demand(ordered() != Some(Ordering::Greater), || {
                say!(
                    "{number} is greater than the maximum of {limit}",
                    "{number} 大于最大值 {limit}"
                )
            }),
            "exclusiveMinimum" => self.demand(ordered() == Some(Ordering::Greater), || {
                say!(
                    "{number} is less than or equal to the minimum of {limit}",
                    "{number} 不大于下限 {limit}"
                )
            }),
            "exclusiveMaximum" => self.demand(ordered() == Some(Ordering::Less), || {
                say!(
                    "{number} is greater than or equal to the maximum of {limit}",
                    "{number} 不小于上限 {limit}"
                )
            }),
            "multipleOf" => self.demand(is_multiple(number, limit), || {
                say!(
                    "{number} is not a multiple of {limit}",
                    "{number} 不是 {limit} 的倍数"
                )
            }),
            _ => {}
        }
    }

    fn string(&mut self, keyword: &str, rule: &Value, text: &str) {
        let shown = || Value::from(text);
        match (keyword, rule) {
            ("minLength", Value::Number(least)) => {
                self.demand(at_least(text.chars().count(), least), || {
                    let unit = plural(least, "character", "个字符");
                    say!("{} is shorter than {unit}", "{} 短于{unit}", shown())
                });
            }
            ("maxLength", Value::Number(most)) => {
                self.demand(at_most(text.chars().count(), most), || {
                    let unit = plural(most, "character", "个字符");
                    say!("{} is longer than {unit}", "{} 长于{unit}", shown())
                });
            }
            ("pattern", Value::String(pattern)) => self.demand(matches(pattern, text), || {
                say!("{} does not match {rule}", "{} 不匹配 {rule}", shown())
            }),
            _ => {}
        }
    }

    fn array(
        &mut self,
        keyword: &str,
        rule: &'s Value,
        rules: &'s Map<String, Value>,
        items: &[Value],
    ) {
        let shown = || Value::from(items);
        match (keyword, rule) {
            ("minItems", Value::Number(least)) => self.demand(at_least(items.len(), least), || {
                let unit = plural(least, "item", "项");
                say!("{} has less than {unit}", "{} 少于{unit}", shown())
            }),
            ("maxItems", Value::Number(most)) => self.demand(at_most(items.len(), most), || {
                let unit = plural(most, "item", "项");
                say!("{} has more than {unit}", "{} 多于{unit}", shown())
            }),
            ("uniqueItems", Value::Bool(true)) => {
                let mut pairs = items.iter().enumerate();
                let unique = pairs.all(|(n, one)| !items.iter().take(n).any(|it| is_same(it, one)));
                self.demand(unique, || {
                    say!("{} has non-unique elements", "{} 有重复的元素", shown())
                });
            }
            // In draft 7 a list of schemas is a tuple.
            ("prefixItems" | "items", Value::Array(tuple)) => {
                for (n, (schema, item)) in tuple.iter().zip(items).enumerate() {
                    self.within(&n.to_string(), schema, item);
                }
            }
            ("items" | "additionalItems", _) => {
                let tuple = rules.get(if keyword == "items" {
                    "prefixItems"
                } else {
                    "items"
                });
                let tuple = match (keyword, tuple.and_then(Value::as_array)) {
                    // Without a tuple there are no additional items.
                    ("additionalItems", None) => return,
                    (_, tuple) => tuple.map_or(0, Vec::len),
                };
                for (n, item) in items.iter().enumerate().skip(tuple) {
                    self.within(&n.to_string(), rule, item);
                }
            }
            ("contains", _) => {
                let fitting = items.iter().filter(|item| self.fits(rule, item)).count();
                let least = rules.get("minContains").and_then(Value::as_number);
                let most = rules.get("maxContains").and_then(Value::as_number);
                let enough = least.map_or(fitting > 0, |least| at_least(fitting, least));
                let fits = enough && most.is_none_or(|most| at_most(fitting, most));
                self.demand(fits, || {
                    say!(
                        "{fitting} of {} are valid under the schema of 'contains'",
                        "有 {fitting} 个元素符合 'contains' 的模式：{}",
                        shown()
                    )
                });
            }
            ("unevaluatedItems", _) => {
                let known = self.evaluated(rules, &Value::from(items), keyword);
                for (n, item) in items.iter().enumerate() {
                    let n = n.to_string();
                    if !known.contains(&n) {
                        self.within(&n, rule, item);
                    }
                }
            }
            _ => {}
        }
    }

    fn object(
        &mut self,
        keyword: &str,
        rule: &'s Value,
        rules: &'s Map<String, Value>,
        fields: &Map<String, Value>,
    ) {
        let shown = || Value::from(fields.clone());
        match (keyword, rule) {
            ("required", _) => self.require(strings(rule), fields),
            ("minProperties", Value::Number(least)) => {
                self.demand(at_least(fields.len(), least), || {
                    say!(
                        "{} has less than {least} properties",
                        "{} 的属性少于 {least} 个",
                        shown()
                    )
                });
            }
            ("maxProperties", Value::Number(most)) => {
                self.demand(at_most(fields.len(), most), || {
                    say!(
                        "{} has more than {most} properties",
                        "{} 的属性多于 {most} 个",
                        shown()
                    )
                });
            }
            ("properties", Value::Object(schemas)) => {
                for (key, schema) in schemas {
                    if let Some(value) = fields.get(key) {
                        self.within(key, schema, value);
                    }
                }
            }
            ("patternProperties", Value::Object(schemas)) => {
                for (pattern, schema) in schemas {
                    for (key, value) in fields.iter().filter(|(key, _)| matches(pattern, key)) {
                        self.within(key, schema, value);
                    }
                }
            }
            ("additionalProperties" | "unevaluatedProperties", _) => {
                let known = if keyword == "additionalProperties" {
                    declared(rules, fields)
                } else {
                    self.evaluated(rules, &shown(), keyword)
                };
                self.rest(
                    keyword,
                    rule,
                    fields.iter().filter(|(key, _)| !known.contains(*key)),
                );
            }
            ("propertyNames", _) => {
                for key in fields.keys() {
                    self.apply(rule, &Value::from(key.as_str()));
                }
            }
            ("dependentRequired" | "dependentSchemas" | "dependencies", Value::Object(by_key)) => {
                for (_, wanted) in by_key.iter().filter(|(key, _)| fields.contains_key(*key)) {
                    match wanted {
                        Value::Array(_) => self.require(strings(wanted), fields),
                        schema => self.apply(schema, &shown()),
                    }
                }
            }
            _ => {}
        }
    }

    fn require<'k>(&mut self, keys: impl Iterator<Item = &'k str>, fields: &Map<String, Value>) {
        for key in keys.filter(|key| !fields.contains_key(*key)) {
            self.report(say!(
                "{} is a required property",
                "缺少必需的属性 {}",
                Value::from(key)
            ));
        }
    }

    /// Checks the fields that no other keyword names.
    fn rest<'v>(
        &mut self,
        keyword: &str,
        schema: &'s Value,
        fields: impl Iterator<Item = (&'v String, &'v Value)>,
    ) {
        if schema != &Value::Bool(false) {
            fields.for_each(|(key, value)| self.within(key, schema, value));
            return;
        }
        let unexpected: Vec<_> = fields.map(|(key, _)| format!("'{key}'")).collect();
        let kind = if keyword == "additionalProperties" {
            say!("Additional", "额外")
        } else {
            say!("Unevaluated", "未声明")
        };
        let were = if unexpected.len() == 1 { "was" } else { "were" };
        self.demand(unexpected.is_empty(), || {
            let names = unexpected.join(", ");
            match Lang::current() {
                Lang::En => {
                    format!("{kind} properties are not allowed ({names} {were} unexpected)")
                }
                Lang::Zh => format!("不允许{kind}的属性（多余的是 {names}）"),
            }
        });
    }
}

fn no_branch(value: &Value, keyword: &str) -> String {
    say!(
        "{value} is not valid under any of the schemas listed in the '{keyword}' keyword",
        "{value} 不符合 '{keyword}' 中的任何模式"
    )
}

fn at_least(count: usize, least: &Number) -> bool {
    order(&Number::from(count), least) != Some(Ordering::Less)
}

fn at_most(count: usize, most: &Number) -> bool {
    order(&Number::from(count), most) != Some(Ordering::Greater)
}

fn plural(count: &Number, one: &str, chinese: &str) -> String {
    let many = if count.as_u64() == Some(1) { "" } else { "s" };
    match Lang::current() {
        Lang::En => format!("{count} {one}{many}"),
        Lang::Zh => format!(" {count} {chinese}"),
    }
}
