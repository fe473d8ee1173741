//! A log that was sound, after edits.
#![no_main]

use fugato_testkit::hostile::{edited, look};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|script: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime can be made");
    runtime.block_on(async {
        let records = edited(script).await.expect("a sound log can be made");
        look(records, None).await;
    });
});
