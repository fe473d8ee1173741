//! Forms, and what is missing in them.
use fugato_words::{Lang, Toward};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    draft::{Draft, FormsError},
    field::{Field, FieldError},
    value,
};

/// The values of a form's fields, each in its canonical form.
pub type Fields = Map<String, Value>;

/// The forms of a program, which are data. `N` is what names one: any word, or an enum of the
/// program, so that no other is asked for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    try_from = "Draft<N>",
    bound(deserialize = "N: Deserialize<'de> + PartialEq")
)]
pub struct Forms<N = String>(Vec<Form<N>>);

/// A form.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Form<N = String> {
    /// Which one.
    pub name: N,
    /// What it is called, in Chinese.
    pub zh: String,
    /// What it is called, in English.
    pub en: String,
    /// Where its days lie of which the year or the week is not said: ahead unless it is told.
    #[serde(default = "ahead")]
    pub toward: Toward,
    /// Its fields, in the order in which they are asked for.
    pub fields: Vec<Field>,
}

fn ahead() -> Toward {
    Toward::Ahead
}

impl<N: PartialEq> TryFrom<Draft<N>> for Forms<N> {
    type Error = FormsError;

    fn try_from(draft: Draft<N>) -> Result<Self, FormsError> {
        draft.checked().map(Self)
    }
}

impl<N> Forms<N> {
    /// The form of this name; none if there is none.
    pub fn get<Q: ?Sized>(&self, name: &Q) -> Option<&Form<N>>
    where
        N: PartialEq<Q>,
    {
        self.0.iter().find(|form| form.name == *name)
    }

    /// What is [missing](Form::missing) in the form of this name; nothing if there is none.
    pub fn missing<Q: ?Sized>(&self, name: &Q, fields: &Fields) -> Vec<String>
    where
        N: PartialEq<Q>,
    {
        let form = self.get(name);
        form.map_or_else(Vec::new, |form| form.missing(fields))
    }

    /// The fields of the form of this name as it [reads](Form::read) them; none if there is none.
    pub fn read<Q: ?Sized>(&self, name: &Q, given: &Fields) -> Result<Fields, FieldError>
    where
        N: PartialEq<Q>,
    {
        let form = self.get(name);
        form.map_or_else(|| Ok(Fields::new()), |form| form.read(given))
    }

    /// All forms, in the order of the data.
    pub fn iter(&self) -> impl Iterator<Item = &Form<N>> {
        self.0.iter()
    }

    /// The names of all forms.
    pub fn names(&self) -> Vec<&N> {
        self.0.iter().map(|form| &form.name).collect()
    }

    /// The schemas of all fields of all forms, by their names.
    pub fn properties(&self) -> Fields {
        self.0.iter().flat_map(Form::properties).collect()
    }

    /// What a model has to know of the forms: their names, their fields, and what is required.
    pub fn outline(&self) -> String
    where
        N: Serialize,
    {
        let mut lines = vec![];
        for form in &self.0 {
            let name = json!(form.name);
            let name = name.as_str().unwrap_or_default();
            lines.push(format!("- {name}: {}", form.en));
            lines.extend(form.fields.iter().map(|field| {
                let must = if field.required { ", required" } else { "" };
                format!("  - {} ({}{must})", field.name, field.en)
            }));
        }
        lines.join("\n")
    }
}

impl<N> Form<N> {
    /// What it is called.
    pub fn label(&self, lang: Lang) -> &str {
        lang.pick(&self.en, &self.zh)
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The required fields that are not filled in, in the order of the form.
    pub fn missing(&self, fields: &Fields) -> Vec<String> {
        let required = self.fields.iter().filter(|field| field.required);
        let open = required.filter(|field| !fields.contains_key(&field.name));
        open.map(|field| field.name.clone()).collect()
    }

    /// What is filled in, in the order of the form: each field with its value.
    pub fn filled<'a>(
        &'a self,
        fields: &'a Fields,
    ) -> impl Iterator<Item = (&'a Field, &'a Value)> {
        let all = self.fields.iter();
        all.filter_map(|field| Some((field, fields.get(&field.name)?)))
    }

    /// Fields in canonical form. What says nothing, such as a null, is left out; what the form
    /// does not know, or what does not fit, is an error.
    pub fn read(&self, given: &Fields) -> Result<Fields, FieldError> {
        let said = given.iter().filter(|(_, value)| !value::is_blank(value));
        let read = |(name, value): (&String, &Value)| {
            let field = self.field(name).ok_or_else(|| self.unknown());
            let read = field.and_then(|field| field.read(value));
            let refused = |allowed| self.refuses(name, value, allowed);
            Ok((name.clone(), read.map_err(refused)?))
        };
        let fields: Fields = said.map(read).collect::<Result<_, FieldError>>()?;
        self.in_order(&fields)?;
        Ok(fields)
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

    /// Refuses a day that comes before the one that it must not come before.
    fn in_order(&self, fields: &Fields) -> Result<(), FieldError> {
        for field in &self.fields {
            let first = field.not_before.as_deref().and_then(|it| self.field(it));
            let Some(first) = first else { continue };
            let start = value::text(fields, &first.name);
            let end = fields.get(&field.name);
            // Canonical days are ordered as texts.
            if let Some(end) = end.filter(|end| end.as_str() < Some(start)) {
                let allowed = format!(
                    "its {} is {start}: that day or a later one is allowed",
                    first.en
                );
                return Err(self.refuses(&field.name, end, allowed));
            }
        }
        Ok(())
    }

    fn unknown(&self) -> String {
        let names: Vec<_> = self.fields.iter().map(|it| it.name.as_str()).collect();
        format!("its fields are {}", names.join(", "))
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
