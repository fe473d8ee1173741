//! A strict parser for what stands between the first brace and the last: it repairs nothing.
use std::hint::black_box;

use serde_json::Value;

use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, timed},
    subject,
};

pub(super) fn answers(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let answers = subject::answers(size)?;
    rounds(setting, size, || {
        let (read, spent) = timed(|| {
            let found = answers.iter().map(|answer| black_box(strict(&answer.raw)));
            found.flatten().count()
        });
        assert!(read > 0 && read <= answers.len(), "some answers are JSON");
        Ok(spent)
    })
}

fn strict(raw: &str) -> Option<Value> {
    let object = raw.get(raw.find('{')?..=raw.rfind('}')?)?;
    serde_json::from_str(object).ok()
}
