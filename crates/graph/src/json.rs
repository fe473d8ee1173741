//! JSON, byte for byte as `serde_json` writes it, with less work for texts: its serialiser looks up
//! each byte of a text in a table of what is escaped, and most of what is stored is text.
use serde::{
    Serialize,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant, Serializer,
    },
};
use serde_json::{Error, Value};

type Result<T = ()> = std::result::Result<T, Error>;

/// Appends a value to a buffer.
pub(crate) fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Result {
    value.serialize(Writer(out))
}

/// The number of bytes of a text that are looked at together.
const PIECE: usize = 32;

fn write_text(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    if is_plain(bytes) {
        out.extend_from_slice(bytes);
    } else {
        for piece in bytes.chunks(PIECE) {
            if is_plain(piece) {
                out.extend_from_slice(piece);
            } else {
                for byte in piece {
                    write_byte(out, *byte);
                }
            }
        }
    }
    out.push(b'"');
}

/// Returns true if no byte is escaped.
fn is_plain(bytes: &[u8]) -> bool {
    let plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    // Without a way out between its bytes, looking at a piece takes a few instructions.
    let all = |piece: &[u8]| piece.iter().fold(true, |all, byte| all & plain(*byte));
    let (pieces, rest) = bytes.as_chunks::<PIECE>();
    pieces.iter().all(|piece| all(piece)) && all(rest)
}

fn write_byte(out: &mut Vec<u8>, byte: u8) {
    match byte {
        b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
        b'\n' => out.extend_from_slice(br"\n"),
        b'\r' => out.extend_from_slice(br"\r"),
        b'\t' => out.extend_from_slice(br"\t"),
        0x08 => out.extend_from_slice(br"\b"),
        0x0c => out.extend_from_slice(br"\f"),
        ..b' ' => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        _ => out.push(byte),
    }
}

/// The serialiser of one value.
struct Writer<'a>(&'a mut Vec<u8>);

/// The serialiser of the parts of a value.
struct Parts<'a> {
    out: &'a mut Vec<u8>,
    is_first: bool,
    end: &'static str,
    /// True for JSON text that is written as it is, of which `serde_json` makes a struct.
    is_raw: bool,
}

/// The beginning of the names of the structs that `serde_json` makes of JSON text and of numbers.
const RAW: &str = "$serde_json::private::";

impl<'a> Writer<'a> {
    fn parts(self, begin: &str, end: &'static str) -> Parts<'a> {
        self.0.extend_from_slice(begin.as_bytes());
        Parts {
            out: self.0,
            is_first: true,
            end,
            is_raw: false,
        }
    }

    /// Begins an object with one field, which is the name of a variant.
    fn variant(self, name: &str) -> Self {
        self.0.push(b'{');
        write_text(self.0, name);
        self.0.push(b':');
        self
    }
}

impl Parts<'_> {
    fn next(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Result {
        self.next();
        write(self.out, value)
    }

    fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result {
        if self.is_raw {
            if let Value::String(text) = serde_json::to_value(value)? {
                self.out.extend_from_slice(text.as_bytes());
            }
            return Ok(());
        }
        self.next();
        write_text(self.out, name);
        self.out.push(b':');
        write(self.out, value)
    }

    fn finish(self) {
        self.out.extend_from_slice(self.end.as_bytes());
    }
}

/// A map of one key, which `serde_json` makes a text.
struct Key<'a, T: ?Sized>(&'a T);

impl<T: Serialize + ?Sized> Serialize for Key<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, ())])
    }
}

