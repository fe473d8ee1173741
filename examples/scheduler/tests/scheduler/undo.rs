//! Undo goes back step by step, and redo forth again; each way is a card. A correction takes the place
//! of a wish, also of its condition.
use fugato_testkit::{assert_contains, assert_lacks};
use scheduler::{agent::CardReply, calendar::Lang, llm_config::LlmConfig};

use crate::{
    common::{CHOIR, FIRST, GYM},
    evening::{Fixture, agreed, fixture_of, lying},
};

async fn home(lang: Lang) -> Fixture {
    let home = fixture_of(agreed(), lang, LlmConfig::default()).await;
    home.say("desk", lang.pick("help", "帮助")).await;
    home
}

impl Fixture {
    /// Says something, agrees to each card, and returns what was said and what the cards told.
    async fn agree(&self, text: &str) -> String {
        let known = self.told("desk").await.len();
        self.say("desk", text).await;
        let mut shown = vec![];
        while let Some(card) = self.card().await {
            shown.push(card);
            self.answer("desk", CardReply::approve()).await;
        }
        let told = self.told("desk").await;
        shown.insert(0, told.get(known..).unwrap_or_default().to_owned());
        shown.join("\n")
    }

    async fn card(&self) -> Option<String> {
        let shown = self.thread("desk").await;
        let card = shown["interrupts"].get(0)?;
        Some(card["prompt"].to_string())
    }
}

