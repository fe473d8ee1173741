//! Finding and repairing the object in what a model answered.
use std::hint::black_box;

use fugato_llm::extract;

use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, timed},
    subject,
};

pub(super) fn answers(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let answers = subject::answers(size)?;
    for answer in &answers {
        let found = extract(&answer.raw)?.object;
        assert_eq!(Some(found), answer.wanted, "{}", answer.raw);
    }
    rounds(setting, size, || {
        let (read, spent) = timed(|| {
            let found = answers.iter().map(|answer| black_box(extract(&answer.raw)));
            found.flatten().count()
        });
        assert_eq!(read, answers.len(), "every answer is read");
        Ok(spent)
    })
}
