use std::{collections::BTreeSet, fmt::Write as _};

use fugato_state::{Conversation, Message, Role};

use crate::{RulePacks, Stage, Trust, Wording, history::said};

/// The key of the pinned block that is shown as the memory.
pub const MEMORY: &str = "memory_context";

/// A builder of the four messages of a prompt, for every stage of an agent.
///
/// # Contract
/// - The messages are, in this order: what stays the same within a stage (system), the
///   conversation (assistant), the work of the stage (assistant), and how things stand now
///   (system, or user where a model needs that).
/// - No message is empty: where there is nothing to show, it says so.
/// - What changes most comes last, so that a server can cache the beginning.
/// - Equal inputs give equal bytes.
/// - What lies before the watermark of a stage is shown as its summary.
#[derive(Debug)]
pub struct PromptBuilder<S> {
    global: String,
    sections: Vec<(String, String)>,
    trust: Trust,
    rules: RulePacks<S>,
    hints: RulePacks<S>,
    wording: Wording,
    ends_with_user: bool,
}

impl<S> PromptBuilder<S> {
    /// Creates a builder with the text that begins the prompt of every stage.
    pub fn new(global: impl Into<String>) -> Self {
        Self {
            global: global.into(),
            sections: vec![],
            trust: Trust::new(),
            rules: RulePacks::new(),
            hints: RulePacks::new(),
            wording: Wording::default(),
            ends_with_user: false,
        }
    }

    fugato_state::setters! {
        /// Adds a section under a heading to the prompt of every stage, such as a profile of the
        /// person or the use of tools. It is part of the stable beginning.
        pub fn section(title: impl Into<String>, text: impl Into<String>) {
            sections.push((title.into(), text.into()))
        }

        /// Sets the order in which sources are trusted.
        pub fn trust(trust: Trust) { trust = trust }

        /// Sets the rule packs, from which the state selects.
        pub fn rules(rules: RulePacks<S>) { rules = rules }

        /// Sets the hints for the next step, from which the state selects.
        pub fn hints(hints: RulePacks<S>) { hints = hints }

        /// Sets the fixed texts.
        pub fn wording(wording: Wording) { wording = wording }
    }

    /// Gives the last message the role of the user, for models that need that.
    #[must_use]
    pub fn ends_with_user(mut self) -> Self {
        self.ends_with_user = true;
        self
    }

    /// Builds the messages without a limit of their length. The facts select the rules and hints.
    pub fn build(&self, facts: &S, conversation: &Conversation, stage: &Stage) -> [Message; 4] {
        self.arranged(facts, conversation, stage, &LeftOut::default())
    }

    /// Builds the messages without the parts in `left_out`.
    pub(crate) fn arranged(
        &self,
        facts: &S,
        conversation: &Conversation,
        stage: &Stage,
        left_out: &LeftOut,
    ) -> [Message; 4] {
        let now = self.now(facts, conversation, stage, left_out);
        let wording = &self.wording;
        let work = stage.work.shown(left_out.steps, left_out.results, wording);
        [
            Message::system(self.fixed(facts, stage)),
            Message::assistant(self.said(conversation, stage, left_out.messages)),
            Message::assistant(self.done(&stage.work_summary, &work)),
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
        for (title, section) in &self.sections {
            text.titled(title, section);
        }
        text.plain(&stage.prompt);
        text.titled(&self.wording.tools, &stage.catalogue);
        let rules: Vec<_> = self
            .rules
            .chosen(facts)
            .map(|(_, text)| text.trim())
            .collect();
        text.titled(&self.wording.rules, &rules.join("\n\n"));
        let words = &self.wording;
        let trust = self.trust.lines(&words.trusted_for, &words.not_trusted);
        if !trust.is_empty() {
            text.titled(&words.trust, &format!("{}\n{trust}", words.trust_means));
        }
        text.0
    }

    fn said(&self, conversation: &Conversation, stage: &Stage, left_out: usize) -> String {
        let wording = &self.wording;
        let mut lines: Vec<_> = self
            .lines(conversation, stage)
            .skip(left_out)
            .map(|(_, line)| line)
            .collect();
        if left_out > 0 {
            lines.insert(0, Wording::counted(&wording.messages_left_out, left_out));
        }
        let mut text = Segment::default();
        text.titled(&wording.summary, &stage.summary);
        let view = lines.join("\n");
        text.titled(&wording.conversation, or(&view, &wording.no_conversation));
        text.0
    }

    /// Returns the lines of the conversation since the watermark.
    fn lines<'a>(
        &'a self,
        conversation: &'a Conversation,
        stage: &Stage,
    ) -> impl Iterator<Item = (Role, String)> + 'a {
        let history = &conversation.history;
        // A history that ends before the watermark is a different one, and is shown whole.
        let recent = history.get(stage.watermark..).unwrap_or(history);
        said(recent, &self.wording)
    }

    /// Returns the number of lines that may be left out: those before the last message of the user.
    pub(crate) fn old_lines(&self, conversation: &Conversation, stage: &Stage) -> usize {
        let lines: Vec<_> = self.lines(conversation, stage).collect();
        let last = lines.iter().rposition(|(who, _)| *who == Role::User);
        last.unwrap_or_else(|| lines.len().saturating_sub(1))
    }

    /// Returns true if there are hints for the next step now.
    pub(crate) fn has_hints(&self, facts: &S) -> bool {
        self.hints.chosen(facts).next().is_some()
    }

    fn done(&self, summary: &str, work: &str) -> String {
        let mut text = Segment::default();
        text.titled(&self.wording.work_summary, summary);
        text.titled(&self.wording.work, or(work, &self.wording.no_work));
        text.0
    }

    fn now(
        &self,
        facts: &S,
        conversation: &Conversation,
        stage: &Stage,
        left_out: &LeftOut,
    ) -> String {
        let wording = &self.wording;
        let mut text = Segment::default();
        text.titled(&wording.state, or(&stage.state, &wording.no_state));
        let mut sources: Vec<_> = stage.sources.iter().collect();
        sources.sort_by_key(|(name, _)| self.trust.rank(name));
        for (name, known) in sources {
            if !left_out.sources.contains(name) {
                text.titled(name, known);
            }
        }
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
        if !left_out.hints {
            text.titled(&wording.hints, &hints.join("\n"));
        }
        text.titled(
            &wording.instruction,
            or(&stage.instruction, &wording.no_instruction),
        );
        text.0
    }
}

/// The parts that are left out of a prompt that would be too long.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeftOut {
    pub(crate) hints: bool,
    /// The greatest number of characters of a result; `None` for no limit.
    pub(crate) results: Option<usize>,
    pub(crate) steps: usize,
    pub(crate) messages: usize,
    pub(crate) sources: BTreeSet<String>,
}

fn or<'a>(text: &'a str, placeholder: &'a str) -> &'a str {
    if text.trim().is_empty() {
        placeholder
    } else {
        text
    }
}

/// A text of paragraphs; empty ones are left out.
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
