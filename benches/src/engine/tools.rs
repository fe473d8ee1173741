//! Calls of tools.
use fugato_state::ToolCall;
use fugato_tool::{NoArguments, Registry, ToolContext, ToolSpec};
use serde_json::json;

use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, runtime, timed},
    workload::CALLS,
};

pub(super) fn calls(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let add = |tools: fugato_tool::RegistryBuilder<(), ()>, number| {
        let spec = ToolSpec::read(format!("tool-{number}"), "Does nothing.");
        tools.function(spec, |_, _: NoArguments| Ok("done"))
    };
    let tools = (0..size).fold(Registry::builder(), add).build()?;
    let call = ToolCall::new("call-1", format!("tool-{}", size / 2), json!({}));
    rounds(setting, CALLS, || {
        let (said, spent) = timed(|| {
            runtime.block_on(async {
                let mut said = 0;
                for _ in 0..CALLS {
                    let done = tools.call(&call, ToolContext::without_state()).await;
                    said += done.text.len() as u64;
                }
                said
            })
        });
        assert_eq!(said, 4 * CALLS, "each call is answered");
        Ok(spent)
    })
}
