//! The limits that Linux sets to a plugin, tried by a plugin.
use std::{
    collections::BTreeMap,
    error::Error as _,
    path::Path,
    time::{Duration, Instant},
};

use fugato::{
    BoxError, Registry, ToolCall, ToolContext,
    mcp::plugin::{LoadedPlugins, PluginError},
};
use fugato_testkit::{ModelAnswer, ModelServer, TestProgram, assert_lacks};
use serde_json::{Value, json};
use tokio::net::{TcpListener, UdpSocket};

use super::desk;
use crate::common::{Home, TestResult, finish, use_tool};

/// Puts the probe in the folder of the plugins, with these permissions, all of them granted.
pub(crate) fn probe(stage: &Home, permissions: &[&str], settings: &str) {
    install(permissions, settings, |path, text| stage.write(path, text));
}

/// Writes the files of the probe and the settings that grant it these permissions.
fn install(permissions: &[&str], settings: &str, write: impl Fn(&str, &str)) {
    let permissions = json!(permissions);
    let manifest = json!({
        "name": "probe", "version": "1", "entry": "main.py", "provides": ["try"],
        "permissions": permissions, "auto_start": true,
    });
    write("plugins/probe/manifest.json", &manifest.to_string());
    write("plugins/probe/main.py", include_str!("probe.py"));
    let granted = format!("[plugins]\n{settings}\n[plugins.granted]\nprobe = {permissions}\n");
    write("config.toml", &granted);
}

pub(crate) async fn loaded(stage: &Home) -> LoadedPlugins {
    let launcher = env!("CARGO_BIN_EXE_transparent");
    desk(stage).plugins().launcher(launcher).load().await
}

/// Returns the plugins if they are locked in; none, with a printed line, if this kernel cannot
/// lock.
pub(crate) fn locked_in(loaded: LoadedPlugins) -> Option<LoadedPlugins> {
    let mut refused = loaded.refused.iter();
    let Some((name, why)) = refused.find(|(_, why)| matches!(why, PluginError::Unlockable(_)))
    else {
        return Some(loaded);
    };
    let cause = why.source().map(ToString::to_string).unwrap_or_default();
    servers::skipped(&format!("the plugin {name} does not run: {why}: {cause}"));
    None
}

pub(crate) fn registry(loaded: LoadedPlugins) -> Result<Registry<(), ()>, BoxError> {
    Ok(Registry::builder().tools(loaded.tools).build()?)
}

/// Returns the probe's report of an attempt.
pub(crate) async fn tried(registry: &Registry<(), ()>, what: &str, with: &str) -> String {
    let call = ToolCall::new("c1", "probe_try", json!({ "what": what, "with": with }));
    registry.call(&call, ToolContext::new(&())).await.text
}

/// Tries everything that a plugin may want, with these permissions. Returns none if this kernel
/// cannot lock a plugin in; the plugin does not run then.
async fn outcomes(
    permissions: &[&str],
) -> Result<Option<BTreeMap<&'static str, String>>, BoxError> {
    let stage = Home::by_rule();
    probe(&stage, permissions, "");
    stage.write("files/theirs.txt", "theirs");
    stage.write("threads.db", "what others said");
    let Some(loaded) = locked_in(loaded(&stage).await) else {
        return Ok(None);
    };
    let registry = registry(loaded)?;
    let tcp = TcpListener::bind("127.0.0.1:0").await?;
    let udp = UdpSocket::bind("127.0.0.1:0").await?;
    let (tcp, udp) = (tcp.local_addr()?.port(), udp.local_addr()?.port());
    let unix = stage.dir().join("socket");
    let _unix = std::os::unix::net::UnixListener::bind(&unix)?;
    let mut outcomes = BTreeMap::new();
    for (name, what, with) in tries(stage.dir(), [tcp, udp], &unix) {
        outcomes.insert(name, tried(&registry, what, &with).await);
    }
    if scopes_signals() {
        assert_eq!(tried(&registry, "signal", "").await, "EPERM");
    }
    Ok(Some(outcomes))
}

