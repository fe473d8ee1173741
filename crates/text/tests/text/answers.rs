//! Tests of short answers: whole utterances, in both languages, and open questions come first.
use fugato_text::{MessageMeaning, PendingWork, Phrases, ShortAnswer};
use proptest::prelude::*;

#[test]
fn pln_w7_short_answers_need_no_model() {
    for (answer, said) in [
        (ShortAnswer::Yes, ["是", "好", "好的", "yes", "ok"]),
        (ShortAnswer::No, ["不", "不要", "否", "no", "don't"]),
        (
            ShortAnswer::Continue,
            ["继续", "请继续", "continue", "go on", "proceed"],
        ),
        (
            ShortAnswer::Cancel,
            ["取消", "算了", "cancel", "never mind", "stop"],
        ),
        (
            ShortAnswer::Retry,
            ["再试", "再试一次", "try again", "retry", "again"],
        ),
        (
            ShortAnswer::StartOver,
            ["重新开始", "重来", "start over", "restart", "reset"],
        ),
    ] {
        for said in said {
            assert_eq!(ShortAnswer::of(said), Some(answer), "{said}");
        }
    }
}

#[test]
fn pln_w7_punctuation_case_width_and_spaces_do_not_matter() {
    for said in [
        "Yes!",
        " ＹＥＳ。",
        "ｙｅｓ",
        "\"yes\"",
        "yes …",
        "好　的～",
        "好的，好的",
        "Yes yes",
        "OK 👍",
    ] {
        assert_eq!(ShortAnswer::of(said), Some(ShortAnswer::Yes), "{said}");
    }
    assert_eq!(ShortAnswer::of("Don’t."), Some(ShortAnswer::No));
    assert_eq!(
        ShortAnswer::of("start\n  OVER"),
        Some(ShortAnswer::StartOver)
    );
}

#[test]
fn a_no_that_is_denied_is_none() {
    for (said, meaning) in [
        ("不是不行", None),
        ("不是不可以", None),
        ("不是不是", Some(ShortAnswer::No)),
        ("不是，不行", Some(ShortAnswer::No)),
        ("不不", Some(ShortAnswer::No)),
    ] {
        assert_eq!(ShortAnswer::of(said), meaning, "{said}");
    }
}

#[test]
fn pln_w7_thanks_beside_a_yes_or_a_no_mean_nothing() {
    for (said, answer) in [
        ("yes, thanks", Some(ShortAnswer::Yes)),
        ("Thanks, yes!", Some(ShortAnswer::Yes)),
        ("好的谢谢", Some(ShortAnswer::Yes)),
        ("不用了，谢谢您", Some(ShortAnswer::No)),
        ("thanks", None),
        ("谢谢", None),
        ("yes thanks to Ann", None),
        ("yes, thanks, no", None),
    ] {
        assert_eq!(ShortAnswer::of(said), answer, "{said}");
    }
}

#[test]
fn pln_w10_only_the_whole_utterance_counts() {
    for said in [
        "",
        "?!",
        "yes?",
        "好的？",
        "嗯",
        "yes, but not on Friday",
        "好了",
        "好的，但是周五不行",
        "continue with algebra",
        "继续安排物理",
        "no idea",
        "not yes",
        "cancel the lesson on Friday",
        "取消周五的课",
        "yesterday",
        "nono",
        "o k",
        "please try again tomorrow",
    ] {
        assert_eq!(ShortAnswer::of(said), None, "{said}");
    }
}

#[test]
fn words_of_an_agent_are_added_to_those_that_are_known() {
    let phrases = Phrases::default().with(ShortAnswer::Yes, ["Aye, aye!", "…"]);
    assert_eq!(phrases.read("aye aye"), Some(ShortAnswer::Yes));
    assert_eq!(phrases.read("…"), None);
    assert_eq!(phrases.read("no"), Some(ShortAnswer::No));
}

fn meaning(said: &str, awaiting: PendingWork) -> MessageMeaning {
    let is_new = |said: &str| said.contains("trader");
    Phrases::default().meaning(said, awaiting, is_new)
}

