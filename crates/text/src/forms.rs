#![doc = include_str!("forms/README.md")]

mod draft;
mod field;
mod form;
mod pattern;
mod reader;
mod rules;
mod value;

pub use draft::FormsError;
pub use field::{Choice, Field, FieldError, FieldKind};
pub use form::{Fields, Form, Forms};
pub use pattern::Pattern;
pub use reader::FormReader;
pub use rules::{PlaceName, Places, TextRules};
pub use value::{amount_text, amount_value, cents, day, strings, text};
