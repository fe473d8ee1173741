//! Plans: steps that guide a turn, with references to results of earlier steps.
use fugato::{
    llm::{Contract, Objections},
    prompt::{ValueTemplate, one_of, value_text},
    state::say,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{agent::TurnState, intent::either};

/// A step of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Step")]
pub struct TurnStep {
    /// What kind of step it is.
    #[serde(rename = "type")]
    pub kind: TurnStepKind,
    /// How to search the memory; `hybrid_search` if left out.
    #[serde(default = "hybrid_search")]
    pub action: String,
    /// For a tool: which.
    #[serde(default)]
    pub name: String,
    /// For a search: what to look for.
    #[serde(default)]
    pub query: String,
    /// For a tool: with what.
    #[serde(default)]
    pub params: Map<String, Value>,
}

/// The kinds of steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "StepKind")]
pub enum TurnStepKind {
    /// The memory is searched.
    #[default]
    Rag,
    /// A tool is called.
    Tool,
}

fn hybrid_search() -> String {
    HYBRID_SEARCH.to_owned()
}

/// The only supported kind of search.
const HYBRID_SEARCH: &str = "hybrid_search";
/// The maximum number of steps of a plan.
const MOST_STEPS: usize = 8;

/// The answer of a planner.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Plan")]
pub struct TurnPlan {
    /// The steps in their order: first what the memory is searched for, then tools.
    pub steps: Vec<TurnStep>,
}

impl TurnStep {
    /// Returns a step that searches the memory.
    pub fn rag(query: impl Into<String>) -> Self {
        Self {
            action: hybrid_search(),
            query: query.into(),
            ..Self::default()
        }
    }

    /// Returns a step that calls a tool.
    pub fn tool(name: impl Into<String>, params: Value) -> Self {
        let params = match params {
            Value::Object(params) => params,
            _ => Map::new(),
        };
        Self {
            kind: TurnStepKind::Tool,
            action: hybrid_search(),
            name: name.into(),
            params,
            ..Self::default()
        }
    }

    /// Returns a short title.
    pub fn title(&self) -> String {
        match self.kind {
            TurnStepKind::Rag => format!("{HYBRID_SEARCH}: {}", self.query),
            TurnStepKind::Tool => self.name.clone(),
        }
    }

    fn template(&self) -> ValueTemplate {
        let value = json!({ "query": self.query, "params": self.params });
        ValueTemplate::new("step", value)
    }
}

/// Returns the contract for the planner's answer, with these tools.
pub fn contract(tools: &[String]) -> Contract<TurnPlan> {
    let tools = tools.to_vec();
    Contract::<TurnPlan>::new("plan")
        .alias("plan", "steps")
        .prepare(|value| {
            let steps = value.get_mut("steps").and_then(Value::as_array_mut);
            for step in steps.into_iter().flatten() {
                prepared(step);
            }
        })
        .check(move |plan, objections| check(plan, &tools, objections))
}

/// Normalises a step as models write it: keywords instead of a query, and null for missing values.
fn prepared(step: &mut Value) {
    let Some(step) = step.as_object_mut() else {
        return;
    };
    either(step);
    if let Some(Value::Array(words)) = step.remove("keywords") {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        step.entry("query")
            .or_insert_with(|| json!(words.join(" ")));
    }
}

/// Returns the objection to a tool that does not exist.
pub(crate) fn no_tool(name: &str, allowed: &str) -> String {
    say!(
        "there is no tool {name:?}; it is {allowed}",
        "没有工具 {name:?}；应为 {allowed}"
    )
}

/// Returns the objection to an empty query.
pub(crate) fn no_query() -> String {
    say!("it says what to look for", "要写明查什么")
}

fn check(plan: &TurnPlan, tools: &[String], objections: &mut Objections) {
    if plan.steps.is_empty() || plan.steps.len() > MOST_STEPS {
        objections.push(
            "/steps",
            say!(
                "a plan has 1 to {MOST_STEPS} steps",
                "计划有 1 到 {MOST_STEPS} 步"
            ),
        );
    }
    for (at, step) in plan.steps.iter().enumerate() {
        let place = |field: &str| format!("/steps/{at}/{field}");
        match step.kind {
            TurnStepKind::Rag if step.action != HYBRID_SEARCH => {
                objections.push(
                    place("action"),
                    say!(
                        "it is {HYBRID_SEARCH:?}, or left out",
                        "应为 {HYBRID_SEARCH:?}，或不写"
                    ),
                );
            }
            TurnStepKind::Rag if step.query.trim().is_empty() => {
                objections.push(place("query"), no_query());
            }
            TurnStepKind::Tool if !tools.contains(&step.name) => {
                let allowed = one_of(tools.iter().map(String::as_str));
                objections.push(place("name"), no_tool(&step.name, &allowed));
            }
            _ => {}
        }
        let before = plan.steps.get(..at).unwrap_or_default();
        for name in step.template().places() {
            match Slot::of(&name) {
                None => {
                    let known = SLOTS.map(|(name, _)| name);
                    objections.push(
                        place("params"),
                        say!(
                            "{{{{{name}}}}} is not known; it is {}",
                            "不认识 {{{{{name}}}}}；应为 {}",
                            one_of(known)
                        ),
                    );
                }
                Some(slot) if !slot.may_be_filled(before) => {
                    objections.push(
                        place("params"),
                        say!(
                            "no step before it finds {{{{{name}}}}}; search or list first",
                            "前面没有步骤能找到 {{{{{name}}}}}；请先查找或列出"
                        ),
                    );
                }
                Some(_) => {}
            }
        }
    }
}

/// A reference in a step, written as `{{name}}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// The query of the intent: a text.
    Query,
    /// The keywords of the intent: a list.
    Keywords,
    /// The location of the intent: a text.
    Location,
    /// The time of the intent: a text.
    TimeRange,
    /// The first file of the last list: a path.
    SelectedPath,
    /// The text of the last successful call.
    LastResult,
}

