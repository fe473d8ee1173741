//! Approvals that were asked before they were bound to what they show.
use std::sync::Arc;

use fugato_graph::{Answers, BoxError, END, Graph, RunResult, Runner, ThreadStatus};
use fugato_state::{Interrupt, State, ThreadId};
use fugato_store::{Commit, Expect, MemoryLog, Record, Status, ThreadLog};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Files(Vec<String>);

impl State for Files {
    type Update = String;
    fn apply(&mut self, update: String) {
        self.0.push(update);
    }
}

fn graph() -> Result<Graph<Files>, BoxError> {
    Ok(Graph::<Files>::starting_at("confirm")
        .approval(
            "confirm",
            |files| files.0.clone(),
            |_, ok: bool| format!("approved {ok}"),
        )
        .edge("confirm", END)
        .build()?)
}

fn only(ended: &RunResult<Files>) -> Result<Interrupt, BoxError> {
    match ended.interrupts() {
        [only] => Ok(only.clone()),
        other => Err(format!("one question should be open, not {other:?}").into()),
    }
}

/// Returns a runner with a thread that parked with a card whose id is not bound, as older programs
/// wrote it.
async fn parked_before(thread: &ThreadId) -> Result<Runner<Files>, BoxError> {
    let log = Arc::new(MemoryLog::default());
    let runner = Runner::new(graph()?, log.clone());
    let asked = only(&runner.start(thread, "delete".to_owned()).await?)?;
    let (bound, plain) = (asked.id.as_str(), asked.id.as_str().split('.').next());
    let plain = plain.ok_or("the id is a token")?;
    let old = Arc::new(MemoryLog::default());
    for (seq, record) in log.read(thread, 1, 100).await? {
        let (format, body) = record.0.split_first().ok_or("a record has a format")?;
        let body = std::str::from_utf8(body)?.replace(bound, plain);
        let commit = Commit {
            expect: Expect {
                head: seq - 1,
                fence: 0,
            },
            nonce: u128::from(seq),
            records: vec![Record([&[*format], body.as_bytes()].concat())],
            status: Status::Waiting { expires: None },
            base: None,
        };
        old.append(thread, &commit).await?;
    }
    Ok(Runner::new(graph()?, old))
}

#[tokio::test]
async fn k35_a_card_of_an_older_program_is_asked_anew() -> Result<(), BoxError> {
    let thread = ThreadId::new("t")?;
    for by_answer in [true, false] {
        let runner = parked_before(&thread).await?;
        let ThreadStatus::Waiting(open) = runner.standing(&thread).await? else {
            panic!("the thread waits");
        };
        assert_eq!(open[0].id.as_str(), "confirm#1~1");
        let ended = if by_answer {
            let yes = Answers::to(open[0].id.clone(), true)?;
            runner.resume(&thread, yes).await?
        } else {
            runner.recover(&thread).await?
        };
        let anew = only(&ended)?;
        assert_ne!(anew.id, open[0].id);
        assert_eq!(ended.state().0, ["delete"], "nothing was approved");
        let ended = runner.resume(&thread, Answers::to(anew.id, true)?).await?;
        assert_eq!(ended.state().0, ["delete", "approved true"]);
    }
    Ok(())
}
