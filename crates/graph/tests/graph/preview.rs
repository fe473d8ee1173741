//! K32: what a preview says is what opening then does, for a thousand threads in every standing and
//! programs that changed in every way.
mod graphs;
mod states;

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc, thread};

use fugato_graph::{
    Answers, HistoryEvent, Preview, RunError, RunErrorKind, RunResult, Runner, RunnerOptions,
    ThreadStatus,
};
use fugato_state::{Interrupt, InterruptId, Millis, Seq, ThreadId};
use fugato_store::{Commit, Expect, MemoryLog, Record, Status, ThreadLog};
use fugato_testkit::share_of;
use serde_json::{Value, json};

use graphs::{GraphShape, KINDS, graph};
use states::{
    AliasedField, AliasedVariant, Inner, Old, OldInner, OptionalField, OtherAmount, RemovedField,
    RenamedField, RenamedVariant, RequiredField, Second, SecondHalfRead, SecondInner,
    SecondInnerUnread, SecondUnread, StrictField, TestState,
};

/// The threads of which [`EXPECTED`] tells; a [share](share_of) of them is tried.
const THREADS: u32 = 1_000;
/// The time of the program that began the threads; another is an hour later.
const BEGINS: Millis = 2_000_000_000_000;
const LATER: Millis = BEGINS + 3_600_000;

/// A thread as the old program left it.
struct ParkedThread {
    id: ThreadId,
    records: Vec<Record>,
    opening: Opening,
    /// True if an effect was begun, and its end is not known.
    doubts: bool,
}

/// The request that opens a thread.
enum Opening {
    Start,
    Resume(Vec<(InterruptId, Value)>),
    Recover,
    Retry,
}

fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.expect("a runtime needs no more than memory")
}

fn log(now: Millis) -> Arc<MemoryLog> {
    Arc::new(MemoryLog::with_clock(move || now))
}

fn runner<S: TestState, I: Inner>(wiring: GraphShape, log: Arc<MemoryLog>) -> Runner<S> {
    let options = RunnerOptions::default().longest_sleep(std::time::Duration::ZERO);
    Runner::new(graph::<S, I>(wiring), log).options(options)
}

/// Runs the old program, and cuts every third log off somewhere, as a crash does.
async fn begin() -> Vec<ParkedThread> {
    let (first, second) = (log(BEGINS), log(LATER));
    let old = runner::<Old, OldInner>(GraphShape::Same, first.clone());
    let later = runner::<Old, OldInner>(GraphShape::Same, second.clone());
    let mut threads = vec![];
    for n in 0..share_of(THREADS) as usize {
        let id = ThreadId::new(format!("t{n:04}")).expect("the name keeps the rules");
        let kind = KINDS.iter().cycle().nth(n).copied().unwrap_or_default();
        let amount = i64::try_from(n).unwrap_or_default();
        let input = vec![Old::of_kind(kind), Old::plus(amount)];
        // Some fail, as they should.
        let _ = old.start(&id, input).await;
        let records = first.read(&id, 1, 100).await.expect("the log was written");
        let mut records: Vec<_> = records.into_iter().map(|(_, record)| record).collect();
        if (n / KINDS.len()) % 3 == 2 {
            records.truncate(2 + n * 7_919 % (records.len() - 1));
        }
        store(&second, &id, &records).await;
        let opening = match later.status(&id).await.expect("the old program reads it") {
            ThreadStatus::Waiting(open) => answers(&open),
            ThreadStatus::Failed { .. } => Opening::Retry,
            ThreadStatus::Sleeping { .. } | ThreadStatus::Unfinished => Opening::Recover,
            _ => Opening::Start,
        };
        let begun = |record: &Record| String::from_utf8_lossy(&record.0).contains("intended");
        let doubts = records.iter().any(begun);
        threads.push(ParkedThread {
            id,
            records,
            opening,
            doubts,
        });
    }
    threads
}

async fn store(log: &MemoryLog, id: &ThreadId, records: &[Record]) {
    let commit = Commit {
        expect: Expect { head: 0, fence: 0 },
        nonce: 1,
        records: records.to_vec(),
        status: Status::Runnable,
        base: None,
    };
    log.append(id, &commit).await.expect("the thread is new");
}

