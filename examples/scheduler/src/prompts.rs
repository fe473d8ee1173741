//! The prompts of the model, stage by stage.
use fugato::{
    llm::Tag,
    prompt::{
        PromptBudget, PromptBuilder, RulePacks, Stage, Wording, bullets, one_of, since_marker,
    },
    state::{Message, Role},
};

use crate::{
    agent::{AgentState, LOOP_CLOSED, Mode},
    calendar::Lang,
    contract,
    route::ROUTES,
};

const GLOBAL: &str = "You are a scheduling assistant. You help a person to place what they want to do around what they have to attend. \
Code checks and carries out everything that you propose: you propose, and never claim that something was done before its result is shown. \
Days are numbered from 1, sections of a day from 1 to 12, tasks by their id.";

/// The limit of a prompt in tokens.
pub(crate) const TOKENS: u64 = 80_000;

pub(crate) fn wording(agent: &AgentState) -> Wording {
    match agent.lang {
        Lang::Zh => Wording::chinese(),
        Lang::En => Wording::english(),
    }
}

fn language(agent: &AgentState) -> &'static str {
    agent.lang.pick(
        "Write to the person in English.",
        "Write to the person in Chinese (请用中文回答用户).",
    )
}

/// Returns the description of the decision at the end of a stage.
fn form(outline: String) -> String {
    format!("The decision is one JSON object. Its keys:\n{outline}")
}

/// Returns the task of the stage, and the separation of the decision from the text for the person.
/// The tag changes with each request, so it must not be at the beginning, which servers cache.
fn now(agent: &AgentState, tag: &Tag, what: &str) -> String {
    format!(
        "{what} {} Begin with the decision inside this tag: {}{{...}}</decision>. \
         After the tag write what the person reads, or nothing.",
        language(agent),
        tag.opening()
    )
}

/// Builds the prompt for classifying a request.
pub fn chat(agent: &AgentState, tag: &Tag) -> Vec<Message> {
    let stage = Stage::new(format!(
        "You decide whether a request is only talk or something to do.\n{}\n{}",
        bullets([
            (
                "chat",
                "a greeting, thanks or a general question; write the answer after the tag"
            ),
            (
                "task",
                "anything that needs the schedule; when in doubt, choose this"
            ),
        ]),
        form(contract::intent().outline()),
    ))
    .instruction(now(agent, tag, "Classify the last request."));
    build(agent, RulePacks::new(), stage)
}

/// Builds the prompt for talk about a conversation in which nothing can be done.
pub(crate) fn plain(text: &str, lang: Lang) -> Vec<Message> {
    let system = lang.pick(
        "You are a scheduling assistant that can only talk now: you cannot look at the schedule or \
         change it, and claim nothing about it. The person knows that already. Answer in one or two \
         plain sentences, in English.",
        "你是日程助手，但现在只能交谈：不能查看或修改日程，也不要声称做了什么。用户已经知道这一点。\
         请用一两句中文平实地回答。",
    );
    vec![Message::system(system), Message::user(text)]
}

/// Builds the prompt for naming a conversation by its first request and the answer to that; none if
/// it has no answer.
pub(crate) fn title(agent: &AgentState) -> Option<Vec<Message>> {
    let history = &agent.conversation.history;
    let text = |role| {
        let first = history.iter().find(|message| message.role == role)?;
        let start: String = first.content.chars().take(SHOWN_TO_NAME).collect();
        Some(start).filter(|text| !text.trim().is_empty())
    };
    let (asked, answered) = (text(Role::User)?, text(Role::Assistant)?);
    let system = agent.lang.pick(
        "Name the conversation by what it is about: at most six words, in English, without quotes, \
         and nothing else.",
        "请给这个会话起一个标题，说明它的主题：最多十二个汉字，不加引号，只写标题。",
    );
    Some(vec![
        Message::system(system),
        Message::user(format!("{asked}\n---\n{answered}")),
    ])
}

/// The number of characters of a message that are shown to name a conversation.
const SHOWN_TO_NAME: usize = 1_000;

/// Builds the prompt for choosing among five routes.
pub fn route(agent: &AgentState, tag: &Tag) -> Vec<Message> {
    let stage = Stage::new(format!(
        "You decide where a request leads.\n{}\nThe attributes of the tag, each true or false:\n{}",
        bullets(ROUTES.map(|(name, _, text)| (name, text))),
        bullets([
            ("rough_build", "everything pending is to be placed"),
            ("refine", "what is placed is to be improved afterwards"),
            ("reorder", "the person allows another order of the tasks"),
            ("thinking", "carrying it out takes thought"),
        ]),
    ))
    .instruction(format!(
        "Choose for the last request. {} Begin with a tag like this one, with your own values: \
         {} to=\"plan\" rough_build=\"false\" refine=\"false\" reorder=\"false\" thinking=\"true\">. \
         After the tag write what the person reads, or nothing.",
        language(agent),
        tag.opening().trim_end_matches('>'),
    ));
    build(agent, RulePacks::new(), stage)
}

