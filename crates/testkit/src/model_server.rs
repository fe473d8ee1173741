//! A model server that answers every request in one way.
use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

/// A server over HTTP on the loopback interface that gives every request the same answer. It ends
/// with the test program.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
}

#[expect(
    clippy::missing_panics_doc,
    reason = "a helper that fails fails its test"
)]
impl ModelServer {
    /// Starts a server that answers with this status and body.
    pub fn answering(status: u16, body: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let answer = format!(
            "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = answer.clone();
                thread::spawn(move || serve(stream, &answer));
            }
        });
        Self { address }
    }

    /// Returns the address of a server that does not exist: no process listens there.
    pub fn closed() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        Self { address }
    }

    /// Returns the address, for `--base-url`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

/// Reads one request, and answers.
fn serve(mut stream: TcpStream, answer: &str) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let (mut request, mut piece) = (vec![], [0; 4096]);
    while !is_whole(&request) {
        match stream.read(&mut piece) {
            Ok(read) if read > 0 => request.extend(piece.iter().take(read)),
            _ => break,
        }
    }
    let _ = stream.write_all(answer.as_bytes());
}

/// Returns true if the request is complete, with all of its body.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length = length.and_then(|length| length.trim().parse().ok());
    body.len() >= length.unwrap_or(0)
}
