//! A program as people run it.
use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// The file with the standard error of servers, in the folder.
const LOG: &str = "server.log";

/// A program in its own folder. Each run is a process without a terminal. An unexpected result of a
/// run panics, and so fails the test.
#[derive(Debug)]
pub struct TestProgram {
    binary: &'static str,
    env: Vec<(&'static str, String)>,
    flags: Vec<String>,
    folder: TempDir,
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedProgram {
    /// True if it ended with success.
    pub well: bool,
    /// The standard output.
    pub out: String,
    /// The standard error.
    pub err: String,
}

impl FinishedProgram {
    fn of(child: Child) -> Self {
        let done = child.wait_with_output().expect("it can be waited for");
        let text = |bytes| String::from_utf8(bytes).expect("it says words");
        let (out, err) = (text(done.stdout), text(done.stderr));
        assert!(!err.contains("panicked"), "{out}{err}");
        let well = done.status.success();
        Self { well, out, err }
    }

    /// Returns all its output, standard output first.
    pub fn told(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

#[expect(
    clippy::missing_panics_doc,
    reason = "said of the type: that is what it is for"
)]
impl TestProgram {
    /// Wraps a binary that cargo has built, as `env!("CARGO_BIN_EXE_react")` names it.
    pub fn new(binary: &'static str) -> Self {
        let folder = crate::tempdir().expect("a folder can be made");
        let env = vec![("TZ", "UTC".to_owned())];
        Self {
            binary,
            env,
            flags: vec![],
            folder,
        }
    }

    fugato_state::setters! {
        /// Sets an environment variable for every run.
        pub fn env(name: &'static str, value: impl Into<String>) { env.push((name, value.into())) }

        /// Sets a flag for every run, before the arguments of the run.
        pub fn flag(name: &str, value: &str) { flags.extend([name.to_owned(), value.to_owned()]) }
    }

    /// Returns the folder in which it runs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a path within the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Returns the command of a run that has not started. Its output is piped.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command.current_dir(self.folder());
        command.args(&self.flags).args(args);
        command.envs(self.env.clone());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Returns the output of a run that must succeed with an empty standard error.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert!(ran.well && ran.err.is_empty(), "{args:?}: {ran:?}");
        ran.out
    }

    /// Returns the standard error of a run that must fail.
    #[track_caller]
    pub fn err(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert!(!ran.well, "{args:?}: {ran:?}");
        ran.err
    }

    /// Returns the output of a run whose standard input is these lines.
    #[track_caller]
    pub fn typed(&self, args: &[&str], lines: &str) -> String {
        let mut command = self.command(args);
        let mut child = command
            .stdin(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let stdin = child.stdin.take();
        let written = stdin.map(|mut stdin| stdin.write_all(lines.as_bytes()));
        let ran = FinishedProgram::of(child);
        assert!(
            ran.well && matches!(written, Some(Ok(()))),
            "{args:?}: {ran:?}"
        );
        ran.out
    }

    /// Returns the result of a run, whether it succeeds or fails.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> FinishedProgram {
        FinishedProgram::of(self.begin(args))
    }

    /// Returns the result of a run whose folder is mounted so that nothing can be written there; none
    /// if this machine lets nobody mount it. (Modes alone deny root nothing.)
    #[track_caller]
    pub fn read_only(&self, args: &[&str]) -> Option<FinishedProgram> {
        const MOUNTED: &str = r#"mount --bind -o ro . . && cd "$PWD" || exit 99
            touch written 2>/dev/null && exit 99
            exec "$0" "$@""#;
        self.mounted(MOUNTED, args)
    }

    /// Returns the result of a script of `sh`, in which `"$0"` is the program. It runs in a folder with
    /// this much space, in KiB, that is gone afterwards; none if this machine lets nobody mount one.
    #[track_caller]
    pub fn on_small_disk(&self, kib: u32, script: &str) -> Option<FinishedProgram> {
        let mount = format!("mount -t tmpfs -o size={kib}k none . && cd \"$PWD\" || exit 99\n");
        self.mounted(&(mount + script), &[])
    }

    /// Returns the result of a script of `sh` in which `"$0" "$@"` is a run, and which may mount, as
    /// root or as the root of a namespace; none if it ends with the status 99 as both.
    #[track_caller]
    fn mounted(&self, script: &str, args: &[&str]) -> Option<FinishedProgram> {
        let namespaces: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
        let mut ran = namespaces.iter().map(|it| self.unshared(it, script, args));
        ran.find_map(|ran| ran)
    }

    #[track_caller]
    fn unshared(&self, flags: &[&str], script: &str, args: &[&str]) -> Option<FinishedProgram> {
        const CANNOT: i32 = 99;
        let own = self.command(args);
        let mut command = Command::new("unshare");
        command.args(flags).args(["sh", "-c", script]);
        command.arg(own.get_program()).args(own.get_args());
        command.current_dir(self.folder()).stdin(Stdio::null());
        command.envs(self.env.clone());
        let done = command.output().ok()?;
        let text = |bytes| String::from_utf8(bytes).expect("it says words");
        let (out, err) = (text(done.stdout), text(done.stderr));
        let is_denied = done.status.code() == Some(CANNOT) || err.starts_with("unshare: ");
        let well = done.status.success();
        (!is_denied).then_some(FinishedProgram { well, out, err })
    }

    /// Returns the result of a run, and its peak memory in KiB; 0 if the system does not report it.
    #[track_caller]
    pub fn measured(&self, args: &[&str]) -> (FinishedProgram, u64) {
        let child = self.begin(args);
        let status = format!("/proc/{}/status", child.id());
        let watch = thread::spawn(move || {
            let mut most = 0;
            // The status file is gone when the process has ended.
            while let Some(now) = peak(&status) {
                most = most.max(now);
                thread::sleep(Duration::from_millis(5));
            }
            most
        });
        let ran = FinishedProgram::of(child);
        (ran, watch.join().expect("it only reads"))
    }

    /// Starts several runs at the same time, and returns their results in order.
    #[track_caller]
    pub fn at_once(&self, runs: &[&[&str]]) -> Vec<FinishedProgram> {
        let begun: Vec<_> = runs.iter().map(|args| self.begin(args)).collect();
        begun.into_iter().map(FinishedProgram::of).collect()
    }

    /// Returns what the servers of this folder have written to standard error.
    pub fn log(&self) -> String {
        // None has been started yet.
        let log = std::fs::read(self.path(LOG)).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// A run that serves over HTTP, once it says where: in a line with its address.
    #[track_caller]
    pub fn server(&self, args: &[&str]) -> Server {
        let mut command = self.command(args);
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.path(LOG))
            .expect("a file can be made");
        let mut child = command.stderr(log).spawn().expect("it can be started");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let address = lines.find_map(|line| {
            let line = line.ok()?;
            let (_, address) = line.split_once("http://")?;
            Some(address.trim_end_matches('/').to_owned())
        });
        // What it says later goes nowhere, and does not stop it.
        thread::spawn(move || lines.for_each(drop));
        let address = address.expect("it says where it serves");
        Server { child, address }
    }

    fn begin(&self, args: &[&str]) -> Child {
        self.command(args).spawn().expect("it can be started")
    }
}

/// A run that serves over HTTP. Dropping it kills it, as `kill -9` does.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// The address that it listens on, such as `127.0.0.1:49152`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends the server there a request with a JSON body over a connection of its own, and reads the whole response: its
    /// status and its body.
    ///
    /// # Errors
    /// There is no server, or it died before the response was whole.
    pub async fn ask(
        address: &str,
        (method, path): (&str, &str),
        headers: &[(&str, String)],
        body: &str,
    ) -> io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(address).await?;
        let headers = headers.iter().map(|(name, it)| format!("{name}: {it}\r\n"));
        let headers: String = headers.collect();
        let length = body.len();
        let json = if headers.contains("content-type:") {
            ""
        } else {
            "content-type: application/json\r\n"
        };
        // In this version the body ends with the connection.
        let head = format!(
            "{method} {path} HTTP/1.0\r\nhost: {address}\r\n{json}\
             content-length: {length}\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        let mut response = vec![];
        stream.read_to_end(&mut response).await?;
        let response = String::from_utf8_lossy(&response);
        let (head, body) = response
            .split_once("\r\n\r\n")
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        Ok((status, body.to_owned()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended is dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn peak(status: &str) -> Option<u64> {
    let status = std::fs::read_to_string(status).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
