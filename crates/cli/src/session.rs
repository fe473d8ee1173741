//! Requests to an agent, from the terminal.
mod answer;

use std::sync::Arc;

use fugato_axum::{Caller, ServedAgent, UserMessage};
use fugato_graph::{BoxError, Run, RunError, RunResult, ThreadStatus};
use fugato_state::{Interrupt, InterruptId, ThreadId, say};
use serde_json::{Map, Value};

use crate::{
    CliError, SayArgs, Terminal,
    follow::{LeaseWait, follow, is_overtaken},
    reply,
};

/// A conversation with an agent in a thread, at a terminal.
#[derive(Debug)]
pub struct ChatSession<'a, A> {
    pub(crate) agent: &'a A,
    pub(crate) thread: ThreadId,
    /// The person who speaks.
    caller: Caller,
    /// The command line that goes on with the thread.
    pub(crate) again: String,
}

/// The ways in which a thread comes to rest.
enum ThreadRest<S> {
    /// It waits for an answer that the terminal cannot give.
    Waiting,
    /// Nothing is left to do.
    Ended(Option<Arc<S>>),
}

impl<'a, A: ServedAgent> ChatSession<'a, A> {
    /// Creates a session in this thread. `again` is the command line that goes on with it, and is
    /// shown where the thread waits.
    pub fn new(agent: &'a A, thread: ThreadId, again: impl Into<String>) -> Self {
        Self {
            agent,
            thread,
            caller: Caller::default(),
            again: again.into(),
        }
    }

    fugato_state::setters! {
        /// Sets the person who speaks: nobody in particular by default.
        pub fn caller(caller: Caller) { caller = caller }
    }

    /// Says something, or goes on with the thread, card by card, until nothing is left to do.
    /// Returns the state then; none if the thread waits for an answer, or never began.
    ///
    /// In a thread that waits, the words are the answer.
    pub async fn say(
        &self,
        mut say: SayArgs,
        terminal: &mut Terminal,
    ) -> Result<Option<Arc<A::State>>, BoxError> {
        let mut lease_wait = LeaseWait::default();
        let state = loop {
            match self.work(&mut say, terminal).await {
                Ok(ThreadRest::Waiting) => return Ok(None),
                Ok(ThreadRest::Ended(state)) => break state,
                Err(error) => match error.downcast::<RunError>() {
                    Ok(error)
                        if is_overtaken(&error) && lease_wait.wait(&error, terminal).await => {}
                    Ok(error) => return Err(error),
                    Err(error) => return Err(error),
                },
            }
        };
        if say.answer.is_some() {
            let unused = terminal.lang.pick(
                "--answer was not used: no card is open",
                "没有等待回答的卡片，--answer 未被使用",
            );
            terminal.progress(unused);
        }
        Ok(state)
    }

    /// Refuses a command without words if the thread has nothing to go on with.
    pub(crate) async fn refuse_silence(&self, say: &SayArgs) -> Result<(), BoxError> {
        if say.text.is_some() || say.first.is_some() || say.answer.is_some() {
            return Ok(());
        }
        match self.agent.runner().status(&self.thread).await? {
            ThreadStatus::New | ThreadStatus::Idle => Err(CliError::new(say!("there is nothing to say, and nothing to go on with; say what you want, as in: {} 'hello'", "没有要说的，也没有可以继续的；请说您想要什么，例如：{} '你好'",
                self.again
            ))
            .into()),
            _ => Ok(()),
        }
    }

    async fn work(
        &self,
        say: &mut SayArgs,
        terminal: &mut Terminal,
    ) -> Result<ThreadRest<A::State>, BoxError> {
        let runner = self.agent.runner();
        let mut ended = self.begin(say, terminal).await?;
        let (mut read, mut viewed) = (false, None);
        while let Some((state, asked)) = ended.as_ref().and_then(open) {
            self.present(state, asked, &mut viewed, terminal);
            terminal.card(asked, std::mem::replace(&mut read, true));
            let Some(rest) = self.respond(state, asked, say, terminal).await? else {
                self.park(asked, terminal);
                return Ok(ThreadRest::Waiting);
            };
            ended = Some(rest);
            (say.answer, say.text) = (None, None);
        }
        Ok(ThreadRest::Ended(runner.state(&self.thread).await?))
    }

    /// Shows what a card is about, once.
    pub(crate) fn present(
        &self,
        state: &A::State,
        asked: &Interrupt,
        viewed: &mut Option<InterruptId>,
        terminal: &mut Terminal,
    ) {
        if viewed.as_ref() == Some(&asked.id) {
            return;
        }
        *viewed = Some(asked.id.clone());
        if let Some(view) = self.agent.view(state, Some(asked)) {
            terminal.line("");
            terminal.line(view);
        }
    }

    /// Shows what a run that left no card has left.
    pub(crate) fn conclude(&self, state: &A::State, terminal: &mut Terminal) {
        if let Some(view) = self.agent.view(state, None) {
            terminal.line(view);
        }
    }

