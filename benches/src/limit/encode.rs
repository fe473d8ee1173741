//! The same bytes, written by hand: what is the same in every frame, and the text between.
use fugato_stream::{Fidelity, Frames};

use crate::{
    BoxError,
    engine::encode::{SENT_AT_ONCE, encoder, event},
    measure::{Measurement, Setting, rounds, timed},
};

const TEXT: &str = "word ";

pub(super) fn chunks(
    protocol: &str,
    size: u64,
    setting: &Setting,
) -> Result<Measurement, BoxError> {
    let (mut encoder, mut frames) = (encoder(protocol, Fidelity::Strict)?, Frames::new());
    // The first opens what the second goes on with.
    encoder.encode(&event(protocol)?, &mut frames);
    frames.clear();
    encoder.encode(&event(protocol)?, &mut frames);
    let quoted = serde_json::to_string(TEXT)?;
    let (head, tail) = frames
        .as_str()
        .split_once(&quoted)
        .ok_or("it has no text")?;
    let text = String::from(TEXT);
    rounds(setting, size, || {
        let (bytes, spent) = timed(|| {
            let (mut out, mut bytes) = (vec![], 0);
            for n in 0..size {
                out.extend_from_slice(head.as_bytes());
                serde_json::to_writer(&mut out, &text)?;
                out.extend_from_slice(tail.as_bytes());
                if n % SENT_AT_ONCE as u64 == 0 {
                    bytes += out.len() as u64;
                    out.clear();
                }
            }
            Ok::<_, BoxError>(bytes + out.len() as u64)
        });
        assert!(bytes? > 40 * size, "every chunk is written");
        Ok(spent)
    })
}
