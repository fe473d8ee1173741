//! Digests that detect changed texts: they are stored, so they are the same on every machine and in
//! every version.

/// Returns the digest of the texts in order; the boundaries between them count.
pub(crate) fn of(parts: &[&str]) -> u64 {
    parts.iter().fold(OFFSET, |digest, part| {
        let mixed = part.bytes().fold(digest, mix);
        // The byte 255 occurs in no UTF-8 text.
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
