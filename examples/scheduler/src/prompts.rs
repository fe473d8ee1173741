//! The prompts of the model, stage by stage.
use fugato::{
    llm::Tag,
    prompt::{
        PromptBudget, PromptBuilder, RulePacks, Stage, Wording, bullets, one_of, since_marker,
    },
    state::{Message, Role, say},
};

use crate::{
    agent::{AgentState, LOOP_CLOSED, Mode},
    calendar::Lang,
    contract,
    route::ROUTES,
    schedule::told::weekday,
};

const GLOBAL: &str = "You are a scheduling assistant. You help a person to place what they want to do around what they have to attend. \
Code checks and carries out everything that you propose: you propose, and never claim that something was done before its result is shown. \
Days are numbered from 1, sections of a day from 1 to 12, tasks by their id.";

const GLOBAL_ZH: &str = "你是日程助手。你帮助用户把想做的事安排在必须参加的事之间。你提出的一切都由程序检查并执行：你只提议，看到结果之前不要说已经做了什么。天从 1 开始编号，一天的节次从 1 到 12，任务用编号表示。";

/// The limit of a prompt in tokens.
pub(crate) const TOKENS: u64 = 80_000;

pub(crate) fn wording(agent: &AgentState) -> Wording {
    match agent.lang {
        Lang::Zh => Wording::chinese(),
        Lang::En => Wording::english(),
    }
}

fn language(agent: &AgentState) -> &'static str {
    agent
        .lang
        .pick("Write to the person in English.", "请用中文回答用户。")
}

/// Returns the description of the decision at the end of a stage.
fn form(outline: &str) -> String {
    say!(
        "The decision is one JSON object. Its keys:\n{outline}",
        "决定是一个 JSON 对象。它的键：\n{outline}"
    )
}

/// Returns the task of the stage, and the separation of the decision from the text for the person.
/// The tag changes with each request, so it must not be at the beginning, which servers cache.
fn now(agent: &AgentState, tag: &Tag, what: &str) -> String {
    say!(
        "{what} {} Begin with the decision inside this tag: {}{{...}}</decision>. After the tag write what the person reads, or nothing.",
        "{what}{}开头把决定写在这个标签里：{}{{...}}</decision>。标签之后写给用户看的文字，也可以不写。",
        language(agent),
        tag.opening()
    )
}

/// Builds the prompt for classifying a request.
pub fn chat(agent: &AgentState, tag: &Tag) -> Vec<Message> {
    agent.lang.scope(|| {
        let stage = Stage::new(say!(
            "You decide whether a request is only talk or something to do.\n{}\n{}",
            "你判断一个请求只是聊天，还是有事要做。\n{}\n{}",
            bullets([
                (
                    "chat",
                    say!(
                        "a greeting, thanks or a general question; write the answer after the tag",
                        "问候、道谢或一般问题；回答写在标签之后"
                    )
                ),
                (
                    "task",
                    say!(
                        "anything that needs the schedule; when in doubt, choose this",
                        "任何需要日程的请求；拿不准时选这个"
                    )
                ),
            ]),
            form(&contract::intent().outline()),
        ))
        .instruction(now(
            agent,
            tag,
            &say!("Classify the last request.", "请给最后一个请求分类。"),
        ));
        build(agent, RulePacks::new(), stage)
    })
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
    agent.lang.scope(|| {
    let stage = Stage::new(say!(
        "You decide where a request leads.\n{}\nThe attributes of the tag, each true or false:\n{}",
        "你决定一个请求走哪条路。\n{}\n标签的属性，各为 true 或 false：\n{}",
        bullets(ROUTES.map(|(name, _, [en, zh])| (name, agent.lang.pick(en, zh)))),
        bullets([
            ("rough_build", say!("everything pending is to be placed", "要安排所有待安排的内容")),
            ("refine", say!("what is placed is to be improved afterwards", "安排之后还要改进")),
            ("reorder", say!("the person allows another order of the tasks", "用户允许改变任务的顺序")),
            ("thinking", say!("carrying it out takes thought", "执行时需要思考")),
        ]),
    ))
    .instruction(say!(
        "Choose for the last request. {} Begin with a tag like this one, with your own values: {} to=\"plan\" rough_build=\"false\" refine=\"false\" reorder=\"false\" thinking=\"true\">. After the tag write what the person reads, or nothing.",
        "请为最后一个请求选择。{}开头写一个这样的标签，值由你定：{} to=\"plan\" rough_build=\"false\" refine=\"false\" reorder=\"false\" thinking=\"true\">。标签之后写给用户看的文字，也可以不写。",
        language(agent),
        tag.opening().trim_end_matches('>'),
    ));
    build(agent, RulePacks::new(), stage)
    })
}

/// Builds the prompt for answering a question that takes thought.
pub fn deep_answer(agent: &AgentState) -> Vec<Message> {
    agent.lang.scope(|| {
    let stage = Stage::new(
        say!("You answer a question thoroughly. What you do not know of the person's schedule you do not invent.", "你要详尽地回答问题。不知道的日程内容不要编造。"),
    )
    .state(clock(agent).unwrap_or_default())
    .instruction(say!(
        "Answer the last question. {}",
        "请回答最后一个问题。{}",
        language(agent)
    ));
    build(agent, RulePacks::new(), stage)
    })
}

