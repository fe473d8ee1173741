//! Whatever a model says, cut wherever: an object that grows is read like a whole one, and what was
//! read is read again as it is.
#![no_main]

use std::collections::BTreeMap;

use fugato_llm::{ObjectPiece, ObjectReader, extract};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: (&str, u8)| {
    let (text, step) = input;
    let whole = extract(text);
    let (mut reader, mut fields) = (ObjectReader::default(), BTreeMap::new());
    let mut rest = text;
    while !rest.is_empty() {
        let mut at = usize::from(step % 16 + 1).min(rest.len());
        while !rest.is_char_boundary(at) {
            at += 1;
        }
        let (piece, behind) = rest.split_at(at);
        rest = behind;
        for seen in reader.push(piece) {
            match seen {
                ObjectPiece::Field { name, value } => {
                    assert!(fields.insert(name, value).is_none());
                }
                ObjectPiece::Void => fields.clear(),
                _ => {}
            }
        }
    }
    assert_eq!(reader.finish(), whole);
    let Ok(found) = whole else { return };
    for (name, value) in &fields {
        assert_eq!(found.object.get(&**name), Some(value));
    }
    let json = Value::Object(found.object.clone()).to_string();
    let again = extract(&json).expect("what was read is JSON");
    assert_eq!(again.object, found.object);
    assert!(again.repairs.is_empty(), "{:?}", again.repairs);
});
