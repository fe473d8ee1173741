#![doc = include_str!("../README.md")]

mod amount;
mod answer;
mod calendar;
mod clause;
mod correction;
mod courtesy;
mod date;
mod day_reference;
mod forget;
#[cfg(feature = "forms")]
pub mod forms;
mod intent;
mod keyword;
mod lexicon;
mod money;
mod name_index;
mod normal;
mod number;
mod numeral;
mod order;
mod restriction;
mod schedule;
mod spelling;
mod time;
mod time_reference;
mod token;
mod wishes;
mod word;

pub use amount::{Amount, AmountError};
pub use answer::{MessageMeaning, PendingWork, Phrases, ShortAnswer, decided, without_code};
pub use fugato_state::{Lang, UnknownLang};

pub use calendar::{WEEK_SIGNS, month, near_day, weekday, weekday_sign};
pub use clause::clauses;
pub use correction::corrected;
pub use courtesy::{Courtesy, courtesy};
pub use date::{DateDirection, DatedText, dates};
pub use day_reference::{DayMention, DayReference, day_mentions, day_reference};
pub use forget::{forget_limit, forget_refusal, notes_meant, to_forget};
pub use intent::{
    denied, is_left_out, is_negated, is_question, is_wanted, mentioned, named, number_after,
};
pub use keyword::{keywords, path, period};
pub use lexicon::Lexicon;
pub use money::{amounts, currency, decimal, money, money_in, priced_in};
pub use name_index::{NameIndex, NameMatch};
pub use normal::normalize;
pub use number::{digit, number};
pub use numeral::numerals;
pub use order::{Limit, OrderTerms};
pub use restriction::{Restriction, RestrictionKind, condition, restriction};
pub use schedule::{CronExpression, ScheduleError, in_clock_times, untimed};
pub use spelling::{edit_distance, respell, stem};
pub use time::{ClockTime, Time, clock_time};
pub use time_reference::{Recurrence, TimeReference};
pub use token::{Token, TokenKind, Tokenizer};
pub use wishes::wishes;
pub use word::{
    after_phrase, after_word, before_word, has_any_word, has_word, is_chinese,
    normalize_whitespace, strip_phrase, without_controls,
};
