//! Tests with several processes on one file, and with processes that die. Each test runs itself
//! again as a child.
use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use fugato_sqlite::{SqliteLog, SqliteOptions, Synchronous};
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    Commit, Expect, Lease, LeaseOutcome, LeaseRequest, Record, Status, StoreErrorKind, ThreadLog,
};
use futures::executor::block_on;

type TestResult = Result<(), Box<dyn Error>>;

/// The variables that give a child its name and its file.
const NAME: &str = "FUGATO_TEST_CHILD";
const FILE: &str = "FUGATO_TEST_FILE";

fn as_child() -> Option<(String, PathBuf)> {
    Some((env::var(NAME).ok()?, env::var_os(FILE)?.into()))
}

fn child(program: &Path, test: &str, name: &str, file: &Path) -> Command {
    let mut command = Command::new(program);
    let test = format!("processes::{test}");
    command.args(["--exact", &test, "--nocapture", "--test-threads=1"]);
    command
        .env(NAME, name)
        .env(FILE, file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// Prints a line for the parent, past the capture of the test harness.
fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "\nsays {line}")?;
    out.flush()
}

fn heard(line: io::Result<String>) -> Option<String> {
    line.ok()?.strip_prefix("says ").map(ToOwned::to_owned)
}

fn lines(out: ChildStdout) -> impl Iterator<Item = String> {
    BufReader::new(out).lines().filter_map(heard)
}

fn desk() -> ThreadId {
    ThreadId::new("desk").expect("a short name")
}

fn open(path: &Path) -> Result<SqliteLog, Box<dyn Error>> {
    Ok(SqliteLog::open_with(
        path,
        SqliteOptions::default().synchronous(Synchronous::Normal),
    )?)
}

fn commit(author: &str, head: Seq, fence: u64, texts: usize) -> Commit {
    let name = author
        .bytes()
        .fold(0_u128, |sum, byte| sum << 8 | u128::from(byte));
    let record = || Record(author.as_bytes().to_vec());
    Commit {
        expect: Expect { head, fence },
        nonce: name << 64 | u128::from(head),
        records: (0..texts).map(|_| record()).collect(),
        status: Status::Runnable,
        base: None,
    }
}

/// Runs two children of a test at once, and returns the reported winners of each position.
fn race(test: &str, path: &Path) -> Result<BTreeMap<Seq, Vec<String>>, Box<dyn Error>> {
    drop(open(path)?);
    let program = env::current_exe()?;
    let mut racers = vec![];
    for name in ["left", "right"] {
        let mut racer = child(&program, test, name, path).spawn()?;
        let out = racer.stdout.take().ok_or("the output is piped")?;
        racers.push((name, racer, lines(out)));
    }
    for (_, racer, said) in &mut racers {
        assert_eq!(said.next().as_deref(), Some("ready"));
        racer
            .stdin
            .as_mut()
            .ok_or("the input is piped")?
            .write_all(b"go\n")?;
    }
    let mut won = BTreeMap::<_, Vec<_>>::new();
    for (name, mut racer, said) in racers {
        for position in said {
            won.entry(position.parse()?)
                .or_default()
                .push(name.to_owned());
        }
        assert!(racer.wait()?.success(), "{name} failed");
    }
    Ok(won)
}

fn wait_for_the_start() -> TestResult {
    say("ready")?;
    let mut go = [0; 3];
    io::stdin().read_exact(&mut go)?;
    Ok(())
}

/// Returns the author of the record at each position.
fn authors(log: &SqliteLog) -> Result<BTreeMap<Seq, Vec<String>>, Box<dyn Error>> {
    let records = block_on(log.read(&desk(), 1, 10_000))?;
    let author = |record: Record| vec![String::from_utf8_lossy(&record.0).into_owned()];
    Ok(records
        .into_iter()
        .map(|(seq, record)| (seq, author(record)))
        .collect())
}

const POSITIONS: Seq = 300;

#[test]
fn d2_of_two_processes_exactly_one_wins_each_position() -> TestResult {
    if let Some((name, path)) = as_child() {
        return race_for_positions(&name, &path);
    }
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("race.db");
    let won = race("d2_of_two_processes_exactly_one_wins_each_position", &path)?;
    assert_eq!(
        won.keys().copied().collect::<Vec<_>>(),
        (1..=POSITIONS).collect::<Vec<_>>()
    );
    assert_eq!(won, authors(&open(&path)?)?);
    Ok(())
}

fn race_for_positions(name: &str, path: &Path) -> TestResult {
    let log = open(path)?;
    wait_for_the_start()?;
    let mut head = 0;
    while head < POSITIONS {
        match block_on(log.append(&desk(), &commit(name, head, 0, 1))) {
            Ok(appended) => {
                head = appended.head;
                say(&head.to_string())?;
            }
            Err(error) => match error.kind {
                StoreErrorKind::Conflict { head: other, .. } => head = other,
                StoreErrorKind::Unavailable => {}
                _ => return Err(error.into()),
            },
        }
    }
    Ok(())
}

#[test]
fn d22_two_processes_never_hold_one_thread_at_once() -> TestResult {
    if let Some((name, path)) = as_child() {
        return race_for_the_lease(&name, &path);
    }
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("leases.db");
    let won = race("d22_two_processes_never_hold_one_thread_at_once", &path)?;
    assert_eq!(won.len() as u64 % TURN, 0, "each owner finished its turn");
    let written = authors(&open(&path)?)?;
    assert_eq!(won, written);
    let written: Vec<_> = written.into_values().flatten().collect();
    for turn in written.chunks(usize::try_from(TURN)?) {
        assert!(
            turn.iter().all(|author| Some(author) == turn.first()),
            "a turn of two: {turn:?}"
        );
    }
    Ok(())
}

