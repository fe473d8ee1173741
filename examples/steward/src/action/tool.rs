//! Each action as a tool.
use async_trait::async_trait;
use fugato::state::say;
use fugato::{
    cli::Lang,
    form::{Fields, day},
    state::{EffectClass, Schema, State as _},
    tool::{EvidenceUpdate, Finding, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ActionWork, PRECHECK, SUBMIT, WhitelistedAction};
use crate::{
    bounds::out_of_bounds,
    deps::Deps,
    form::FormKind,
    ledger::{LedgerError, LedgerWrite, Receipt, WriteKind, conflicts, refusal},
    reply,
    state::{Steward, Update},
};

/// An action of the whitelist, over the business services.
pub(super) struct ActionTool {
    pub(super) action: WhitelistedAction,
    pub(super) deps: Deps,
}

/// The fields of a form.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Given")]
pub(super) struct FormFields(Fields);

type Answer = Result<ToolOutput<Update>, ToolFailure>;

#[async_trait]
impl Tool<Steward, Update> for ActionTool {
    type Input = FormFields;

    fn spec(&self) -> ToolSpec {
        let name = self.action.name;
        let spec = match self.action.work {
            ActionWork::Write(_) => {
                ToolSpec::write(name, "Writes a document.").effect(EffectClass::Keyed)
            }
            ActionWork::Fill => ToolSpec::read(name, "Fills in a form."),
            ActionWork::Preview => ToolSpec::read(name, "Shows what a document would say."),
            ActionWork::Validate => ToolSpec::read(name, "Looks for what is missing."),
            ActionWork::Precheck => ToolSpec::read(name, "Looks for what speaks against it."),
        };
        match Schema::new(self.schema()) {
            Ok(schema) => spec.schema(schema),
            Err(_) => spec,
        }
    }

    async fn call(&self, cx: ToolContext<'_, Steward>, FormFields(given): FormFields) -> Answer {
        let given = self.action.given(&self.deps.desk.forms, &given);
        let (form, fields) = given.map_err(ToolFailure::blocked)?;
        match self.action.work {
            ActionWork::Fill => Ok(ToolOutput::new(say!("the form is filled in", "表单已填好"))
                .data(Value::Object(fields.clone()))
                .update(Update::Drafted(fields))),
            ActionWork::Preview => Ok(self.preview(form, &fields)),
            ActionWork::Validate => self.validate(form, &fields, cx.state()?.lang()),
            ActionWork::Precheck => self.precheck(cx.state()?, form, fields).await,
            ActionWork::Write(deed) => {
                let state = cx.state()?;
                let files = super::attached(state, &json!(fields)).cloned().collect();
                let employee = state.employee.clone();
                let shown = state.about(&json!(fields));
                let known = shown.map(|document| document.fields.clone());
                let status = shown.map(|document| document.status);
                let write = LedgerWrite {
                    deed,
                    employee,
                    fields,
                    files,
                    known,
                    status,
                };
                self.write(&cx, &write).await
            }
        }
    }
}

impl ActionTool {
    /// Returns the schema of its form, or of the fields of all forms with the name of one.
    fn schema(&self) -> Value {
        let forms = &self.deps.desk.forms;
        if let Some(form) = self.action.form.and_then(|form| forms.get(&form)) {
            return form.schema();
        }
        let mut properties = forms.properties();
        let which = json!({ "type": "string", "enum": forms.names() });
        properties.insert("form".into(), which);
        json!({
            "type": "object",
            "properties": properties,
            "required": ["form"],
            "additionalProperties": false,
        })
    }

    fn preview(&self, form: FormKind, fields: &Fields) -> ToolOutput<Update> {
        let form = self.deps.desk.forms.get(&form).into_iter();
        let lines = form
            .flat_map(|form| form.filled(fields))
            .map(|(field, value)| {
                json!({ "field": field.name, "zh": field.zh, "en": field.en, "value": field.shown(value, Lang::current()) })
            });
        let lines: Vec<_> = lines.collect();
        ToolOutput::new(say!("this is what it would say", "内容会是这样"))
            .data(json!({ "lines": lines }))
    }

    fn validate(&self, form: FormKind, fields: &Fields, lang: Lang) -> Answer {
        let desk = &self.deps.desk;
        let missing = desk.forms.missing(&form, fields);
        if missing.is_empty() {
            return Ok(ToolOutput::new(say!("nothing is missing", "没有缺少的")));
        }
        let blocked = ToolFailure::blocked(super::are_missing(desk, form, &missing, lang));
        Err(blocked.data(json!({ "missing_fields": missing })))
    }

    /// Runs the precheck. The finding is kept whether it passed or not, so that it replaces an
    /// older one.
    async fn precheck(&self, state: &Steward, form: FormKind, fields: Fields) -> Answer {
        if !matches!(form, FormKind::Application | FormKind::Reimbursement) {
            return Err(ToolFailure::blocked(say!(
                "only applications and reimbursements are checked",
                "只检查出差申请和报销单"
            )));
        }
        let (documents, lang) = (&self.deps.ledger, state.lang());
        let documents = documents.documents(&state.employee).await;
        let documents = documents.map_err(ToolFailure::internal)?;
        let mut against = out_of_bounds(&fields, form, day(&state.base_date), lang);
        against.extend(conflicts(&documents, form, &fields, lang));
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
            say!("nothing speaks against it", "没有发现问题")
        } else {
            reply::joined(&against, lang)
        };
        let check = PRECHECK.to_owned();
        let found = Update::Checked(EvidenceUpdate::Found { check, finding });
        Ok(ToolOutput::new(said).data(data).update(found))
    }

    async fn write(&self, cx: &ToolContext<'_, Steward>, write: &LedgerWrite) -> Answer {
        let files = &self.deps.files;
        let no_thread = || {
            ToolFailure::failed(say!(
                "nothing is written outside of a conversation",
                "没有对话就不写入"
            ))
        };
        let thread = cx.thread_id().ok_or_else(no_thread)?;
        if let Some(lost) = write.files.iter().find(|file| !files.has(thread, file)) {
            let why = cx.state()?.lang().pick(
                format!("the file {} is no longer here: upload it again", lost.name),
                format!("文件{}已经不在了：请重新上传", lost.name),
            );
            return Err(ToolFailure::blocked(why));
        }
        let kept = files.keep(thread, write.files.clone()).await;
        kept.map_err(|error| {
            ToolFailure::failed(say!(
                "the attachments cannot be kept now, so nothing is written: try again later",
                "附件现在无法保存，所以什么都没有写入：请稍后再试"
            ))
            .because(error)
        })?;
        let no_key =
            || ToolFailure::failed(say!("nothing is written without a key", "没有键就不写入"));
        match self
            .deps
            .ledger
            .write(cx.key().ok_or_else(no_key)?, write)
            .await
        {
            Ok(Receipt::Written { document }) => {
                let written = files.written(thread, &write.employee, write.files.clone());
                if let Err(error) = written.await {
                    // They are kept, and only seem to wait still.
                    tracing::warn!(%error, "files of a document cannot be removed");
                }
                let check = PRECHECK.to_owned();
                let used = Update::Checked(EvidenceUpdate::Dropped { check });
                let spent = (self.action.name == SUBMIT).then_some(used);
                let output = ToolOutput::new(match write.deed {
                    WriteKind::Withdraw => say!("{document} is withdrawn", "{document}已撤回"),
                    WriteKind::Restore => {
                        say!("{document} is a draft again", "{document}已恢复为草稿")
                    }
                    _ => say!("{document} is written", "{document}已写入"),
                });
                Ok(output.data(json!({ "document": document })).updates(spent))
            }
            Ok(Receipt::Refused { why }) => {
                // The tables know no language: the reason is found again in that of the person.
                let lang = cx.state()?.lang();
                let documents = self.deps.ledger.documents(&write.employee).await.ok();
                let said = documents.and_then(|it| refusal(&it, write, lang));
                Err(ToolFailure::blocked(said.unwrap_or(why)))
            }
            Err(error @ LedgerError::KeyReused { .. }) => {
                Err(ToolFailure::failed(error.to_string()))
            }
            // There is no result, and a repeat under the same key finds out.
            Err(error) => Err(ToolFailure::failed(say!(
                "whether it was written is not known yet",
                "还不知道是否已写入"
            ))
            .because(error)
            .unsettled()),
        }
    }
}
