use std::{
    fs::OpenOptions,
    io::Write,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use serde_json::Value;

use super::{CassetteError, Exchange, KeptError, Secrets, VERSION, asked, digest};
use crate::{ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind};

/// Records every answer of a model on a cassette, for [`Replay`](crate::Replay).
///
/// A cassette is a file of JSON lines, one for each answer or failure, and can be stored with a
/// test.
///
/// # Notes
/// - The deltas are recorded as they arrived, so that a replay is cut where the server cut. Their
///   timing is not recorded, and neither are the attempts that an inner decorator reports.
/// - [`Secrets`] are hidden before anything is written. The caller gets the answer unchanged.
/// - An answer that is dropped before its end is not recorded.
/// - If the cassette cannot be written, the answer ends in an error after its last delta.
#[derive(derive_more::Debug, Clone)]
pub struct Recorder<M> {
    model: M,
    secrets: Secrets,
    #[debug(skip)]
    tape: Arc<Mutex<dyn Write + Send>>,
}

impl<M: ChatModel> Recorder<M> {
    /// Wraps a model. Its answers are appended to what `tape` holds.
    pub fn new(model: M, tape: impl Write + Send + 'static) -> Self {
        Self {
            model,
            secrets: Secrets::default(),
            tape: Arc::new(Mutex::new(tape)),
        }
    }

    /// Wraps a model. Its answers are appended to the file, which is created if it does not exist.
    /// Returns [`CassetteError::Open`] if the file cannot be opened.
    pub fn to_file(model: M, path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        let path = path.as_ref();
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|source| CassetteError::Open {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self::new(model, file))
    }

    fugato_state::setters! {
        /// Sets the secrets that must not be on the cassette.
        pub fn secrets(secrets: Secrets) { secrets = secrets }
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for Recorder<M> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let take = RecordedAnswer {
            model: self.model.name().to_owned(),
            request: asked(&request, &self.secrets),
            deltas: vec![],
            secrets: self.secrets.clone(),
            tape: self.tape.clone(),
        };
        let deltas = match self.model.stream(request).await {
            Ok(deltas) => deltas,
            Err(error) => return Err(take.keep(Some(&error)).err().unwrap_or(error)),
        };
        let kept = stream::unfold(Some((deltas, take)), |playing| async {
            let (mut deltas, mut take) = playing?;
            match deltas.next().await {
                Some(Ok(delta)) => {
                    if !matches!(delta, ChatDelta::Attempt(_)) {
                        take.deltas.push(delta.clone());
                    }
                    Some((Ok(delta), Some((deltas, take))))
                }
                Some(Err(error)) => {
                    let error = take.keep(Some(&error)).err().unwrap_or(error);
                    Some((Err(error), None))
                }
                None => take.keep(None).err().map(|error| (Err(error), None)),
            }
        });
        Ok(kept.fuse().boxed())
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}

/// One answer while it is recorded.
struct RecordedAnswer {
    model: String,
    request: Value,
    deltas: Vec<ChatDelta>,
    secrets: Secrets,
    tape: Arc<Mutex<dyn Write + Send>>,
}

impl RecordedAnswer {
    fn keep(mut self, error: Option<&ModelError>) -> Result<(), ModelError> {
        self.secrets.scrub_deltas(&mut self.deltas);
        let exchange = Exchange {
            version: VERSION,
            digest: digest(&self.request),
            model: self.secrets.scrub(&self.model),
            request: self.request,
            deltas: self.deltas,
            error: error.map(|error| KeptError {
                kind: error.kind,
                advice: error.advice,
                context: self.secrets.scrub(&error.context),
            }),
        };
        let written = serde_json::to_vec(&exchange)
            .map_err(std::io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
                tape.write_all(&line)?;
                tape.flush()
            });
        written.map_err(|why| {
            ModelError::new(ModelErrorKind::Other, "the cassette cannot be written").caused_by(why)
        })
    }
}
