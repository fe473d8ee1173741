//! Notifications of jobs, on their way to the conversation in which the job was made.
use std::{sync::OnceLock, time::Duration};

use fugato::{
    Runner, ThreadId,
    cli::announce,
    graph::RunErrorKind,
    state::{Lang, Millis},
};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
};

use crate::agent::{AgentState, Request, Update};

/// The pause before another attempt, while the conversation is busy or waits for an answer.
const PAUSE: Duration = Duration::from_secs(2);
/// The number of attempts: an hour of them. What was not told stands in the thread of the job.
const TRIES: u32 = 1800;

/// A notification of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reminder {
    /// The id of the job.
    pub job: String,
    /// The thread in which the job ran, beside its conversation.
    pub place: String,
    /// The time of the job's turn, in milliseconds since the Unix epoch.
    pub at: Millis,
    /// The words of the notification.
    pub text: String,
}

/// The way from jobs to their conversations. Cheap to clone; nothing is told until somebody
/// [delivers](Self::deliver).
#[derive(Debug, Clone, Default)]
pub struct Reminders(std::sync::Arc<OnceLock<UnboundedSender<Reminder>>>);

impl Reminders {
    /// Puts a notification on its way.
    pub(crate) fn tell(&self, reminder: Reminder) {
        if let Some(way) = self.0.get() {
            // Whoever delivers ends with the process.
            let _ = way.send(reminder);
        }
    }

    /// Delivers notifications until the runner is closed: as a turn of its own to the
    /// conversation, where an open page shows it, and if the person is `at_terminal`, to that of this
    /// process.
    pub async fn deliver(&self, runner: &Runner<AgentState>, at_terminal: bool) {
        let (way, mut due): (_, UnboundedReceiver<Reminder>) = unbounded_channel();
        if self.0.set(way).is_err() {
            return;
        }
        let mut telling = JoinSet::new();
        loop {
            let reminder = tokio::select! {
                Some(reminder) = due.recv() => reminder,
                Some(_) = telling.join_next() => continue,
                () = runner.closed() => return,
            };
            let runner = runner.clone();
            telling.spawn(async move {
                if at_terminal {
                    announce(&shown(&reminder.text));
                }
                told(&runner, &reminder).await;
            });
        }
    }
}

/// Returns the words with a mark by which they are known as a reminder.
fn shown(text: &str) -> String {
    let mark = Lang::of(text).pick("Reminder: ", "提醒：");
    format!("{mark}{text}")
}

/// Tells a notification in its conversation, once: also after it was tried before.
async fn told(runner: &Runner<AgentState>, reminder: &Reminder) {
    let conversation = reminder.place.strip_suffix(&format!(".{}", reminder.job));
    let Some(Ok(thread)) = conversation.map(ThreadId::new) else {
        return;
    };
    let key = format!("{}@{}", reminder.job, reminder.at);
    for _ in 0..TRIES {
        let request = Request::told_by(&reminder.job, shown(&reminder.text));
        let input = vec![Update::Asked(request)];
        match runner.start_keyed(&thread, &*key, input).await {
            Ok(_) => return,
            Err(error) => match error.kind {
                RunErrorKind::Busy { .. }
                | RunErrorKind::HandedOver
                | RunErrorKind::Waiting { .. }
                | RunErrorKind::Unfinished
                | RunErrorKind::Store(_) => tokio::select! {
                    () = tokio::time::sleep(PAUSE) => {}
                    () = runner.closed() => return,
                },
                _ => {
                    tracing::warn!(job = reminder.job, %error, "reminder not told");
                    return;
                }
            },
        }
    }
}
