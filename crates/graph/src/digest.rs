//! A digest that notices accidents. It is no defence against forgery, and is not used as one.

/// The 64-bit FNV-1a digest, in hexadecimal.
pub(crate) fn of(bytes: &[u8]) -> String {
    let mut digest: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in bytes {
        digest = (digest ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{digest:016x}")
}
