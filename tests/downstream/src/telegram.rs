use fugato::{Encoder, Event, EventKind, Frames};

/// An encoder: one line of capitals for what a person must know, as over an old wire.
#[derive(Debug, Default)]
pub struct Telegram {
    lines: usize,
}

impl Encoder for Telegram {
    fn encode(&mut self, event: &Event, frames: &mut Frames) {
        let line = match &event.kind {
            EventKind::Status { summary, .. } => summary.to_uppercase(),
            EventKind::RunParked { interrupts } => format!("{} QUESTION", interrupts.len()),
            EventKind::RunFinished { .. } => "DONE".to_owned(),
            EventKind::RunFailed { error } => format!("FAILED {error}"),
            _ => return,
        };
        self.lines += 1;
        frames.frame(|out| {
            out.push_str(&line);
            out.push_str(" STOP\n");
        });
    }

    fn finish(&mut self, frames: &mut Frames) {
        let end = format!("{} LINES END\n", self.lines);
        frames.frame(|out| out.push_str(&end));
    }

    fn keep_alive(&self, frames: &mut Frames) {
        frames.frame(|out| out.push('\n'));
    }

    fn content_type(&self) -> &'static str {
        "text/plain; charset=utf-8"
    }
}
