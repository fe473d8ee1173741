mod answer;
mod function;
mod trace;

use std::time::Duration;

use fugato_state::say;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    Attempt, ChatModel, ChatModelExt as _, ChatRequest, ChatResponse, Contract, ModelError,
    ModelErrorKind, Profile, RejectedAnswer, ToolChoice, ToolSchema,
};

pub use answer::{Answer, AskError, AskRecord, DecisionSource, Settlement};
pub use trace::{CallOutcome, CallTrace};

/// A question to a model, with the type of its answer: it is corrected until it is accepted, or else a
/// rule decides.
///
/// One `Ask` says how the answer is given and read: as a JSON object in the text ([`json`](Self::json)),
/// as the call of a function ([`function`](Self::function)), or in any way that code can read
/// ([`reading`](Self::reading)). A reader returns the value, or a [`RejectedAnswer`] with what is wrong
/// and what is allowed. The rejected answer and its correction are appended to the conversation, and the
/// model is asked again, until too many answers in a row were rejected. The conversation itself, with
/// the prompt, is the [`ChatRequest`] of the caller.
///
/// [`settle`](Self::settle) is the whole decision about one answer, without a model and without waiting.
/// [`run`](Self::run) is the loop around it, in memory. A graph has its own loop: its node asks once and
/// settles the answer, its state has the count, and its edges lead back to the node.
///
/// # Example
/// ```
/// use fugato_llm::{Ask, ChatRequest, Contract, DecisionSource};
/// use fugato_state::Message;
/// # use fugato_testkit::Scripted;
/// # let model = Scripted::new([r#"{"day": 9}"#, r#"{"day": 2}"#]);
/// # let silent = Scripted::new(["Tuesday", "On Tuesday", "Tuesday!"]);
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
///
/// #[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
/// struct Move { day: u32 }
///
/// let contract = Contract::<Move>::new("move").check(|wanted, objections| {
///     if wanted.day > 7 {
///         objections.push("/day", "the week has 7 days");
///     }
/// });
/// let ask = Ask::json("move", &contract).or_rule(|_| Move { day: 1 });
/// let request = ChatRequest::new([Message::user("Which day?")]);
///
/// let answer = ask.run(&model, request.clone()).await?; // the first answer is corrected
/// assert_eq!((answer.value.day, answer.record.traces.len()), (2, 2));
///
/// let answer = ask.run(&silent, request).await?; // the third one in a row is the last
/// assert_eq!((answer.value.day, answer.record.source), (1, DecisionSource::Rule));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Wrong
/// ```text
/// let mut rejections = 0;                     // in the node, which a crash begins anew
/// loop {
///     let answer = model.complete(ask.request(request.clone())).await;
///     match ask.settle(rejections, &answer) {
///         Settlement::Again(rejected) => { rejections += 1; request.messages.extend(rejected.messages()); }
///         …
/// ```
/// This is [`run`](Self::run) without its traces and limits of time. In a graph it is wrong in another
/// way: all rounds are one task, so no round is stored or streamed, and after a crash the model is asked
/// from the beginning. A node settles one answer, with the count of its state.
///
/// # Contract
/// - **one answer, one result**: an answer leads to a value, a correction or the end.
/// - **pure**: a settlement depends on the ask, the count and the answer alone.
/// - **reasons**: a reader rejects with a reason that says what is allowed, as the model gets it.
/// - **bounded**: after the limit of rejected answers, or of attempts, no more is asked. An error of the
///   model ends it at once: retries and backups are decorators of the model.
/// - **protocol**: a call that is written as text and cannot be read is not corrected.
/// - **honest**: a value of the rule has the source [`DecisionSource::Rule`] and the reason. It is no
///   request: it has no trace, and nothing counts it as a call of a model.
///
/// # Errors
/// [`AskError`] has all rejected answers with their reasons, or the error of the model, and the traces
/// of all requests. With a rule, [`run`](Self::run) returns no error.
///
/// # Cancellation safety
/// A run that is dropped drops the request in flight; the rounds before it are lost with it. An ask
/// holds no state between calls, and one can serve many callers.
///
/// # Cost
/// Each round is a request with the whole conversation, which grows by two messages. Settling reads the
/// answer once.
#[derive(derive_more::Debug)]
#[debug("Ask {{ stage: {stage:?}, rejections: {rejections:?}, profile: {profile:?}, rule: {:?}, .. }}", self.rule.is_some())]
pub struct Ask<'a, T, A = ChatResponse> {
    stage: String,
    read: Box<Reader<'a, T, A>>,
    function: Option<ToolSchema>,
    profile: Profile,
    rejections: u32,
    rule: Option<Box<Rule<'a, T>>>,
}

