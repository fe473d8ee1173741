//! The same bytes, written by hand.
use crate::{
    BoxError,
    engine::encode::SENT_AT_ONCE,
    measure::{Measured, Setting, rounds, timed},
};

const HEAD: &str = "data: {\"id\":\"run-1\",\"object\":\"chat.completion.chunk\",\
    \"created\":1700000000,\"model\":\"desk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":";
const MIDDLE: &str =
    "},\"finish_reason\":null}],\"ext\":{\"kind\":\"assistant_text\",\"block_id\":";
const TAIL: &str = ",\"display_mode\":\"append\",\"stage\":\"talk\"}}\n\n";

pub(super) fn chunks(size: u64, setting: &Setting) -> Result<Measured, BoxError> {
    let (block, text) = (String::from("b1"), String::from("word "));
    rounds(setting, size, || {
        let (bytes, spent) = timed(|| {
            let (mut out, mut bytes) = (vec![], 0);
            for n in 0..size {
                out.extend_from_slice(HEAD.as_bytes());
                serde_json::to_writer(&mut out, &text)?;
                out.extend_from_slice(MIDDLE.as_bytes());
                serde_json::to_writer(&mut out, &block)?;
                out.extend_from_slice(TAIL.as_bytes());
                if n % SENT_AT_ONCE as u64 == 0 {
                    bytes += out.len() as u64;
                    out.clear();
                }
            }
            Ok::<_, BoxError>(bytes + out.len() as u64)
        });
        assert!(bytes? > 200 * size, "every chunk is written");
        Ok(spent)
    })
}
