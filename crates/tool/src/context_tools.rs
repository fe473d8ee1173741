//! The two tools with which a model chooses its tools. Their handlers are pure: they return the
//! change, and the agent decides whether to apply it to its state.
use std::sync::Arc;

use fugato_state::{Lang, say};
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
    let add = ToolSpec::context(ADD, Lang::En.scope(|| about(&domains)))
        .chinese(Lang::Zh.scope(|| about(&domains)))
        .synonym("mode", "add", "merge")
        .synonym("mode", "set", "replace");
    let remove = ToolSpec::context(
        REMOVE,
        "Deactivates packs of a domain, a whole domain, or every domain.",
    )
    .chinese("停用一个领域的工具包、整个领域，或所有领域。");
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
    let domains = domains.iter().map(|(name, domain)| {
        if domain.packs.is_empty() {
            return name.to_owned();
        }
        let packs = list(&domain.packs);
        say!("{name}, with packs {packs}", "{name}，工具包有{packs}")
    });
    let domains = domains.collect::<Vec<_>>();
    say!(
        "Activates a domain of tools, and packs of it. The domains are: {}.",
        "启用一个领域的工具及其工具包。领域有：{}。",
        domains.join("; ")
    )
}

fn output<U: From<VisibilityUpdate>>(choice: ChosenTools) -> Result<ToolOutput<U>, ToolFailure> {
    let data = serde_json::to_value(&choice).unwrap_or(Value::Null);
    if choice.success {
        let updates = choice.update.map(U::from);
        // It is of no interest to the person, and so it has no line.
        let output = ToolOutput::new(choice.message).summary("");
        Ok(output.data(data).updates(updates))
    } else {
        Err(ToolFailure::failed(choice.error).data(data))
    }
}
