//! No input makes the decoder panic or exceed its buffer.
use fugato_stream::{DecodeErrorKind, Decoder, decode};
use proptest::{collection::vec, prelude::*};

/// Pieces that are put together at random: most of the results are nearly a stream.
fn nearly() -> impl Strategy<Value = String> {
    let pieces = [
        "data: ",
        "data",
        "id: 1\n",
        "\n\n",
        "\r",
        "{\"ev\":",
        "{\"thread\":\"t\",\"run\":1,\"kind\":\"node_started\"}",
        "{\"kind\":\"text_delta\",\"block\":1}",
        "}",
        "{\"type\":\"data-ev\",\"data\":",
        "{\"metadata\":{\"ev\":",
        "{\"ext\":{\"ev\":null},\"extra\":",
        "[DONE]",
        "null",
        "\u{feff}",
        "[[[[[[[[",
    ];
    let piece = prop_oneof![
        prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
        ".{0,4}"
    ];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn l12_no_bytes_make_the_decoder_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Decoder::new().push(&bytes, &mut vec![]);
    }

    #[test]
    fn l12_no_text_makes_the_decoder_panic_wherever_it_is_cut(text in nearly(), at in 0usize..60) {
        let whole = decode(&text);
        let _ = Decoder::new().message(&text);
        let (mut decoder, mut events) = (Decoder::new(), vec![]);
        let (one, other) = text.as_bytes().split_at(at.min(text.len()));
        let cut = decoder.push(one, &mut events).and_then(|()| decoder.push(other, &mut events));
        match (whole, cut) {
            (Ok(whole), Ok(())) => prop_assert_eq!(whole, events),
            (Err(whole), Err(cut)) => prop_assert_eq!(whole.frame, cut.frame),
            (whole, cut) => prop_assert!(false, "{whole:?} is not {cut:?}"),
        }
    }
}

#[test]
fn json_that_is_nested_without_end_is_an_error() {
    for open in [
        "[",
        "{\"ev\":",
        "{\"data\":[",
        "{\"type\":\"data-ev\",\"data\":[",
    ] {
        let wire = format!("data: {}\n\n", open.repeat(100_000));
        let error = decode(&wire).unwrap_err();
        assert!(matches!(error.kind, DecodeErrorKind::Event(_)), "{open}");
    }
}

#[test]
fn a_frame_without_an_end_is_refused_before_it_fills_the_memory() {
    let (mut decoder, mut events) = (Decoder::new().most(1_000), vec![]);
    decoder
        .push(b": fine\n\ndata: {}\n\n", &mut events)
        .unwrap();
    let line = "data: ".to_owned() + &"x".repeat(90) + "\n";
    let failed = (0..).find_map(|_| decoder.push(line.as_bytes(), &mut events).err());
    let failed = failed.expect("no stream is endless");
    assert!(matches!(failed.kind, DecodeErrorKind::TooLong));
    assert_eq!((failed.frame, events), (2, vec![]));
    let long = "x".repeat(1_001);
    let failed = Decoder::new().most(1_000).message(&long).unwrap_err();
    assert!(matches!(failed.kind, DecodeErrorKind::TooLong));
}
