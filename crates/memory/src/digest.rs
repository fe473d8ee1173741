//! What tells whether a text has changed: the same on every machine and in every version, because
//! it is stored.

/// The digest of texts one after the other; where one ends and the next begins counts.
pub(crate) fn of(parts: &[&str]) -> u64 {
    parts.iter().fold(OFFSET, |digest, part| {
        let mixed = part.bytes().fold(digest, mix);
        // No byte of a text is 255.
        mix(mixed, u8::MAX)
    })
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

fn mix(digest: u64, byte: u8) -> u64 {
    (digest ^ u64::from(byte)).wrapping_mul(PRIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_what_they_were() {
        assert_eq!(of(&["memory"]), of(&["memory"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_eq!(of(&[]), OFFSET);
    }
}
