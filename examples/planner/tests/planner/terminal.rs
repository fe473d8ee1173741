//! The program at a terminal: input before a card is shown does not answer it.
#![cfg(unix)]
use std::{
    fs::File,
    io::{Read as _, Write as _},
    process::{Child, Command},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use fugato::BoxError;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// A program with a pseudo-terminal, and the contents of its screen.
struct Terminal {
    program: Child,
    keyboard: File,
    pieces: Receiver<String>,
    screen: String,
}

impl Terminal {
    fn open(folder: &std::path::Path) -> Result<Self, BoxError> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, vec![])?.into_string()?;
        let slave = File::options().read(true).write(true).open(name)?;
        let program = Command::new(env!("CARGO_BIN_EXE_planner"))
            .arg("chat")
            .current_dir(folder)
            .stdin(slave.try_clone()?)
            .stdout(slave.try_clone()?)
            .stderr(slave)
            .spawn()?;
        let keyboard = File::from(master);
        let mut output = keyboard.try_clone()?;
        let (tell, pieces) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read) = output.read(&mut bytes) {
                let piece = String::from_utf8_lossy(bytes.get(..read).unwrap_or_default());
                if read == 0 || tell.send(piece.into_owned()).is_err() {
                    return;
                }
            }
        });
        let screen = String::new();
        Ok(Self {
            program,
            keyboard,
            pieces,
            screen,
        })
    }

    fn types(&mut self, text: &str) -> Result<(), BoxError> {
        Ok(self.keyboard.write_all(text.as_bytes())?)
    }

    /// Waits until this is on the screen, and clears everything up to it.
    fn shows(&mut self, text: &str) -> Result<String, BoxError> {
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            if let Some((before, after)) = self.screen.split_once(text) {
                let (before, after) = (before.to_owned(), after.to_owned());
                self.screen = after;
                return Ok(before);
            }
            let left = end.saturating_duration_since(Instant::now());
            let piece = self.pieces.recv_timeout(left);
            let piece = piece.map_err(|_| format!("{text:?} is not on {:?}", self.screen))?;
            self.screen.push_str(&piece);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.program.kill());
        drop(self.program.wait());
    }
}

#[test]
fn k35_what_was_typed_before_a_card_is_no_answer_to_it() -> Result<(), BoxError> {
    let folder = fugato_testkit::tempdir()?;
    let mut terminal = Terminal::open(folder.path())?;
    terminal.shows("> ")?;
    terminal.types("sell 0.05 BTC\nyes\n")?;
    let shown = terminal.shows("Place an order")?;
    assert!(!shown.contains("Done"), "{shown}");
    // A question about the session changes nothing, and the reply says that the card waits.
    let shown = shown + &terminal.shows("> ")?;
    terminal.types("/status\n")?;
    let status = terminal.shows("waits for an answer")?;
    assert!(!(shown + &status).contains("order #1"), "{status}");
    terminal.shows("> ")?;
    terminal.types("yes\n")?;
    terminal.shows("Done: order #1")?;
    Ok(())
}
