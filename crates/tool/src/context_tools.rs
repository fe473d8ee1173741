//! The two tools with which a model chooses its tools. Their handlers are pure: they return the
//! change, and the agent decides whether to apply it to its state.
use std::{fmt::Write as _, sync::Arc};

use serde_json::Value;

use crate::{
    AddTools, ChosenTools, Domains, RegistryBuilder, RemoveTools, ToolFailure, ToolOutput,
    ToolSpec, VisibilityUpdate,
    choice::{ADD, REMOVE},
    words::list,
};

pub(crate) fn register<S, U>(
    builder: RegistryBuilder<S, U>,
    domains: Domains,
) -> RegistryBuilder<S, U>
where
    S: Sync + 'static,
    U: From<VisibilityUpdate> + 'static,
{
    let add = ToolSpec::context(ADD, about(&domains))
        .synonym("mode", "add", "merge")
        .synonym("mode", "set", "replace")
        .preview(["domain", "packs"]);
    let remove = ToolSpec::context(
        REMOVE,
        "Deactivates packs of a domain, a whole domain, or every domain.",
    )
    .preview(["domain", "packs"]);
    let domains = Arc::new(domains);
    let known = Arc::clone(&domains);
    builder
        .function(add, move |cx, request: AddTools| {
            output(known.add(cx.active(), &request))
        })
        .function(remove, move |cx, request: RemoveTools| {
            output(domains.remove(cx.active(), &request))
        })
}

fn about(domains: &Domains) -> String {
    let mut about = "Activates a domain of tools, and packs of it. The domains are:".to_owned();
    for (name, domain) in domains.iter() {
        let _ = if domain.packs.is_empty() {
            write!(about, " {name};")
        } else {
            write!(about, " {name}, with packs {};", list(&domain.packs))
        };
    }
    about.truncate(about.trim_end_matches([';', ':']).len());
    about.push('.');
    about
}

fn output<U: From<VisibilityUpdate>>(choice: ChosenTools) -> Result<ToolOutput<U>, ToolFailure> {
    let data = serde_json::to_value(&choice).unwrap_or(Value::Null);
    if choice.success {
        let updates = choice.update.map(U::from);
        Ok(ToolOutput::new(choice.message).data(data).updates(updates))
    } else {
        Err(ToolFailure::failed(choice.error).data(data))
    }
}
