//! Calls of functions by their names.
use std::collections::HashMap;

use futures::future::BoxFuture;
use serde_json::json;

use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, runtime, timed},
    workload::CALLS,
};

type Function = Box<dyn Fn(&serde_json::Value) -> BoxFuture<'static, String> + Send + Sync>;

pub(super) fn calls(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let function = |number| -> (String, Function) {
        let call: Function = Box::new(|_| Box::pin(async { "done".to_owned() }));
        (format!("tool-{number}"), call)
    };
    let functions: HashMap<_, _> = (0..size).map(function).collect();
    let (name, arguments) = (format!("tool-{}", size / 2), json!({}));
    rounds(setting, CALLS, || {
        let (said, spent) = timed(|| {
            runtime.block_on(async {
                let mut said = 0;
                for _ in 0..CALLS {
                    if let Some(function) = functions.get(&name) {
                        said += function(&arguments).await.len() as u64;
                    }
                }
                said
            })
        });
        assert_eq!(said, 4 * CALLS, "each call is answered");
        Ok(spent)
    })
}