/// Answers every question as the old program wants it.
fn answers(open: &[Interrupt]) -> Opening {
    let late = |asked: &Interrupt| asked.question.expires_at.is_some_and(|at| at <= LATER);
    if open.iter().any(late) {
        return Opening::Recover;
    }
    let answer = |asked: &Interrupt| {
        let node = asked
            .task
            .rsplit('/')
            .next()
            .and_then(|task| task.split('#').next());
        let answer = match node.unwrap_or_default() {
            "ask" => json!({ "yes": true }),
            "midway" | "width" | "within" => json!(7),
            "colour" => json!(null),
            "send" => json!({ "happened": "told" }),
            _ => json!(true),
        };
        (asked.id.clone(), answer)
    };
    Opening::Resume(open.iter().map(answer).collect())
}

/// Opens a thread, and returns what came of it.
async fn open<S: TestState>(
    runner: &Runner<S>,
    parked: &ParkedThread,
) -> Result<RunResult<S>, RunError> {
    match &parked.opening {
        Opening::Start => runner.start(&parked.id, vec![S::of_kind("after")]).await,
        Opening::Recover => runner.recover(&parked.id).await,
        Opening::Retry => runner.retry(&parked.id).await,
        Opening::Resume(answers) => {
            let all = answers
                .iter()
                .try_fold(Answers::none(), |all, (id, answer)| {
                    all.and(id.clone(), answer)
                });
            runner
                .resume(&parked.id, all.expect("the answers are JSON"))
                .await
        }
    }
}

fn whole(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", whole(source)),
        None => error.to_string(),
    }
}

/// The facts that an opening wrote.
#[derive(Default)]
struct StoredThread {
    head: Seq,
    migrated: bool,
    withdrawn: Vec<InterruptId>,
    answered: Vec<InterruptId>,
}

impl StoredThread {
    async fn after<S: TestState>(runner: &Runner<S>, id: &ThreadId, head: Seq) -> Self {
        let mut written = Self {
            head,
            ..Self::default()
        };
        for entry in runner
            .history(id, head + 1, 1_000)
            .await
            .expect("the log is read")
        {
            written.head = entry.seq;
            match entry.event() {
                HistoryEvent::Migrated => written.migrated = true,
                HistoryEvent::Withdrawn { id } => written.withdrawn.push(id.clone()),
                HistoryEvent::Answered { answers, .. } => {
                    written
                        .answered
                        .extend(answers.iter().map(|(id, _)| id.clone()));
                }
                _ => {}
            }
        }
        written
    }
}

/// Compares a preview with what opening then does. `fits` is true if old answers are still answers.
async fn compare<S: TestState>(runner: &Runner<S>, parked: &ParkedThread, fits: bool) -> Preview {
    let id = &parked.id;
    let preview = runner.preview(id).await.expect("the log is read");
    let preview = preview.expect("the thread exists");
    let head = parked.records.len() as Seq;
    assert_eq!(preview.head, head, "{id}");
    let opened = open(runner, parked).await;
    let written = StoredThread::after(runner, id, head).await;
    match &preview.error {
        Some(error) if matches!(error.kind, RunErrorKind::GraphChanged { .. }) => {
            let kind = opened.err().map(|error| error.kind);
            assert_eq!(kind.as_ref(), Some(&error.kind), "{id}");
            assert_eq!(written.head, head, "{id}: a refusal writes nothing");
        }
        Some(error) => {
            let opened = opened.expect_err("the request is refused");
            assert_eq!(opened.kind, error.kind, "{id}");
            assert!(
                whole(&opened).ends_with(&whole(error)),
                "{id}: {opened:?} {error:?}"
            );
            assert_eq!(written.head, head, "{id}: a refusal writes nothing");
        }
        None => {
            let refusal = opened
                .as_ref()
                .err()
                .filter(|error| is_refusal(&error.kind));
            assert!(refusal.is_none(), "{id}: {refusal:?}");
            assert!(written.head > head, "{id}: {opened:?}");
            compare_questions(&preview, parked, &written, fits);
        }
    }
    preview
}

fn is_refusal(kind: &RunErrorKind) -> bool {
    matches!(
        kind,
        RunErrorKind::GraphChanged { .. }
            | RunErrorKind::Migrate
            | RunErrorKind::Format
            | RunErrorKind::Answer(_)
            | RunErrorKind::Waiting { .. }
            | RunErrorKind::Unfinished
            | RunErrorKind::NothingToDo
    )
}

