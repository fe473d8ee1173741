use serde_json::json;

use super::*;
use crate::{Domain, NoArguments};

fn build(specs: impl IntoIterator<Item = ToolSpec>) -> Result<Registry, RegistryError> {
    let domains = Domains::new().with("desk", Domain::new("core").packs(["more"]));
    let builder = Registry::<(), ()>::builder().domains(domains);
    let add = |builder: RegistryBuilder, spec| builder.function(spec, |_, _: NoArguments| Ok("ok"));
    specs.into_iter().fold(builder, add).build()
}

fn get() -> ToolSpec {
    ToolSpec::read("get", "Gets.")
}

#[test]
fn a_name_or_other_name_is_taken_once() {
    let set = || ToolSpec::read("set", "Sets.");
    for specs in [
        vec![get(), get()],
        vec![get(), set().also_called("get")],
        vec![set().also_called("get"), get()],
        vec![get().also_called("x"), set().also_called("x")],
        vec![get().also_called("get")],
    ] {
        assert!(matches!(build(specs), Err(RegistryError::Duplicate { .. })));
    }
    assert!(build([get().also_called("fetch"), set()]).is_ok());
}

#[test]
fn what_could_never_be_called_is_rejected() {
    let name = "get".to_owned();
    for (spec, error) in [
        (
            ToolSpec::read("get it", ""),
            RegistryError::BadName {
                name: "get it".into(),
            },
        ),
        (
            get().domain("shop"),
            RegistryError::UnknownDomain {
                tool: name.clone(),
                domain: "shop".into(),
            },
        ),
        (
            get().domain("desk").pack("less"),
            RegistryError::UnknownPack {
                tool: name.clone(),
                domain: "desk".into(),
                pack: "less".into(),
            },
        ),
        (
            get().pack("more"),
            RegistryError::PackWithoutDomain {
                tool: name.clone(),
                pack: "more".into(),
            },
        ),
        (
            ToolSpec::context("get", "").domain("desk"),
            RegistryError::ContextToolInDomain { tool: name.clone() },
        ),
        (
            get().preview(["day"]),
            RegistryError::UnknownArgument {
                tool: name.clone(),
                argument: "day".into(),
            },
        ),
        (
            get().schema(Schema::of::<u8>()),
            RegistryError::ArgumentsNotAnObject { tool: name.clone() },
        ),
    ] {
        assert_eq!(build([spec]).err(), Some(error));
    }
}

#[test]
fn a_default_pack_has_to_be_a_pack() {
    let domains = Domains::new().with("desk", Domain::new("core").default_packs(["more"]));
    let error = Registry::<(), ()>::builder().domains(domains).build().err();
    let (domain, pack) = ("desk".to_owned(), "more".to_owned());
    assert_eq!(
        error,
        Some(RegistryError::UnknownDefaultPack { domain, pack })
    );
}

#[test]
fn a_tool_that_accepts_anything_brings_its_schema() {
    let schema = json!({ "type": "object", "properties": { "q": { "type": "string" } } });
    let registry = Registry::<(), ()>::builder()
        .function(
            get().schema(Schema::new(schema).unwrap()),
            |_, input: serde_json::Value| Ok(input.to_string()),
        )
        .build()
        .unwrap();
    let schemas = registry.schemas(&crate::Visibility::new());
    assert_eq!(
        serde_json::to_value(schemas).unwrap(),
        json!([{
            "name": "get",
            "description": "Gets.",
            "parameters": {
                "type": "object",
                "properties": { "q": { "type": "string" } },
                "additionalProperties": false,
            },
        }])
    );
}
