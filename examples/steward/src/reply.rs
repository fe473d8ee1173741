//! What is said to the person, in their language.
use crate::{
    action::{shown, speaks_chinese},
    form::Form,
    service::Desk,
    state::{Flow, RequestKind, RuntimeDecision, Steward, Task, TaskStatus},
};

/// What is said, in the state at the end of a request or before a card.
pub(crate) fn reply(desk: &Desk, state: &Steward, waits: bool) -> String {
    let said = Said {
        desk,
        state,
        zh: speaks_chinese(state),
    };
    let mut lines = vec![];
    lines.extend(said.result());
    if waits {
        lines.push(said.pick("请确认。", "Please confirm.").to_owned());
    } else {
        lines.extend(said.rest());
    }
    lines.join("\n")
}

struct Said<'a> {
    desk: &'a Desk,
    state: &'a Steward,
    zh: bool,
}

impl Said<'_> {
    fn pick<'t>(&self, zh: &'t str, en: &'t str) -> &'t str {
        if self.zh { zh } else { en }
    }

    /// What came of the action, and of tasks before it.
    fn result(&self) -> Vec<String> {
        let result = self.state.action_result.as_ref();
        let written =
            result.and_then(|result| Some((result, result.data.get("document")?.as_str()?)));
        if let Some((_, document)) = written.filter(|(result, _)| result.outcome == "succeeded") {
            return vec![format!("{}{document}", self.pick("已办理：", "Done: "))];
        }
        let Some(result) = result else { return vec![] };
        let word = match result.outcome.as_str() {
            "succeeded" => self.pick("完成", "Done"),
            "blocked" => self.pick("不能办理", "Not possible"),
            "rejected" => self.pick("不支持的操作", "Rejected"),
            "cancelled" => return vec![self.pick("已取消。", "Cancelled.").to_owned()],
            _ => self.pick("失败", "Failed"),
        };
        vec![format!("{word}: {}", result.message)]
    }

    /// What comes next.
    fn rest(&self) -> Option<String> {
        let state = self.state;
        if matches!(state.kind(), Some(RequestKind::Execute { .. })) {
            return None;
        }
        if state
            .intent_result
            .as_ref()
            .is_some_and(|intent| intent.off_topic)
        {
            return Some(
                self.pick(
                    "我可以帮你申请出差、保存草稿、报销、关联申请和附件。",
                    "I can help with trips, drafts, reimbursements, links and attachments.",
                )
                .to_owned(),
            );
        }
        let Some(task) = state.steward_state.current() else {
            return state.action_result.is_none().then(|| {
                self.pick("没有待办事项。", "Nothing is left to do.")
                    .to_owned()
            });
        };
        Some(match (&state.flow, &state.runtime_decision) {
            (Some(Flow::Confirm { why }), _) => why.clone(),
            (Some(Flow::Block { why }), _) => {
                format!("{}{why}", self.pick("不能继续：", "This cannot go on: "))
            }
            (None, Some(RuntimeDecision::Unclear)) => self
                .pick(
                    "没明白。可以补充信息、确认或取消。",
                    "I did not understand. Add what is missing, confirm, or cancel.",
                )
                .to_owned(),
            _ => self.asks(task),
        })
    }

    /// What is known of a task, and what is still to be said.
    fn asks(&self, task: &Task) -> String {
        let form = self.desk.forms.get(task.form);
        let name = form.map_or("", |form| self.pick(&form.zh, &form.en));
        let known = form
            .iter()
            .flat_map(|form| &form.fields)
            .filter_map(|field| {
                let value = task.fields.get(&field.name)?;
                Some(format!(
                    "{} {}",
                    self.pick(&field.zh, &field.en),
                    shown(&field.name, value)
                ))
            });
        let known = known.collect::<Vec<_>>().join(self.pick("，", ", "));
        let missing = self.named(form, &task.missing_fields);
        let open = self
            .state
            .steward_state
            .tasks
            .iter()
            .filter(|task| task.status == TaskStatus::Open)
            .count();
        let more = match open {
            0 | 1 => String::new(),
            n => format!("{}{}", self.pick("\n还有待办：", "\nAlso to do: "), n - 1),
        };
        if missing.is_empty() {
            return format!("{name}{}{known}{more}", self.pick("：", ": "));
        }
        format!(
            "{name}{}{known}\n{}{missing}{more}",
            self.pick("：", ": "),
            self.pick("还需要：", "Still needed: ")
        )
    }

    fn named(&self, form: Option<&Form>, names: &[String]) -> String {
        let label = |name: &String| {
            let field = form.and_then(|form| form.field(name));
            field.map_or(name.clone(), |field| {
                self.pick(&field.zh, &field.en).to_owned()
            })
        };
        names
            .iter()
            .map(label)
            .collect::<Vec<_>>()
            .join(self.pick("、", ", "))
    }
}
