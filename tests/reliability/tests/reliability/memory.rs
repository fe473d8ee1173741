//! What waits costs a row, and a run costs no more the longer it is. Each is measured in a process
//! of its own.
use std::{error::Error, process::Command};

use fugato_testkit::share;

/// What the program says of a trial: the whole numbers in its line, in order.
fn numbers(arguments: &[&str]) -> Result<Vec<u64>, Box<dyn Error>> {
    let output = Command::new(env!("CARGO_BIN_EXE_reliability"))
        .args(arguments)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    let words = said.split(|c: char| c.is_whitespace() || c == ',' || c == ';');
    Ok(words.filter_map(|word| word.parse().ok()).collect())
}

#[test]
fn k22_threads_that_wait_hold_no_memory() -> Result<(), Box<dyn Error>> {
    // A tenth, where not all cases are tried.
    let parked = if share() == 1 { 100_000 } else { 10_000 };
    let told = numbers(&["park", "--threads", &parked.to_string()])?;
    let [threads, with, without, answered, ..] = told[..] else {
        return Err(format!("{told:?}").into());
    };
    assert_eq!((threads, answered), (parked, 1000));
    // KiB.
    assert!(
        with <= without + 50 * 1024,
        "{with} with them, {without} without"
    );
    Ok(())
}

#[test]
fn k6_a_long_run_holds_no_more_memory_than_a_short_one() -> Result<(), Box<dyn Error>> {
    let planned = if share() == 1 { 1_000_000 } else { 100_000 };
    let told = numbers(&["long", "--steps", &planned.to_string()])?;
    let [steps, early, most, ..] = told[..] else {
        return Err(format!("{told:?}").into());
    };
    assert_eq!(steps, planned);
    // KiB: the caches of SQLite fill, and nothing else grows.
    assert!(most <= early + 16 * 1024, "{early} early, {most} at most");
    Ok(())
}