struct Words {
    moves: [&'static str; 3],
    undo: &'static str,
    undo_two: &'static str,
    undo_nine: &'static str,
    undo_all: &'static str,
    redo: &'static str,
    redo_all: &'static str,
    no_more: &'static str,
    no_redo: &'static str,
    too_many: &'static str,
}

const WORDS: [(Lang, Words); 2] = [
    (
        Lang::En,
        Words {
            moves: [
                "Move Gym to Friday",
                "Move Choir to Saturday",
                "I finished Chapter 1",
            ],
            undo: "undo",
            undo_two: "undo the last two",
            undo_nine: "undo the last nine changes",
            undo_all: "undo everything",
            redo: "redo",
            redo_all: "redo everything",
            no_more: "“Redo” makes again what was undone",
            no_redo: "no undone change that could be made again",
            too_many: "Only 2 changes can be undone",
        },
    ),
    (
        Lang::Zh,
        Words {
            moves: ["把Gym挪到周五", "把Choir挪到周六", "Chapter 1做完了"],
            undo: "撤销",
            undo_two: "撤销两次",
            undo_nine: "撤销最近九次修改",
            undo_all: "全部撤销",
            redo: "重做",
            redo_all: "全部重做",
            no_more: "请说“重做”",
            no_redo: "没有可以重做的改动",
            too_many: "只有 2 次改动可以撤销",
        },
    ),
];

#[tokio::test]
async fn undo_goes_back_step_by_step_and_redo_forth_until_something_else_changes() {
    for (lang, words) in WORDS {
        let home = home(lang).await;
        let mut states = vec![lying(&home.store).await];
        for text in words.moves {
            home.agree(text).await;
            states.push(lying(&home.store).await);
        }
        let [none, one, two, three] = states.as_slice() else {
            panic!("{states:?}");
        };
        let days = [GYM, CHOIR].map(|task| three.task(task).unwrap().slots[0].day);
        assert_eq!(
            (days, three.task(FIRST).unwrap().marks.done),
            ([5, 6], true)
        );
        for before in [two, one, none] {
            home.agree(words.undo).await;
            assert_eq!(lying(&home.store).await, *before);
        }
        assert_contains(&home.agree(words.undo).await, words.no_more);
        assert_eq!(lying(&home.store).await, *none);
        home.agree(words.redo).await;
        assert_eq!(lying(&home.store).await, *one);
        home.agree(words.redo_all).await;
        assert_eq!(lying(&home.store).await, *three);
        assert_contains(&home.agree(words.redo).await, words.no_redo);
        home.agree(words.undo_two).await;
        assert_eq!(lying(&home.store).await, *one);
        // Another change is where the way back begins, and what was undone is gone.
        home.agree(words.moves[1]).await;
        assert_contains(&home.agree(words.redo).await, words.no_redo);
        assert_contains(&home.agree(words.undo_nine).await, words.too_many);
        assert_eq!(lying(&home.store).await, *two);
        home.agree(words.undo_all).await;
        assert_eq!(lying(&home.store).await, *none);
    }
}

#[tokio::test]
async fn the_way_back_is_shown_before_it_is_gone_and_a_no_leaves_all_as_it_is() {
    let home = home(Lang::En).await;
    home.agree("Move Gym to Friday").await;
    home.agree("Move Choir to Saturday").await;
    let before = lying(&home.store).await;
    home.say("desk", "undo both").await;
    assert_contains(
        &home.told("desk").await,
        "This takes back the last 2 changes",
    );
    let card = home.card().await.unwrap();
    assert_contains(&card, ["Gym", "2054-09-16", "Choir", "2054-09-17"]);
    home.answer("desk", CardReply::reject(None)).await;
    assert_eq!(lying(&home.store).await, before);
    // It is still to be gone, one step at a time, too.
    home.say("desk", "undo").await;
    let card = home.card().await.unwrap();
    assert_contains(&card, ["Choir", "2054-09-17"]);
    assert_lacks(&card, "2054-09-16");
    home.answer("desk", CardReply::approve()).await;
    home.say("desk", "put it back").await;
    assert_contains(&home.card().await.unwrap(), ["Choir", "2054-09-19"]);
    home.answer("desk", CardReply::approve()).await;
    assert_eq!(lying(&home.store).await, before);
}

#[tokio::test]
async fn a_way_back_that_was_agreed_to_in_part_goes_on_with_the_rest() {
    let home = home(Lang::En).await;
    let first = lying(&home.store).await;
    home.agree("Move Gym to Friday").await;
    home.agree("I finished Chapter 1").await;
    home.say("desk", "undo both").await;
    home.answer("desk", CardReply::approve()).await;
    home.answer("desk", CardReply::reject(None)).await;
    assert_ne!(lying(&home.store).await, first);
    home.agree("undo").await;
    assert_eq!(lying(&home.store).await, first);
}

#[tokio::test]
async fn what_others_changed_meanwhile_is_never_undone() {
    let home = home(Lang::En).await;
    home.agree("Move Gym to Friday").await;
    home.agree("Move Choir to Saturday").await;
    home.say("other", "Move Chapter 2 to Sunday").await;
    home.answer("other", CardReply::approve()).await;
    let before = lying(&home.store).await;
    let none = "no change that could be undone";
    assert_contains(&home.agree("undo both").await, none);
    assert_eq!(lying(&home.store).await, before);
    // The same holds where it was changed under a card.
    home.agree("Move Gym to Saturday").await;
    home.say("desk", "Move Choir to Friday").await;
    home.say("other", "Move Choir to Sunday").await;
    home.answer("other", CardReply::approve()).await;
    let before = lying(&home.store).await;
    home.answer("desk", CardReply::approve()).await;
    assert_contains(&home.agree("undo").await, none);
    assert_eq!(lying(&home.store).await, before);
}

#[tokio::test]
async fn a_corrected_condition_is_about_the_corrected_day_and_is_corrected_again() {
    for (lang, [wish, friday, saturday]) in [
        (
            Lang::En,
            [
                "If Thursday is free, move Gym to Thursday",
                "no, Friday",
                "no, Saturday",
            ],
        ),
        (
            Lang::Zh,
            ["如果周四有空，把Gym挪到周四", "不，周五", "不，周六"],
        ),
    ] {
        let home = home(lang).await;
        home.say("desk", wish).await;
        assert_eq!(home.card().await, None, "something lies there");
        home.say("desk", friday).await;
        assert_contains(&home.card().await.unwrap(), "2054-09-18");
        home.say("desk", saturday).await;
        assert_contains(&home.card().await.unwrap(), "2054-09-19");
    }
}
