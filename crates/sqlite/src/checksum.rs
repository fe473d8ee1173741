//! Check sums of stored data, to detect a disk that returns other bytes than were written.
use rusqlite::Error;

use crate::row::damaged;

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the check sum of a body under its key. It detects damage, not manipulation.
pub(crate) fn of(key: i64, body: &[u8]) -> u32 {
    let (words, rest) = body.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let begin = mix(key.cast_unsigned(), body.len() as u64);
    let sum = words
        .iter()
        .fold(begin, |sum, word| mix(sum, u64::from_le_bytes(*word)));
    let sum = mix(sum, u64::from_le_bytes(last));
    u32::try_from(sum >> 32).unwrap_or_default()
}

fn mix(sum: u64, word: u64) -> u64 {
    let mixed = (sum ^ word).wrapping_mul(FACTOR);
    mixed ^ mixed >> 29
}

/// Fails if the stored check sum does not match.
pub(crate) fn check(key: i64, body: &[u8], stored: i64) -> Result<(), Error> {
    if stored == i64::from(of(key, body)) {
        Ok(())
    } else {
        Err(damaged("its check sum is another"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_changed_byte_changes_the_sum() {
        for length in [0, 1, 7, 8, 9, 16, 100] {
            let body: Vec<u8> = (0..length).collect();
            let sum = of(7, &body);
            for at in 0..body.len() {
                for bit in 0..8 {
                    let mut other = body.clone();
                    other[at] ^= 1 << bit;
                    assert_ne!(of(7, &other), sum, "bit {bit} of byte {at} of {length}");
                }
            }
            assert_ne!(of(8, &body), sum);
            assert_ne!(of(7, &[&body[..], &[0]].concat()), sum);
        }
    }

    #[test]
    fn another_body_is_not_believed() {
        assert!(check(1, b"a", of(1, b"a").into()).is_ok());
        assert!(check(1, b"b", of(1, b"a").into()).is_err());
    }
}
