use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// A type with a JSON schema that can be read from JSON: arguments of a tool, answers to a
/// question, and decisions of a model. Every type that derives `serde::Deserialize` and
/// `schemars::JsonSchema` is one.
///
/// ```
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct City {
///     name: String,
/// }
///
/// fn is_json(_: impl fugato_state::JsonType) {}
/// is_json(City { name: "Oslo".into() });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no JSON schema, or cannot be read from JSON",
    note = "derive both: `#[derive(serde::Deserialize, schemars::JsonSchema)]`; `schemars` is at `fugato::schemars`, too"
)]
pub trait JsonType: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> JsonType for T {}