/// Builds the prompt for answering a question that takes thought.
pub fn deep_answer(agent: &AgentState) -> Vec<Message> {
    let stage = Stage::new(
        "You answer a question thoroughly. What you do not know of the person's schedule you do not invent.",
    )
    .state(clock(agent).unwrap_or_default())
    .instruction(format!("Answer the last question. {}", language(agent)));
    build(agent, RulePacks::new(), stage)
}

/// Builds the prompt for planning.
pub fn plan(agent: &AgentState, tag: &Tag, deep: bool) -> Vec<Message> {
    let stage = Stage::new(format!(
        "You plan how to carry out the request, in a few steps that each can be checked.\n{}\n{}",
        bullets([
            ("plan_done", "the plan is ready; only then are there steps"),
            (
                "ask_user",
                "something is missing that only the person knows; ask it in speak"
            ),
            ("continue", "you need another round"),
        ]),
        form(contract::plan().outline()),
    ))
    .compacted_work(working_area(agent), &agent.compacted.work)
    .state(standing(agent))
    .instruction(now(
        agent,
        tag,
        if deep {
            "Think the plan through; every step needs done_when."
        } else {
            "Plan the last request."
        },
    ));
    build(agent, RulePacks::new(), stage)
}

/// Builds the prompt for deciding what to do next.
pub fn execute(agent: &AgentState, tag: &Tag, catalogue: &str) -> Vec<Message> {
    let contract = contract::ExecutorDecision::contract(agent.has_step());
    let stage = Stage::new(format!(
        "You carry out the work, one action a round.\n{}\n{}",
        bullets([
            (
                "continue",
                "call a tool that reads, or think on without a call"
            ),
            (
                "confirm",
                "call a tool that writes; the person is asked first"
            ),
            ("ask_user", "ask the person in speak, without a call"),
            (
                "next_plan",
                "the current step is done; say in goal_check how you know"
            ),
            ("done", "everything is done; say in goal_check how you know"),
            ("abort", "it cannot be done; tell the person why"),
        ]),
        form(contract.outline()),
    ))
    .catalogue(catalogue)
    .compacted_work(working_area(agent), &agent.compacted.work)
    .state(standing(agent))
    .instruction(now(agent, tag, "Decide on the next action."));
    let stage = match &agent.run.resumed {
        Some((question, reply)) => stage.resume(question, reply),
        None => stage,
    };
    build(agent, execute_rules(), stage)
}

/// Builds the prompt for summing up.
pub fn deliver(agent: &AgentState, facts: &str) -> Vec<Message> {
    let stage =
        Stage::new("You sum up what was done, in a few sentences, without inventing anything.")
            .state(facts)
            .instruction(format!("Sum up. {}", language(agent)));
    build(agent, RulePacks::new(), stage)
}

fn build(agent: &AgentState, rules: RulePacks<AgentState>, stage: Stage) -> Vec<Message> {
    let stage = stage.compacted(&agent.compacted.conversation);
    let builder = PromptBuilder::new(GLOBAL)
        .rules(rules)
        .hints(hints())
        .wording(wording(agent));
    let budget = PromptBudget::new(TOKENS);
    let fitted = builder.fitted(agent, &agent.conversation, &stage, &budget);
    let fitted = fitted.unwrap_or_else(|error| {
        // The server decides: our estimate is no reason to give up.
        tracing::warn!(%error, "prompt_too_long");
        *error.fitted
    });
    if !fitted.left_out.is_empty() {
        let (tokens, left_out) = (fitted.tokens, &fitted.left_out);
        tracing::info!(tokens, ?left_out, "prompt_shortened");
    }
    fitted.messages.to_vec()
}

/// Returns the messages of the open loop; those of a finished loop are not among them.
pub(crate) fn working_area(agent: &AgentState) -> &[Message] {
    since_marker(&agent.conversation.history, LOOP_CLOSED)
}

