//! Whatever a stream of ours is taken for, cut wherever: the decoder gives the same events.
#![no_main]

use fugato_stream::Decoder;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], u8)| {
    let (bytes, step) = input;
    let (mut whole, mut cut) = (vec![], vec![]);
    let read = Decoder::new().push(bytes, &mut whole);
    let mut decoder = Decoder::new();
    let mut pieces = bytes.chunks(usize::from(step % 16 + 1));
    let read_cut = pieces.try_for_each(|piece| decoder.push(piece, &mut cut));
    assert_eq!(read.is_ok(), read_cut.is_ok());
    if read.is_ok() {
        assert_eq!(cut, whole);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Decoder::new().message(text);
    }
});
