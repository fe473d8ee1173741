#![doc = include_str!("../README.md")]

mod amount;
mod clock;
mod day;
mod name;
mod number;
mod said;
mod text;

pub use amount::{decimal, money, money_in};
pub use clock::Time;
pub use day::{Dated, Toward, days};
pub use name::{WEEK_SIGNS, month, near_day, weekday, weekday_sign};
pub use number::{digit, number};
pub use said::{Repeat, Said, said};
pub use text::{has_word, is_chinese};