fn compare_questions(preview: &Preview, parked: &ParkedThread, written: &StoredThread, fits: bool) {
    let id = &parked.id;
    let root = preview
        .migrated
        .iter()
        .any(|state| state.starts_with("the state from"));
    assert_eq!(written.migrated, root, "{id}");
    assert_eq!(
        preview.in_doubt.len(),
        usize::from(parked.doubts),
        "{id}: {preview:?}"
    );
    let mut anew = preview.asked_anew.clone();
    let asks = matches!(&parked.opening, Opening::Resume(_));
    if asks && !fits {
        anew.extend(preview.changed.iter().cloned());
    }
    assert_eq!(
        sorted(&written.withdrawn),
        sorted(&anew),
        "{id}: {preview:?}"
    );
    if let (Opening::Resume(answers), true) = (&parked.opening, anew.is_empty()) {
        let given: Vec<_> = answers.iter().map(|(id, _)| id.clone()).collect();
        assert_eq!(sorted(&written.answered), sorted(&given), "{id}");
        let open: Vec<_> = preview
            .interrupts
            .iter()
            .map(|asked| asked.id.clone())
            .collect();
        assert_eq!(sorted(&open), sorted(&given), "{id}");
    }
}

fn sorted(ids: &[InterruptId]) -> Vec<&str> {
    let mut ids: Vec<_> = ids.iter().map(InterruptId::as_str).collect();
    ids.sort_unstable();
    ids
}

/// Previews and opens every thread with a program, and counts what the previews said.
fn try_out<S: TestState, I: Inner>(wiring: GraphShape, threads: &[ParkedThread]) -> String {
    let fits = !matches!(
        wiring,
        GraphShape::AnswerWithRequired | GraphShape::AnswerOfOtherType
    );
    let mut counts = BTreeMap::<&str, usize>::new();
    runtime().block_on(async {
        let log = log(LATER);
        let runner = runner::<S, I>(wiring, log.clone());
        for parked in threads {
            store(&log, &parked.id, &parked.records).await;
            let preview = compare(&runner, parked, fits).await;
            let mut count = |what, n: bool| *counts.entry(what).or_default() += usize::from(n);
            count(
                match preview.error.as_ref().map(|error| &error.kind) {
                    None if preview.migrated.is_empty() => "go on",
                    None => "migrate",
                    Some(RunErrorKind::GraphChanged { .. }) => "refused",
                    Some(_) => "unreadable",
                },
                true,
            );
            count("asked anew", !preview.asked_anew.is_empty());
            count("other schema", !preview.changed.is_empty());
            count("in doubt", !preview.in_doubt.is_empty());
        }
    });
    let counts = counts.iter().filter(|(_, n)| **n > 0);
    counts.fold(String::new(), |mut line, (what, n)| {
        let _ = write!(line, " {n} {what},");
        line
    })
}

