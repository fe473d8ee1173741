//! Two servers on one folder: what one of them asked about is changed by the other meanwhile.
use fugato_testkit::{Server, assert_contains};
use scheduler::agent::CardReply;
use serde_json::{Value, json};

use super::{
    evening::{ask, lying, until},
    work::Work,
};
use crate::{common::GYM, evening::agreed};

/// A conversation at a server.
struct ServedThread<'a> {
    server: &'a Server,
    thread: &'static str,
}

impl ServedThread<'_> {
    /// Returns the thread once it ended or asks.
    async fn rest(&self) -> Value {
        let path = format!("/threads/{}", self.thread);
        until(async || {
            let (_, shown) = ask(self.server, ("GET", &path), &Value::Null).await;
            ["idle", "waiting"]
                .contains(&shown["status"].as_str()?)
                .then_some(shown)
        })
        .await
    }

    async fn post(&self, what: &str, body: &Value) -> Value {
        let path = format!("/threads/{}/{what}", self.thread);
        let (status, told) = ask(self.server, ("POST", &path), body).await;
        assert_eq!(status, 202, "{told}");
        self.rest().await
    }

    async fn say(&self, text: &str, lang: &str) -> Value {
        let said = json!({ "text": text, "extra": { "lang": lang } });
        self.post("runs", &said).await
    }

    /// Agrees to the card that is shown.
    async fn agree(&self, shown: &Value) -> Value {
        let card = shown["interrupts"][0]["id"].as_str().unwrap();
        let answers = json!({ "answers": { card: CardReply::approve() } });
        self.post("resume", &answers).await
    }
}

/// Returns the last text that the agent said.
fn told(shown: &Value) -> String {
    let items = shown["timeline"].as_array().unwrap().iter();
    let mut texts = items.filter(|item| item["kind"] == "assistant_text");
    let last = texts.next_back().unwrap();
    last["text"].as_str().unwrap().to_owned()
}

struct Words {
    lang: &'static str,
    /// Each is what a card is about, what is done meanwhile, and what is told then.
    cases: [[&'static str; 3]; 3],
    meanwhile: &'static str,
}

const WORDS: [Words; 2] = [
    Words {
        lang: "en",
        cases: [
            ["Move Gym to Friday", "Move Gym to Saturday", "“Gym” is on"],
            [
                "Move Choir to Friday 08:00",
                "Move Chapter 2 to Friday 08:00",
                "the place for “Choir” is taken by “Chapter 2”",
            ],
            [
                "I finished Chapter 1",
                "Move Chapter 1 to Tuesday 08:00",
                "“Chapter 1” is on",
            ],
        ],
        meanwhile: "changed meanwhile",
    },
    Words {
        lang: "zh",
        cases: [
            ["把Gym挪到周五", "把Gym挪到周六", "“Gym”现在在"],
            [
                "把Choir挪到周五早上8点",
                "把Chapter 2挪到周五早上8点",
                "“Choir”的位置已被“Chapter 2”占用",
            ],
            [
                "Chapter 1做完了",
                "把Chapter 1挪到周二早上8点",
                "“Chapter 1”现在在",
            ],
        ],
        meanwhile: "在此期间有变动",
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn what_another_server_changed_under_a_card_is_told_and_asked_about_anew() {
    for words in WORDS {
        let work = Work::new();
        work.begin_with("home", agreed()).await;
        let args = ["serve", "--listen", "127.0.0.1:0"];
        let (one, other) = (work.server(&args), work.server(&args));
        let mine = ServedThread {
            server: &one,
            thread: "mine",
        };
        let theirs = ServedThread {
            server: &other,
            thread: "theirs",
        };
        for [wish, meanwhile, news] in words.cases {
            let asked = mine.say(wish, words.lang).await;
            let mut shown = theirs.say(meanwhile, words.lang).await;
            while shown["status"] == "waiting" {
                shown = theirs.agree(&shown).await;
            }
            let before = lying(&work).await;
            let shown = mine.agree(&asked).await;
            assert_contains(&told(&shown), [words.meanwhile, news]);
            assert_eq!(shown["interrupts"], json!([]), "nothing waits");
            assert_eq!(lying(&work).await, before, "{wish}");
        }
        // Said again, it is asked about as the calendar is now.
        let [wish, _, _] = words.cases[0];
        let asked = mine.say(wish, words.lang).await;
        let card = asked["interrupts"][0]["prompt"]["summary"].as_str();
        assert_contains(card.unwrap(), ["2054-09-18", "2054-09-19"]);
        mine.agree(&asked).await;
        let gym = lying(&work).await.task(GYM).unwrap().slots[0];
        assert_eq!(gym.day, 5);
    }
}