/// The names of the references.
const SLOTS: [(&str, Slot); 6] = [
    ("query", Slot::Query),
    ("keywords", Slot::Keywords),
    ("location", Slot::Location),
    ("time_range", Slot::TimeRange),
    ("selected_path", Slot::SelectedPath),
    ("last_result", Slot::LastResult),
];

impl Slot {
    fn of(name: &str) -> Option<Self> {
        let mut slots = SLOTS.into_iter();
        slots.find_map(|(known, slot)| (known == name).then_some(slot))
    }

    /// Returns true if the intent or one of these steps can provide a value.
    fn may_be_filled(self, before: &[TurnStep]) -> bool {
        match self {
            Self::SelectedPath => before.iter().any(|step| step.name == "list_files"),
            Self::LastResult => before.iter().any(|step| step.kind == TurnStepKind::Tool),
            _ => true,
        }
    }

    /// Returns the value; none if there is none yet.
    fn value(self, turn: &TurnState) -> Option<Value> {
        let params = turn.intent.as_ref().map(|intent| &intent.params);
        let text = |text: &str| (!text.trim().is_empty()).then(|| json!(text));
        match self {
            Self::Query => text(&params?.sought()),
            Self::Keywords => Some(json!(params?.keywords)),
            Self::Location => text(&params?.location),
            Self::TimeRange => text(&params?.time_range),
            Self::SelectedPath => {
                let listed = turn.done().filter(|made| made.call.name == "list_files");
                listed.last()?.data.pointer("/files/0/path").cloned()
            }
            Self::LastResult => turn.done().last().map(|made| json!(made.text)),
        }
    }
}

/// The error of a step whose reference has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", say!(
    "{step} needs {{{{{missing}}}}}, and no step before it has found that",
    "{step} 需要 {{{{{missing}}}}}，而前面没有步骤找到它"
))]
pub struct MissingReference {
    /// The title of the step.
    pub step: String,
    /// The name of the reference.
    pub missing: String,
}

/// Returns a step with the values of its references. A reference that is a whole value keeps its
/// type; within a text it becomes text.
pub fn filled(step: &TurnStep, turn: &TurnState) -> Result<TurnStep, MissingReference> {
    let template = step.template();
    let missing = |missing: &str| MissingReference {
        step: step.title(),
        missing: missing.to_owned(),
    };
    let value = |name: String| {
        let value = Slot::of(&name).and_then(|slot| slot.value(turn));
        value
            .ok_or_else(|| missing(&name))
            .map(|value| (name, value))
    };
    let known: Vec<_> = template
        .places()
        .into_iter()
        .map(value)
        .collect::<Result<_, _>>()?;
    // Every reference has a value.
    let mut filled = template.fill(&known).unwrap_or_default();
    let params = match filled.get_mut("params").map(Value::take) {
        Some(Value::Object(params)) => params,
        _ => Map::new(),
    };
    Ok(TurnStep {
        query: filled.get("query").map(value_text).unwrap_or_default(),
        params,
        ..step.clone()
    })
}
