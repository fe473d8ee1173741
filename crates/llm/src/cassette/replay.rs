use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::Value;

use super::{CassetteError, Exchange, Secrets, VERSION, asked, digest, near};
use crate::{ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind};

/// Replays the answers that [`Recorder`](crate::Recorder) kept, without a server.
///
/// A request gets the recorded answer to an equal request: the same messages, tools, format,
/// sampling and thinking. Timeout, attempts and metadata do not count, because no server sees them.
/// A request that was made several times gets its answers in the order in which they were recorded.
///
/// A request that was not recorded is an error that names the nearest line and the first place
/// where it differs. A request that is made more often than it was recorded is an error too. Clones
/// share the cassette.
///
/// ```
/// use fugato_llm::{ChatModelExt as _, ChatRequest, Recorder, Replay};
/// use fugato_state::Message;
/// # use fugato_testkit::Scripted;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let server = Scripted::new(["Good morning"]);
/// # let folder = std::env::temp_dir().join(format!("fugato-cassette-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("greeting.jsonl");
///
/// let hello = ChatRequest::new([Message::user("Hello")]);
/// let recorded = Recorder::to_file(server, &path)?.complete(hello.clone()).await?;
///
/// let replay = Replay::open(&path)?;
/// assert_eq!(replay.complete(hello).await?, recorded);
///
/// let other = ChatRequest::new([Message::user("Goodbye")]);
/// assert_eq!(
///     replay.complete(other).await.unwrap_err().context,
///     "the cassette has no such request; line 1 comes nearest, \
///      and differs at /messages/0/content: \"Hello\" there, \"Goodbye\" here",
/// );
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Replay {
    secrets: Secrets,
    name: Arc<str>,
    tape: Arc<Mutex<Vec<Track>>>,
}

#[derive(Debug)]
struct Track {
    line: usize,
    exchange: Exchange,
    played: bool,
}

#[derive(Deserialize)]
struct VersionHeader {
    version: u32,
}

impl Replay {
    /// Reads the cassette in a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        let path = path.as_ref();
        let lines = fs::read_to_string(path).map_err(|source| CassetteError::Open {
            path: path.to_owned(),
            source,
        })?;
        Self::from_lines(&lines)
    }

    /// Reads a cassette from its lines. Blank lines are skipped.
    pub fn from_lines(lines: &str) -> Result<Self, CassetteError> {
        let lines = (1..).zip(lines.lines());
        let tracks = lines
            .filter(|(_, text)| !text.trim().is_empty())
            .map(|(line, text)| Track::read(line, text))
            .collect::<Result<Vec<_>, _>>()?;
        let name = tracks
            .first()
            .map_or("replay", |track| &track.exchange.model);
        Ok(Self {
            secrets: Secrets::default(),
            name: name.into(),
            tape: Arc::new(Mutex::new(tracks)),
        })
    }

    fugato_state::setters! {
        /// Sets the secrets that were hidden during recording, as far as requests contain them.
        pub fn secrets(secrets: Secrets) { secrets = secrets }
    }

    /// Returns the number of recorded answers that were not replayed yet.
    pub fn left(&self) -> usize {
        let tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        tape.iter().filter(|track| !track.played).count()
    }
}

#[async_trait]
impl ChatModel for Replay {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let request = asked(&request, &self.secrets);
        let exchange = {
            let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
            play(&mut tape, &request)?
        };
        let error = exchange.error.map(ModelError::from);
        match error {
            Some(error) if exchange.deltas.is_empty() => Err(error),
            error => {
                let deltas = exchange.deltas.into_iter().map(Ok);
                Ok(stream::iter(deltas.chain(error.map(Err))).boxed())
            }
        }
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Track {
    fn read(line: usize, text: &str) -> Result<Self, CassetteError> {
        let unreadable = |source| CassetteError::Line { line, source };
        let VersionHeader { version } = serde_json::from_str(text).map_err(unreadable)?;
        if version != VERSION {
            return Err(CassetteError::Version { line, version });
        }
        let exchange: Exchange = serde_json::from_str(text).map_err(unreadable)?;
        if digest(&exchange.request) != exchange.digest {
            return Err(CassetteError::Changed { line });
        }
        Ok(Self {
            line,
            exchange,
            played: false,
        })
    }
}

fn play(tape: &mut [Track], request: &Value) -> Result<Exchange, ModelError> {
    let digest = digest(request);
    let same =
        |track: &Track| track.exchange.digest == digest && track.exchange.request == *request;
    if let Some(track) = tape.iter_mut().find(|track| !track.played && same(track)) {
        track.played = true;
        return Ok(track.exchange.clone());
    }
    let times = tape.iter().filter(|track| same(track)).count();
    let context = if times > 0 {
        format!("the cassette has this request {times} times, and it was made once more")
    } else {
        let lines = tape
            .iter()
            .map(|track| (track.line, &track.exchange.request));
        match near::nearest(lines, request) {
            None => "the cassette is empty".to_owned(),
            Some(near) => format!(
                "the cassette has no such request; line {} comes nearest, and differs at {}: {} there, {} here",
                near.line, near.place, near.there, near.here
            ),
        }
    };
    Err(ModelError::new(ModelErrorKind::Other, context))
}