type Program = (&'static str, fn(&[ParkedThread]) -> String);

macro_rules! programs {
    ($($name:literal: $state:ty, $inner:ty, $wiring:ident;)*) => {
        const PROGRAMS: &[Program] = &[
            $(($name, |threads| try_out::<$state, $inner>(GraphShape::$wiring, threads)),)*
        ];
    };
}

programs! {
    "the same": Old, OldInner, Same;
    "an optional field": OptionalField, OldInner, Same;
    "a required field": RequiredField, OldInner, Same;
    "a field renamed": RenamedField, OldInner, Same;
    "a field renamed, with an alias": AliasedField, OldInner, Same;
    "a field removed": RemovedField, OldInner, Same;
    "a field removed, unknown ones denied": StrictField, OldInner, Same;
    "an update renamed": RenamedVariant, OldInner, Same;
    "an update renamed, with an alias": AliasedVariant, OldInner, Same;
    "an update of another type": OtherAmount, OldInner, Same;
    "version 2": Second, OldInner, Same;
    "version 2 without migrations": SecondUnread, OldInner, Same;
    "version 2 that reads some updates": SecondHalfRead, OldInner, Same;
    "version 2 inside": Old, SecondInner, Same;
    "version 2 inside without migrations": Old, SecondInnerUnread, Same;
    "version 2 in both, a node renamed": Second, SecondInner, AskRenamed;
    "a node added": Old, OldInner, NodeAdded;
    "a node renamed": Old, OldInner, AskRenamed;
    "a node renamed and followed": Old, OldInner, AskFollowed;
    "a node removed": Old, OldInner, AskRemoved;
    "a pause becomes a node": Old, OldInner, AskIsNode;
    "an edge removed": Old, OldInner, EdgeRemoved;
    "a join's source renamed": Old, OldInner, JoinRenamed;
    "a join's source renamed and followed": Old, OldInner, JoinFollowed;
    "a join removed": Old, OldInner, JoinRemoved;
    "a subgraph becomes a node": Old, OldInner, SubgraphIsNode;
    "a node inside renamed": Old, OldInner, InsideRenamed;
    "the worker of a scatter renamed": Old, OldInner, WorkerRenamed;
    "a sleeping node removed": Old, OldInner, FlakyRemoved;
    "a node in doubt renamed and followed": Old, OldInner, SendFollowed;
    "a node that asks midway becomes a pause": Old, OldInner, MidwayIsPause;
    "an answer described": Old, OldInner, AnswerDescribed;
    "an answer with an optional field": Old, OldInner, AnswerWithOptional;
    "an answer with a required field": Old, OldInner, AnswerWithRequired;
    "an answer of another type": Old, OldInner, AnswerOfOtherType;
    "an approval of something else": Old, OldInner, OtherApproval;
}

#[test]
fn k32_what_a_preview_says_is_what_opening_does() {
    let threads = &runtime().block_on(begin());
    let (one, other) = PROGRAMS.split_at(PROGRAMS.len() / 2);
    let report = |programs: &[Program]| {
        let lines = programs
            .iter()
            .map(|(name, program)| format!("{name}:{}\n", program(threads).trim_end_matches(',')));
        lines.collect::<String>()
    };
    let told = thread::scope(|scope| {
        let beside = scope.spawn(|| report(other));
        let first = report(one);
        first + &beside.join().expect("the other half holds")
    });
    if threads.len() == THREADS as usize {
        assert_eq!(told, EXPECTED);
    }
    for (told, expected) in told.lines().zip(EXPECTED.lines()) {
        let mut outcomes = told.split([':', ',']).map(without_number);
        let known: Vec<_> = expected.split([':', ',']).map(without_number).collect();
        assert!(outcomes.all(|outcome| known.contains(&outcome)), "{told}");
    }
}

fn without_number(told: &str) -> &str {
    told.trim_start_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
}

const EXPECTED: &str = "\
the same: 1000 go on, 56 in doubt
an optional field: 1000 go on, 56 in doubt
a required field: 1000 unreadable
a field renamed: 1000 unreadable
a field renamed, with an alias: 1000 go on, 56 in doubt
a field removed: 1000 go on, 56 in doubt
a field removed, unknown ones denied: 1000 unreadable
an update renamed: 1000 unreadable
an update renamed, with an alias: 1000 go on, 56 in doubt
an update of another type: 1000 unreadable
version 2: 56 in doubt, 1000 migrate
version 2 without migrations: 1000 unreadable
version 2 that reads some updates: 48 in doubt, 857 migrate, 143 unreadable
version 2 inside: 927 go on, 56 in doubt, 73 migrate
version 2 inside without migrations: 927 go on, 56 in doubt, 5 migrate, 68 unreadable
version 2 in both, a node renamed: 56 in doubt, 944 migrate, 56 refused
a node added: 1000 go on, 56 in doubt
a node renamed: 944 go on, 56 in doubt, 56 refused
a node renamed and followed: 1000 go on, 56 in doubt
a node removed: 944 go on, 56 in doubt, 56 refused
a pause becomes a node: 1000 go on, 56 in doubt
an edge removed: 1000 go on, 56 in doubt
a join's source renamed: 924 go on, 56 in doubt, 76 refused
a join's source renamed and followed: 1000 go on, 56 in doubt
a join removed: 936 go on, 56 in doubt, 64 refused
a subgraph becomes a node: 927 go on, 56 in doubt, 73 refused
a node inside renamed: 932 go on, 56 in doubt, 68 refused
the worker of a scatter renamed: 917 go on, 56 in doubt, 83 refused
a sleeping node removed: 917 go on, 56 in doubt, 83 refused
a node in doubt renamed and followed: 1000 go on, 56 in doubt
a node that asks midway becomes a pause: 1000 go on, 56 in doubt
an answer described: 1000 go on, 56 in doubt
an answer with an optional field: 1000 go on, 56 in doubt, 56 other schema
an answer with a required field: 1000 go on, 56 in doubt, 56 other schema
an answer of another type: 1000 go on, 56 in doubt, 56 other schema
an approval of something else: 84 asked anew, 1000 go on, 56 in doubt
";
