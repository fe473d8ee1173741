//! Names that every model server accepts, made from arbitrary names.
use std::collections::BTreeSet;

/// The longest name that model servers accept.
const LONGEST: usize = 64;

/// A set of unique names.
#[derive(Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    /// Returns a new name for the tool of a server: 1 to 64 of `A-Z a-z 0-9 _ -`. The same tools in
    /// the same order always get the same names.
    pub(crate) fn give(&mut self, prefix: &str, tool: &str) -> String {
        let whole = if prefix.is_empty() {
            tool.to_owned()
        } else {
            format!("{prefix}_{tool}")
        };
        let plain = sanitised(&whole);
        // A digest of the original replaces what was cut off.
        let mut name = if plain.len() <= LONGEST && !plain.is_empty() {
            plain.clone()
        } else {
            marked(&plain, &whole)
        };
        let mut again = 0_u32;
        while !self.0.insert(name.clone()) {
            name = marked(&plain, &format!("{whole}\u{0}{again}"));
            again += 1;
        }
        name
    }
}

fn sanitised(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars()
        .map(|c| if fits(c) { c } else { '_' })
        .collect()
}

/// Returns the name, cut so that a digest fits behind it.
fn marked(plain: &str, whole: &str) -> String {
    let digest = format!("_{:08x}", digest(whole.as_bytes()) >> 32);
    // All characters are ASCII by now.
    let kept: String = plain.chars().take(LONGEST - digest.len()).collect();
    kept + &digest
}

/// Returns the FNV-1a hash: short, stable over versions and machines, and not meant to withstand an
/// attack.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_says_where_it_comes_from() {
        let mut names = Names::default();
        assert_eq!(names.give("files", "read.text/v2"), "files_read_text_v2");
        assert_eq!(names.give("", "read"), "read");
    }

    #[test]
    fn names_that_become_the_same_are_told_apart() {
        let mut names = Names::default();
        let first = names.give("s", "a.b");
        let second = names.give("s", "a/b");
        assert_eq!(first, "s_a_b");
        assert!(
            second.starts_with("s_a_b_") && second.len() == 14,
            "{second}"
        );
    }

    proptest! {
        #[test]
        fn every_name_is_accepted_and_given_once(tools in prop::collection::vec(".{0,90}", 0..12), prefix in ".{0,9}") {
            let mut names = Names::default();
            let given: Vec<_> = tools.iter().map(|tool| names.give(&prefix, tool)).collect();
            for name in &given {
                prop_assert!((1..=LONGEST).contains(&name.len()), "{name}");
                prop_assert_eq!(&sanitised(name), name);
            }
            let distinct: BTreeSet<_> = given.iter().collect();
            prop_assert_eq!(distinct.len(), given.len());
        }
    }
}
