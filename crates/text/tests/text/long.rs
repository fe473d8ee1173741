//! Tests that a long text neither blocks nor breaks a reader, because a server reads any input.
use std::{sync::mpsc, thread, time::Duration};

use fugato_testkit::share;
use fugato_text::{
    DateDirection, Lexicon, Limit, NameIndex, OrderTerms, ShortAnswer, TimeReference, Tokenizer,
    dates, day_mentions, is_negated, is_question, is_wanted, keywords, mentioned, money_in, named,
    number_after, path,
};
use jiff::civil::date;

/// Each reader takes about a second. A reader with quadratic time would take minutes.
const LONGEST: Duration = Duration::from_secs(60);

type Reader = fn(&str);

/// Runs a reader on a thread of its own, with no larger stack than those of a server.
fn read(name: &str, text: String, reader: Reader) {
    let (ended, end) = mpsc::channel();

    let reading = thread::spawn(move || {
        reader(&text);
        ended.send(())
    });
    let ended = end.recv_timeout(LONGEST);
    assert!(ended.is_ok(), "{name} does not end");

    assert!(reading.join().is_ok(), "{name} panics");
}

#[test]
fn no_text_keeps_a_reader_for_long() {
    let readers: [(&str, usize, Reader); 15] = [
        ("time", 20, |text| drop(TimeReference::of(text))),
        ("money_in", 20, |text| {
            let _ = money_in(text, &["预算", "budget", "about"]);
        }),
        ("keywords", 50, |text| drop(keywords(text))),
        ("order", 20, |text| {
            let _ = OrderTerms::of(text, Limit::Least);
        }),
        ("number_after", 20, |text| {
            let _ = number_after(text, &["order", "#"]);
        }),
        ("mentioned", 20, |text| {
            let _ = mentioned(text, ["sell", "order"]);
        }),
        ("negated", 20, |text| {
            let _ = is_negated(text, &["sell", "卖"]);
        }),
        ("wanted", 20, |text| {
            let _ = is_wanted(text, &["sell", "卖"]);
        }),
        ("tokens", 2, |text| {
            let lexicon = Lexicon::new([("sell", 1), ("个", 2)]);
            let names = NameIndex::new([(1, "sell w1"), (2, "好一的好")]);
            drop(Tokenizer::new(&lexicon, &names).tokens(text));
        }),
        ("question", 20, |text| {
            let _ = is_question(text);
        }),
        ("named", 20, |text| drop(named(text))),
        ("path", 20, |text| drop(path(text))),
        ("short answer", 20, |text| {
            let _ = ShortAnswer::of(text);
        }),
        ("day mentions", 2, |text| drop(day_mentions(text))),
        // It tries many patterns at every letter.
        ("dates", 5, |text| {
            drop(dates(text, date(2026, 11, 22), DateDirection::Ahead));
        }),
    ];
    let pieces = [
        "1",
        "1 ",
        "1小时",
        "$1 ",
        "好一的",
        "sell ",
        "“",
        " ",
        "3月2日到",
        "1万",
        "壹",
        "one ",
        "in ",
        ".",
        "个",
    ];
    let counted = |tens: usize| {
        let words: Vec<_> = (0..tens * 1000).map(|n| format!("w{n}")).collect();
        words.join(" ")
    };
    // A share of the texts of each reader, and an eighth at least; together the readers get all.
    let step = share().min(8);
    let try_on = |(place, &(name, tens, reader)): (usize, &(&str, usize, Reader))| {
        let texts = pieces.iter().map(Some).chain([None]).skip(place % step);
        for piece in texts.step_by(step) {
            let text = match piece {
                Some(piece) => piece.repeat(tens * 10_000 / piece.len()),
                None => counted(tens),
            };
            let piece = piece.unwrap_or(&"other words");
            read(&format!("{name} of {piece:?}"), text, reader);
        }
    };
    let half = |first| readers.iter().enumerate().skip(first).step_by(2);
    // Two at once.
    thread::scope(|scope| {
        scope.spawn(|| half(0).for_each(try_on));
        half(1).for_each(try_on);
    });
}

#[test]
fn a_row_of_answers_that_ends_otherwise_is_read_once() {
    // 不是 is one no, and a no and a yes.
    for end in ["天", "好", "不"] {
        let text = "不是".repeat(5_000) + end;
        let reader = |text: &str| assert_eq!(ShortAnswer::of(text).is_some(), text.ends_with('不'));
        read(&format!("不是不是…{end}"), text, reader);
    }
}
