//! The reader of the body of an answer.

use std::collections::VecDeque;

use fugato_llm::{
    AnswerDecoder, ApiKey, ChatDelta, DeltaStream, ModelError, ModelErrorKind, read_answer,
};
use futures::{StreamExt as _, stream};
use reqwest::{Response, header::CONTENT_TYPE};

use crate::{ChunkDecoder, MalformedChunk, failure};

/// Returns the deltas of a successful response. Dropping the stream closes the connection.
pub(crate) fn deltas(response: Response, key: Option<ApiKey>) -> DeltaStream {
    let kind = response.headers().get(CONTENT_TYPE).cloned();
    let kind = kind.as_ref().and_then(|kind| kind.to_str().ok());
    let body = stream::unfold(response, |mut response| async {
        let piece = response.chunk().await.transpose()?;
        Some((piece.map_err(failure::of_body), response))
    });
    let decoder = Decoder {
        key,
        words: ChunkDecoder::default(),
    };
    read_answer(body.boxed(), kind, decoder)
}

struct Decoder {
    key: Option<ApiKey>,
    words: ChunkDecoder,
}

impl AnswerDecoder for Decoder {
    fn decode(&mut self, data: &[u8], deltas: &mut VecDeque<ChatDelta>) -> Result<(), ModelError> {
        let decoded = self.words.decode(data, |delta| deltas.push_back(delta));
        decoded.map_err(|why| match why {
            MalformedChunk::Reported(error) => failure::of_frame(&error, self.key.as_ref()),
            why => ModelError::new(ModelErrorKind::Malformed, "").caused_by(why),
        })
    }

    fn is_done(&self) -> bool {
        self.words.is_done()
    }

    fn may_end(&self) -> bool {
        self.words.may_end()
    }
}
