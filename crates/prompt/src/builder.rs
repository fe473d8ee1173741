use std::fmt::Write as _;

use fugato_state::{Conversation, Message};

use crate::{Rules, Stage, Wording, conversation_view};

/// The key of the pinned block that is shown as memory.
pub const MEMORY: &str = "memory_context";

/// Builds the four messages of a prompt, for every stage of an agent.
///
/// # Contract
/// - The messages are, in this order: what stays the same within a stage (system), the
///   conversation (assistant), the work of the stage (assistant), and how things stand now
///   (system, or user where a model needs that).
/// - No message is empty: where there is nothing to show, it says so.
/// - What changes most comes last, so that a server can cache the beginning.
/// - Equal inputs give equal bytes.
#[derive(Debug)]
pub struct PromptBuilder<S> {
    global: String,
    rules: Rules<S>,
    hints: Rules<S>,
    wording: Wording,
    ends_with_user: bool,
}

impl<S> PromptBuilder<S> {
    /// A builder for an agent that is told this in every stage.
    pub fn new(global: impl Into<String>) -> Self {
        Self {
            global: global.into(),
            rules: Rules::new(),
            hints: Rules::new(),
            wording: Wording::default(),
            ends_with_user: false,
        }
    }

    /// Sets the rule packs, which the state chooses among.
    #[must_use]
    pub fn rules(mut self, rules: Rules<S>) -> Self {
        self.rules = rules;
        self
    }

    /// Sets the hints for the next step, which the state chooses among.
    #[must_use]
    pub fn hints(mut self, hints: Rules<S>) -> Self {
        self.hints = hints;
        self
    }

    /// Sets the fixed words.
    #[must_use]
    pub fn wording(mut self, wording: Wording) -> Self {
        self.wording = wording;
        self
    }

    /// Makes the last message one of the user, for models that need that.
    #[must_use]
    pub fn ends_with_user(mut self) -> Self {
        self.ends_with_user = true;
        self
    }

    /// Builds the messages. The facts choose the rules and hints; `summary` stands for what is no longer in the conversation's history.
    pub fn build(
        &self,
        facts: &S,
        conversation: &Conversation,
        summary: Option<&str>,
        stage: &Stage,
    ) -> [Message; 4] {
        let now = self.now(facts, conversation, stage);
        [
            Message::system(self.fixed(facts, stage)),
            Message::assistant(self.said(conversation, summary)),
            Message::assistant(self.done(stage)),
            if self.ends_with_user {
                Message::user(now)
            } else {
                Message::system(now)
            },
        ]
    }

    fn fixed(&self, facts: &S, stage: &Stage) -> String {
        let mut text = Segment::default();
        text.plain(&self.global);
        text.plain(&stage.prompt);
        text.titled(&self.wording.tools, &stage.catalogue);
        let rules: Vec<_> = self
            .rules
            .chosen(facts)
            .map(|(_, text)| text.trim())
            .collect();
        text.titled(&self.wording.rules, &rules.join("\n\n"));
        text.0
    }

    fn said(&self, conversation: &Conversation, summary: Option<&str>) -> String {
        let wording = &self.wording;
        let view = conversation_view(&conversation.history, wording);
        let mut text = Segment::default();
        text.titled(&wording.summary, summary.unwrap_or_default());
        text.titled(&wording.conversation, or(&view, &wording.no_conversation));
        text.0
    }

    fn done(&self, stage: &Stage) -> String {
        let mut text = Segment::default();
        text.titled(&self.wording.work, or(&stage.work, &self.wording.no_work));
        text.0
    }

    fn now(&self, facts: &S, conversation: &Conversation, stage: &Stage) -> String {
        let wording = &self.wording;
        let mut text = Segment::default();
        text.titled(&wording.state, or(&stage.state, &wording.no_state));
        for block in conversation
            .pinned
            .iter()
            .filter(|block| block.key != MEMORY)
        {
            text.titled(&block.key, &block.text);
        }
        text.titled(
            &wording.memory,
            conversation.pinned(MEMORY).unwrap_or_default(),
        );
        if let Some(resume) = &stage.resume {
            let (question, reply) = (resume.question.trim(), resume.reply.trim());
            let told = format!(
                "{}: {question}\n{}: {reply}",
                wording.question, wording.reply
            );
            text.titled(&wording.resume, &told);
        }
        let hints: Vec<_> = self
            .hints
            .chosen(facts)
            .map(|(_, hint)| format!("- {}", hint.trim()))
            .collect();
        text.titled(&wording.hints, &hints.join("\n"));
        text.titled(
            &wording.instruction,
            or(&stage.instruction, &wording.no_instruction),
        );
        text.0
    }
}

fn or<'a>(text: &'a str, placeholder: &'a str) -> &'a str {
    if text.trim().is_empty() {
        placeholder
    } else {
        text
    }
}

/// Paragraphs, of which the empty ones are left out.
#[derive(Default)]
struct Segment(String);

impl Segment {
    fn plain(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            let gap = if self.0.is_empty() { "" } else { "\n\n" };
            // Writing to a String cannot fail.
            let _ = write!(self.0, "{gap}{text}");
        }
    }

    fn titled(&mut self, title: &str, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.plain(&format!("# {title}\n{text}"));
        }
    }
}

#[cfg(test)]
mod tests;
