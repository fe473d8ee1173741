//! A model server that says as much as it is asked to: at once, or a word at a time.
use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

use crate::measure::as_float;

/// The model that says all of it at once: `burst-<words>`.
pub const BURST: &str = "burst";
/// The model that says a word after the other, once it has so many readers:
/// `paced-<words>-<readers>`. Each word is the time on the clock at which it was said.
pub const PACED: &str = "paced";
/// The pause between two words of the paced model, whatever readers they go to.
const PACE: Duration = Duration::from_micros(100);

/// A chunk of an answer up to its text, as servers send it.
pub const HEAD: &str = "data: {\"id\":\"chatcmpl-7d1f\",\"object\":\"chat.completion.chunk\",\
    \"created\":1700000000,\"model\":\"small\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"";
/// The rest of it.
pub const TAIL: &str = "\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n";
const LAST: &str = "data: {\"id\":\"chatcmpl-7d1f\",\"object\":\"chat.completion.chunk\",\
    \"created\":1700000000,\"model\":\"small\",\"choices\":[{\"index\":0,\"delta\":{},\
    \"logprobs\":null,\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";
/// What the burst says over and over.
pub const WORD: &str = "word ";

/// The bytes that are read at once where there is no socket.
pub const PIECE: usize = 16 << 10;

/// So many events that they have this size, one after the other, and how many they are.
pub fn kilobytes(size: u64) -> (u64, String) {
    let event = [HEAD, WORD, TAIL].concat();
    let events = (size * 1000).div_ceil(event.len() as u64);
    let body = (0..events).map(|_| event.as_str()).collect();
    (events, body)
}

/// How many microseconds there are between two moments.
pub fn micros_since(earlier: u64, later: u64) -> f64 {
    as_float(later.saturating_sub(earlier)) / 1000.0
}

/// A chat server on a free port of the loopback interface. It ends with the program.
#[derive(Debug)]
pub struct Chat {
    address: SocketAddr,
}

/// A reader of the paced model, and how many words it is still to get.
type Reader = (TcpStream, u64);

#[derive(Default)]
struct Circle {
    readers: Mutex<Readers>,
    joined: Condvar,
}

#[derive(Default)]
struct Readers {
    /// Those that wait for others.
    waiting: Vec<Reader>,
    listening: VecDeque<Reader>,
}

impl Chat {
    /// A new server.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let circle = Arc::new(Circle::default());
        let paced = Arc::clone(&circle);
        thread::spawn(move || speak_in_turn(&paced));
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let circle = Arc::clone(&circle);
                // A reader that leaves is no concern of the others.
                thread::spawn(move || serve(connection, &circle));
            }
        });
        Ok(Self { address })
    }

    /// The address of its API.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// What this moment is called on a clock that all processes share, in nanoseconds.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let part = |value: i64| u64::try_from(value).unwrap_or_default();
    part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec)
}

fn serve(mut connection: TcpStream, circle: &Circle) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection.try_clone()?);
    while let Some(body) = read_request(&mut reader)? {
        connection.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
              transfer-encoding: chunked\r\n\r\n",
        )?;
        let numbers = |model: &str| {
            let (_, rest) = body.split_once(&format!("\"{model}-"))?;
            let numbers = rest.split_once('"')?.0.split('-');
            let numbers: Vec<u64> = numbers.filter_map(|n| n.parse().ok()).collect();
            Some(numbers)
        };
        if let Some([words, wanted]) = numbers(PACED).as_deref() {
            circle.join((connection, *words), *wanted);
            return Ok(());
        }
        let words = numbers(BURST).and_then(|numbers| numbers.first().copied());
        speak_at_once(&mut connection, words.unwrap_or(1))?;
    }
    Ok(())
}

fn speak_at_once(connection: &mut TcpStream, words: u64) -> io::Result<()> {
    let word = chunk(&[HEAD, WORD, TAIL].concat());
    let at_once = 256;
    let block = word.repeat(256);
    for _ in 0..words / at_once {
        connection.write_all(block.as_bytes())?;
    }
    for _ in 0..words % at_once {
        connection.write_all(word.as_bytes())?;
    }
    end(connection)
}

impl Circle {
    fn readers(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, reader: Reader, wanted: u64) {
        let mut readers = self.readers();
        let Readers { waiting, listening } = &mut *readers;
        waiting.push(reader);
        if waiting.len() as u64 >= wanted {
            listening.extend(waiting.drain(..));
            self.joined.notify_one();
        }
    }
}

/// Goes round, a word for each.
fn speak_in_turn(circle: &Circle) {
    loop {
        let mut readers = circle.readers();
        let Some((mut connection, words)) = readers.listening.pop_front() else {
            drop(circle.joined.wait(readers));
            continue;
        };
        drop(readers);
        let said = if words == 0 {
            end(&mut connection)
        } else {
            let text = [HEAD, &format!("{} ", now()), TAIL].concat();
            connection.write_all(chunk(&text).as_bytes())
        };
        if words > 0 && said.is_ok() {
            let mut readers = circle.readers();
            readers.listening.push_back((connection, words - 1));
        }
        thread::sleep(PACE);
    }
}

fn end(connection: &mut TcpStream) -> io::Result<()> {
    let rest = [&chunk(LAST), &chunk(DONE), "0\r\n\r\n"].concat();
    connection.write_all(rest.as_bytes())
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// The body of the next request; none if the reader left.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(String::from_utf8_lossy(&body).into_owned()))
}
