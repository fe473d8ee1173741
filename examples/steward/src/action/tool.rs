//! Each action as a tool.
use async_trait::async_trait;
use fugato::tool::{EvidenceUpdate, Finding, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Action, PRECHECK, SUBMIT, Work, gate};
use crate::{
    deps::Deps,
    form::{Fields, FormKind},
    ledger::{LedgerError, Receipt, Write, conflicts},
    state::{Steward, Update},
};

/// An action of the whitelist, over the business services.
pub(super) struct ActionTool {
    pub(super) action: Action,
    pub(super) deps: Deps,
}

/// The fields of a form.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct Given(Fields);

#[async_trait]
impl Tool<Steward, Update> for ActionTool {
    type Input = Given;

    fn spec(&self) -> ToolSpec {
        self.action.spec(&self.deps.desk.forms)
    }

    async fn call(
        &self,
        cx: ToolContext<'_, Steward>,
        Given(mut fields): Given,
    ) -> Result<ToolOutput<Update>, ToolFailure> {
        let told = fields
            .remove("form")
            .and_then(|form| FormKind::deserialize(form).ok());
        let form = self
            .action
            .form
            .or(told)
            .ok_or_else(|| ToolFailure::failed("say which form it is"))?;
        let fields = self
            .deps
            .desk
            .forms
            .read(form, &fields)
            .map_err(|error| ToolFailure::blocked(error.to_string()))?;
        match self.action.work {
            Work::Fill => Ok(ToolOutput::new("filled in")
                .data(Value::Object(fields.clone()))
                .update(Update::Drafted(fields))),
            Work::Preview => Ok(self.preview(form, &fields)),
            Work::Validate => self.validate(form, &fields),
            Work::Precheck => self.precheck(cx.state()?, form, fields).await,
            Work::Write => self.write(cx, form, fields).await,
        }
    }
}

impl ActionTool {
    fn preview(&self, form: FormKind, fields: &Fields) -> ToolOutput<Update> {
        let form = self
            .deps
            .desk
            .forms
            .get(form)
            .into_iter()
            .flat_map(|form| &form.fields);
        let lines = form.filter_map(|field| {
            let value = fields.get(&field.name)?;
            Some(json!({ "field": field.name, "zh": field.zh, "en": field.en, "value": gate::shown(&field.name, value) }))
        });
        ToolOutput::new("this is what it would say")
            .data(json!({ "lines": lines.collect::<Vec<_>>() }))
    }

    fn validate(&self, form: FormKind, fields: &Fields) -> Result<ToolOutput<Update>, ToolFailure> {
        let missing = self.deps.desk.forms.missing(form, fields);
        if missing.is_empty() {
            return Ok(ToolOutput::new("nothing is missing"));
        }
        let why = format!("these fields are missing: {}", missing.join(", "));
        Err(ToolFailure::blocked(why).data(json!({ "missing_fields": missing })))
    }

    /// What was found is kept either way: a finding that is overtaken must not count any more.
    async fn precheck(
        &self,
        state: &Steward,
        form: FormKind,
        fields: Fields,
    ) -> Result<ToolOutput<Update>, ToolFailure> {
        if !gate::is_checked(form) {
            return Err(ToolFailure::blocked(
                "only applications and reimbursements are checked",
            ));
        }
        let documents = self
            .deps
            .ledger
            .documents(&state.employee)
            .await
            .map_err(unavailable)?;
        let against = conflicts(&documents, form, &fields);
        let (passed, now) = (against.is_empty(), (self.deps.clock)());
        let finding = Finding::new(Value::Object(fields), passed, now, self.deps.evidence_holds)
            .data(json!(against));
        let data = json!({
            "passed": passed,
            "against": against,
            "precheck_ref": super::reference(&finding),
            "expires_at": finding.expires_at,
        });
        let said = if passed {
            "nothing speaks against it".to_owned()
        } else {
            against.join("; ")
        };
        let found = EvidenceUpdate::Found {
            check: PRECHECK.to_owned(),
            finding,
        };
        Ok(ToolOutput::new(said)
            .data(data)
            .update(Update::Checked(found)))
    }

    async fn write(
        &self,
        cx: ToolContext<'_, Steward>,
        form: FormKind,
        fields: Fields,
    ) -> Result<ToolOutput<Update>, ToolFailure> {
        let employee = cx.state()?.employee.clone();
        let key = cx
            .key()
            .ok_or_else(|| ToolFailure::failed("nothing is written without a key"))?;
        let write = self.what(employee, form, fields);
        match self.deps.ledger.write(key, &write).await {
            Ok(Receipt::Written { document }) => {
                let output = ToolOutput::new(format!("{document} is written"))
                    .data(json!({ "document": document }));
                let used = EvidenceUpdate::Dropped {
                    check: PRECHECK.to_owned(),
                };
                let spent = (self.action.name == SUBMIT).then_some(Update::Checked(used));
                Ok(output.updates(spent))
            }
            Ok(Receipt::Refused { why }) => Err(ToolFailure::blocked(why)),
            Err(error @ LedgerError::KeyReused { .. }) => {
                Err(ToolFailure::failed(error.to_string()))
            }
            Err(error) => Err(unknown(error)),
        }
    }

    fn what(&self, employee: String, form: FormKind, fields: Fields) -> Write {
        let text = |name: &str| {
            fields
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        match form {
            FormKind::Application if self.action.name == SUBMIT => {
                Write::Submit { employee, fields }
            }
            FormKind::Application => Write::Draft { employee, fields },
            FormKind::Reimbursement => Write::Claim { employee, fields },
            FormKind::Link => Write::Link {
                employee,
                reimbursement: text("reimbursement"),
                application: text("application"),
            },
            FormKind::Attachment => {
                let names = fields
                    .get("attachments")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten();
                let attachments = names.filter_map(Value::as_str).map(str::to_owned).collect();
                Write::Attach {
                    employee,
                    reimbursement: text("reimbursement"),
                    attachments,
                }
            }
        }
    }
}

fn unavailable(error: LedgerError) -> ToolFailure {
    ToolFailure::internal(error)
}

/// Whether it was written is not known: there is no result, and a repeat under the same key finds
/// out.
fn unknown(error: LedgerError) -> ToolFailure {
    ToolFailure::failed("whether it was written is not known yet")
        .because(error)
        .unsettled()
}

/// What speaks against something, in one line.
pub(super) fn joined(against: &Value) -> String {
    let lines = against
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    lines.collect::<Vec<_>>().join("; ")
}
