use std::io::Write as _;

const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Returns a digest that detects accidental changes: 64 bits in the manner of FNV-1a, over words of
/// eight bytes, in hexadecimal. It is no defence against forgery, and is not used as one.
pub fn of(bytes: &[u8]) -> String {
    text(bytes)
}

/// Returns the digest as any type of text.
pub(crate) fn text<T: for<'a> From<&'a str>>(bytes: &[u8]) -> T {
    let mut digest: u64 = 0xcbf2_9ce4_8422_2325 ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks();
    for word in words {
        digest = mix(digest, u64::from_le_bytes(*word));
    }
    for byte in rest {
        digest = mix(digest, u64::from(*byte));
    }
    let mut digits = [0; 16];
    // The digits fill it.
    let _ = write!(digits.as_mut_slice(), "{digest:016x}");
    std::str::from_utf8(&digits).unwrap_or_default().into()
}

/// Mixes a word into a digest. The rotation moves high bits down: a multiplication alone only moves
/// low bits up.
fn mix(digest: u64, word: u64) -> u64 {
    (digest ^ word).wrapping_mul(PRIME).rotate_left(29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_and_every_place_counts() {
        let text = b"a thread is a log, state is a fold of it".to_vec();
        for place in 0..text.len() {
            for bit in 0..8 {
                let mut other = text.clone();
                other[place] ^= 1 << bit;
                assert_ne!(of(&text), of(&other), "byte {place}, bit {bit}");
            }
        }
        assert_ne!(of(b"\0"), of(b"\0\0"));
        assert_eq!(of(b"\0").len(), 16);
    }
}
