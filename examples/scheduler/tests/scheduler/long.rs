//! The longest message is read in a moment, whatever it says: it keeps nobody else waiting.
use std::{sync::mpsc, thread, time::Duration};

use fugato::axum::ServedAgent as _;
use fugato_testkit::share;
use scheduler::{
    agent::Timeline,
    calendar::{Lang, Sections},
    served::ServedScheduler,
    understand::{Facts, understand},
};

use crate::common::{deps, kept, service, week};

/// Each text takes a second or a few. One that is read anew from each clause on takes many minutes.
const LONGEST: Duration = Duration::from_secs(90);

#[tokio::test]
async fn the_longest_message_is_read_in_a_moment() {
    let (store, _folder) = kept("home", week()).await;
    let most = ServedScheduler::new(service(&deps(week())), store, "home").longest_message();
    let pieces = [
        "周五不行，",
        "周五、",
        "周五晚上7点，",
        "我想把线代作业移到周五，",
        "3月2日到",
        "“",
        "if Friday is busy, ",
        "not Friday but Thursday, ",
        "I can't on Friday, ",
        "remind me tomorrow to call, ",
        "what is on Friday? ",
        "Run 5 km ",
    ];
    for piece in pieces.into_iter().step_by(share().min(4)) {
        let text: String = piece.chars().cycle().take(most).collect();
        let (ended, end) = mpsc::channel();
        let reading = thread::spawn(move || {
            let (schedule, sections) = (week(), Sections::default());
            let facts = Facts {
                schedule: &schedule,
                previous: None,
                today: 1,
                now: None,
                sections: &sections,
                lang: Lang::En,
                notes: &[],
                reminders: &[],
                knows_notes: true,
                free_times: &[],
                previous_free_times: None,
                timeline: &Timeline::default(),
                existing_may_move: false,
                said: None,
                earlier: &[],
                on_card: &[],
            };
            understand(&text, &facts);
            ended.send(())
        });
        let ended = end.recv_timeout(LONGEST);
        assert!(ended.is_ok(), "{piece:?} does not end");
        assert!(reading.join().is_ok(), "{piece:?} panics");
    }
}
