//! The process between a test and its server.
use std::{
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// Reads orders and carries them out. When there are no more, because the test program closed the
/// pipe or died, the server is ended and its folder removed.
const SCRIPT: &str = r#"
folder=$1 last=$2
shift 2
server=
while read -r order; do
    case $order in
    start) "$@" >>"$folder/server.log" 2>&1 </dev/null & server=$! ;;
    look) kill -0 "$server" 2>/dev/null || server= ;;
    *) kill -s "$order" "$server" 2>/dev/null; wait "$server" 2>/dev/null; server= ;;
    esac
    echo "$server"
done
if [ -n "$server" ]; then
    kill -s "$last" "$server" 2>/dev/null
    wait "$server" 2>/dev/null
fi
rm -rf "$folder"
"#;

/// A shell that is the parent of a server. As it has not waited for the server before, the process
/// id that it kills is never that of another process.
#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Guard {
    /// A guard of a server that is not started yet. `last` is the signal that ends it when nobody
    /// needs it any more.
    pub(crate) fn new(server: &[String], folder: &Path, last: &str, user: Option<u32>) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "guard"]).arg(folder).arg(last);
        shell.args(server).current_dir(folder);
        // A key that interrupts the tests must not end the guard before its server.
        shell.process_group(0);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(user) = user {
            shell.uid(user);
        }
        let mut shell = shell.spawn().expect("there is a shell");
        let orders = shell.stdin.take();
        let answers = shell.stdout.take().expect("the output is piped");
        Self {
            shell,
            orders,
            answers: BufReader::new(answers),
        }
    }

    /// Starts the server and returns the id of its process.
    pub(crate) fn start(&mut self) -> u32 {
        let answer = self.order("start");
        answer.parse().expect("the guard tells a process id")
    }

    /// Whether the server still runs.
    pub(crate) fn runs(&mut self) -> bool {
        !self.order("look").is_empty()
    }

    /// Sends the server a signal of which it ends, and waits until it has.
    pub(crate) fn end(&mut self, signal: &str) {
        self.order(signal);
    }

    fn order(&mut self, order: &str) -> String {
        let orders = self
            .orders
            .as_mut()
            .expect("it is closed only when dropped");
        writeln!(orders, "{order}").expect("the guard lives as long as its pipe");
        let mut answer = String::new();
        let read = self.answers.read_line(&mut answer);
        read.expect("the guard answers every order");
        answer.trim().to_owned()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.orders.take());
        // What remains to be done it does without us.
        let _ = self.shell.wait();
    }
}
