//! Intents: the words of a person become a wish with parameters.
use fugato::llm::Contract;
use fugato::state::say;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The wish of a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// What kind of wish it is.
    pub intent: IntentKind,
    /// What it is about.
    #[serde(default)]
    pub params: Params,
    /// How involved it is, from 0 to 1.
    #[serde(default)]
    pub complexity: f32,
}

/// The kinds of wishes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntentKind {
    /// To find something.
    Search,
    /// To be reminded.
    Remind,
    /// To write something down.
    Create,
    /// To have something done.
    Execute,
    /// To be told what is remembered.
    AskMemory,
    /// Only to talk.
    #[default]
    Chat,
}

/// What a wish is about. All may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Params {
    /// What kind of thing, such as document, web or photo.
    #[serde(rename = "type")]
    pub kind: String,
    /// What to look for, as a text.
    pub query: String,
    /// The same as single words.
    pub keywords: Vec<String>,
    /// Where: a folder, a file or a name.
    pub location: String,
    /// When.
    pub time_range: String,
}

/// The complexity above which a wish is planned first.
pub const COMPLEX: f32 = 0.6;

impl Intent {
    /// Returns a wish of this kind.
    pub fn new(intent: IntentKind, complexity: f32, params: Params) -> Self {
        Self {
            intent,
            params,
            complexity,
        }
    }

    /// Returns true if the wish is planned first.
    pub fn is_complex(&self) -> bool {
        self.complexity > COMPLEX
    }
}

impl Params {
    /// Returns the query, or else the keywords, as one text.
    pub fn sought(&self) -> String {
        if self.query.trim().is_empty() {
            self.keywords.join(" ")
        } else {
            self.query.clone()
        }
    }
}

/// Returns the contract for the model's answer.
pub fn contract() -> Contract<Intent> {
    Contract::<Intent>::new("intent")
        .alias("parameters", "params")
        .prepare(|value| {
            if let Some(Value::Object(params)) = value.get_mut("params") {
                either(params);
            }
        })
        .check(|intent, objections| {
            if !(0.0..=1.0).contains(&intent.complexity) {
                objections.push(
                    "/complexity",
                    say!("it lies between 0 and 1", "应在 0 和 1 之间"),
                );
            }
        })
}

/// Accepts a query as a list, and keywords as a text.
pub(crate) fn either(params: &mut Map<String, Value>) {
    let words = |text: &str| {
        let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '，' | '、'));
        let words = words.filter(|word| !word.is_empty());
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    if let Some(Value::Array(list)) = params.get("query") {
        let list: Vec<String> = list
            .iter()
            .filter_map(|word| Some(word.as_str()?.to_owned()))
            .collect();
        params.insert("query".into(), json!(list.join(" ")));
        params.entry("keywords").or_insert_with(|| json!(list));
    }
    if let Some(Value::String(text)) = params.get("keywords") {
        let list = words(text);
        params.insert("keywords".into(), json!(list));
    }
    // Models write null for missing values.
    params.retain(|_, value| !value.is_null());
}
