//! Forms as data: which fields there are, which of them are required, and what fits into each.
mod value;

use fugato::{cli::Lang, words::has_word};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use value::{amount_text, amount_value, cents, day};
pub(crate) use value::{shown, strings, text};

/// The values of a form's fields, each in its canonical form.
pub type Fields = Map<String, Value>;

/// Which form.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FormKind {
    /// An application for a trip.
    Application,
    /// A claim for what was spent.
    Reimbursement,
    /// A claim is linked to an application.
    Link,
    /// Files are attached to a claim.
    Attachment,
}

/// The forms.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Forms {
    form: Vec<Form>,
}

/// A form.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Form {
    /// Which one.
    pub name: FormKind,
    /// What it is called, in Chinese.
    pub zh: String,
    /// What it is called, in English.
    pub en: String,
    /// Its fields, in the order in which they are asked for.
    pub fields: Vec<Field>,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Field {
    /// Its name in requests and answers.
    pub name: String,
    /// What fits into it.
    pub kind: FieldKind,
    /// Whether nothing is written without it.
    pub required: bool,
    /// What it is called, in Chinese.
    pub zh: String,
    /// What it is called, in English.
    pub en: String,
    /// What a choice allows.
    #[serde(default)]
    pub words: Vec<Choice>,
}

/// What fits into a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// Any words.
    Text,
    /// A day, as `2026-03-02`.
    Day,
    /// An amount of money with at most two decimals, more than nothing.
    Amount,
    /// One of the field's words.
    Choice,
    /// The names of files, at least one.
    Files,
    /// The number of an application or a claim.
    Document,
}

/// One of the values that a choice allows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Choice {
    /// The value.
    pub means: String,
    /// How people say it.
    pub words: Vec<String>,
}

/// A value does not fit into its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("{field:?} of the {form} cannot be {given}; {allowed}")]
pub struct FieldError {
    /// The form, in English.
    pub form: String,
    /// The field.
    pub field: String,
    /// What was given, as JSON.
    pub given: String,
    /// What is allowed.
    pub allowed: String,
}

impl Forms {
    /// The forms of `forms.toml`.
    pub fn load() -> Result<Self, toml::de::Error> {
        toml::from_str(include_str!("../forms.toml"))
    }

    /// The form of a kind; none if the data has none.
    pub fn get(&self, kind: FormKind) -> Option<&Form> {
        self.form.iter().find(|form| form.name == kind)
    }

    /// The required fields that are not filled in, in the order of the form. This is the only
    /// place that says what is missing.
    pub fn missing(&self, kind: FormKind, fields: &Fields) -> Vec<String> {
        let form = self.get(kind).into_iter().flat_map(|form| &form.fields);
        let open = form.filter(|field| field.required && !fields.contains_key(&field.name));
        open.map(|field| field.name.clone()).collect()
    }

    /// The fields of a form in canonical form. What the form does not know is an error.
    pub fn read(&self, kind: FormKind, given: &Fields) -> Result<Fields, FieldError> {
        let Some(form) = self.get(kind) else {
            return Ok(Fields::new());
        };
        let said = given.iter().filter(|(_, value)| !value::is_blank(value));
        let read = |(name, value): (&String, &Value)| {
            let known = || {
                let names: Vec<_> = form.fields.iter().map(|it| it.name.as_str()).collect();
                format!("its fields are {}", names.join(", "))
            };
            let read = form.field(name).ok_or_else(known);
            let read = read.and_then(|field| value::read(field, value));
            let refused = |allowed| form.refuses(name, value, allowed);
            Ok((name.clone(), read.map_err(refused)?))
        };
        let fields: Fields = said.map(read).collect::<Result<_, FieldError>>()?;
        match (fields.get("start_date"), fields.get("end_date")) {
            // Days in this form are ordered as texts.
            (Some(Value::String(start)), Some(end)) if end.as_str() < Some(start.as_str()) => {
                let allowed = format!("a trip that begins on {start} ends on that day or later");
                Err(form.refuses("end_date", end, allowed))
            }
            _ => Ok(fields),
        }
    }

    /// The names of all forms, as they are in requests.
    pub fn names(&self) -> Vec<FormKind> {
        self.form.iter().map(|form| form.name).collect()
    }

    /// The schemas of all fields of all forms, by their names.
    pub fn properties(&self) -> Fields {
        self.form.iter().flat_map(Form::properties).collect()
    }

    /// What a model has to know of the forms.
    pub fn outline(&self) -> String {
        let mut lines = vec![];
        for form in &self.form {
            let name = json!(form.name);
            lines.push(format!(
                "- {}: {}",
                name.as_str().unwrap_or_default(),
                form.en
            ));
            lines.extend(form.fields.iter().map(|field| {
                let must = if field.required { ", required" } else { "" };
                format!("  - {} ({}{must})", field.name, field.en)
            }));
        }
        lines.join("\n")
    }
}

impl Form {
    /// What it is called.
    pub fn label(&self, lang: Lang) -> &str {
        lang.pick(&self.en, &self.zh)
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// What is filled in, in the order of the form: each field with its value.
    pub fn filled<'a>(
        &'a self,
        fields: &'a Fields,
    ) -> impl Iterator<Item = (&'a Field, &'a Value)> {
        let fields = self
            .fields
            .iter()
            .map(|field| (field, fields.get(&field.name)));
        fields.filter_map(|(field, value)| Some((field, value?)))
    }

    /// A schema for its fields, none of them required.
    pub fn schema(&self) -> Value {
        let properties: Fields = self.properties().collect();
        json!({ "type": "object", "properties": properties, "additionalProperties": false })
    }

    fn properties(&self) -> impl Iterator<Item = (String, Value)> {
        let fields = self.fields.iter();
        fields.map(|field| (field.name.clone(), field.schema()))
    }

    fn refuses(&self, field: &str, given: &Value, allowed: String) -> FieldError {
        FieldError {
            form: self.en.clone(),
            field: field.to_owned(),
            given: given.to_string(),
            allowed,
        }
    }
}

impl Field {
    /// What it is called.
    pub fn label(&self, lang: Lang) -> &str {
        lang.pick(&self.en, &self.zh)
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            FieldKind::Text | FieldKind::Document => json!({ "type": "string" }),
            FieldKind::Day => json!({ "type": "string", "format": "date" }),
            FieldKind::Amount => json!({ "type": "number", "exclusiveMinimum": 0 }),
            FieldKind::Choice => json!({ "type": "string", "enum": self.choices() }),
            FieldKind::Files => {
                json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 })
            }
        };
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".into(), json!(self.en));
        }
        schema
    }

    /// The values of a choice.
    fn choices(&self) -> Vec<&str> {
        let choices = self.words.iter();
        choices.map(|choice| choice.means.as_str()).collect()
    }

    /// The value of a choice that these words mean: that of the longest word in them.
    pub fn chosen(&self, text: &str) -> Option<&str> {
        let text = text.to_lowercase();
        let found = self.words.iter().flat_map(|choice| {
            let words = choice.words.iter().map(|word| word.to_lowercase());
            let words = words.filter(|word| has_word(&text, word));
            words.map(move |word| (word.chars().count(), choice.means.as_str()))
        });
        // Of words of the same length the first of the form counts.
        let longest = found.reduce(|best, next| if next.0 > best.0 { next } else { best });
        longest.map(|(_, means)| means)
    }
}
