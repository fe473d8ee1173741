//! The actions: a whitelist of thirteen, each a tool with an effect class, and their sequences.
mod gate;
mod tool;

use fugato::{
    agent::{
        Toolbox,
        sequence::{ActionRequest, GuardedSequences},
    },
    cli::Lang,
    form::{Fields, strings},
    graph::{BoxError, digest},
    state::say,
    tool::{GateChain, Registry},
    words::currency,
};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{
    deps::Deps,
    files::Attachment,
    form::{FormKind, Forms},
    ledger::WriteKind,
    read::Goal,
    service::RuleData,
    state::{ActionStep, PlanTask, Steward, Update},
};

pub(crate) use gate::{card, label, labels};

/// The action that hands an application in.
pub const SUBMIT: &str = "submit_application";
/// The action that keeps an application as a draft.
pub(crate) const SAVE_DRAFT: &str = "save_application_draft";
/// The action that keeps a claim as a draft.
pub(crate) const SAVE_CLAIM: &str = "create_reimbursement_draft";
/// The action that withdraws a document.
pub const WITHDRAW: &str = "withdraw_document";
/// The action that makes a withdrawn document a draft again.
pub const RESTORE: &str = "restore_document";
/// The check without which nothing is handed in.
pub const PRECHECK: &str = "run_duplicate_precheck";

/// An action of the whitelist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WhitelistedAction {
    /// Its name.
    pub name: &'static str,
    /// The form that it is about; none if the form is one of its arguments.
    pub form: Option<FormKind>,
    /// The kind of work that it does.
    pub work: ActionWork,
}

/// The kind of work that an action does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActionWork {
    /// Fills in a form of the conversation.
    Fill,
    /// Shows what a document would say.
    Preview,
    /// Looks for what is missing.
    Validate,
    /// Looks for what speaks against it.
    Precheck,
    /// Writes, by a business service.
    Write(WriteKind),
}

const fn action(name: &'static str, work: ActionWork, form: Option<FormKind>) -> WhitelistedAction {
    WhitelistedAction { name, form, work }
}

const TRIP: Option<FormKind> = Some(FormKind::Application);
const CLAIM: Option<FormKind> = Some(FormKind::Reimbursement);

/// All actions: nothing else can be requested, by any client.
#[rustfmt::skip]
pub const WHITELIST: [WhitelistedAction; 13] = [
    action("fill_application_fields", ActionWork::Fill, TRIP),
    action("build_application_preview", ActionWork::Preview, TRIP),
    action("fill_reimbursement_fields", ActionWork::Fill, CLAIM),
    action("build_reimbursement_preview", ActionWork::Preview, CLAIM),
    action("validate_required_fields", ActionWork::Validate, None),
    action(PRECHECK, ActionWork::Precheck, None),
    action(SAVE_DRAFT, ActionWork::Write(WriteKind::Draft), TRIP),
    action(SUBMIT, ActionWork::Write(WriteKind::Submit), TRIP),
    action(SAVE_CLAIM, ActionWork::Write(WriteKind::Claim), CLAIM),
    action("link_existing_application", ActionWork::Write(WriteKind::Link), Some(FormKind::Link)),
    action("associate_attachments", ActionWork::Write(WriteKind::Attach), Some(FormKind::Attachment)),
    action(WITHDRAW, ActionWork::Write(WriteKind::Withdraw), Some(FormKind::Withdrawal)),
    action(RESTORE, ActionWork::Write(WriteKind::Restore), Some(FormKind::Restoration)),
];

/// Returns the whitelisted action of this name.
pub fn find(name: &str) -> Option<WhitelistedAction> {
    WHITELIST.into_iter().find(|action| action.name == name)
}

