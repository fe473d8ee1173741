use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll, ready},
};

use fugato_state::say;
use futures::{Stream, StreamExt as _};

use super::{SseParser, sse::MAX_EVENT_BYTES};
use crate::{ChatDelta, DeltaStream, ModelError, ModelErrorKind, figure};

/// The longest body of a streamed answer, comments included: an answer of the greatest length,
/// letter by letter, each in an event of its own.
const MAX_BODY_BYTES: usize = 64 << 20;

/// A decoder of one protocol that turns the events of one answer into deltas.
pub trait AnswerDecoder: Send {
    /// Decodes the data of one event, and appends its deltas in order. Returns
    /// [`ModelErrorKind::Malformed`] or the error that the server reports.
    ///
    /// The data may also be a whole answer, from a server that does not stream.
    fn decode(&mut self, data: &[u8], deltas: &mut VecDeque<ChatDelta>) -> Result<(), ModelError>;

    /// Returns true if the server has ended the stream.
    fn is_done(&self) -> bool;

    /// Returns true if the answer may end here: the server has ended the stream or sent a reason to
    /// stop.
    fn may_end(&self) -> bool;
}

/// Reads the body of a successful response to its end. Its pieces may be cut anywhere.
///
/// A `content_type` of JSON means a whole answer, which some servers send in place of events. A
/// body that ends before the answer may end is [`ModelErrorKind::CutOff`]. A body with an event of
/// more than 512 KiB, or with more than 64 MiB in total, is [`ModelErrorKind::Malformed`], so that
/// memory use is bounded. Dropping the stream drops the body.
pub fn read_answer<B: AsRef<[u8]>>(
    body: impl Stream<Item = Result<B, ModelError>> + Send + Unpin + 'static,
    content_type: Option<&str>,
    decoder: impl AnswerDecoder + Unpin + 'static,
) -> DeltaStream {
    let whole = content_type.is_some_and(|kind| kind.starts_with("application/json"));
    Reader {
        body,
        whole: whole.then(Vec::new),
        read: 0,
        parser: SseParser::default(),
        decoder,
        ready: VecDeque::new(),
        failure: None,
        over: false,
    }
    .boxed()
}

struct Reader<S, D> {
    body: S,
    /// The body so far, if the server sends a whole answer instead of events.
    whole: Option<Vec<u8>>,
    /// The number of bytes so far.
    read: usize,
    parser: SseParser,
    decoder: D,
    ready: VecDeque<ChatDelta>,
    /// The error that follows the ready deltas.
    failure: Option<ModelError>,
    /// True if nothing more is read.
    over: bool,
}

impl<B, S, D> Stream for Reader<S, D>
where
    B: AsRef<[u8]>,
    S: Stream<Item = Result<B, ModelError>> + Unpin,
    D: AnswerDecoder + Unpin,
{
    type Item = Result<ChatDelta, ModelError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let reader = self.get_mut();
        loop {
            if let Some(delta) = reader.ready.pop_front() {
                return Poll::Ready(Some(Ok(delta)));
            }
            if let Some(error) = reader.failure.take() {
                reader.over = true;
                return Poll::Ready(Some(Err(error)));
            }
            if reader.over {
                return Poll::Ready(None);
            }
            if reader.decoder.is_done() {
                reader.over = true;
                // The end of the body has usually arrived too. Reading it lets the connection be
                // reused.
                let _ = reader.body.poll_next_unpin(cx);
                return Poll::Ready(None);
            }
            match ready!(reader.body.poll_next_unpin(cx)) {
                Some(Ok(bytes)) => reader.read(bytes.as_ref()),
                Some(Err(error)) => reader.failure = Some(error),
                None => reader.end(),
            }
        }
    }
}

