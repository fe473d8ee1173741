//! Connections: a client that sends its request too slowly or reads nothing is disconnected.
use std::{
    io::{self, IoSlice},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpListener,
    sync::watch,
    time::Sleep,
};

use crate::Limits;

/// The pause after a failed accept: the process may be out of file descriptors.
const BREATH: Duration = Duration::from_millis(200);

/// Accepts connections until `stop` is ready, and then waits for those that are open.
pub(crate) async fn accept(
    listener: TcpListener,
    app: Router,
    limits: &Limits,
    stop: impl Future<Output = ()>,
) {
    let (ends, open) = watch::channel(());
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout);
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) if is_of_the_client(&error) => continue,
            Err(error) => {
                tracing::error!(%error, "connection could not be accepted");
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        // An event is sent when it happens, and not when more have come.
        drop(stream.set_nodelay(true));
        let stream = TokioIo::new(WriteTimeout::new(stream, limits.reader_timeout));
        let service = TowerToHyperService::new(app.clone());
        let connection = http.serve_connection(stream, service).with_upgrades();
        let mut ending = open.clone();
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                _ = ending.changed() => {
                    // The current request is still answered; no further request is read.
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "connection broken");
            }
            drop(ending);
        });
    }
    drop((listener, open));
    ends.send_replace(());
    ends.closed().await;
}

fn is_of_the_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

/// A connection that fails when a write makes no progress for `limit`.
struct WriteTimeout<T> {
    stream: T,
    limit: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<T> WriteTimeout<T> {
    fn new(stream: T, limit: Duration) -> Self {
        Self {
            stream,
            limit,
            stalled: None,
        }
    }

    fn wait<V>(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<V>>) -> Poll<io::Result<V>> {
        if done.is_ready() {
            self.stalled = None;
            return done;
        }
        let limit = self.limit;
        let begin = || Box::pin(tokio::time::sleep(limit));
        ready!(self.stalled.get_or_insert_with(begin).as_mut().poll(cx));
        let error = io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing");
        Poll::Ready(Err(error))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for WriteTimeout<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wait(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.wait(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.wait(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _, duplex},
        time::Instant,
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_is_cut_off_and_who_is_slow_is_not() {
        let (mut reader, written) = duplex(4);
        let mut written = WriteTimeout::new(written, Duration::from_secs(10));
        let writing = tokio::spawn(async move {
            written.write_all(b"twelve bytes").await?;
            let began = Instant::now();
            let error = written.write_all(b"and more").await;
            Ok::<_, io::Error>((error, began.elapsed()))
        });
        // Each piece is read before the limit, and all of them together after it.
        let mut taken = [0; 4];
        for _ in 0..2 {
            tokio::time::advance(Duration::from_secs(8)).await;
            reader.read_exact(&mut taken).await.unwrap();
        }
        let (error, waited) = writing.await.unwrap().unwrap();
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(waited.as_secs(), 10);
    }
}
