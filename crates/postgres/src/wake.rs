//! Notifications from the server to waiting workers.
use std::{sync::Arc, time::Duration};

use fugato_state::{Millis, ThreadId};
use futures::{Stream, StreamExt, stream};
use tokio::{
    sync::mpsc::{Receiver, Sender, channel, error::TrySendError},
    time::{sleep, timeout},
};
use tokio_postgres::{AsyncMessage, Error};

use crate::{connection::Connection, connector::Messages, database::Database};

/// The reason for a waiting worker to poll again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WakeReason {
    /// A thread without a lease can be claimed from this time on, in milliseconds of the store's
    /// clock. Often that is now.
    Due(Millis),
    /// A signal was sent to the owner of this thread, which receives it by renewing the lease.
    Signalled(ThreadId),
    /// The connection was made or reopened, or the reader was slow: notifications may have been
    /// missed.
    Anything,
}

/// The number of notifications that are buffered for a slow reader.
const BACKLOG: usize = 1024;

/// The first and the longest pause before a reconnect.
const BACK_OFF: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];

/// The time that the server may take to begin to listen.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn due(at: Millis) -> String {
    format!("due {at}")
}

pub(crate) fn signalled(thread: &ThreadId) -> String {
    format!("signal {thread}")
}

impl WakeReason {
    fn read(payload: &str) -> Self {
        let word = payload.split_once(' ').and_then(|(word, rest)| match word {
            "due" => Some(Self::Due(rest.parse().ok()?)),
            "signal" => Some(Self::Signalled(ThreadId::new(rest).ok()?)),
            _ => None,
        });
        // A newer process may send a kind that this version does not know.
        word.unwrap_or(Self::Anything)
    }
}

impl Database {
    /// Notifies waiting workers in the background.
    ///
    /// A transaction that notifies blocks the commits of all others that notify until it has
    /// committed. Therefore this is a separate transaction, which writes nothing and does not wait
    /// for the disk. If it is lost, a waiting worker only finds the thread at its next poll.
    pub(crate) fn tell(&self, mut connection: Connection, word: String) {
        let channel = self.schema.name().to_owned();
        tokio::spawn(async move {
            let sql = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";
            if let Err(error) = connection.rows(sql, &[&channel, &word]).await {
                tracing::debug!(%error, "notify failed");
            }
        });
    }

    pub(crate) fn woken(self: Arc<Self>) -> impl Stream<Item = WakeReason> + Send + 'static {
        let (words, heard) = channel(BACKLOG);
        tokio::spawn(listen(self, words));
        stream::unfold(heard, |mut heard: Receiver<_>| async {
            Some((heard.recv().await?, heard))
        })
    }
}

/// Listens, and reconnects, until the stream is dropped.
async fn listen(database: Arc<Database>, words: Sender<WakeReason>) {
    let mut speaker = NotifySender {
        words,
        missed: false,
    };
    let [first, longest] = BACK_OFF;
    let mut pause = first;
    loop {
        let gone = speaker.words.clone();
        tokio::select! {
            () = gone.closed() => return,
            ended = listen_once(&database, &mut speaker) => match ended {
                Ok(()) => pause = first,
                Err(error) => tracing::warn!(%error, ?pause, "listen failed, retrying"),
            },
        }
        tokio::select! {
            () = gone.closed() => return,
            () = sleep(pause) => {}
        }
        pause = (pause * 2).min(longest);
    }
}

/// Listens until the connection ends; an error if it could not be made.
async fn listen_once(database: &Database, speaker: &mut NotifySender) -> Result<(), Error> {
    let (client, mut messages) = database.connector.connect().await?;
    let sql = format!("LISTEN {}", database.schema.quoted());
    let asked = client.batch_execute(&sql);
    tokio::pin!(asked);
    // Polling the messages drives the connection, also for the answer to `LISTEN`.
    let answered = async {
        loop {
            tokio::select! {
                answered = &mut asked => return Some(answered),
                message = messages.next() => speaker.receive(message?.ok()?),
            }
        }
    };
    match timeout(PATIENCE, answered).await {
        Ok(Some(answered)) => answered?,
        Ok(None) | Err(_) => return Ok(()),
    }
    speaker.say(WakeReason::Anything);
    hear_all(&mut messages, speaker).await;
    Ok(())
}

async fn hear_all(messages: &mut Messages, speaker: &mut NotifySender) {
    while let Some(Ok(message)) = messages.next().await {
        speaker.receive(message);
    }
}

struct NotifySender {
    words: Sender<WakeReason>,
    /// True if a notification was dropped because the buffer was full.
    missed: bool,
}

impl NotifySender {
    fn receive(&mut self, message: AsyncMessage) {
        if let AsyncMessage::Notification(notification) = message {
            self.say(WakeReason::read(notification.payload()));
        }
    }

    /// Sends a notification without waiting for a slow reader, because the server would have to
    /// keep all later ones.
    fn say(&mut self, word: WakeReason) {
        if self.missed {
            match self.words.try_send(WakeReason::Anything) {
                Ok(()) => self.missed = false,
                Err(_) => return,
            }
        }
        if let Err(TrySendError::Full(_)) = self.words.try_send(word) {
            self.missed = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let desk = ThreadId::new("desk 1").expect("a short name");
        assert_eq!(WakeReason::read(&due(-7)), WakeReason::Due(-7));
        assert_eq!(
            WakeReason::read(&signalled(&desk)),
            WakeReason::Signalled(desk)
        );
        for unknown in ["", "due", "due soon", "signal ", "else 7"] {
            assert_eq!(WakeReason::read(unknown), WakeReason::Anything);
        }
    }

    #[test]
    fn a_slow_reader_is_told_that_it_missed_something() {
        let (words, mut heard) = channel(2);
        let mut speaker = NotifySender {
            words,
            missed: false,
        };
        for at in 1..=4 {
            speaker.say(WakeReason::Due(at));
        }
        assert_eq!(heard.try_recv(), Ok(WakeReason::Due(1)));
        assert_eq!(heard.try_recv(), Ok(WakeReason::Due(2)));
        speaker.say(WakeReason::Due(5));
        assert_eq!(heard.try_recv(), Ok(WakeReason::Anything));
        assert_eq!(heard.try_recv(), Ok(WakeReason::Due(5)));
    }
}
