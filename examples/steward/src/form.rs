//! Forms as data: which fields there are, which of them are required, and what fits into each.
mod value;

use fugato::{state::Schema, words::has_word};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use value::{amount_text, amount_value, cents, day};

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

    /// All forms.
    pub fn iter(&self) -> impl Iterator<Item = &Form> {
        self.form.iter()
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
        let known = |name: &String| form.fields.iter().find(|field| field.name == *name);
        let mut fields = Fields::new();
        for (name, value) in given.iter().filter(|(_, value)| !value::is_blank(value)) {
            let read = match known(name) {
                Some(field) => value::read(field, value),
                None => Err(format!("its fields are {}", form.names().join(", "))),
            };
            let refused = |allowed| FieldError {
                form: form.en.clone(),
                field: name.clone(),
                given: value.to_string(),
                allowed,
            };
            fields.insert(name.clone(), read.map_err(refused)?);
        }
        form.check(&fields)?;
        Ok(fields)
    }

    /// The schemas of all fields of all forms, by their names.
    pub fn properties(&self) -> Fields {
        let fields = self.iter().flat_map(|form| &form.fields);
        fields
            .map(|field| (field.name.clone(), field.schema()))
            .collect()
    }
}

impl Form {
    fn check(&self, fields: &Fields) -> Result<(), FieldError> {
        let of = |name: &str| fields.get(name).and_then(Value::as_str);
        match (of("start_date"), of("end_date")) {
            // Days in this form are ordered as texts.
            (Some(start), Some(end)) if end < start => Err(FieldError {
                form: self.en.clone(),
                field: "end_date".into(),
                given: json!(end).to_string(),
                allowed: format!("a trip that begins on {start} ends on that day or later"),
            }),
            _ => Ok(()),
        }
    }

    /// The names of its fields.
    pub fn names(&self) -> Vec<&str> {
        self.fields
            .iter()
            .map(|field| field.name.as_str())
            .collect()
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// A schema for its fields, none of them required.
    pub fn schema(&self) -> Value {
        let properties = self
            .fields
            .iter()
            .map(|field| (field.name.clone(), field.schema()));
        json!({
            "type": "object",
            "properties": properties.collect::<Map<_, _>>(),
            "additionalProperties": false,
        })
    }

    /// The schema of the arguments of a tool that takes the form.
    pub fn arguments(&self) -> Option<Schema> {
        Schema::new(self.schema()).ok()
    }
}

impl Field {
    fn schema(&self) -> Value {
        let told = &self.en;
        match self.kind {
            FieldKind::Text | FieldKind::Document => {
                json!({ "type": "string", "description": told })
            }
            FieldKind::Day => json!({ "type": "string", "format": "date", "description": told }),
            FieldKind::Amount => {
                json!({ "type": "number", "exclusiveMinimum": 0, "description": told })
            }
            FieldKind::Choice => {
                let words: Vec<_> = self.words.iter().map(|choice| &choice.means).collect();
                json!({ "type": "string", "enum": words, "description": told })
            }
            FieldKind::Files => json!({
                "type": "array", "items": { "type": "string" }, "minItems": 1, "description": told,
            }),
        }
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
