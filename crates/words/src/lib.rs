#![doc = include_str!("../README.md")]

mod amount;
mod answer;
mod clause;
mod clock;
mod day;
mod due;
mod exact;
mod figures;
mod lang;
mod name;
mod number;
mod request;
mod subject;
mod text;
mod time_reference;

pub use amount::{decimal, money, money_in};
pub use answer::{MessageMeaning, PendingWork, Phrases, ShortAnswer};
pub use clause::clauses;
pub use clock::Time;
pub use day::{DateDirection, DatedText, days};
pub use due::{DueTime, when};
pub use exact::{Amount, NoAmount};
pub use figures::{Figures, Limit, figures};
pub use lang::{Lang, UnknownLang};
pub use name::{WEEK_SIGNS, month, near_day, weekday, weekday_sign};
pub use number::{digit, number};
pub use request::{asks, denies, mentioned, named, number_after};
pub use subject::{keywords, path, period};
pub use text::{
    after_phrase, after_word, before_word, has_one, has_word, is_chinese, strip_phrase, tidy,
};
pub use time_reference::{Recurrence, TimeReference, said};
