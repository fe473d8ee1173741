//! Tests that a long message blocks no server: without a model the rules read all of it.
use std::{sync::mpsc, thread, time::Duration};

use fugato_testkit::{Scripted, share};
use steward::state::{RequestKind, Runtime};
use tokio::runtime::Builder;

use crate::common::{StewardFixture, asked};

/// Each message takes a second or two. A reader with quadratic time would take minutes.
const LONGEST: Duration = Duration::from_mins(1);
/// The number of characters of a message.
const LENGTH: usize = 1_200;

#[test]
fn a_long_message_is_read_in_about_linear_time() {
    let pieces = [
        "打车45元，",
        "打车45元",
        "taxi 45 euros and ",
        "a trip to Paris, taxi 45 euros, ",
        "45元，不对，54元，",
        "周五，不对，周六，",
        "11月20日，",
        "好的，",
        "yes, no, ",
        "张三、",
        "with John Smith and ",
        "去上海开会",
        "和打车",
        "如果不要，",
    ];
    for piece in pieces.into_iter().step_by(share().min(4)) {
        let text = piece.repeat(LENGTH / piece.chars().count());
        let (ended, end) = mpsc::channel();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let stage = StewardFixture::with(None::<Scripted>, Runtime::Graph).await;
                let request = asked(RequestKind::Chat, &text).trace("w1");
                ended.send(stage.ask(request).await.is_ok()).unwrap();
            });
        });
        assert_eq!(end.recv_timeout(LONGEST), Ok(true), "{piece}");
    }
}