#[test]
fn pln_20_a_message_continues_cancels_or_interrupts_what_waits() {
    let waits = |said| meaning(said, PendingWork::Answer);
    assert_eq!(
        waits("好"),
        MessageMeaning::Continue(Some(ShortAnswer::Yes))
    );
    assert_eq!(waits("before noon"), MessageMeaning::Continue(None));
    assert_eq!(waits("取消"), MessageMeaning::Cancel);
    assert_eq!(waits("which trader do I have?"), MessageMeaning::Interrupt);
}

/// A phrase for another attempt also answers an open question, so it discards nothing.
#[test]
fn pln_c1_an_answer_wins_over_another_try() {
    let (waits, over) = (PendingWork::Answer, PendingWork::Nothing);
    for said in ["continue", "继续"] {
        assert_eq!(
            meaning(said, waits),
            MessageMeaning::Continue(Some(ShortAnswer::Continue))
        );
        assert_eq!(meaning(said, over), MessageMeaning::Retry);
    }
    assert_eq!(
        meaning("再试一次", waits),
        MessageMeaning::Continue(Some(ShortAnswer::Retry))
    );
    assert_eq!(meaning("start over", waits), MessageMeaning::StartOver);
    assert_eq!(meaning("start over", over), MessageMeaning::StartOver);
}

#[test]
fn pln_22_another_try_is_asked_for_by_a_whole_utterance() {
    for said in ["再试", "再试一次", "继续", "try again", "retry", "continue"] {
        assert_eq!(
            meaning(said, PendingWork::Nothing),
            MessageMeaning::Retry,
            "{said}"
        );
    }
    for said in ["try again with the other trader", "yes", "好了", "取消"] {
        assert_eq!(
            meaning(said, PendingWork::Nothing),
            MessageMeaning::Request,
            "{said}"
        );
    }
}

/// An open question comes first: a detector of new requests never takes a short answer away.
#[test]
fn pln_c3_a_detector_of_new_requests_comes_after_the_answer() {
    let greedy = |_: &str| true;
    let phrases = Phrases::default();
    assert_eq!(
        phrases.meaning("yes", PendingWork::Answer, greedy),
        MessageMeaning::Continue(Some(ShortAnswer::Yes))
    );
    assert_eq!(
        phrases.meaning("balance?", PendingWork::Answer, greedy),
        MessageMeaning::Interrupt
    );
    assert_eq!(
        phrases.meaning("balance?", PendingWork::Nothing, greedy),
        MessageMeaning::Request
    );
}

fn decorated() -> impl Strategy<Value = (String, ShortAnswer)> {
    let all: Vec<(String, ShortAnswer)> = Phrases::default()
        .iter()
        .map(|(phrase, answer)| (phrase.to_owned(), answer))
        .collect();
    let wide = |c: char| match c {
        '!'..='~' => char::from_u32(u32::from(c) + 0xfee0).unwrap_or(c),
        c => c,
    };
    let edge = "[ \u{3000}.!。！~～…\"“”]{0,4}";
    (
        prop::sample::select(all),
        any::<bool>(),
        any::<bool>(),
        edge,
        edge,
    )
        .prop_map(move |((phrase, answer), upper, full, before, after)| {
            let phrase = if upper { phrase.to_uppercase() } else { phrase };
            let phrase: String = if full {
                phrase.chars().map(wide).collect()
            } else {
                phrase
            };
            (format!("{before}{phrase}{after}"), answer)
        })
}

proptest! {
    #[test]
    fn pln_w7_a_phrase_is_known_however_it_is_written((said, answer) in decorated()) {
        prop_assert_eq!(ShortAnswer::of(&said), Some(answer));
    }

    #[test]
    fn pln_w10_a_phrase_within_more_words_is_none((said, _) in decorated(), more in "[a-z]{3,8}zq") {
        let longer = format!("{said} {more}");
        prop_assert_eq!(ShortAnswer::of(&longer), None);
        let longer = format!("{more} {said}");
        prop_assert_eq!(ShortAnswer::of(&longer), None);
    }

    #[test]
    fn pln_w10_no_text_upsets_it(said in ".{0,40}") {
        ShortAnswer::of(&said);
    }
}