/// Builds the prompt for planning.
pub fn plan(agent: &AgentState, tag: &Tag, deep: bool) -> Vec<Message> {
    agent.lang.scope(|| {
    let stage = Stage::new(say!(
        "You plan how to carry out the request, in a few steps that each can be checked.\n{}\n{}",
        "你计划怎样完成请求，分成几个可以核对的步骤。\n{}\n{}",
        bullets([
            ("plan_done", say!("the plan is ready; only then are there steps", "计划已完成；只有这时才有步骤")),
            (
                "ask_user",
                say!("something is missing that only the person knows; ask it in speak", "缺少只有用户知道的内容；在 speak 中提问")
            ),
            ("continue", say!("you need another round", "还需要一轮")),
        ]),
        form(&contract::plan().outline()),
    ))
    .compacted_work(working_area(agent), &agent.compacted.work)
    .state(standing(agent))
    .instruction(now(
        agent,
        tag,
        &if deep {
            say!("Think the plan through; every step needs done_when.", "请把计划想透；每一步都要有 done_when。")
        } else {
            say!("Plan the last request.", "请为最后一个请求做计划。")
        },
    ));
    build(agent, RulePacks::new(), stage)
    })
}

/// Builds the prompt for deciding what to do next.
pub fn execute(agent: &AgentState, tag: &Tag, catalogue: &str) -> Vec<Message> {
    agent.lang.scope(|| {
        let contract = contract::ExecutorDecision::contract(agent.has_step());
        let stage = Stage::new(say!(
            "You carry out the work, one action a round.\n{}\n{}",
            "你执行工作，每轮一个动作。\n{}\n{}",
            bullets([
                (
                    "continue",
                    say!(
                        "call a tool that reads, or think on without a call",
                        "调用读取的工具，或不带调用继续思考"
                    )
                ),
                (
                    "confirm",
                    say!(
                        "call a tool that writes; the person is asked first",
                        "调用写入的工具；会先询问用户"
                    )
                ),
                (
                    "ask_user",
                    say!(
                        "ask the person in speak, without a call",
                        "在 speak 中询问用户，不带调用"
                    )
                ),
                (
                    "next_plan",
                    say!(
                        "the current step is done; say in goal_check how you know",
                        "当前步骤已完成；在 goal_check 中说明依据"
                    )
                ),
                (
                    "done",
                    say!(
                        "everything is done; say in goal_check how you know",
                        "全部完成；在 goal_check 中说明依据"
                    )
                ),
                (
                    "abort",
                    say!(
                        "it cannot be done; tell the person why",
                        "无法完成；告诉用户原因"
                    )
                ),
            ]),
            form(&contract.outline()),
        ))
        .catalogue(catalogue)
        .compacted_work(working_area(agent), &agent.compacted.work)
        .state(standing(agent))
        .instruction(now(
            agent,
            tag,
            &say!("Decide on the next action.", "请决定下一个动作。"),
        ));
        let stage = match &agent.run.resumed {
            Some((question, reply)) => stage.resume(question, reply),
            None => stage,
        };
        build(agent, execute_rules(), stage)
    })
}

/// Builds the prompt for summing up.
pub fn deliver(agent: &AgentState, facts: &str) -> Vec<Message> {
    agent.lang.scope(|| {
        let stage = Stage::new(say!(
            "You sum up what was done, in a few sentences, without inventing anything.",
            "你用几句话总结做了什么，不编造任何内容。"
        ))
        .state(facts)
        .instruction(say!("Sum up. {}", "请总结。{}", language(agent)));
        build(agent, RulePacks::new(), stage)
    })
}

