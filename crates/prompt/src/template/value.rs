use std::collections::BTreeSet;

use serde_json::Value;

use super::{Template, TemplateError};

/// A JSON value with placeholders in its strings.
///
/// A string that is only a placeholder becomes the value itself, and keeps its type; within a
/// longer string a value becomes text.
///
/// ```
/// use fugato_prompt::ValueTemplate;
/// use serde_json::json;
///
/// let call = ValueTemplate::new("call", json!({ "days": "{{days}}", "title": "in {{days}} days" }));
/// assert_eq!(call.places(), ["days".to_owned()].into());
/// assert_eq!(call.fill(&[("days", json!(14))])?, json!({ "days": 14, "title": "in 14 days" }));
/// # Ok::<(), fugato_prompt::TemplateError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ValueTemplate {
    name: String,
    value: Value,
}

impl ValueTemplate {
    /// Creates a template. The name is for errors.
    pub fn new(name: impl Into<String>, value: Value) -> Self {
        let name = name.into();
        Self { name, value }
    }

    /// Returns the names of the placeholders, each once.
    pub fn places(&self) -> BTreeSet<String> {
        let mut places = BTreeSet::new();
        self.collect(&self.value, &mut places);
        places
    }

    /// Returns the value with its placeholders filled in. A placeholder without a value is an error
    /// that names it.
    pub fn fill<N: AsRef<str>>(&self, known: &[(N, Value)]) -> Result<Value, TemplateError> {
        self.filled(&self.value, known)
    }

    fn collect(&self, value: &Value, places: &mut BTreeSet<String>) {
        match value {
            Value::String(text) => {
                let template = Template::new(&self.name, text);
                places.extend(template.places().into_iter().map(str::to_owned));
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, places)),
            Value::Object(fields) => fields.values().for_each(|it| self.collect(it, places)),
            _ => {}
        }
    }

    fn filled<N: AsRef<str>>(
        &self,
        value: &Value,
        known: &[(N, Value)],
    ) -> Result<Value, TemplateError> {
        Ok(match value {
            Value::String(text) => {
                let inner = text.trim().strip_prefix("{{");
                let place = inner.and_then(|rest| rest.strip_suffix("}}"));
                let is = |place: &str| known.iter().find(|(name, _)| name.as_ref() == place.trim());
                if let Some((_, value)) = place.and_then(is) {
                    return Ok(value.clone());
                }
                let texts = known.iter().map(|(_, value)| value_text(value));
                let texts: Vec<String> = texts.collect();
                let names = known.iter().map(|(name, _)| name.as_ref());
                let known = names.zip(texts.iter().map(String::as_str));
                Value::String(Template::new(&self.name, text).fill(known)?)
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| self.filled(item, known));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, field)| Ok((name.clone(), self.filled(field, known)?)));
                Value::Object(fields.collect::<Result<_, TemplateError>>()?)
            }
            other => other.clone(),
        })
    }
}

/// Returns a value as text: strings unchanged, lists with spaces between their items.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(value_text).collect();
            items.join(" ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn trn_w7_a_place_that_is_a_whole_text_keeps_its_type() {
        let template = json!([{ "a": ["{{ list }}", "x{{list}}y", 7] }, "{{flag}}{{flag}}", null]);
        let template = ValueTemplate::new("step", template);
        let known = [("list", json!(["p", 2])), ("flag", json!(true))];
        let filled = template.fill(&known).expect("both are known");
        assert_eq!(
            filled,
            json!([{ "a": [["p", 2], "xp 2y", 7] }, "truetrue", null])
        );
        let missing = template.fill(&known[..1]).expect_err("one is not known");
        assert!(missing.to_string().contains("flag"), "{missing}");
    }
}
