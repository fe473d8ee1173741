//! The tool that returns the time.
use fugato::tool::{EffectClass, ToolFailure, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Builder, Clock};

/// Where.
#[derive(Deserialize, JsonSchema)]
struct Place {
    /// A zone of the IANA list, such as Europe/London; left out for that of this machine.
    #[serde(default)]
    zone: Option<String>,
}

pub(super) fn add(builder: Builder, clock: Clock) -> Builder {
    // The result differs from call to call; it is stored, and a replay does not call again.
    let spec = ToolSpec::read("time", "The date and the time of day.")
        .effect(EffectClass::Idempotent)
        .argument_alias("timezone", "zone")
        .preview(["zone"]);
    builder.function(spec, move |_, Place { zone }| {
        let mut now = clock();
        if let Some(zone) = zone.as_deref().filter(|zone| !zone.is_empty()) {
            now = now.in_tz(zone).map_err(|error| {
                let text = format!("{zone:?} is no zone; such are UTC and Europe/London");
                ToolFailure::failed(text).because(error)
            })?;
        }
        let shown = now.strftime("%A %F, %H:%M (%Q)").to_string();
        Ok(ToolOutput::new(shown))
    })
}
