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

/// Returns the text of the error.
fn told(built: Result<Registry, RegistryError>) -> String {
    built.unwrap_err().to_string()
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
        let told = told(build(specs));
        assert!(told.contains(" is taken by the tool "), "{told}");
    }
    assert!(build([get().also_called("fetch"), set()]).is_ok());
}

#[test]
fn what_could_never_be_called_is_rejected() {
    for (spec, problem) in [
        (
            ToolSpec::read("get it", ""),
            r#"the name "get it" is not allowed: 1 to 64 of A-Z a-z 0-9 _ - are"#,
        ),
        (
            get().domain("shop"),
            r#"the tool "get" is in the domain "shop", which does not exist"#,
        ),
        (
            get().domain("desk").pack("less"),
            r#"the tool "get" is in the pack "less", which the domain "desk" does not have"#,
        ),
        (
            get().pack("more"),
            r#"the tool "get" is in the pack "more" of no domain"#,
        ),
        (
            ToolSpec::context("get", "").domain("desk"),
            r#"the context tool "get" cannot be in a domain"#,
        ),
        (
            get().preview(["day", "hour"]),
            r#"the tool "get" has no argument "day"; the tool "get" has no argument "hour""#,
        ),
        (
            get().schema(Schema::of::<u8>()),
            r#"the arguments of the tool "get" are not an object"#,
        ),
    ] {
        let expected = format!("the tools do not fit together: {problem}");
        assert_eq!(told(build([spec])), expected);
    }
}

#[test]
fn all_problems_of_all_tools_are_named_at_once() {
    let error = build([
        ToolSpec::read("get it", "").domain("shop"),
        get(),
        get().preview(["day"]),
    ]);
    let expected = [
        r#"the tools do not fit together: the tool "get it" is in the domain "shop", which does not exist"#,
        r#"the name "get it" is not allowed: 1 to 64 of A-Z a-z 0-9 _ - are"#,
        r#"the name "get" is taken by the tool "get" and by "get""#,
        r#"the tool "get" has no argument "day""#,
    ];
    assert_eq!(told(error), expected.join("; "));
}

#[test]
fn a_default_pack_has_to_be_a_pack() {
    let domains = Domains::new().with("desk", Domain::new("core").default_packs(["more"]));
    let error = Registry::<(), ()>::builder().domains(domains).build();
    let expected = r#"the tools do not fit together: the domain "desk" has no pack "more" to activate by default"#;
    assert_eq!(told(error), expected);
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