type Reader<'a, T, A> =
    dyn Fn(&A) -> (DecisionSource, Result<T, RejectedAnswer>) + Send + Sync + 'a;
type Rule<'a, T> = dyn Fn(&AskError) -> T + Send + Sync + 'a;

impl<'a, T> Ask<'a, T> {
    /// Asks for one JSON object in the text of the answer, which fits the contract.
    pub fn json(stage: impl Into<String>, contract: &Contract<T>) -> Self
    where
        T: DeserializeOwned + 'a,
    {
        let contract = contract.clone();
        Self::reading(stage, move |response: &ChatResponse| {
            contract.read(&response.message.content)
        })
    }

    /// Asks for the call of a function with arguments that `read` accepts, in at most 3 attempts of
    /// 30 seconds each.
    ///
    /// A call that is written as text, in another form than the protocol's, is read if possible. If
    /// it cannot be read it is not corrected: a model that does not use the protocol does not learn
    /// it from a correction.
    pub fn function(
        stage: impl Into<String>,
        function: ToolSchema,
        read: impl Fn(&Value) -> Result<T, RejectedAnswer> + Send + Sync + 'a,
    ) -> Self {
        let name = function.name.clone();
        let reader = move |response: &ChatResponse| {
            let (source, call) = function::call(response, &name);
            let read = |arguments: Value| {
                read(&arguments).map_err(|rejected| rejected.raw(&arguments.to_string()))
            };
            (source, call.and_then(read))
        };
        Self {
            function: Some(function),
            ..Self::with(stage.into(), Box::new(reader))
        }
        .attempts(3)
        .timeout(Duration::from_secs(30))
    }

    /// Returns the request of the first round: with the stage in its metadata, the settings of the
    /// profile, and the function to call.
    #[must_use]
    pub fn request(&self, request: ChatRequest) -> ChatRequest {
        let request = self.profile.apply(request);
        let request = request.metadata("stage", self.stage.as_str());
        match &self.function {
            Some(function) => {
                let choice = ToolChoice::Named(function.name.clone());
                request.tools([function.clone()]).tool_choice(choice)
            }
            None => request,
        }
    }

    /// Sends the request until an answer is accepted, with all rounds in memory.
    pub async fn run<M>(&self, model: &M, request: ChatRequest) -> Result<Answer<T>, AskError>
    where
        M: ChatModel + ?Sized,
    {
        let mut request = self.request(request);
        let mut asked = AskError::default();
        let mut why = loop {
            let start = Instant::now();
            let mut answer = self.complete(model, &request).await;
            // A model that reports no attempts made one.
            if let Err(error) = &mut answer
                && error.attempts.is_empty()
            {
                let attempt = Attempt::failed(model.name(), start.elapsed(), error);
                error.attempts.push(attempt);
            }
            if let Ok(response) = &answer {
                asked.usage += response.usage.unwrap_or_default();
                let made = u32::try_from(response.attempts.len()).unwrap_or(1);
                if let (Some(_), Some(left)) = (self.profile.attempts, &mut request.attempts) {
                    *left = left.saturating_sub(made.max(1));
                }
            }
            let is_last = self.profile.attempts.is_some() && request.attempts == Some(0);
            let (source, settled) = self.settled(asked.rejections, is_last, &answer);
            let trace = CallTrace::new(&self.stage, &answer, (source, &settled));
            if self.function.is_some() {
                let (stage, outcome, error) = (&self.stage, trace.outcome, &trace.error);
                tracing::debug!(target: "fugato.llm", stage, ?outcome, error, "function_asked_for");
            }
            asked.traces.push(trace);
            match settled {
                Settlement::Decided(value) => return Ok(Answer::by_model(source, asked, value)),
                Settlement::Again(rejected) => {
                    request.messages.extend(rejected.messages());
                    asked.rejections += 1;
                    asked.rejected.push(rejected);
                }
                Settlement::Failed(why) => break why,
            }
        };
        asked.rejected.append(&mut why.rejected);
        let why = AskError {
            unanswered: why.unanswered,
            rejections: why.rejections,
            ..asked
        };
        let Some(rule) = &self.rule else {
            return Err(why);
        };
        tracing::info!(target: "fugato.llm", stage = self.stage, reason = %why, "decided_by_rule");
        Ok(Answer::by_rule(rule(&why), why))
    }