/// Returns the name of each action, and its work as a short phrase in English and Chinese.
pub fn tool_words() -> [(&'static str, &'static str, &'static str); WHITELIST.len()] {
    WHITELIST.map(|action| {
        let (en, zh) = match action.work {
            ActionWork::Fill => ("filling in the form", "填写表单"),
            ActionWork::Preview => ("showing a preview", "生成预览"),
            ActionWork::Validate => ("looking for what is missing", "检查必填项"),
            ActionWork::Precheck => ("looking for duplicates", "检查重复"),
            ActionWork::Write(_) => ("writing", "写入单据"),
        };
        (action.name, en, zh)
    })
}

/// The steps that carry out a task, in order.
#[rustfmt::skip]
const SEQUENCES: [(FormKind, Goal, &[&str]); 7] = [
    (FormKind::Application, Goal::Submit, &[
        "fill_application_fields", "build_application_preview", "validate_required_fields", PRECHECK, SUBMIT,
    ]),
    (FormKind::Application, Goal::Draft, &[
        "fill_application_fields", "build_application_preview", "validate_required_fields", SAVE_DRAFT,
    ]),
    (FormKind::Reimbursement, Goal::Draft, &[
        "fill_reimbursement_fields", "build_reimbursement_preview", "validate_required_fields", SAVE_CLAIM,
    ]),
    (FormKind::Link, Goal::Draft, &["link_existing_application"]),
    (FormKind::Attachment, Goal::Draft, &["associate_attachments"]),
    (FormKind::Withdrawal, Goal::Draft, &[WITHDRAW]),
    (FormKind::Restoration, Goal::Draft, &[RESTORE]),
];

/// Returns the steps that carry out a task, in order. Only an application can be handed in.
pub fn sequence(form: FormKind, goal: Goal) -> &'static [&'static str] {
    let of_form = || SEQUENCES.iter().filter(|(of, ..)| *of == form);
    let exact = of_form().find(|(_, to, _)| *to == goal);
    exact
        .or_else(|| of_form().next())
        .map_or(&[], |(.., steps)| steps)
}

/// Returns the steps of a task as a page shows and requests them.
pub fn steps(deps: &Deps, task: &PlanTask) -> Vec<ActionStep> {
    let names = sequence(task.form, task.goal).iter();
    let actions = names.filter_map(|name| find(name));
    let step = |action: WhitelistedAction| {
        let side_effect = action.writes();
        ActionStep {
            action: action.name.to_owned(),
            side_effect,
            confirmation_required: side_effect && deps.policy.asks(action.name),
        }
    };
    actions.map(step).collect()
}

/// Gives each task its steps, and says what is missing in it.
pub(crate) fn attach(deps: &Deps, tasks: &mut [PlanTask]) {
    for task in tasks {
        task.action_steps = steps(deps, task);
        task.missing_fields = deps.desk.forms.missing(&task.form, &task.fields);
    }
}

/// Returns the tools behind their gates.
pub(crate) fn toolbox(deps: &Deps) -> Result<Toolbox<Steward>, BoxError> {
    let mut registry = Registry::<Steward, Update>::builder();
    for action in WHITELIST {
        registry = registry.tool(tool::ActionTool {
            action,
            deps: deps.clone(),
        });
    }
    let gates = GateChain::new()
        .with(gate::complete(deps.desk.clone()))
        .with(gate::spoken_against)
        .with(gate::evidence(deps))
        .with(gate::consent(deps));
    Ok(Toolbox::new(registry.build()?).gates(gates))
}

/// Returns the sequences: one for every action alone, and one for every form and goal of a task.
pub(crate) fn sequences(toolbox: Toolbox<Steward>) -> GuardedSequences<Steward> {
    let alone = GuardedSequences::new(toolbox);
    let mut all = WHITELIST
        .iter()
        .fold(alone, |all, action| all.action(action.name, [action.name]));
    for (form, ..) in SEQUENCES {
        for goal in [Goal::Submit, Goal::Draft] {
            all = all.action(of_task(form, goal), sequence(form, goal).iter().copied());
        }
    }
    all
}

/// Returns true if the next step waits for a person: a gate asks for consent, and no gate forbids
/// the step.
pub(crate) fn waits(toolbox: &Toolbox<Steward>, state: &Steward) -> bool {
    let next = state.next_step().filter(|_| state.actions.end.is_none());
    let round = next.map(|next| toolbox.round(std::slice::from_ref(next), state));
    round.is_some_and(|round| round.cards().next().is_some())
}

/// The number of attempts at a step whose outcome is unknown.
pub(crate) const TRIES: u32 = 3;