/// Returns everything that a plugin may want of an agent in this folder: its name, and what the probe
/// tries.
fn tries(
    dir: &Path,
    [tcp, udp]: [u16; 2],
    unix: &Path,
) -> Vec<(&'static str, &'static str, String)> {
    let at = |path: &str| dir.join(path).display().to_string();
    vec![
        ("its own program", "read", at("plugins/probe/main.py")),
        ("another plugin", "read", at("plugins/words/main.py")),
        ("the settings", "read", at("config.toml")),
        ("the log", "read", at("threads.db")),
        ("the users", "read", "/etc/passwd".into()),
        ("what else lies there", "list", at("")),
        ("its own folder", "write", at("plugins/probe/more.py")),
        (
            "a temporary file",
            "write",
            std::env::temp_dir()
                .join("fugato-probe")
                .display()
                .to_string(),
        ),
        ("a file of the root", "read", at("files/theirs.txt")),
        ("a new file of the root", "write", at("files/new.txt")),
        ("a link in the root", "link", at("files/link")),
        ("out of the root", "write", at("files/../out.txt")),
        ("deletes", "delete", at("files/theirs.txt")),
        ("the notes", "read", at("notes/MEMORY.md")),
        ("truncates the notes", "truncate", at("notes/MEMORY.md")),
        ("changes the notes", "write", at("notes/MEMORY.md")),
        ("tcp", "tcp", tcp.to_string()),
        ("udp", "udp", udp.to_string()),
        ("unix", "unix", unix.display().to_string()),
        ("a command", "execute", "/bin/true".into()),
        ("our environment", "environ", String::new()),
        ("our variable", "variable", "CARGO_MANIFEST_DIR".into()),
        ("the mode of a file", "chmod", at("config.toml")),
        ("the owner of a file", "chown", at("config.toml")),
        ("the times of a file", "utime", at("config.toml")),
        ("a label of a file", "setxattr", at("config.toml")),
        ("flags of a file", "attributes", at("plugins/probe/main.py")),
        ("a namespace", "unshare", String::new()),
        ("a mount", "mount", String::new()),
        ("another root", "chroot", at("plugins/probe")),
        ("a program in memory", "memfd", "x".into()),
        ("shared memory", "shmget", String::new()),
        ("semaphores", "semget", String::new()),
        ("messages", "msgget", String::new()),
        ("a queue", "mq_open", "/fugato-probe".into()),
        ("names of files of others", "inotify", String::new()),
        ("a group of its own", "setsid", String::new()),
        ("a process of its own", "fork", String::new()),
        ("a thread", "thread", String::new()),
        ("what only root may do", "root", String::new()),
        ("a ring of requests", "ring", String::new()),
        ("a key of the kernel", "key", String::new()),
        ("tracing us", "trace", String::new()),
        ("a pipe in the root", "pipe", at("files/pipe")),
        ("a device in the root", "device", at("files/device")),
        ("memory as a file", "write", "/dev/shm/fugato-probe".into()),
        (
            "the mode of an open file",
            "fchmod",
            at("plugins/probe/main.py"),
        ),
        (
            "the times of an open file",
            "futimens",
            at("plugins/probe/main.py"),
        ),
        ("the owner of a link", "lchown", at("config.toml")),
        ("the namespace of another", "setns", String::new()),
    ]
}

/// Returns true if Linux is 6.12 or later, which keeps a locked process from signalling others.
fn scopes_signals() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(12))
}