    /// Sends one request, and gives up a model that keeps no time of its own.
    async fn complete<M>(
        &self,
        model: &M,
        request: &ChatRequest,
    ) -> Result<ChatResponse, ModelError>
    where
        M: ChatModel + ?Sized,
    {
        let answer = model.complete(request.clone());
        let left = self.profile.attempts.and(request.attempts);
        let (Some(time), Some(left)) = (self.profile.timeout, left) else {
            return answer.await;
        };
        let late = |_| {
            ModelError::new(
                ModelErrorKind::TimedOut,
                say!("no answer in time", "没有及时回答"),
            )
        };
        let in_time = tokio::time::timeout(time.saturating_mul(left.max(1)), answer).await;
        in_time.map_err(late)?
    }
}

impl<'a, T, A> Ask<'a, T, A> {
    /// Asks for any answer that `read` accepts.
    pub fn reading(
        stage: impl Into<String>,
        read: impl Fn(&A) -> Result<T, RejectedAnswer> + Send + Sync + 'a,
    ) -> Self {
        let reader = move |answer: &A| (DecisionSource::LlmAnswer, read(answer));
        Self::with(stage.into(), Box::new(reader))
    }

    fn with(stage: String, read: Box<Reader<'a, T, A>>) -> Self {
        Self {
            stage,
            read,
            function: None,
            profile: Profile::default(),
            rejections: 3,
            rule: None,
        }
    }

    fugato_state::setters! {
        /// Sets the number of rejected answers in a row after which no more is asked; at least one,
        /// 3 by default.
        pub fn rejections(rejections: u32) { rejections = rejections.max(1) }

        /// Sets the time limit of one attempt.
        pub fn timeout(limit: Duration) { profile.timeout = Some(limit) }

        /// Sets the greatest number of attempts, over all models and corrections; at least one.
        pub fn attempts(attempts: u32) { profile.attempts = Some(attempts.max(1)) }

        /// Sets the rule that decides in place of the model. It gets the reason.
        pub fn or_rule(rule: impl Fn(&AskError) -> T + Send + Sync + 'a) {
            rule = Some(Box::new(rule))
        }
    }

    /// Sets the settings of the requests, as far as the profile has any. Its attempts are counted
    /// over all models and all corrections. If it limits attempts and time, a model that keeps no
    /// time is given up after the time of all attempts that are left.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile.or(self.profile);
        self
    }

    /// Settles one answer, after `so_far` rejected answers in a row. Depends on nothing else, so a
    /// graph that keeps the count in its state runs the same loop through its edges.
    pub fn settle(&self, so_far: u32, answer: &Result<A, ModelError>) -> Settlement<T> {
        self.settled(so_far, false, answer).1
    }

    fn settled(
        &self,
        so_far: u32,
        is_last: bool,
        answer: &Result<A, ModelError>,
    ) -> (DecisionSource, Settlement<T>) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                let why = AskError {
                    unanswered: Some(error.clone()),
                    rejections: so_far,
                    ..AskError::default()
                };
                return (DecisionSource::Rule, Settlement::Failed(why));
            }
        };
        let (source, read) = (self.read)(answer);
        let settled = match read {
            Ok(value) => Settlement::Decided(value),
            Err(rejected) => {
                let rejections = so_far.saturating_add(1);
                tracing::debug!(
                    target: "fugato.llm", stage = self.stage, class = ?rejected.class, rejections,
                    "model_answer_rejected"
                );
                let is_foreign = source == DecisionSource::LlmTextCall;
                if is_last || is_foreign || rejections >= self.rejections {
                    Settlement::Failed(AskError {
                        rejected: vec![rejected],
                        rejections,
                        ..AskError::default()
                    })
                } else {
                    Settlement::Again(rejected)
                }
            }
        };
        (source, settled)
    }
}
