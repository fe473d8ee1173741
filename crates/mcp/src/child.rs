use std::{io, process::Stdio, time::Duration};

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::{
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// The time limit for a program to end after its input has ended.
const PATIENCE: Duration = Duration::from_secs(3);

/// A running program with its input and output.
///
/// The started program is often only a launcher of the server, so it is the head of a process
/// group, which ends as a whole. The group is killed before its head is waited for: until then its
/// number cannot be reused.
pub(crate) struct Child {
    group: Box<dyn ChildWrapper>,
    lines: AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>,
}

impl Child {
    pub(crate) fn start(mut command: Command) -> io::Result<(Self, Option<ChildStderr>)> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut command = CommandWrap::from(command);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        let mut group = command.spawn()?;
        let (Some(input), Some(output)) = (group.stdin().take(), group.stdout().take()) else {
            return Err(io::Error::other("the program has no input or output"));
        };
        let errors = group.stderr().take();
        let lines = AsyncRwTransport::new(output, input);
        Ok((Self { group, lines }, errors))
    }
}

impl Transport<RoleClient> for Child {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.lines.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.lines.receive()
    }

    async fn close(&mut self) -> io::Result<()> {
        self.lines.close().await?;
        // A program that has closed its output sends nothing more.
        let ends = async { while self.lines.receive().await.is_some() {} };
        let _ = timeout(PATIENCE, ends).await;
        self.group.start_kill()?;
        self.group.wait().await?;
        Ok(())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // After `close` the number may belong to another process.
        if self.group.id().is_some() {
            let _ = self.group.start_kill();
        }
    }
}
