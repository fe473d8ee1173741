//! The program itself: each line is a process of its own.
use fugato_testkit::Program;
use planner::desk::Desk;

struct Folder(Program);

impl Folder {
    fn new() -> Self {
        Self(Program::new(env!("CARGO_BIN_EXE_planner")))
    }

    fn desk(&self) -> Desk {
        Desk::open(self.0.path("planner-data/desk.db")).expect("a desk")
    }

    fn says(&self, arguments: &[&str], expected: &str) {
        let said = self.0.ok(arguments);
        assert!(said.contains(expected), "{arguments:?} says {said}");
    }
}

#[test]
fn pln_t2_pln_t3_each_message_is_a_process_and_the_desk_changes_between() {
    let folder = Folder::new();
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
    let told = folder.0.err(&["desk", "set", "trader", "x"]);
    assert!(
        told.contains("a trader is made in a conversation"),
        "{told}"
    );
    let told = folder.0.err(&["desk", "pay", "BTC", "much"]);
    assert!(told.contains("is no amount"), "{told}");
}

/// The order of one card is agreed to in two processes at the same time, in every way there is.
#[tokio::test]
async fn k14_pln_w9_an_order_that_two_processes_confirm_at_once_is_placed_once() {
    let folder = Folder::new();
    let ways: [[&[&str]; 2]; 4] = [
        [&["say", "yes"], &["say", "好的"]],
        [&["say", "--answer", "true"], &["say", "--answer", "true"]],
        [&["say", "yes"], &["say", "--yes"]],
        // Who comes second may find that nothing waits, but does not sell on his own.
        [&["say", "yes"], &["say", "no"]],
    ];
    let mut orders = vec![];
    for (n, way) in ways.iter().enumerate() {
        folder.says(&["say", "sell 0.05 BTC"], "place_order");
        let told = folder.0.at_once(way);
        let desk = folder.desk();
        let trades = desk.trades(10).await.expect("trades");
        orders.extend(trades.first().map(|trade| trade.order));
        // Whoever said no may have come first.
        let agreed = trades.len() == n + 1;
        assert!(
            agreed || (n == 3 && trades.len() == n),
            "{way:?}: {told:?}, {trades:?}"
        );
        assert!(
            told.iter().all(|ran| !ran.told().trim().is_empty()),
            "{told:?}"
        );
        let done = told
            .iter()
            .filter(|ran| ran.told().contains("Done: order #"));
        assert_eq!(done.count(), usize::from(agreed), "{way:?}: {told:?}");
        folder.says(&["say", "/status"], "work: ");
    }
}

/// Two processes talk in two sessions of one folder, and about the same desk.
#[tokio::test]
async fn pln_w3_two_sessions_in_two_processes_do_not_meet() {
    let folder = Folder::new();
    let told = folder.0.at_once(&[
        &["--thread", "one", "say", "--yes", "sell 0.05 BTC"],
        &["--thread", "two", "say", "--yes", "sell 0.05 BTC"],
        &["--thread", "three", "say", "记住：我只做白天"],
        &["--thread", "four", "say", "remember that I drink tea"],
    ]);
    assert!(told.iter().all(|ran| ran.well), "{told:?}");
    let desk = folder.desk();
    assert_eq!(desk.trades(10).await.expect("trades").len(), 2);
    folder.says(&["config", "agent_task_state_home"], "我只做白天");
    folder.says(&["config", "agent_task_state_home"], "I drink tea");
}
