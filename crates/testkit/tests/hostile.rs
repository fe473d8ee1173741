//! No log makes a runner panic or run for ever: a short version of the fuzz targets. It looks for
//! panics in its whole process, so it is alone in its binary.
use std::{
    sync::{
        Mutex, Once, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use fugato_store::Record;
use fugato_testkit::hostile::{edited, look, raw};
use proptest::prelude::*;
use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.expect("a runtime can be made")
}

/// The timeout of a case. A case takes milliseconds.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs a case on its own thread, since an endless loop would block a timer on this one.
fn run(records: Vec<Record>, fold: Option<Vec<u8>>) -> Result<(), TestCaseError> {
    note_panics();
    let (ended, end) = mpsc::channel();
    let looking = thread::spawn(move || {
        runtime().block_on(look(records, fold));
        ended.send(())
    });
    let ended = end.recv_timeout(LONGEST);
    if matches!(ended, Err(RecvTimeoutError::Timeout)) {
        return Err(TestCaseError::fail("it does not end"));
    }
    if let Err(panic) = looking.join() {
        std::panic::resume_unwind(panic);
    }
    let mut panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
    match panics.drain(..).next() {
        Some(panic) => Err(TestCaseError::fail(panic)),
        None => Ok(()),
    }
}

/// The panics of runs. A run has its own task, so that its panic does not reach the caller.
static PANICS: Mutex<Vec<String>> = Mutex::new(vec![]);

fn note_panics() {
    static NOTED: Once = Once::new();
    NOTED.call_once(|| {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let mut panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
            panics.push(panic.to_string());
            drop(panics);
            told(panic);
        }));
    });
}

/// Generates bytes that look like the contents of a log.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        3 => prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"", "\n", "null", "true", "0", "1", "-1", "1e400",
            "18446744073709551615", "\"at\":", "\"run\":", "\"fact\":", "\"Stepped\"", "\"stepped\"",
            "\"finished\"", "\"closed\"", "\"started\"", "\"task\":", "\"in#1\"", "\"next\":", "\\u0000",
        ]).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: fugato_testkit::share_of(1_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn k20_records_of_any_bytes_are_read_or_refused(bytes in bytes(), fold in prop::option::of(bytes())) {
        run(raw(&bytes), fold)?;
    }

    #[test]
    fn k20_an_edited_log_is_read_or_refused(script in prop::collection::vec(any::<u8>(), 0..40)) {
        let records = runtime().block_on(edited(&script));
        let records = records.map_err(|error| TestCaseError::fail(error.to_string()))?;
        run(records, None)?;
    }
}

#[test]
fn the_log_that_is_edited_is_sound_and_goes_through_the_whole_graph() {
    let records = runtime()
        .block_on(edited(&[]))
        .map_err(|error| error.to_string());
    let text = records.map(|records| {
        let texts = records
            .iter()
            .map(|record| String::from_utf8_lossy(&record.0).into_owned());
        texts.collect::<Vec<_>>().join("\n")
    });
    for word in [
        "heard 7",
        "worker#1[1]/act",
        "undone",
        "receipt",
        "spent",
        "failed",
        "confirmed true",
        "run_ended",
    ] {
        assert!(
            text.as_ref().is_ok_and(|text| text.contains(word)),
            "{word} in {text:?}"
        );
    }
}