/// The number of records that an owner writes before it releases the lease.
const TURN: Seq = 5;

fn race_for_the_lease(name: &str, path: &Path) -> TestResult {
    let log = open(path)?;
    wait_for_the_start()?;
    loop {
        let request = LeaseRequest::Acquire {
            thread: desk(),
            owner: name.to_owned(),
            ttl: 60_000,
        };
        match block_on(log.lease(request)) {
            Ok(LeaseOutcome::Granted(leases)) => {
                let lease = leases.first().ok_or("one lease is granted")?;
                if lease.head >= POSITIONS {
                    block_on(release(&log, lease))?;
                    return Ok(());
                }
                take_a_turn(&log, name, lease)?;
            }
            Ok(other) => return Err(format!("acquire got {other:?}").into()),
            Err(error) if error.is_temporary() => std::thread::yield_now(),
            Err(error) => return Err(error.into()),
        }
    }
}

fn take_a_turn(log: &SqliteLog, name: &str, lease: &Lease) -> TestResult {
    for head in lease.head..lease.head + TURN {
        let next = commit(name, head, lease.fence, 1);
        let appended = loop {
            match block_on(log.append(&desk(), &next)) {
                Err(error) if error.kind == StoreErrorKind::Unavailable => {}
                other => break other?,
            }
        };
        say(&appended.head.to_string())?;
    }
    Ok(block_on(release(log, lease))?)
}

async fn release(log: &SqliteLog, lease: &Lease) -> Result<(), fugato_store::StoreError> {
    let request = LeaseRequest::Release {
        thread: lease.thread.clone(),
        fence: lease.fence,
    };
    log.lease(request).await.map(|_| ())
}

#[test]
fn d15_what_was_acknowledged_survives_kill_9() -> TestResult {
    if let Some((name, path)) = as_child() {
        return append_until_killed(&name, &path);
    }
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("killed.db");
    let program = env::current_exe()?;
    let mut expected = vec![];
    // The first is killed while it creates the file, or soon after.
    for acknowledgements in [0, 1, 2, 3, 40, 7, 150, 1, 23] {
        let name = format!("child {}", expected.len());
        let mut running = child(
            &program,
            "d15_what_was_acknowledged_survives_kill_9",
            &name,
            &path,
        )
        .spawn()?;
        let out = running.stdout.take().ok_or("the output is piped")?;
        let said: Vec<_> = kill_after(&mut running, out, acknowledgements)?;
        let acknowledged = said.last().map_or(expected.len() as u64, |last| *last);

        let log = open(&path)?;
        block_on(log.verify())?;
        let written: Vec<_> = authors(&log)?.into_values().flatten().collect();
        let head = written.len() as u64;
        assert!(
            head >= acknowledged,
            "{acknowledged} were acknowledged, {head} are there"
        );
        assert_eq!(head % GROUP, 0, "half a commit");
        expected.resize(written.len(), name);
        assert_eq!(written, expected);
    }
    assert!(expected.len() >= 200, "{} records", expected.len());
    Ok(())
}

/// The number of records of each commit.
const GROUP: Seq = 3;

/// Reads so many acknowledgements, kills the child, and reads the rest of its output.
fn kill_after(
    running: &mut Child,
    out: ChildStdout,
    acknowledgements: usize,
) -> Result<Vec<Seq>, Box<dyn Error>> {
    let mut said = lines(out);
    let mut heard: Vec<_> = said.by_ref().take(acknowledgements).collect();
    running.kill()?;
    running.wait()?;
    heard.extend(said);
    heard.into_iter().map(|seq| Ok(seq.parse()?)).collect()
}

fn append_until_killed(name: &str, path: &Path) -> TestResult {
    let log = open(path)?;
    let mut head = block_on(log.head(&desk()))?.map_or(0, |head| head.seq);
    loop {
        let next = commit(name, head, 0, usize::try_from(GROUP)?);
        head = block_on(log.append(&desk(), &next))?.head;
        say(&head.to_string())?;
    }
}

#[test]
fn a_file_that_can_only_be_read_is_refused() -> TestResult {
    if let Some((_, path)) = as_child() {
        let error = SqliteLog::open(path).expect_err("nobody may write it");
        return Ok(say(&error.to_string())?);
    }
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("locked.db");
    drop(open(&path)?);
    let program = folder.path().join("program");
    fs::copy(env::current_exe()?, &program)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444))?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555))?;
    let before = fs::read(&path)?;
    let mut command = child(
        &program,
        "a_file_that_can_only_be_read_is_refused",
        "reader",
        &path,
    );
    if fs::metadata(&path)?.uid() == 0 {
        // Permissions do not bind root, but they bind the user `nobody`.
        command.uid(65_534);
    }
    let output = command.output()?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
    let said: Vec<_> = output.stdout.lines().filter_map(heard).collect();
    let expected = format!(
        "cannot open: invalid request: {} can only be read; a log must be written",
        path.display()
    );
    assert_eq!(said, [expected]);
    assert_eq!(fs::read(&path)?, before);
    Ok(())
}