/// The outcomes for a plugin without any grant.
const NOTHING: [(&str, &str); 50] = [
    ("its own program", "done"),
    ("another plugin", "EACCES"),
    ("the settings", "EACCES"),
    ("the log", "EACCES"),
    ("the users", "EACCES"),
    ("what else lies there", "EACCES"),
    ("its own folder", "EACCES"),
    ("a temporary file", "EACCES"),
    ("a file of the root", "EACCES"),
    ("a new file of the root", "EACCES"),
    ("a link in the root", "EACCES"),
    ("out of the root", "EACCES"),
    ("deletes", "EACCES"),
    ("the notes", "EACCES"),
    ("truncates the notes", "EACCES"),
    ("changes the notes", "EACCES"),
    ("tcp", "EPERM"),
    ("udp", "EPERM"),
    ("unix", "EPERM"),
    ("a command", "EACCES"),
    ("our environment", "EACCES"),
    ("our variable", "there is no 'CARGO_MANIFEST_DIR'"),
    ("the mode of a file", "EPERM"),
    ("the owner of a file", "EPERM"),
    ("the times of a file", "EPERM"),
    ("a label of a file", "EPERM"),
    ("flags of a file", "EPERM"),
    ("a namespace", "EPERM"),
    ("a mount", "EPERM"),
    ("another root", "EPERM"),
    ("a program in memory", "EPERM"),
    ("shared memory", "EPERM"),
    ("semaphores", "EPERM"),
    ("messages", "EPERM"),
    ("a queue", "EPERM"),
    ("names of files of others", "EPERM"),
    ("a group of its own", "EPERM"),
    ("a process of its own", "EPERM"),
    ("a thread", "done"),
    ("what only root may do", "EPERM"),
    ("a ring of requests", "EPERM"),
    ("a key of the kernel", "EPERM"),
    ("tracing us", "EPERM"),
    ("a pipe in the root", "EACCES"),
    ("a device in the root", "EACCES"),
    ("memory as a file", "EACCES"),
    ("the mode of an open file", "EPERM"),
    ("the times of an open file", "EPERM"),
    ("the owner of a link", "EPERM"),
    ("the namespace of another", "EPERM"),
];