    /// Begins a run, or goes on with the thread; returns none if there is nothing to go on with.
    async fn begin(
        &self,
        say: &mut SayArgs,
        terminal: &mut Terminal,
    ) -> Result<Option<RunResult<A::State>>, BoxError> {
        let runner = self.agent.runner();
        let go_on = terminal
            .lang
            .pick("going on where it was left", "从上次中断处继续");
        let words = match runner.status(&self.thread).await? {
            ThreadStatus::New => say.text.clone().or_else(|| say.first.clone()),
            ThreadStatus::Waiting(interrupts) => {
                terminal.progress(go_on);
                // This process has not shown the card: words must name it by its code.
                if let Some(words) = say.text.clone()
                    && let Some(ended) = self.heard(&words, &interrupts, None, terminal).await?
                {
                    say.text = None;
                    return Ok(Some(ended));
                }
                let state = runner.state(&self.thread).await?;
                return Ok(state.map(|state| RunResult::parked(state, interrupts)));
            }
            ThreadStatus::Unfinished | ThreadStatus::Sleeping { .. } => {
                terminal.progress(go_on);
                let ended = follow(terminal, runner.recover(&self.thread)).await?;
                if say.text.is_none() || !ended.interrupts().is_empty() {
                    // Words for a new request do not answer a card that was raised meanwhile.
                    say.text = None;
                    return Ok(Some(ended));
                }
                say.text.clone()
            }
            ThreadStatus::Failed { error } if say.text.is_none() => {
                terminal.progress(&error);
                terminal.progress(
                    terminal
                        .lang
                        .pick("trying again what failed", "重试失败的步骤"),
                );
                return Ok(Some(follow(terminal, runner.retry(&self.thread)).await?));
            }
            _ => say.text.clone(),
        };
        let Some(words) = words else {
            // Another process may have answered the card since it was looked for.
            if say.yes && say.first.is_none() {
                terminal.line(terminal.lang.pick(
                    "Nothing waits for an answer any more.",
                    "现在没有等待回答的问题了。",
                ));
            }
            return Ok(None);
        };
        let of_a_card = self.heard_of_a_card(&words, terminal).await?;
        say.text = None;
        if let Some(known) = of_a_card {
            return Ok(known);
        }
        let run = self.start(words, say.extra.clone()).await?;
        Ok(Some(follow(terminal, run).await?))
    }

    pub(crate) async fn start(
        &self,
        words: String,
        extra: Map<String, Value>,
    ) -> Result<Run<A::State>, BoxError> {
        let mut said = UserMessage::new(self.caller.clone(), words);
        said.extra = extra;
        let input = self.agent.input(said).await?;
        Ok(self.agent.runner().start(&self.thread, input))
    }

    /// Shows how the waiting thread can be answered.
    fn park(&self, asked: &Interrupt, terminal: &mut Terminal) {
        let (lang, again, code) = (terminal.lang, &self.again, asked.id.code());
        let mut how = format!("{again} --answer '{}'", reply::example(asked));
        let mut words = format!("{again} '…'");
        if asked.question.digest.is_some() {
            how = format!("{how} --card {code}");
            let [yes, no] = lang.pick(["yes", "no"], ["好的", "不要"]);
            words = lang.pick(
                format!("{again} '{yes} {code}', or '{no} {code}'"),
                format!("{again} '{yes} {code}'，或 '{no} {code}'"),
            );
        }
        // Only this command takes words.
        let words = Some(words).filter(|_| again.ends_with(" say"));
        let words = words.map_or_else(String::new, |words| format!("\n  {words}"));
        let text = lang.pick(
            format!("\nYour answer is waited for. Answer with:{words}\n  {how}\nor agree to everything with --yes."),
            format!("\n正在等待你的回答。可以这样回答：{words}\n  {how}\n或用 --yes 全部同意。"),
        );
        terminal.line(text);
    }
}

/// Returns the state and the first open question of a run.
fn open<S>(ended: &RunResult<S>) -> Option<(&S, &Interrupt)> {
    Some((ended.state(), ended.interrupts().first()?))
}

#[cfg(test)]
mod tests {
    use fugato_axum::BadInput;
    use fugato_graph::{END, Graph, Runner};
    use fugato_state::State;
    use fugato_store::MemoryLog;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::{Lang, terminal::tests::terminal};

    #[derive(Clone, Default, Serialize, Deserialize)]
    struct Count(u32);

    impl State for Count {
        type Update = u32;

        fn apply(&mut self, by: u32) {
            self.0 += by;
        }
    }

    struct Counter(Runner<Count>);

    #[async_trait::async_trait]
    impl ServedAgent for Counter {
        type State = Count;

        fn name(&self) -> &'static str {
            "counter"
        }

        fn runner(&self) -> &Runner<Count> {
            &self.0
        }

        async fn input(&self, _: UserMessage) -> Result<Vec<u32>, BadInput> {
            Ok(vec![1])
        }
    }

    /// The card of a bare `--yes` was answered by another process a moment ago.
    #[tokio::test]
    async fn a_yes_to_a_card_that_is_gone_says_that_nothing_waits() {
        let graph = Graph::<Count>::starting_at("count").node("count", async |_| {});
        let graph = graph.edge("count", END).build().expect("it is wired");
        let agent = Counter(Runner::new(graph, Arc::new(MemoryLog::default())));
        let thread = ThreadId::new("one").expect("a name");
        let talk = ChatSession::new(&agent, thread, "counter say");
        let said = async |say: SayArgs| {
            let (mut terminal, output) = terminal(Lang::En);
            talk.say(say, &mut terminal).await.expect("it is said");
            output.text()
        };
        let words = |text: Option<&str>, first: Option<&str>, yes| SayArgs {
            text: text.map(str::to_owned),
            first: first.map(str::to_owned),
            yes,
            ..SayArgs::default()
        };
        said(words(Some("go"), None, false)).await;
        let told = said(words(None, None, true)).await;
        assert_eq!(told, "Nothing waits for an answer any more.\n");
        // A program with words of its own for a new thread shows what there is.
        assert_eq!(said(words(None, Some("go"), true)).await, "");
    }
}
