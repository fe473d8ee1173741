//! Servers that are programs: here, shells with three fixed answers.
#![expect(clippy::unwrap_used, reason = "a test that stops here has failed")]
#![cfg(unix)]

use std::{path::Path, process::Command};

use fugato_mcp::{Era, McpOptions, McpServer, ServerProgram};
use fugato_state::ToolCall;
use fugato_tool::{Registry, ToolContext};
use serde_json::json;
use tokio::{io::AsyncReadExt, net::unix::pipe};

/// Greets, lists one tool, and answers one call with the result of `words` in a shell.
fn shell(words: &str) -> ServerProgram {
    let script = format!(
        r#"
        echo 'a word to those who watch' >&2
        read greeting
        echo '{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"sh","version":"1"}}}}}}'
        read greeted
        read list
        echo '{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"say","inputSchema":{{"type":"object"}}}}]}}}}'
        read call
        echo "{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{words}\"}}]}}}}"
        read nothing
        "#
    );
    ServerProgram::new("sh").args(["-c", &script])
}

async fn said(program: ServerProgram) -> (McpServer, String) {
    let server = McpServer::stdio("sh", program, McpOptions::new().era(Era::Handshake));
    let tools = server.tools().await.unwrap();
    let registry: Registry = Registry::builder().tools(tools).build().unwrap();
    let say = ToolCall::new("c1", "sh_say", json!({}));
    let text = registry.call(&say, ToolContext::new(&())).await.text;
    (server, text)
}

#[tokio::test]
async fn a_program_sees_its_folder_and_its_variables_and_not_ours() {
    let dir = std::env::temp_dir().canonicalize().unwrap();
    // Cargo sets this one for us.
    let program = shell("$(pwd) $ROOM ${CARGO_MANIFEST_DIR:-none}")
        .dir(&dir)
        .env("ROOM", "7");
    let (_server, text) = said(program).await;
    assert_eq!(text, format!("{} 7 none", dir.display()));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error() {
    let program = ServerProgram::new("no-such-program-anywhere");
    let server = McpServer::stdio("none", program, McpOptions::new());
    assert_eq!(
        server.tools().await.unwrap_err().to_string(),
        "the server `none` cannot be reached"
    );
}

/// A named pipe; its reader sees the end when the last writer has closed it.
struct Fifo(std::path::PathBuf);

impl Fifo {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fugato-mcp-{}-{name}", std::process::id()));
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn a_program_ends_with_the_last_handle_of_its_server_and_so_does_what_it_started() {
    let fifo = Fifo::new("ends");
    let mut watched = pipe::OpenOptions::new().open_receiver(fifo.path()).unwrap();
    // A child of the program holds the pipe open, too, and outlives its parent if it can.
    let words = format!(
        "$(exec 9>{}; (cat /dev/zero >/dev/null 2>&1 & ); echo begun >&9; echo up)",
        fifo.path().display()
    );
    let (server, text) = said(shell(&words)).await;
    assert_eq!(text, "up");
    let mut word = [0; 6];
    watched.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"begun\n");
    drop(server);
    let mut rest = vec![];
    watched.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"");
}