macro_rules! as_serde_json {
    ($($name:ident: $type:ty),+) => {
        $(fn $name(self, value: $type) -> Result {
            serde_json::Serializer::new(self.0).$name(value)
        })+
    };
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    as_serde_json! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_i128: i128, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_u64: u64, serialize_u128: u128, serialize_f32: f32,
        serialize_f64: f64, serialize_char: char, serialize_bytes: &[u8]
    }

    fn serialize_str(self, text: &str) -> Result {
        write_text(self.0, text);
        Ok(())
    }

    fn serialize_none(self) -> Result {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result {
        self.0.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T>(self, _: &'static str, value: &T) -> Result
    where
        T: Serialize + ?Sized,
    {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result
    where
        T: Serialize + ?Sized,
    {
        let Writer(out) = self.variant(variant);
        write(out, value)?;
        out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'a>> {
        Ok(self.parts("[", "]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'a>> {
        Ok(self.parts("[", "]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'a>> {
        Ok(self.parts("[", "]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>> {
        Ok(self.variant(variant).parts("[", "]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'a>> {
        Ok(self.parts("{", "}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Parts<'a>> {
        if name.starts_with(RAW) {
            let is_raw = true;
            return Ok(Parts {
                is_raw,
                ..self.parts("", "")
            });
        }
        Ok(self.parts("{", "}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>> {
        Ok(self.variant(variant).parts("{", "}}"))
    }
}

impl SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result {
        let begin = self.out.len();
        serde_json::to_writer(&mut *self.out, &Key(key))?;
        // Of `{"key":null}` the key is kept, after what separates it from the entry before.
        self.out.truncate(self.out.len() - ":null}".len());
        if std::mem::take(&mut self.is_first) {
            self.out.remove(begin);
        } else if let Some(separator) = self.out.get_mut(begin) {
            *separator = b',';
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        self.out.push(b':');
        write(self.out, value)
    }

    fn end(self) -> Result {
        self.finish();
        Ok(())
    }
}

macro_rules! parts {
    ($($part:ident: $method:ident => $write:ident($($name:ident)?);)+) => {
        $(impl $part for Parts<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($name: &'static str,)?
                value: &T,
            ) -> Result {
                self.$write($($name,)? value)
            }

            fn end(self) -> Result {
                self.finish();
        Ok(())
            }
        })+
    };
}

parts! {
    SerializeSeq: serialize_element => item();
    SerializeTuple: serialize_element => item();
    SerializeTupleStruct: serialize_field => item();
    SerializeTupleVariant: serialize_field => item();
    SerializeStruct: serialize_field => field(name);
    SerializeStructVariant: serialize_field => field(name);
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use proptest::prelude::*;
    use serde_json::{json, value::RawValue};

    use super::*;

    fn same(value: &(impl Serialize + ?Sized)) {
        let mut written = b"before ".to_vec();
        write(&mut written, value).unwrap();
        let wanted = format!("before {}", serde_json::to_string(value).unwrap());
        assert_eq!(String::from_utf8(written).unwrap(), wanted);
    }

    #[derive(Serialize)]
    struct Unit;
    #[derive(Serialize)]
    struct Newtype(Option<i128>);
    #[derive(Serialize)]
    struct Pair(u128, char);
    #[derive(Serialize)]
    struct Empty {}

    #[derive(Serialize)]
    enum Kind<'a> {
        Plain,
        #[serde(rename = "a \"name\"\n")]
        One(&'a str),
        Two(f32, f64),
        Named {
            #[serde(rename = "x\ty")]
            text: &'a str,
            raw: &'a RawValue,
        },
        Nothing {},
    }

    #[derive(Serialize)]
    #[serde(tag = "type", content = "of")]
    enum Tagged {
        A(Vec<u8>),
        B,
    }

    #[derive(Serialize)]
    struct Flat<'a> {
        first: bool,
        #[serde(flatten)]
        rest: BTreeMap<&'a str, Vec<Kind<'a>>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        gone: Option<u8>,
        kept: Option<u8>,
    }

    #[test]
    fn every_shape_is_written_as_serde_json_writes_it() {
        let raw: Box<RawValue> = serde_json::from_str(r#" { "as": [1.50, "\u0041"] } "#).unwrap();
        let kinds = || {
            let (text, raw) = ("\u{7f}é", &*raw);
            vec![
                Kind::Plain,
                Kind::One("x"),
                Kind::Two(0.1, -1e300),
                Kind::Named { text, raw },
                Kind::Nothing {},
            ]
        };
        same(&kinds());
        same(&(Unit, Newtype(None), Newtype(Some(i128::MIN)), Empty {}));
        same(&Pair(u128::MAX, '"'));
        same(&[f64::NAN, f64::INFINITY, 0.0, -0.0, 1e21, 5e-324]);
        same(&f32::MIN_POSITIVE);
        same(&(i8::MIN, i16::MIN, i32::MIN, i64::MIN, u64::MAX));
        same(&[Tagged::A(vec![0, 255]), Tagged::B]);
        same(&Flat {
            first: true,
            rest: [("one", kinds()), ("two \"\u{1}", vec![])].into(),
            gone: None,
            kept: None,
        });
        same(&BTreeMap::from([(1, "by a number"), (-2, "")]));
        same(&BTreeMap::from([(false, 'a'), (true, '\u{10ffff}')]));
        same(&HashMap::<String, u8>::new());
        same(&json!({ "b": [null, {}, [], { "a": 1.0, "c": "\\" }], "": -3 }));
        same(&std::net::Ipv4Addr::LOCALHOST);
        same(&std::time::Duration::from_millis(1500));
    }

    #[test]
    fn what_serde_json_refuses_is_refused() {
        let by_list = BTreeMap::from([(vec![1], 1)]);
        let refused = serde_json::to_string(&by_list).unwrap_err();
        let error = write(&mut vec![], &by_list).unwrap_err();
        assert_eq!(error.to_string(), refused.to_string());
    }

    /// Every character that is escaped, at every place of a piece, and those beside it.
    #[test]
    fn every_byte_of_a_text_is_escaped_as_serde_json_does_it() {
        for special in (0..=0x2ff).filter_map(char::from_u32) {
            for before in 0..2 * PIECE {
                let text = format!("{}{special}{}", "a".repeat(before), "z".repeat(PIECE));
                same(&*text);
            }
        }
    }

    proptest! {
        #[test]
        fn texts_are_written_as_serde_json_writes_them(texts: Vec<String>, odd in "[\\x00-\\x7f]*") {
            same(&texts);
            same(&*odd);
        }
    }
}
