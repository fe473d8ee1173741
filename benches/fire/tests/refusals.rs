//! A wrong command is refused with what was wrong.
use std::process::Command;

/// Returns what the program says when it fails.
fn refused(arguments: &[&str]) -> Result<String, std::io::Error> {
    let ran = Command::new(env!("CARGO_BIN_EXE_fire"))
        .args(arguments)
        .output()?;
    assert!(!ran.status.success(), "{arguments:?}");
    Ok(String::from_utf8_lossy(&ran.stderr).into_owned())
}

#[test]
fn a_python_that_is_not_there_is_named() -> Result<(), std::io::Error> {
    let said = refused(&["--python", "/nowhere/python"])?;
    assert!(said.contains("/nowhere/python does not start"), "{said}");
    Ok(())
}
