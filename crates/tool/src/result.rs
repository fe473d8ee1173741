use fugato_state::{Question, ToolStatus, say};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{NextStep, ToolFailure};

/// The longest summary, in characters.
pub const SUMMARY_CHARS: usize = 48;

/// The output of a tool that succeeded.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput<U = ()> {
    /// The text, for people and for the model.
    pub text: String,
    /// Advice behind it for the model alone, such as how it gets more.
    pub advice: Option<String>,
    /// A short line for people; made of the first line of the text if absent.
    pub summary: Option<String>,
    /// The data for programs.
    pub data: Value,
    /// The problems to report although the tool succeeded.
    pub issues: Vec<String>,
    /// The updates that the tool asks for.
    pub updates: Vec<U>,
    /// The step that follows: by default the model reads the result.
    pub next: NextStep,
}

impl<U> ToolOutput<U> {
    /// Creates an output with its text.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            advice: None,
            summary: None,
            data: Value::Null,
            issues: vec![],
            updates: vec![],
            next: NextStep::RunAgain,
        }
    }

    /// Creates an output that asks a person: the run parks until the answer comes, which becomes
    /// the result of the call. The tool is not called again. The key of the question is replaced
    /// by one of the call.
    ///
    /// ```
    /// use fugato_state::Question;
    /// use fugato_tool::{NoArguments, Registry, ToolOutput, ToolSpec};
    ///
    /// let spec = ToolSpec::read("ask_city", "Asks the person for the city.");
    /// Registry::<(), ()>::builder()
    ///     .function(spec, |_, _: NoArguments| {
    ///         Ok(ToolOutput::ask(Question::new::<String>("city", "Which city is it?")))
    ///     })
    ///     .build()?;
    /// # Ok::<(), fugato_tool::RegistryError>(())
    /// ```
    pub fn ask(question: Question) -> Self {
        let text = match &question.prompt {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self {
            next: NextStep::Interrupt(question),
            ..Self::new(text)
        }
    }

    /// Makes the text the reply of the run: the model is not asked once more.
    #[must_use]
    pub fn final_output(mut self) -> Self {
        self.next = NextStep::FinalOutput;
        self
    }

    fugato_state::setters! {
        /// Ends the run for another agent, which the graph around the loop chooses by this name.
        /// The text is what the run says.
        pub fn handoff(to: impl Into<String>) { next = NextStep::Handoff(to.into()) }

        /// Sets what the model alone is told behind the text, such as how it gets more.
        pub fn advice(advice: impl Into<String>) { advice = Some(advice.into()) }

        /// Sets the short line for people; it is cut at 48 characters.
        pub fn summary(summary: impl Into<String>) { summary = Some(summary.into()) }

        /// Sets the data for programs.
        pub fn data(data: impl Into<Value>) { data = data.into() }

        /// Adds a problem to report.
        pub fn issue(issue: impl Into<String>) { issues.push(issue.into()) }

        /// Adds an update.
        pub fn update(update: U) { updates.push(update) }

        /// Adds updates.
        pub fn updates(updates: impl IntoIterator<Item = U>) { updates.extend(updates) }
    }
}

impl<U> From<String> for ToolOutput<U> {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl<U> From<&str> for ToolOutput<U> {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// The result of a call, successful or not. Plain data, so that it can be stored as a receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult<U = ()> {
    /// The status of the call.
    pub status: ToolStatus,
    /// The text for the model, with the advice behind it.
    pub text: String,
    /// The text for people, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
    /// A line of at most 48 characters for people.
    pub summary: String,
    /// The data for programs.
    #[serde(default)]
    pub data: Value,
    /// The problems to report.
    #[serde(default = "Vec::new")]
    pub issues: Vec<String>,
    /// The updates that the tool asks for; empty unless it succeeded.
    #[serde(default = "Vec::new")]
    pub updates: Vec<U>,
    /// The step that follows; [`NextStep::RunAgain`] unless it succeeded.
    #[serde(default, skip_serializing_if = "NextStep::is_run_again")]
    pub next: NextStep,
}

impl<U> ToolResult<U> {
    /// Returns true if the tool succeeded.
    pub fn is_ok(&self) -> bool {
        self.status == ToolStatus::Ok
    }

    /// Returns the text for people.
    pub fn for_people(&self) -> &str {
        self.told.as_ref().unwrap_or(&self.text)
    }
}

impl<U> From<ToolOutput<U>> for ToolResult<U> {
    fn from(output: ToolOutput<U>) -> Self {
        let summary = clip(
            output.summary.as_deref().unwrap_or(&output.text),
            SUMMARY_CHARS,
        );
        let (text, told) = advised(output.text, output.advice.as_deref());
        Self {
            status: ToolStatus::Ok,
            text,
            told,
            summary,
            data: output.data,
            issues: output.issues,
            updates: output.updates,
            next: output.next,
        }
    }
}

impl<U> From<ToolFailure> for ToolResult<U> {
    fn from(failure: ToolFailure) -> Self {
        let (status, summary) = (failure.status(), clip(&failure.text, SUMMARY_CHARS));
        let (text, told) = advised(failure.text, failure.advice.as_deref());
        Self {
            status,
            summary,
            text,
            told,
            data: failure.data,
            issues: failure.issues,
            updates: vec![],
            next: NextStep::RunAgain,
        }
    }
}

/// Returns the text for the model, and that for people if it differs.
fn advised(text: String, advice: Option<&str>) -> (String, Option<String>) {
    match advice {
        Some(advice) => (say!("{text}; {advice}", "{text}；{advice}"), Some(text)),
        None => (text, None),
    }
}

/// Returns the first line that is not blank, cut to `most` characters; a cut is marked by `…`.
pub fn clip(text: &str, most: usize) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    if line.chars().count() <= most {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(most.saturating_sub(1)).collect();
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sch_47_a_summary_is_cut_between_characters() {
        let long = "把任务放到".repeat(20);
        let result: ToolResult = ToolOutput::new(long.clone()).into();
        let kept: String = long.chars().take(47).collect();
        assert_eq!(result.summary, format!("{kept}…"));
    }

    proptest! {
        #[test]
        fn a_clip_is_never_longer_than_asked(text in "\\PC{0,80}", most in 1usize..60) {
            let line = clip(&text, most);
            prop_assert!(line.chars().count() <= most);
            prop_assert!(!line.contains('\n'));
        }
    }
}