fn standing(agent: &AgentState) -> String {
    let mut lines: Vec<String> = clock(agent).into_iter().collect();
    lines.push(format!(
        "round {} of {}",
        agent.run.rounds.used, agent.run.rounds.limit
    ));
    if let Some(step) = agent.plan.current_step() {
        let (n, of) = (agent.plan.current + 1, agent.plan.steps.len());
        lines.push(format!("step {n} of {of}: {}", step.content));
        if !step.done_when.is_empty() {
            lines.push(format!("it is done when: {}", step.done_when));
        }
    }
    if !agent.task_class_ids.is_empty() {
        lines.push(format!(
            "task classes of this conversation: {:?}",
            agent.task_class_ids
        ));
    }
    if agent.health.checked {
        lines.push(format!("last diagnosis: {}", agent.health.signal));
    }
    lines.join("\n")
}

/// Returns the date and time, and the day of the schedule. It comes after the constant parts of a
/// prompt, so that servers can cache those.
fn clock(agent: &AgentState) -> Option<String> {
    let now = agent.now?;
    let days = agent
        .schedule
        .iter()
        .flat_map(|schedule| &schedule.window.days);
    let today = agent.today();
    let day = match days.clone().find(|day| i32::from(day.day_index) == today) {
        Some(day) if day.date == now.date().to_string() => format!("; day {today} is today"),
        Some(day) if day.date.is_empty() => String::new(),
        Some(_) => format!("; the days of the schedule are over, day {today} counts as today"),
        None if days.clone().next().is_some() => format!("; day 1 is in {} days", 1 - today),
        None => String::new(),
    };
    Some(format!("it is {}{day}", now.strftime("%A, %Y-%m-%d %H:%M")))
}

/// Returns the rule packs of execution, chosen by state.
pub fn execute_rules() -> RulePacks<AgentState> {
    let schedule = |agent: &AgentState| agent.tools.domain.as_deref() == Some("schedule");
    let classes = |agent: &AgentState| agent.tools.domain.as_deref() == Some("taskclass");
    let pack = |name: &'static str| {
        move |agent: &AgentState| {
            agent.tools.domain.as_deref() == Some("schedule") && agent.tools.packs.contains(name)
        }
    };
    RulePacks::new()
        .always("core_min", "Do not call the same tool with the same arguments twice in a row. After two reads of the same kind, act or ask.")
        .always("safety_hard", format!("A tool that writes needs the action {}. Nothing else writes.", one_of(["confirm"])))
        .always("context_protocol", "Only the tools in the catalogue can be called. Add others with context_tools_add, and remove them when they are no longer needed.")
        .when("mode_plan", |agent: &AgentState| !agent.run.react, "Work on the current step only; next_plan leads to the next one.")
        .when("mode_react", |agent: &AgentState| agent.run.react, "There is no plan: look, act, and end with done.")
        .when("domain_schedule", schedule, "Only days, sections and ids from tool results may be used. Items of a class keep their order.")
        .when("domain_taskclass", classes, "A class needs a name, its three properties and its items. Ask the person for what is missing, and invent none of it. Storing a class gives none of its items a place.")
        .when("schedule_mutation", pack("mutation"), "Look for a free range before you place or move something.")
        .when("schedule_analyze", pack("analyze"), "Choose only among the candidates of analyze_health; copy their arguments as they stand.")
        .when("schedule_web", pack("web"), "The web is for general material. It says nothing about when something can be done.")
        .when("queue_chain", pack("queue"), "Fill the queue with query_target_tasks, take a task with queue_pop_head, then queue_apply_head_move or queue_skip_head; end when queue_status shows none.")
        .when("taskclass_retry", |agent: &AgentState| agent.run.upserts.consecutive_failures > 0, "The last class was not stored. Repair what its issues name and nothing else, or ask the person.")
        .when("rough_build_done", |agent: &AgentState| agent.conversation.pinned(crate::agent::ROUGH_BUILD_DONE).is_some(), "Everything pending was placed by rule already; do not place it again.")
        .when("diagnosis_loop", |agent: &AgentState| agent.run.optimize_only, "Diagnose, apply one candidate, diagnose again. One or two changes are typical; when the diagnosis recommends close, end with done.")
}

fn hints() -> RulePacks<AgentState> {
    RulePacks::new()
        .when("diagnose", |agent: &AgentState| agent.run.optimize_only && !agent.health.checked, "Diagnose with analyze_health first.")
        .when("stagnating", |agent: &AgentState| agent.health.stagnation > 0, "The last change did not help; consider to end here.")
        .when("full", |agent: &AgentState| agent.run.mode == Mode::GlobalReopt, "The person wants the whole schedule looked at.")
        .when("infeasible", AgentState::is_gate_closed, "Not everything fits. Ask the person whether to extend the window, relax constraints, reduce the scope, or accept the risk and close.")
}