/// Returns the uploaded files that are among the arguments of an action.
pub(crate) fn attached<'a>(
    state: &'a Steward,
    arguments: &'a Value,
) -> impl Iterator<Item = &'a Attachment> {
    let names: Vec<_> = strings(arguments.get("attachments")).collect();
    let files = state.files.iter();
    files.filter(move |file| names.contains(&file.name.as_str()))
}

/// Returns the name of the sequence of a task. No client can request it, since it is not an action.
fn of_task(form: FormKind, goal: Goal) -> String {
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    format!("task:{}:{}", word(json!(form)), word(json!(goal)))
}

/// Returns the request that carries a task out. Its name is that of the client's request and of the
/// task.
pub(crate) fn for_task(trace: &str, task: &PlanTask) -> ActionRequest {
    let id = format!("{trace}/{}", task.task_id);
    let fields = arguments(task.form, &task.fields);
    ActionRequest::new(id, of_task(task.form, task.goal), fields)
}

/// Returns the arguments of an action: the fields of the form, and the name of the form as `form`.
pub(crate) fn arguments(form: FormKind, fields: &Fields) -> Value {
    let mut arguments = fields.clone();
    arguments.insert("form".into(), json!(form));
    Value::Object(arguments)
}

/// Returns the name of a precheck's finding, by which a client refers to it.
pub fn reference(finding: &fugato::tool::Finding) -> String {
    digest(json!(finding).to_string().as_bytes())
}

/// Returns fields in which the currency that an amount names in words is the field of its own, or
/// the error if they differ.
pub(crate) fn with_currency(fields: &Fields) -> Result<Fields, String> {
    let mut fields = fields.clone();
    let amounts = ["amount", "estimated_amount"].into_iter();
    let mut named = amounts.filter_map(|name| currency(fields.get(name)?.as_str()?));
    let Some(code) = named.next() else {
        return Ok(fields);
    };
    let told = fields.get("currency").and_then(Value::as_str);
    match told.and_then(currency) {
        Some(told) if told != code => Err(say!(
            "the amount is in {code} and \"currency\" is {told}; they must be the same",
            "金额的币种是{code}，而 \"currency\" 是{told}；两者必须相同"
        )),
        _ => {
            fields.insert("currency".into(), json!(code));
            Ok(fields)
        }
    }
}

/// Returns the reason for which a form with missing fields is not written.
fn are_missing(desk: &RuleData, form: FormKind, fields: &[String], lang: Lang) -> String {
    let form = desk.forms.get(&form);
    let label = |name: &String| match form.and_then(|form| form.field(name)) {
        Some(field) if lang == Lang::Zh => field.label(lang).to_owned(),
        _ => name.clone(),
    };
    let labels: Vec<_> = fields.iter().map(label).collect();
    lang.pick(
        format!("these fields are missing: {}", labels.join(", ")),
        format!("缺少：{}", labels.join("、")),
    )
}

impl WhitelistedAction {
    /// Returns true if it writes.
    pub fn writes(self) -> bool {
        matches!(self.work, ActionWork::Write(_))
    }

    /// Returns the form of its arguments, with the fields in canonical form, or the error in them.
    pub fn given(self, forms: &Forms, arguments: &Fields) -> Result<(FormKind, Fields), String> {
        let mut fields = arguments.clone();
        let told = fields.remove("form");
        let told = told.and_then(|form| FormKind::deserialize(form).ok());
        let form = self.form.or(told);
        let form = form.ok_or_else(|| {
            let names = json!(forms.names());
            say!(
                "say which form it is; allowed are {names}",
                "请说明是哪种表单；可选的有 {names}"
            )
        })?;
        let fields = with_currency(&fields)?;
        let fields = forms
            .read(&form, &fields)
            .map_err(|error| error.to_string())?;
        Ok((form, fields))
    }

    /// Returns its arguments in canonical form, or the error in them.
    pub fn canonical(self, forms: &Forms, given: &Fields) -> Result<Value, String> {
        let (form, fields) = self.given(forms, given)?;
        Ok(match self.form {
            Some(_) => Value::Object(fields),
            None => arguments(form, &fields),
        })
    }
}
