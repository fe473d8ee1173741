//! Compaction: a model summarises the conversation or the work when it fills more than half of a
//! prompt.
use fugato::{
    agent::memory::{Compact, CompactionInput},
    graph::Context,
    memory::{CompactionPolicy, Trigger},
    prompt::{EstimatedTokens, TokenCount as _, conversation_view, is_correction, work_view},
    state::{Message, Role},
    stream::EventKind,
};

use crate::{
    agent::{AgentState, Part, Update},
    llm_config::{LlmConfig, ModelStage},
    prompts::{TOKENS, wording, working_area},
};

/// The result of a compaction.
#[derive(Debug, Default)]
pub(crate) struct CompactionStep {
    /// The summaries and the failed attempts.
    pub(crate) updates: Vec<Update>,
    /// The events about the savings, for readers of the log.
    pub(crate) notes: Vec<EventKind>,
}

/// The number of turns before the request that are never summarised.
const RECENT_TURNS: usize = 1;

/// The number of the newest steps of the work that are never summarised.
const RECENT_STEPS: usize = 4;

/// Summarises the conversation, then the work, each if it fills more than half of a prompt. Without
/// a model there are no summaries, and the budget of the prompt alone decides what is left out.
pub(crate) async fn compact(cx: &Context<AgentState>, mind: &LlmConfig) -> CompactionStep {
    let mut room = CompactionStep::default();
    let agent = cx.state();
    let answers = agent.run.fell_back.is_none();
    let Some(model) = mind.model.as_ref().filter(|_| answers) else {
        return room;
    };
    let chosen = mind.chosen(agent, ModelStage::Compact).cloned();
    let compact = Compact::new(model.clone())
        .profile(mind.stages.of(ModelStage::Compact))
        .named(chosen);
    for part in [Part::Conversation, Part::Work] {
        if !agent.compacted.is_open(part) || shown(agent, part) <= TOKENS / 2 {
            continue;
        }
        let history = history(agent, part);
        let compacting = CompactionInput {
            part: part.name(),
            history: &history,
            done: agent.compacted.of(part),
            policy: policy(part),
            beginning: agent
                .lang
                .pick("summing up what came before", "正在整理先前的内容"),
            over: agent
                .lang
                .pick("what came before was summed up", "先前的内容整理完毕"),
            failed: agent.lang.pick(
                "what came before could not be summed up, and stays as it is",
                "先前的内容没能整理，保持原样",
            ),
        };
        if let Some((update, statistics)) = compact.part(cx, compacting).await {
            room.updates.push(match update {
                Some(update) => Update::Compacted { part, update },
                None => Update::NotCompacted(part),
            });
            room.notes.push(statistics.to_event());
        }
    }
    room
}

/// Returns the number of tokens that a part takes in a prompt, its summary included.
fn shown(agent: &AgentState, part: Part) -> u64 {
    let (done, wording) = (agent.compacted.of(part), wording(agent));
    let view = match part {
        Part::Conversation => conversation_view(done.view(&agent.conversation.history).1, &wording),
        Part::Work => work_view(done.view(working_area(agent)).1, &wording),
    };
    EstimatedTokens.text(&view) + EstimatedTokens.text(&done.summary)
}

/// Returns the policy for a part. The size was checked before, so only the messages to keep matter.
fn policy(part: Part) -> CompactionPolicy {
    let policy = CompactionPolicy::default().when(Trigger::Messages(0));
    match part {
        Part::Conversation => policy.keep_recent(RECENT_TURNS),
        Part::Work => policy.by_steps().keep_recent(RECENT_STEPS),
    }
}

/// Returns the messages of a part from its beginning, as many as a model can read at once. Their
/// positions are those in the part.
fn history(agent: &AgentState, part: Part) -> Vec<Message> {
    let messages = match part {
        Part::Conversation => said(&agent.conversation.history),
        Part::Work => working_area(agent).to_vec(),
    };
    let from = agent.compacted.of(part).upto;
    let mut tokens = 0;
    let fits = |(at, message): &(usize, Message)| {
        if *at >= from {
            tokens += EstimatedTokens.message(message);
        }
        tokens <= TOKENS
    };
    let fitting = messages.into_iter().enumerate().take_while(fits);
    fitting.map(|(_, message)| message).collect()
}

/// Returns the messages before the last request, as the conversation view shows them. A message
/// that the view leaves out keeps its position and is empty.
fn said(history: &[Message]) -> Vec<Message> {
    let is_asked = |message: &Message| message.role == Role::User && !is_correction(message);
    let request = history.iter().rposition(is_asked).unwrap_or_default();
    let next = history.iter().skip(1).map(Some).chain([None]);
    let before = history.iter().zip(next).take(request);
    let seen = |(message, next): (&Message, Option<&Message>)| match message.role {
        Role::User if is_asked(message) => Message::user(&message.content),
        Role::Assistant if !next.is_some_and(is_correction) => Message::assistant(&message.content),
        _ => Message::system(""),
    };
    before.map(seen).collect()
}
