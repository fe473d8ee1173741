use std::{collections::BTreeSet, fmt};

use futures::{FutureExt, executor::block_on};
use proptest::{collection::btree_set, option, sample::select};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::{
    CatalogueDetail, Domain, NoArguments, ToolFailure, ToolOutput, ToolStatus, VisibilityUpdate,
    async_tool_fn,
};

mod shown;

/// What to look for.
#[derive(Deserialize, JsonSchema)]
struct Query {
    /// Which tasks.
    status: Option<Status>,
    /// At most so many.
    #[schemars(range(min = 1, max = 9))]
    limit: Option<u8>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    Placed,
}

fn registry() -> Registry<u32, VisibilityUpdate> {
    let domains = Domains::new()
        .with(
            "desk",
            Domain::new("core")
                .packs(["more", "web"])
                .default_packs(["more"]),
        )
        .with("shop", Domain::new("core"));
    let tool = |name: &str| ToolSpec::read(name, format!("Does {name}. And no more."));
    let ok = |_: ToolContext<'_, u32>, _: NoArguments| Ok("ok");
    Registry::<u32, VisibilityUpdate>::builder()
        .domains_to_choose(domains)
        .function(
            tool("list")
                .domain("desk")
                .pack("core")
                .also_called("list_tasks")
                .argument_alias("max", "limit")
                .synonym("status", "to_do", "pending")
                .preview(["status"]),
            |_, Query { status, limit }| Ok(format!("{status:?} {limit:?}")),
        )
        .function(
            tool("count").domain("desk").pack("more").requires_state(),
            |cx, _: NoArguments| Ok(cx.state()?.to_string()),
        )
        .function(tool("fetch").domain("desk").pack("web"), ok)
        .function(tool("drop").domain("desk").disabled(), ok)
        .function(tool("buy").domain("shop"), ok)
        .function(tool("time"), ok)
        .build()
        .unwrap()
}

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall::new("c1", name, arguments)
}

fn names(registry: &Registry<u32, VisibilityUpdate>, visibility: &Visibility) -> Vec<String> {
    registry
        .schemas(visibility)
        .into_iter()
        .map(|schema| schema.name)
        .collect()
}

#[test]
fn sch_93_without_a_domain_only_the_context_tools_are_visible() {
    let registry = registry();
    let always = ["context_tools_add", "context_tools_remove", "time"];
    assert_eq!(names(&registry, &Visibility::new()), always);
    let refusal = registry
        .admit(&call("count", json!({})), &Visibility::new())
        .unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the tool `count` is not active; \
         first call context_tools_add with domain \"desk\" and packs [\"more\"]"
    );
}

#[test]
fn sch_93_a_hidden_tool_names_the_pack_that_shows_it() {
    let registry = registry();
    let visibility = Visibility::of("desk", ["web"]);
    let refusal = registry
        .admit(&call("count", json!({})), &visibility)
        .unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the tool `count` is not active; \
         first call context_tools_add with domain \"desk\", packs [\"more\"] and mode \"merge\""
    );
    let refusal = registry
        .admit(&call("list", json!({})), &Visibility::new())
        .unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the tool `list` is not active; first call context_tools_add with domain \"desk\""
    );
}

#[test]
fn sch_93_what_is_visible_survives_a_snapshot() {
    let registry = registry();
    let visibility = Visibility::of("desk", ["more"]);
    let stored = serde_json::to_string(&visibility).unwrap();
    assert_eq!(stored, r#"{"domain":"desk","packs":["more"]}"#);
    let read: Visibility = serde_json::from_str(&stored).unwrap();
    assert_eq!(registry.schemas(&read), registry.schemas(&visibility));
    assert!(names(&registry, &read).contains(&"count".to_owned()));
}

#[test]
fn sch_94_a_whitelist_leaves_only_what_it_names() {
    let registry = registry();
    let visibility = Visibility::of("desk", ["more"]).only(["count", "fetch", "buy"]);
    assert_eq!(names(&registry, &visibility), ["count"]);
    let refusal = registry
        .admit(&call("time", json!({})), &visibility)
        .unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the tool `time` is not allowed in this phase; the tools that can be called now are count"
    );
    let refusal = registry
        .admit(&call("fetch", json!({})), &visibility)
        .unwrap_err();
    assert_eq!(refusal.to_string(), "the tool `fetch` is not available now");
}

#[test]
fn a_disabled_tool_is_registered_but_blocked() {
    let registry = registry();
    let result = block_on(registry.call(
        &call("drop", json!({})),
        ToolContext::new(&0).visibility(&Visibility::of("desk", [""; 0])),
    ));
    assert_eq!(result.status, ToolStatus::Blocked);
    assert!(registry.spec("drop").is_some());
}

#[test]
fn sch_58_an_unknown_tool_is_answered_with_those_there_are() {
    let refusal = registry()
        .admit(&call("lisst", json!({})), &Visibility::new())
        .unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "there is no tool `lisst`; the tools that can be called now are \
         context_tools_add, context_tools_remove and time"
    );
}

#[test]
fn l7_other_names_and_words_are_replaced_before_anything_is_checked() {
    let registry = registry();
    let visibility = Visibility::of("desk", [""; 0]);
    let wanted = call("list_tasks", json!({ "status": "To_Do", "max": 3 }));
    let admitted = registry.admit(&wanted, &visibility).unwrap();
    assert_eq!(
        admitted.call(),
        &call("list", json!({ "status": "pending", "limit": 3 }))
    );
    assert_eq!(admitted.preview(), "pending");
    let result = block_on(admitted.run(ToolContext::new(&0)));
    assert_eq!(result.text, "Some(Pending) Some(3)");
}