fn build(agent: &AgentState, rules: RulePacks<AgentState>, stage: Stage) -> Vec<Message> {
    let stage = stage.compacted(&agent.compacted.conversation);
    let builder = PromptBuilder::new(agent.lang.pick(GLOBAL, GLOBAL_ZH))
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
    lines.push(say!(
        "round {} of {}",
        "第 {} 轮，共 {} 轮",
        agent.run.rounds.used,
        agent.run.rounds.limit
    ));
    if let Some(step) = agent.plan.current_step() {
        let (n, of) = (agent.plan.current + 1, agent.plan.steps.len());
        lines.push(say!(
            "step {n} of {of}: {}",
            "第 {n}/{of} 步：{}",
            step.content
        ));
        if !step.done_when.is_empty() {
            lines.push(say!("it is done when: {}", "完成条件：{}", step.done_when));
        }
    }
    if !agent.task_class_ids.is_empty() {
        lines.push(say!(
            "task classes of this conversation: {:?}",
            "本对话的任务类别：{:?}",
            agent.task_class_ids
        ));
    }
    if agent.health.checked {
        lines.push(say!(
            "last diagnosis: {}",
            "上次诊断：{}",
            agent.health.signal
        ));
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
        Some(day) if day.date == now.date().to_string() => {
            say!("; day {today} is today", "；第 {today} 天是今天")
        }
        Some(day) if day.date.is_empty() => String::new(),
        Some(_) => say!(
            "; the days of the schedule are over, day {today} counts as today",
            "；日程的日子已过，第 {today} 天算作今天"
        ),
        None if days.clone().next().is_some() => {
            say!("; day 1 is in {} days", "；第 1 天在 {} 天后", 1 - today)
        }
        None => String::new(),
    };
    let at = match agent.lang {
        Lang::En => now.strftime("%A, %Y-%m-%d %H:%M").to_string(),
        Lang::Zh => {
            let day = now.weekday().to_monday_one_offset().unsigned_abs();
            format!("{} {}", weekday(day), now.strftime("%Y-%m-%d %H:%M"))
        }
    };
    Some(say!("it is {at}{day}", "现在是{at}{day}"))
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
        .always("core_min", say!("Do not call the same tool with the same arguments twice in a row. After two reads of the same kind, act or ask.", "不要连续两次用相同参数调用同一个工具。同类读取两次之后，请行动或提问。"))
        .always("safety_hard", say!("A tool that writes needs the action {}. Nothing else writes.", "写入的工具需要动作 {}。其他动作都不写入。", one_of(["confirm"])))
        .always("context_protocol", say!("Only the tools in the catalogue can be called. Add others with context_tools_add, and remove them when they are no longer needed.", "只能调用目录中的工具。其他工具用 context_tools_add 启用，不再需要时停用。"))
        .when("mode_plan", |agent: &AgentState| !agent.run.react, say!("Work on the current step only; next_plan leads to the next one.", "只处理当前步骤；next_plan 进入下一步。"))
        .when("mode_react", |agent: &AgentState| agent.run.react, say!("There is no plan: look, act, and end with done.", "没有计划：先看，再做，最后用 done 结束。"))
        .when("domain_schedule", schedule, say!("Only days, sections and ids from tool results may be used. Items of a class keep their order.", "只能使用工具结果中的天、节次和编号。同一类别的各项保持顺序。"))
        .when("domain_taskclass", classes, say!("A class needs a name, its three properties and its items. Ask the person for what is missing, and invent none of it. Storing a class gives none of its items a place.", "类别需要名称、三项属性和各项内容。缺少的请询问用户，不要编造。存入类别不会安排其中任何一项。"))
        .when("schedule_mutation", pack("mutation"), say!("Look for a free range before you place or move something.", "安排或移动之前先找空闲。"))
        .when("schedule_analyze", pack("analyze"), say!("Choose only among the candidates of analyze_health; copy their arguments as they stand.", "只能从 analyze_health 的候选中选择；参数照抄。"))
        .when("schedule_web", pack("web"), say!("The web is for general material. It says nothing about when something can be done.", "网上只查一般资料。它说明不了什么时候可以做什么。"))
        .when("queue_chain", pack("queue"), say!("Fill the queue with query_target_tasks, take a task with queue_pop_head, then queue_apply_head_move or queue_skip_head; end when queue_status shows none.", "用 query_target_tasks 填充队列，用 queue_pop_head 取任务，再用 queue_apply_head_move 或 queue_skip_head；queue_status 显示没有任务时结束。"))
        .when("taskclass_retry", |agent: &AgentState| agent.run.upserts.consecutive_failures > 0, say!("The last class was not stored. Repair what its issues name and nothing else, or ask the person.", "上一个类别没有存入。只改正 issues 指出的问题，或询问用户。"))
        .when("rough_build_done", |agent: &AgentState| agent.conversation.pinned(crate::agent::ROUGH_BUILD_DONE).is_some(), say!("Everything pending was placed by rule already; do not place it again.", "待安排的内容已经按规则安排好，不要重复安排。"))
        .when("diagnosis_loop", |agent: &AgentState| agent.run.optimize_only, say!("Diagnose, apply one candidate, diagnose again. One or two changes are typical; when the diagnosis recommends close, end with done.", "诊断，采用一个候选，再诊断。通常改一两处；诊断建议 close 时用 done 结束。"))
}

fn hints() -> RulePacks<AgentState> {
    RulePacks::new()
        .when("diagnose", |agent: &AgentState| agent.run.optimize_only && !agent.health.checked, say!("Diagnose with analyze_health first.", "请先用 analyze_health 诊断。"))
        .when("stagnating", |agent: &AgentState| agent.health.stagnation > 0, say!("The last change did not help; consider to end here.", "上一次改动没有帮助；可以考虑到此结束。"))
        .when("full", |agent: &AgentState| agent.run.mode == Mode::GlobalReopt, say!("The person wants the whole schedule looked at.", "用户希望检查整个日程。"))
        .when("infeasible", AgentState::is_gate_closed, say!("Not everything fits. Ask the person whether to extend the window, relax constraints, reduce the scope, or accept the risk and close.", "有内容放不下。请询问用户：延长窗口、放宽限制、缩小范围，还是接受风险并结束。"))
}
