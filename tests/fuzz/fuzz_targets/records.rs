//! Records, and a snapshot, of arbitrary bytes.
#![no_main]

use fugato_testkit::hostile::{look, raw};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], Option<&[u8]>)| {
    let (bytes, fold) = input;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime can be made");
    runtime.block_on(look(raw(bytes), fold.map(<[u8]>::to_vec)));
});
