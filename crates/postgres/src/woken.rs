//! Words from the server to workers that wait.
use std::{sync::Arc, time::Duration};

use fugato_state::{Millis, ThreadId};
use futures::{Stream, StreamExt, stream};
use tokio::{
    sync::mpsc::{Receiver, Sender, channel, error::TrySendError},
    time::{sleep, timeout},
};
use tokio_postgres::{AsyncMessage, Error};

use crate::{connection::Connection, connector::Messages, database::Database};

/// Why a worker that waits should look again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Woken {
    /// A thread that nobody holds can be claimed from this time on, in milliseconds of the store's
    /// clock. Often that is now.
    Due(Millis),
    /// A signal was left for the owner of this thread, who gets it by renewing the lease.
    Signalled(ThreadId),
    /// The connection was made, or made anew, or the reader was slow: something may have been
    /// missed.
    Anything,
}

/// How many words wait for a slow reader.
const BACKLOG: usize = 1024;

/// How long to wait before the connection is made anew: at first, and at most.
const BACK_OFF: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];

/// How long the server may take to begin to listen.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn due(at: Millis) -> String {
    format!("due {at}")
}

pub(crate) fn signalled(thread: &ThreadId) -> String {
    format!("signal {thread}")
}

impl Woken {
    fn read(payload: &str) -> Self {
        let word = payload.split_once(' ').and_then(|(word, rest)| match word {
            "due" => Some(Self::Due(rest.parse().ok()?)),
            "signal" => Some(Self::Signalled(ThreadId::new(rest).ok()?)),
            _ => None,
        });
        // A newer process may say what this one does not know yet.
        word.unwrap_or(Self::Anything)
    }
}

impl Database {
    /// Tells those who wait, without letting the caller wait for it.
    ///
    /// A transaction that notifies keeps all others that do from committing until it has committed
    /// itself. So this is one of its own, which writes nothing and does not wait for the disk. Lost,
    /// it costs those who wait no more than their next look.
    pub(crate) fn tell(&self, mut connection: Connection, word: String) {
        let channel = self.schema.name().to_owned();
        tokio::spawn(async move {
            let sql = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";
            if let Err(error) = connection.rows(sql, &[&channel, &word]).await {
                tracing::debug!(%error, "{}", crate::log_key::THOSE_WHO_WAIT_WERE_NOT_TOLD);
            }
        });
    }

    pub(crate) fn woken(self: Arc<Self>) -> impl Stream<Item = Woken> + Send + 'static {
        let (words, heard) = channel(BACKLOG);
        tokio::spawn(listen(self, words));
        stream::unfold(heard, |mut heard: Receiver<_>| async {
            Some((heard.recv().await?, heard))
        })
    }
}

/// Listens until nobody does.
async fn listen(database: Arc<Database>, words: Sender<Woken>) {
    let mut speaker = Speaker {
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
                Err(error) => tracing::warn!(%error, ?pause, "{}", crate::log_key::CANNOT_LISTEN_TRYING_AGAIN),
            },
        }
        tokio::select! {
            () = gone.closed() => return,
            () = sleep(pause) => {}
        }
        pause = (pause * 2).min(longest);
    }
}

/// Listens until the connection ends. An error means that it never came about.
async fn listen_once(database: &Database, speaker: &mut Speaker) -> Result<(), Error> {
    let (client, mut messages) = database.connector.connect().await?;
    let sql = format!("LISTEN {}", database.schema.quoted());
    let asked = client.batch_execute(&sql);
    tokio::pin!(asked);
    // Whoever polls the messages drives the connection, also for the answer to this.
    let answered = async {
        loop {
            tokio::select! {
                answered = &mut asked => return Some(answered),
                message = messages.next() => speaker.hear(message?.ok()?),
            }
        }
    };
    match timeout(PATIENCE, answered).await {
        Ok(Some(answered)) => answered?,
        Ok(None) | Err(_) => return Ok(()),
    }
    speaker.say(Woken::Anything);
    hear_all(&mut messages, speaker).await;
    Ok(())
}

async fn hear_all(messages: &mut Messages, speaker: &mut Speaker) {
    while let Some(Ok(message)) = messages.next().await {
        speaker.hear(message);
    }
}

struct Speaker {
    words: Sender<Woken>,
    /// Whether a word was dropped for want of room.
    missed: bool,
}

impl Speaker {
    fn hear(&mut self, message: AsyncMessage) {
        if let AsyncMessage::Notification(notification) = message {
            self.say(Woken::read(notification.payload()));
        }
    }

    /// The server must not wait for a reader that is slow: it would keep everything since.
    fn say(&mut self, word: Woken) {
        if self.missed {
            match self.words.try_send(Woken::Anything) {
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
        assert_eq!(Woken::read(&due(-7)), Woken::Due(-7));
        assert_eq!(Woken::read(&signalled(&desk)), Woken::Signalled(desk));
        for unknown in ["", "due", "due soon", "signal ", "else 7"] {
            assert_eq!(Woken::read(unknown), Woken::Anything);
        }
    }

    #[test]
    fn a_slow_reader_is_told_that_it_missed_something() {
        let (words, mut heard) = channel(2);
        let mut speaker = Speaker {
            words,
            missed: false,
        };
        for at in 1..=4 {
            speaker.say(Woken::Due(at));
        }
        assert_eq!(heard.try_recv(), Ok(Woken::Due(1)));
        assert_eq!(heard.try_recv(), Ok(Woken::Due(2)));
        speaker.say(Woken::Due(5));
        assert_eq!(heard.try_recv(), Ok(Woken::Anything));
        assert_eq!(heard.try_recv(), Ok(Woken::Due(5)));
    }
}
