//! The program itself: each line is a process of its own.
use std::process::Command;

struct Folder(tempfile::TempDir);

impl Folder {
    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let done = Command::new(env!("CARGO_BIN_EXE_planner"))
            .args(arguments)
            .arg("--dir")
            .arg(self.0.path())
            .output()
            .expect("it runs");
        let told = [done.stdout, done.stderr].concat();
        (
            done.status.success(),
            String::from_utf8_lossy(&told).into_owned(),
        )
    }

    fn says(&self, arguments: &[&str], expected: &str) {
        let (done, told) = self.run(arguments);
        assert!(done && told.contains(expected), "{arguments:?} says {told}");
    }
}

#[test]
fn pln_t2_pln_t3_each_message_is_a_process_and_the_desk_changes_between() {
    let folder = Folder(tempfile::tempdir().expect("a folder"));
    folder.says(
        &["say", "create a trader named alpha"],
        "Which model? There is: glimmer, harbour",
    );
    folder.says(
        &["desk", "remove", "model", "harbour"],
        "harbour is removed",
    );
    folder.says(
        &["say", "harbour"],
        "That model is not there now. There is: glimmer",
    );
    folder.says(&["say", "/status"], "waits for an answer");
    folder.says(&["say", "glimmer"], "create_trader");
    folder.says(
        &["say", "yes"],
        "made the trader alpha with glimmer on replay",
    );
    folder.says(&["desk", "show"], "\"name\": \"alpha\"");
    folder.says(
        &["config", "agent_execution_state_home"],
        "\"status\": \"completed\"",
    );
    folder.says(&["say", "记住：我只做白天"], "记住了");
    folder.says(&["config", "agent_task_state_home"], "我只做白天");
    folder.says(
        &["desk", "set", "exchange", "replay", "--disabled"],
        "is configured",
    );
    folder.says(
        &["say", "Can I create a trader?"],
        "No trader can be made now: no exchange is enabled.",
    );
    folder.says(&["say", "buy 0.1 BTC", "--yes"], "order #1 is filled");
    folder.says(&["trace"], "planner");
    folder.says(&["graph"], "look");
    let (done, told) = folder.run(&["desk", "set", "trader", "x"]);
    assert!(
        !done && told.contains("a trader is made in a conversation"),
        "{told}"
    );
    let (done, told) = folder.run(&["desk", "pay", "BTC", "much"]);
    assert!(!done && told.contains("is no amount"), "{told}");
}
