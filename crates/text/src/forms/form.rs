//! Forms, and their missing fields.
use fugato_state::say;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    draft::{Draft, FormsError},
    field::{Field, FieldError},
    value,
};
use crate::{DateDirection, Lang};

/// The values of a form's fields, each in its canonical form.
pub type Fields = Map<String, Value>;

/// The forms of an application, as data. `N` is the type of their names: a string, or an enum of
/// the application that allows only its own forms.
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
    /// The name of the form.
    pub name: N,
    /// The label in Chinese.
    pub zh: String,
    /// The label in English.
    pub en: String,
    /// The direction in which days without a year or a week are resolved; ahead if not set.
    #[serde(default = "ahead")]
    pub toward: DateDirection,
    /// The fields, in the order in which they are asked for.
    pub fields: Vec<Field>,
}

fn ahead() -> DateDirection {
    DateDirection::Ahead
}

impl<N: PartialEq> TryFrom<Draft<N>> for Forms<N> {
    type Error = FormsError;

    fn try_from(draft: Draft<N>) -> Result<Self, FormsError> {
        draft.checked().map(Self)
    }
}

impl<N> Forms<N> {
    /// Returns the form of this name.
    pub fn get<Q: ?Sized>(&self, name: &Q) -> Option<&Form<N>>
    where
        N: PartialEq<Q>,
    {
        self.0.iter().find(|form| form.name == *name)
    }

    /// Returns the [missing](Form::missing) fields of the form of this name; none if there is no
    /// such form.
    pub fn missing<Q: ?Sized>(&self, name: &Q, fields: &Fields) -> Vec<String>
    where
        N: PartialEq<Q>,
    {
        let form = self.get(name);
        form.map_or_else(Vec::new, |form| form.missing(fields))
    }

    /// Returns the fields as the form of this name [reads](Form::read) them; none if there is no
    /// such form.
    pub fn read<Q: ?Sized>(&self, name: &Q, given: &Fields) -> Result<Fields, FieldError>
    where
        N: PartialEq<Q>,
    {
        let form = self.get(name);
        form.map_or_else(|| Ok(Fields::new()), |form| form.read(given))
    }

    /// Returns all forms, in the order of the data.
    pub fn iter(&self) -> impl Iterator<Item = &Form<N>> {
        self.0.iter()
    }

    /// Returns the names of all forms.
    pub fn names(&self) -> Vec<&N> {
        self.0.iter().map(|form| &form.name).collect()
    }

    /// Returns the schemas of all fields of all forms, by field name.
    pub fn properties(&self) -> Fields {
        self.0.iter().flat_map(Form::properties).collect()
    }

    /// Describes the forms for a model: their names, their fields, and the required ones.
    pub fn outline(&self) -> String
    where
        N: Serialize,
    {
        let mut lines = vec![];
        for form in &self.0 {
            let name = json!(form.name);
            let name = name.as_str().unwrap_or_default();
            let lang = Lang::current();
            lines.push(format!("- {name}: {}", form.label(lang)));
            lines.extend(form.fields.iter().map(|field| {
                let must = if field.required {
                    lang.pick(", required", "，必填")
                } else {
                    ""
                };
                format!("  - {} ({}{must})", field.name, field.label(lang))
            }));
        }
        lines.join("\n")
    }
}

impl<N> Form<N> {
    /// Returns the label of the form.
    pub fn label(&self, lang: Lang) -> &str {
        lang.pick(&self.en, &self.zh)
    }

    /// Returns the field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns true if a text says nothing but what the words for choices of the form say: 打车费, "the
    /// taxi".
    pub fn names_only_choices(&self, text: &str) -> bool {
        const AROUND: [&str; 9] = ["a", "an", "the", "my", "our", "and", "ride", "fare", "bill"];
        let choices = self.fields.iter().flat_map(|field| &field.words);
        let words = choices.flat_map(|choice| &choice.words);
        let mut words: Vec<String> = words.map(|word| word.to_lowercase()).collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let lower = text.to_lowercase();
        let rest = words
            .iter()
            .fold(lower.clone(), |rest, word| rest.replace(word.as_str(), " "));
        let rest = rest.replace(['费', '票', '钱', '和', '的'], " ");
        let mut left = rest.split_whitespace();
        rest.trim() != lower.trim() && left.all(|word| AROUND.contains(&word))
    }

    /// Returns the names of required fields without a value, in the order of the form.
    pub fn missing(&self, fields: &Fields) -> Vec<String> {
        let required = self.fields.iter().filter(|field| field.required);
        let open = required.filter(|field| !fields.contains_key(&field.name));
        open.map(|field| field.name.clone()).collect()
    }

    /// Returns the fields that have a value, in the order of the form.
    pub fn filled<'a>(
        &'a self,
        fields: &'a Fields,
    ) -> impl Iterator<Item = (&'a Field, &'a Value)> {
        let all = self.fields.iter();
        all.filter_map(|field| Some((field, fields.get(&field.name)?)))
    }

    /// Returns the values in canonical form. Blank values, such as null, are left out; unknown
    /// fields and values that do not fit are errors.
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

    /// Returns the JSON schema of the fields, none of them required.
    pub fn schema(&self) -> Value {
        let properties: Fields = self.properties().collect();
        json!({ "type": "object", "properties": properties, "additionalProperties": false })
    }

    fn properties(&self) -> impl Iterator<Item = (String, Value)> {
        let fields = self.fields.iter();
        fields.map(|field| (field.name.clone(), field.schema()))
    }

    /// Refuses a day that precedes the one of `not_before`.
    fn in_order(&self, fields: &Fields) -> Result<(), FieldError> {
        for field in &self.fields {
            let first = field.not_before.as_deref().and_then(|it| self.field(it));
            let Some(first) = first else { continue };
            let start = value::text(fields, &first.name);
            let end = fields.get(&field.name);
            // Canonical days are ordered as texts.
            if let Some(end) = end.filter(|end| end.as_str() < Some(start)) {
                let allowed = say!(
                    "its {} is {start}: that day or a later one is allowed",
                    "它的{}是 {start}：只能是那天或以后",
                    first.label(Lang::current())
                );
                return Err(self.refuses(&field.name, end, allowed));
            }
        }
        Ok(())
    }

    fn unknown(&self) -> String {
        let names: Vec<_> = self.fields.iter().map(|it| it.name.as_str()).collect();
        say!("its fields are {}", "它的字段有 {}", names.join(", "))
    }

    fn refuses(&self, field: &str, given: &Value, allowed: String) -> FieldError {
        FieldError {
            form: self.label(Lang::current()).to_owned(),
            field: field.to_owned(),
            given: given.to_string(),
            allowed,
        }
    }
}