#[test]
fn arguments_may_come_as_text_or_not_at_all() {
    let registry = registry();
    let visibility = Visibility::of("desk", [""; 0]);
    for (arguments, read) in [
        (json!(r#"{"limit": 3}"#), json!({ "limit": 3 })),
        (json!(""), json!({})),
        (Value::Null, json!({})),
    ] {
        let admitted = registry
            .admit(&call("list", arguments), &visibility)
            .unwrap();
        assert_eq!(admitted.call().arguments, read);
    }
}

#[test]
fn sch_58_wrong_arguments_are_told_with_their_places() {
    let registry = registry();
    let visibility = Visibility::of("desk", [""; 0]);
    for (arguments, problems) in [
        (
            json!({ "limit": 3, "max": 4 }),
            vec!["there is no argument `max`; allowed are `limit` and `status`"],
        ),
        (
            json!({ "limit": 10 }),
            vec!["/limit: 10 is greater than the maximum of 9"],
        ),
        (
            json!({ "limit": "3", "day": 1 }),
            vec![
                "there is no argument `day`; allowed are `limit` and `status`",
                r#"/limit: "3" is not of types "integer", "null""#,
            ],
        ),
        (json!([1]), vec!["the arguments must be a JSON object"]),
        (json!("list"), vec!["the arguments must be a JSON object"]),
    ] {
        let Err(Refusal::Arguments {
            problems: found, ..
        }) = registry.admit(&call("list", arguments.clone()), &visibility)
        else {
            panic!("{arguments} was admitted");
        };
        assert_eq!(found, problems);
    }
}

#[test]
fn a_tool_that_needs_a_state_is_blocked_without_one() {
    let registry = registry();
    let visibility = Visibility::of("desk", ["more"]);
    let count = call("count", json!({}));
    let cx = ToolContext::without_state().visibility(&visibility);
    assert_eq!(
        block_on(registry.call(&count, cx)).status,
        ToolStatus::Blocked
    );
    let cx = ToolContext::new(&5).visibility(&visibility);
    assert_eq!(block_on(registry.call(&count, cx)).text, "5");
}

#[test]
fn sch_92_a_choice_is_returned_and_nothing_is_changed() {
    let registry = registry();
    let visibility = Visibility::new();
    let cx = ToolContext::without_state().visibility(&visibility);
    let add = call(
        "context_tools_add",
        json!({ "domain": "desk", "mode": "set" }),
    );
    let result = block_on(registry.call(&add, cx));
    assert_eq!(result.text, "desk is active with its core pack and more");
    let packs = BTreeSet::from(["more".to_owned()]);
    assert_eq!(
        result.updates,
        [VisibilityUpdate::Activated {
            domain: "desk".into(),
            packs
        }]
    );
    let add = call("context_tools_add", json!({ "domain": "shed" }));
    let result = block_on(registry.call(&add, cx));
    assert_eq!(
        (result.status, result.updates),
        (ToolStatus::Failed, vec![])
    );
    assert_eq!(result.data["error_code"], "invalid_domain");
}

#[test]
fn the_model_never_reads_what_is_for_the_operator() {
    let tool = async_tool_fn::<(), (), NoArguments, _>(ToolSpec::read("read", "Reads."), |_, _| {
        async { Err(ToolFailure::internal(fmt::Error)) }.boxed()
    });
    let registry = Registry::<(), ()>::builder().tool(tool).build().unwrap();
    let result = block_on(registry.call(&call("read", json!({})), ToolContext::new(&())));
    assert_eq!(result.status, ToolStatus::Failed);
    assert_eq!(
        result.text,
        "the tool failed for an internal reason; trying again may help"
    );
}

#[test]
fn a_result_survives_being_stored() {
    let result: ToolResult<VisibilityUpdate> = ToolOutput::new("gone")
        .data(json!({ "n": 1 }))
        .issue("late")
        .update(VisibilityUpdate::Cleared)
        .into();
    let stored = serde_json::to_string(&result).unwrap();
    assert_eq!(
        serde_json::from_str::<ToolResult<VisibilityUpdate>>(&stored).unwrap(),
        result
    );
}

#[test]
fn sch_112_the_lite_catalogue_stays_short_and_leaves_nothing_out() {
    let registry = registry();
    let visibility = Visibility::of("desk", ["more"]);
    assert_eq!(
        registry.catalogue(&visibility, CatalogueDetail::Lite { most: 3 }),
        "- context_tools_add(domain, mode?, packs?): Activates a domain of tools, and packs of it.\n\
         - context_tools_remove(all?, domain?, packs?): Deactivates packs of a domain, a whole \
         domain, or every domain.\n\
         - count(): Does count.\n\
         - and list and time\n"
    );
}

#[test]
fn l6_the_full_catalogue_lists_values_in_words() {
    let text = registry().catalogue(&Visibility::of("desk", [""; 0]), CatalogueDetail::Full);
    assert!(
        text.ends_with(
            "- list (reads): Does list. And no more.\n  \
           - limit (optional): At most so many\n  \
           - status (optional): Which tasks; one of pending and placed\n\
         - time (reads): Does time. And no more.\n"
        ),
        "{text}"
    );
}
