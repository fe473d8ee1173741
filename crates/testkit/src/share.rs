use std::env;

/// Returns the share of the cases of a simulation or a corpus that is tried: every `n`-th, as the environment
/// variable `FUGATO_SHARE` says; 1, which is every case, if it is not set or is no number.
///
/// A developer who runs all tests many times a day sets it; what decides about a change does not.
pub fn share() -> usize {
    let named = env::var("FUGATO_SHARE").ok();
    named
        .and_then(|share| share.parse().ok())
        .unwrap_or(1)
        .max(1)
}

/// Returns how many of `all` random cases are tried: their [share](share()), but an eighth at least,
/// as each case finds what it does by chance.
pub fn share_of(all: u32) -> u32 {
    let share = u32::try_from(share()).unwrap_or(u32::MAX);
    all.div_ceil(share.min(8))
}