impl<S, D: AnswerDecoder> Reader<S, D> {
    fn read(&mut self, bytes: &[u8]) {
        self.read = self.read.saturating_add(bytes.len());
        let most = match self.whole {
            Some(_) => MAX_EVENT_BYTES,
            None => MAX_BODY_BYTES,
        };
        if self.read > most {
            self.whole = None;
            let why = say!(
                "the server sends more than {}",
                "服务器发送的超过 {}",
                figure::size(most)
            );
            self.failure = Some(ModelError::new(ModelErrorKind::Malformed, why));
            return;
        }
        if let Some(whole) = &mut self.whole {
            whole.extend_from_slice(bytes);
            return;
        }
        let Self {
            parser,
            decoder,
            ready,
            failure,
            ..
        } = self;
        let read = parser.push(bytes, |data| {
            if failure.is_none() && !decoder.is_done() {
                *failure = decoder.decode(data, ready).err();
            }
        });
        if let Err(error) = read {
            failure.get_or_insert(ModelError::new(ModelErrorKind::Malformed, "").caused_by(error));
        }
    }

    fn end(&mut self) {
        self.over = true;
        if let Some(whole) = self.whole.take() {
            self.failure = self.decoder.decode(&whole, &mut self.ready).err();
        } else if !self.decoder.may_end() {
            let error = ModelError::new(
                ModelErrorKind::CutOff,
                say!("the stream ended early", "流提前结束了"),
            );
            self.failure = Some(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use futures::{FutureExt as _, stream};

    use super::*;

    /// Says the words of each event; "stop" may be the last, "done" is.
    #[derive(Default)]
    struct Words {
        stopped: bool,
        done: bool,
    }

    impl AnswerDecoder for Words {
        fn decode(
            &mut self,
            data: &[u8],
            deltas: &mut VecDeque<ChatDelta>,
        ) -> Result<(), ModelError> {
            for word in String::from_utf8_lossy(data).split_whitespace() {
                match word {
                    "stop" => self.stopped = true,
                    "done" => self.done = true,
                    "bad" => return Err(ModelError::new(ModelErrorKind::Malformed, "bad")),
                    word => deltas.push_back(ChatDelta::text(word)),
                }
            }
            Ok(())
        }

        fn is_done(&self) -> bool {
            self.done
        }

        fn may_end(&self) -> bool {
            self.done || self.stopped
        }
    }

    /// Reads a body. Returns the text, the kind of the error at the end, and the number of pieces
    /// that were read.
    fn read(content_type: &str, pieces: &[&str]) -> (String, Option<ModelErrorKind>, usize) {
        let taken = Arc::new(AtomicUsize::new(0));
        let count = taken.clone();
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok((*piece).to_owned())).collect();
        let body = stream::iter(pieces).inspect(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let mut deltas = read_answer(body, Some(content_type), Words::default());
        let (mut said, mut end) = (vec![], None);
        while let Some(delta) = deltas.next().now_or_never().expect("all of it is there") {
            match delta {
                Ok(ChatDelta::Text(text)) => said.push(text),
                Ok(other) => panic!("{other:?}"),
                Err(error) => end = Some(error.kind),
            }
        }
        let after = deltas.next().now_or_never().expect("all of it is there");
        assert!(after.is_none(), "an end is an end");
        (said.join(" "), end, taken.load(Ordering::Relaxed))
    }

    #[test]
    fn an_answer_ends_where_its_protocol_says() {
        use ModelErrorKind::{CutOff, Malformed};
        let events = "text/event-stream";
        for (pieces, said, end, taken) in [
            (
                &["data: a b\n", "\ndata: done\n\n", "rest", "more"][..],
                "a b",
                None,
                3,
            ),
            (
                &["data: a\n\ndata: stop\n\n", "data: b\n\n"],
                "a b",
                None,
                2,
            ),
            (&["data: a\n\n"], "a", Some(CutOff), 1),
            (
                &["data: a\n\ndata: b bad c\n\ndata: d\n\n"],
                "a b",
                Some(Malformed),
                1,
            ),
            (&[], "", Some(CutOff), 0),
        ] {
            let expected = (said.to_owned(), end, taken);
            assert_eq!(read(events, pieces), expected, "{pieces:?}");
        }
        let whole = read("application/json; charset=utf-8", &["a ", "b", " stop"]);
        assert_eq!(whole, ("a b".to_owned(), None, 3));
    }
}