/// Returns these outcomes with some differences.
fn but(different: &[(&'static str, &str)]) -> BTreeMap<&'static str, String> {
    let all = NOTHING.iter().chain(different);
    all.map(|(name, outcome)| (*name, (*outcome).to_owned()))
        .collect()
}

#[tokio::test]
async fn trn_w3_a_plugin_reaches_nothing_that_it_was_not_granted() -> TestResult {
    if let Some(outcomes) = outcomes(&[]).await? {
        assert_eq!(outcomes, but(&[]));
    }
    Ok(())
}

/// Returns the program with the probe among its plugins, which has these permissions.
fn with_probe(permissions: &[&str]) -> TestProgram {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_transparent"));
    program.ok(&["say", "hello"]);
    install(permissions, "", |path, text| {
        let path = program.path("transparent-data").join(path);
        let folder = path.parent().expect("it is in a folder");
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::write(path, text).expect("it is written");
    });
    program
}

/// Lets a model of the program call the probe with each of these tries and their arguments. Returns
/// all that the program says, and the results; none, with a printed line, if this kernel cannot lock.
fn tried_by<'t>(
    program: &TestProgram,
    tries: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Option<(String, Vec<String>)> {
    let intent = json!({ "intent": "execute", "complexity": 0.3 }).to_string();
    let calls = tries
        .into_iter()
        .map(|(what, with)| use_tool("probe_try", &json!({ "what": what, "with": with })));
    let script = std::iter::once(intent)
        .chain(calls)
        .chain([finish(), "I tried.".to_owned()]);
    let model = ModelServer::in_turn(script.map(|text| ModelAnswer::text(&text, "stop")));
    let told = model.run(program, &["say", "try these"]);
    if told.contains("probe does not run") || told.contains("there is no tool") {
        servers::skipped(&format!("the probe does not run: {told}"));
        return None;
    }
    let results = told
        .lines()
        .filter_map(|line| line.strip_prefix("· probe_try done: "));
    let results = results.map(str::to_owned).collect();
    Some((told, results))
}

/// The same plugin, called by a model of a served agent, reaches nothing
/// either.
#[test]
fn trn_w3_a_plugin_of_the_program_reaches_nothing_that_it_was_not_granted() {
    const A_TURN: usize = 4;
    let program = with_probe(&[]);
    let dir = program.path("transparent-data");
    std::fs::write(dir.join("files/theirs.txt"), "theirs").expect("it is written");
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let ports = [tcp.local_addr(), udp.local_addr()].map(|it| it.expect("an address").port());
    let unix = dir.join("socket");
    let _unix = std::os::unix::net::UnixListener::bind(&unix).expect("a socket");
    let before = std::fs::metadata(dir.join("config.toml")).expect("it is there");
    let expected: BTreeMap<_, _> = NOTHING.into_iter().collect();
    for some in tries(&dir, ports, &unix).chunks(A_TURN) {
        let calls = some.iter().map(|(_, what, with)| (*what, with.as_str()));
        let Some((told, results)) = tried_by(&program, calls) else {
            return;
        };
        let wanted: Vec<_> = some
            .iter()
            .filter_map(|(name, ..)| expected.get(name))
            .collect();
        let names: Vec<_> = some.iter().map(|(name, ..)| name).collect();
        assert!(
            results.iter().eq(wanted.iter().copied().copied()),
            "{names:?}: {told}"
        );
    }
    let after = std::fs::metadata(dir.join("config.toml")).expect("it is there");
    assert_eq!(before.permissions(), after.permissions());
    assert_eq!(before.modified().ok(), after.modified().ok());
    assert_eq!(
        std::fs::read_to_string(dir.join("files/theirs.txt"))
            .ok()
            .as_deref(),
        Some("theirs")
    );
}

#[tokio::test]
async fn trn_w3_each_permission_opens_what_it_names_and_nothing_else() -> TestResult {
    let files = [
        ("a file of the root", "done"),
        ("a new file of the root", "done"),
        ("deletes", "done"),
    ];
    let cases: [(&str, &[(&str, &str)]); 4] = [
        ("write-file", &files),
        ("read-memory", &[("the notes", "done")]),
        ("network-call", &[("tcp", "done"), ("udp", "done")]),
        (
            "execute-command",
            &[("a command", "done"), ("a process of its own", "done")],
        ),
    ];
    for (permission, opened) in cases {
        if let Some(outcomes) = outcomes(&[permission]).await? {
            assert_eq!(outcomes, but(opened), "{permission}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn trn_w3_what_is_not_locked_in_runs_only_where_somebody_said_so() -> TestResult {
    let stage = Home::by_rule();
    probe(&stage, &[], "unlocked = [\"probe\"]");
    let free = registry(loaded(&stage).await)?;
    assert_eq!(tried(&free, "read", "/etc/passwd").await, "done");
    // The launcher is not ours: nothing runs, rather than run unlocked.
    probe(&stage, &[], "");
    let loaded = desk(&stage).plugins().launcher("/bin/false").load().await;
    assert!(loaded.tools.is_empty());
    let refused: Vec<_> = loaded
        .refused
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(refused, ["probe", "words"]);
    assert!(Path::new("/bin/false").exists());
    Ok(())
}

#[tokio::test]
async fn trn_w3_a_plugin_has_limits() -> TestResult {
    let stage = Home::by_rule();
    probe(&stage, &["write-file"], "");
    stage.write("files/theirs.txt", "theirs");
    let Some(loaded) = locked_in(loaded(&stage).await) else {
        return Ok(());
    };
    let registry = registry(loaded)?;
    let told: Value = serde_json::from_str(&tried(&registry, "limits", "").await)?;
    let limits = json!({
        "CORE": 0, "CPU": 3600, "DATA": 4_u64 << 30, "FSIZE": 1 << 30, "NOFILE": 1024, "NICE": 10,
    });
    assert_eq!(told, limits);
    let path = stage.dir().join("files/theirs.txt").display().to_string();
    assert_eq!(tried(&registry, "grow", &path).await, "EFBIG");
    Ok(())
}

/// Waits until a process is gone, or fails.
async fn ends(process: &str) -> TestResult {
    let path = Path::new("/proc").join(process).join("stat");
    let is_there = || std::fs::read_to_string(&path).is_ok_and(|stat| !stat.contains(") Z "));
    let gone = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        while is_there() {
            ticks.tick().await;
        }
    };
    Ok(tokio::time::timeout(Duration::from_secs(30), gone).await?)
}

#[tokio::test]
async fn trn_w3_what_a_plugin_starts_ends_with_it_and_is_bounded() -> TestResult {
    let stage = Home::by_rule();
    probe(&stage, &["execute-command"], "");
    let Some(loaded) = locked_in(loaded(&stage).await) else {
        return Ok(());
    };
    let registry = registry(loaded)?;
    // The plugin dies by itself, and later with whoever uses it.
    let orphan = tried(&registry, "orphan", "").await;
    tried(&registry, "die", "").await;
    ends(&orphan).await?;
    let orphan = tried(&registry, "orphan", "").await;
    assert!(Path::new("/proc").join(&orphan).exists(), "{orphan}");
    if !is_root() || has_groups() {
        assert_eq!(tried(&registry, "forks", "").await, "EAGAIN");
    }
    drop(registry);
    ends(&orphan).await
}

/// Returns true if the kernel counts the tasks of a group that this user can make.
fn has_groups() -> bool {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = own.lines().find_map(|line| line.split_once(":pids:/"));
    let (root, group) = match group {
        Some((_, group)) => ("/sys/fs/cgroup/pids", group),
        None => ("/sys/fs/cgroup", own.trim().trim_start_matches("0::/")),
    };
    let parent = Path::new(root).join(group);
    let made = parent.join(format!("fugato-plugin-test-{}", std::process::id()));
    let is_made = std::fs::create_dir(&made).is_ok();
    let counts = made.join("pids.max").exists();
    let _ = std::fs::remove_dir(made);
    is_made && counts
}

/// Returns true if Linux limits the processes of this user in no way.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[tokio::test]
async fn trn_w3_whatever_a_plugin_says_others_go_on_meanwhile() -> TestResult {
    let stage = Home::by_rule();
    probe(&stage, &[], "");
    let Some(loaded) = locked_in(loaded(&stage).await) else {
        return Ok(());
    };
    let registry = registry(loaded)?;
    // Whoever holds a lease renews it in this runtime.
    let mut longest = Duration::ZERO;
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    let spam = tried(&registry, "spam", "");
    tokio::pin!(spam);
    let mut before = Instant::now();
    let told = loop {
        tokio::select! {
            told = &mut spam => break told,
            _ = ticks.tick() => {
                longest = longest.max(before.elapsed());
                before = Instant::now();
            }
        }
    };
    assert_eq!(told, "done");
    assert!(longest < Duration::from_secs(5), "{longest:?}");
    Ok(())
}

/// The same, called by a model of the program: whatever the plugin says, leaves behind or starts, and
/// also when it dies, the person gets an answer, and nothing of it is left when the program ends.
#[tokio::test]
async fn trn_w3_a_plugin_of_the_program_that_floods_forks_or_dies_ends_with_an_answer() -> TestResult
{
    let program = with_probe(&["execute-command"]);
    let is_bounded = !is_root() || has_groups();
    let forks = if is_bounded { "forks" } else { "thread" };
    let forked = if is_bounded { "EAGAIN" } else { "done" };
    // A call that fails is made again, as the model says next.
    let turns: [(&[&str], &[&str]); 2] = [
        (&["spam", "garbage", "flood", "orphan"], &["done", "done"]),
        (&[forks, "die", "spam", "orphan"], &[forked, "done"]),
    ];
    for (tries, outcomes) in turns {
        let Some((told, results)) = tried_by(&program, tries.iter().map(|what| (*what, ""))) else {
            return Ok(());
        };
        assert!(
            told.ends_with("I tried.\n") && told.len() < 1 << 20,
            "{told}"
        );
        assert_lacks(&told, ["lease", "租约"]);
        assert_eq!(
            told.contains("stopped before it answered"),
            tries.contains(&"die"),
            "{told}"
        );
        let [first @ .., orphan] = &*results else {
            return Err(told.into());
        };
        assert!(
            first
                .iter()
                .map(String::as_str)
                .take(2)
                .eq(outcomes.iter().copied()),
            "{told}"
        );
        assert!(orphan.parse::<u32>().is_ok(), "{told}");
        ends(orphan).await?;
    }
    let shown = program.ok(&["history"]);
    assert_eq!(shown.matches("I tried.").count(), 2, "{shown}");
    Ok(())
}
