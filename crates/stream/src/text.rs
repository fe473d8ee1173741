/// A piece of text that is cheap to make, to copy and to extend.
///
/// A short one, as most deltas and names of blocks are, needs no allocation. A longer one is
/// shared by its copies, until one of them is extended.
pub type Text = ecow::EcoString;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_as_small_as_a_pointer_with_its_length() {
        assert!(size_of::<Text>() <= 16, "{}", size_of::<Text>());
    }

    #[test]
    fn a_copy_stays_as_it_was_when_the_other_grows() {
        let mut text = Text::from("a text that is longer than what fits");
        let copy = text.clone();
        text.push_str("!");
        assert_eq!(copy, "a text that is longer than what fits");
        assert_eq!(text, "a text that is longer than what fits!");
    }

    proptest! {
        #[test]
        fn a_text_is_what_was_put_in(pieces in prop::collection::vec("\\PC{0,9}", 0..6)) {
            let mut text = Text::default();
            for piece in &pieces {
                text.push_str(piece);
            }
            let whole = pieces.concat();
            prop_assert_eq!(text.as_str(), &whole);
            prop_assert_eq!(&text, &Text::from(whole.as_str()));
            prop_assert_eq!(&text, &Text::from(whole.clone()));
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Text>(&json).unwrap(), &text);
            prop_assert_eq!(String::from(text), whole);
        }
    }
}
