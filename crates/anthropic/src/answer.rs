//! The body of an answer, as deltas.

use std::collections::VecDeque;

use fugato_llm::{ApiKey, ChatDelta, DeltaStream, ModelError, ModelErrorKind, SseParser};
use futures::{StreamExt as _, stream};
use reqwest::{Response, header::CONTENT_TYPE};

use crate::{EventDecoder, MalformedEvent, failure};

/// Reads a successful response to its end. Dropping the stream closes the connection.
pub(crate) fn deltas(response: Response, key: Option<ApiKey>) -> DeltaStream {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok());
    let whole = kind.is_some_and(|kind| kind.starts_with("application/json"));
    let reader = Reader {
        response,
        key,
        whole: whole.then(Vec::new),
        parser: SseParser::default(),
        decoder: EventDecoder::default(),
        ready: VecDeque::new(),
        failure: None,
    };
    stream::unfold(Some(reader), |reader| async {
        let mut reader = reader?;
        match reader.next().await? {
            Ok(delta) => Some((Ok(delta), Some(reader))),
            Err(error) => Some((Err(error), None)),
        }
    })
    .boxed()
}

struct Reader {
    response: Response,
    key: Option<ApiKey>,
    /// The body so far, where a server answers at once although it was asked to stream.
    whole: Option<Vec<u8>>,
    parser: SseParser,
    decoder: EventDecoder,
    ready: VecDeque<ChatDelta>,
    /// What follows the deltas that are ready.
    failure: Option<ModelError>,
}

impl Reader {
    async fn next(&mut self) -> Option<Result<ChatDelta, ModelError>> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some(Ok(delta));
            }
            if let Some(error) = self.failure.take() {
                return Some(Err(error));
            }
            if self.decoder.is_done() {
                return None;
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.read(&bytes),
                Ok(None) => self.end()?,
                Err(error) => return Some(Err(failure::of_body(error))),
            }
        }
    }

    fn read(&mut self, bytes: &[u8]) {
        if let Some(whole) = &mut self.whole {
            whole.extend_from_slice(bytes);
            return;
        }
        let Self {
            parser,
            decoder,
            ready,
            key,
            failure,
            ..
        } = self;
        let read = parser.push(bytes, |data| {
            if failure.is_none() && !decoder.is_done() {
                let decoded = decoder.decode(data, |delta| ready.push_back(delta));
                *failure = decoded.err().map(|why| malformed(why, key.as_ref()));
            }
        });
        if let Err(error) = read {
            failure.get_or_insert(ModelError::new(ModelErrorKind::Malformed, "").caused_by(error));
        }
    }

    /// The end of the body: none if it is the end of the answer too.
    fn end(&mut self) -> Option<()> {
        if let Some(whole) = self.whole.take() {
            let ready = &mut self.ready;
            let decoded = self.decoder.decode(&whole, |delta| ready.push_back(delta));
            self.failure = decoded.err().map(|why| malformed(why, self.key.as_ref()));
            return Some(());
        }
        if self.decoder.may_end() {
            return None;
        }
        self.failure = Some(ModelError::new(
            ModelErrorKind::CutOff,
            "the stream ended early",
        ));
        Some(())
    }
}

fn malformed(why: MalformedEvent, key: Option<&ApiKey>) -> ModelError {
    match why {
        MalformedEvent::Reported(error) => failure::of_event(&error, key),
        why => ModelError::new(ModelErrorKind::Malformed, "").caused_by(why),
    }
}
