use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{ChatRequest, Thinking};

/// The request settings of one stage of an agent: an intent classifier is cold, quick and short, a
/// planner slow.
///
/// A setting of `None` leaves the request unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// See [`Sampling::temperature`](crate::Sampling::temperature).
    pub temperature: Option<f32>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<u32>,
    /// The thinking mode of the model.
    pub thinking: Option<Thinking>,
    /// The time limit of the whole answer.
    pub timeout: Option<Duration>,
    /// The greatest number of attempts, counted over retries and backups together.
    pub attempts: Option<u32>,
}

impl Profile {
    /// Returns the request with the settings of this stage.
    #[must_use]
    pub fn apply(&self, mut request: ChatRequest) -> ChatRequest {
        request.sampling.temperature = self.temperature.or(request.sampling.temperature);
        request.sampling.max_tokens = self.max_tokens.or(request.sampling.max_tokens);
        request.thinking = self.thinking.unwrap_or(request.thinking);
        request.timeout = self.timeout.or(request.timeout);
        request.attempts = self.attempts.or(request.attempts);
        request
    }

    /// Returns these settings, and those of `other` that this profile leaves unchanged.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            temperature: self.temperature.or(other.temperature),
            max_tokens: self.max_tokens.or(other.max_tokens),
            thinking: self.thinking.or(other.thinking),
            timeout: self.timeout.or(other.timeout),
            attempts: self.attempts.or(other.attempts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sch_33_a_stage_sets_what_it_names_and_leaves_the_rest() {
        let quick = Profile {
            temperature: Some(0.2),
            max_tokens: Some(1600),
            thinking: Some(Thinking::Off),
            ..Profile::default()
        };
        let request = ChatRequest::new([])
            .timeout(Duration::from_secs(9))
            .max_tokens(5);
        let expected = ChatRequest::new([])
            .timeout(Duration::from_secs(9))
            .max_tokens(1600)
            .temperature(0.2)
            .thinking(Thinking::Off);
        assert_eq!(quick.apply(request), expected);
    }
}
