//! Whatever a model server sends, cut wherever: the same events, and no panic in the decoders of
//! either protocol.
#![no_main]

use std::collections::VecDeque;

use fugato_llm::{AnswerDecoder as _, SseParser};
use fugato_providers::{anthropic::EventDecoder, openai::ChunkDecoder};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], u8)| {
    let (bytes, step) = input;
    let (mut whole, mut cut) = (vec![], vec![]);
    let read = SseParser::default().push(bytes, |data| whole.push(data.to_vec()));
    read.expect("it is not that long");
    let mut parser = SseParser::default();
    for piece in bytes.chunks(usize::from(step % 16 + 1)) {
        let read = parser.push(piece, |data| cut.push(data.to_vec()));
        read.expect("it is not that long");
    }
    assert_eq!(cut, whole);

    let (mut chunks, mut events) = (ChunkDecoder::default(), EventDecoder::default());
    for data in whole.iter().map(Vec::as_slice).chain([bytes]) {
        // What is malformed is an error; only a panic is a fault.
        let _ = chunks.decode(data, &mut VecDeque::new());
        let _ = events.decode(data, &mut VecDeque::new());
    }
});
