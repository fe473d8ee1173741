//! The same bytes, read by hand: blocking sockets where one reader is enough, and nothing but the
//! text of a chunk is kept.
use std::{
    borrow::Cow,
    io::{Read, Write},
    net::TcpStream,
};

use futures::future::try_join_all;
use memchr::memchr;
use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::{
    BoxError,
    host::chat::{self, BURST, HEAD, PACED, TAIL},
    measure::{Measurement, Setting, ranked, rounds, runtime, timed},
    workload::PACED_WORDS,
};

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: [Choice<'a>; 1],
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: ChatSample<'a>,
}

#[derive(Deserialize)]
struct ChatSample<'a> {
    #[serde(borrow)]
    content: Option<Cow<'a, str>>,
}

/// Calls for each text in these bytes, and tells how many of them were read.
fn read(bytes: &[u8], mut text: impl FnMut(&str)) -> Result<usize, BoxError> {
    let mut read = 0;
    while let Some(rest) = bytes.get(read..)
        && let Some(end) = memchr(b'\n', rest)
    {
        // What else there is, such as the lengths of the transfer encoding, is no such line.
        if let Some(data) = rest
            .get(..end)
            .and_then(|line| line.strip_prefix(b"data: "))
            && data != b"[DONE]"
        {
            let chunk: Chunk<'_> = serde_json::from_slice(data)?;
            let [choice] = chunk.choices;
            if let Some(said) = choice.delta.content {
                text(&String::from(said));
            }
        }
        read += end + 1;
    }
    Ok(read)
}

fn request(model: &str) -> String {
    let body = format!("{{\"model\":\"{model}\",\"stream\":true}}");
    let length = body.len();
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

fn address(setting: &Setting) -> Result<String, BoxError> {
    let url = setting.server.as_deref().ok_or("there is no server")?;
    Ok(url.trim_start_matches("http://").to_owned())
}

pub(super) fn stream(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let mut connection = TcpStream::connect(address(setting)?)?;
    let (mut buffer, asked) = (vec![0; 64 << 10], request(&format!("{BURST}-{size}")));
    rounds(setting, size, || {
        let (said, spent) = timed(|| {
            connection.write_all(asked.as_bytes())?;
            let (mut held, mut said) = (0, 0);
            loop {
                let free = buffer.get_mut(held..).unwrap_or_default();
                let got = connection.read(free)?;
                held += got;
                let bytes = buffer.get(..held).unwrap_or_default();
                let last = got == 0 || bytes.ends_with(b"\r\n0\r\n\r\n");
                let used = read(bytes, |text| said += text.len() as u64)?;
                buffer.copy_within(used..held, 0);
                held -= used;
                if last {
                    return Ok::<_, BoxError>(said);
                }
            }
        });
        assert_eq!(said?, chat::WORD.len() as u64 * size, "every word arrives");
        Ok(spent)
    })
}

pub(super) fn decode(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (events, body) = chat::kilobytes(size);
    rounds(setting, size, || {
        let mut said = 0;
        let (done, spent) = timed(|| read(body.as_bytes(), |text| said += text.len() as u64));
        done?;
        assert_eq!(said, chat::WORD.len() as u64 * events, "every word is read");
        Ok(spent)
    })
}

pub(super) fn relay(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, address) = (runtime()?, address(setting)?);
    let asked = request(&format!("{PACED}-{PACED_WORDS}-{size}"));
    let (relayed, spent) = timed(|| {
        runtime.block_on(try_join_all((0..size).map(|_| {
            let relayed = relay_one(address.clone(), asked.clone());
            async { tokio::spawn(relayed).await? }
        })))
    });
    let took: Vec<f64> = relayed?.concat();
    let words = size * PACED_WORDS;
    assert_eq!(took.len() as u64, words, "every word is relayed");
    Ok(ranked(took, spent, words))
}

async fn relay_one(address: String, asked: String) -> Result<Vec<f64>, BoxError> {
    let mut connection = tokio::net::TcpStream::connect(address).await?;
    connection.write_all(asked.as_bytes()).await?;
    let (mut buffer, mut frame, mut took) = (vec![], String::new(), vec![]);
    loop {
        let got = connection.read_buf(&mut buffer).await?;
        let last = got == 0 || buffer.ends_with(b"\r\n0\r\n\r\n");
        let mut failure = None;
        let used = read(&buffer, |text| {
            frame.clear();
            frame.extend([HEAD, text, TAIL]);
            match text.trim().parse() {
                Ok(said) => took.push(chat::micros_since(said, chat::now())),
                Err(error) => failure = Some(error),
            }
        })?;
        if let Some(error) = failure {
            return Err(error.into());
        }
        buffer.drain(..used);
        if last {
            return Ok(took);
        }
    }
}
