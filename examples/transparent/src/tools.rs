//! The tools of the agent, and their gates.
mod photo;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use fugato::state::{ToolCall, say};
use fugato::{
    agent::{Toolbox, memory::forget},
    command::{Command, NOTIFY, Notify},
    cron::{CANCEL, CREATE, CreateArgs, Job, JobClock, JobTools, Jobs, Maker},
    file::{ListFiles, ReadFile, SearchFiles},
    tool::{GateChain, GatePolicy as _, GatedCall, Registry, ToolLists, Verdict},
    web::{Web, WebSearch},
};
use serde::Deserialize as _;
use serde_json::json;

use crate::{
    agent::{AgentState, Update},
    plugins::{self, LoadedPlugins},
    workspace::Workspace,
};

/// The work of each tool as a short phrase, in English and Chinese.
pub const WORDS: [(&str, &str, &str); 10] = [
    ("cancel_cron_job", "cancelling a reminder", "取消提醒"),
    ("create_cron_job", "setting a reminder", "设置提醒"),
    ("forget", "forgetting a note", "忘掉一条笔记"),
    ("list_cron_jobs", "listing reminders", "列出提醒"),
    ("list_files", "listing files", "列出文件"),
    ("notify", "notifying", "发送通知"),
    ("read_file", "reading a file", "读取文件"),
    ("search_files", "searching in files", "在文件中查找"),
    ("take_photo", "taking a photo", "拍照"),
    ("web-search", "searching the web", "搜索网页"),
];

/// Returns the toolbox of this folder, with these jobs and plugins, and with this web if any.
pub fn toolbox(
    desk: &Workspace,
    jobs: &Jobs,
    plugins: LoadedPlugins,
    web: Option<Arc<dyn Web>>,
) -> Result<Toolbox<AgentState>, fugato::tool::RegistryError> {
    let settings = &desk.settings;
    let search = WebSearch::new(web).adjust(|mut spec| {
        spec.name = "web-search".into();
        spec.also_called("web_search")
            .argument_alias("keywords", "query")
    });
    let clock = jobs.clock().clone();
    let time = clock.clone();
    let now = move || {
        let since = Duration::from_millis(u64::try_from(time.now()).unwrap_or_default());
        SystemTime::UNIX_EPOCH + since
    };
    let jobs = JobTools::new(jobs.clone(), |agent: &AgentState| {
        let maker = Maker::new(&agent.thread).since(agent.turn.began_at);
        maker.extra(json!({ "lang": agent.lang }))
    });
    let registry = Registry::<AgentState, Update>::builder()
        .tool(search)
        .tool(ListFiles::new(desk.sandbox.clone()).clock(now))
        .tool(SearchFiles::new(desk.sandbox.clone()))
        .tool(ReadFile::new(desk.sandbox.clone()))
        .tool(jobs.create())
        .tool(jobs.list())
        .tool(jobs.cancel())
        .tool(forget(desk.notebook.clone()))
        .tool(photo::TakePhoto::new(
            Command::new(&settings.photo.command),
            desk.sandbox.clone(),
        ))
        .tool(Notify::new(Command::new(&settings.notify.command)));
    let (registry, [dangerous, harmless]) = plugins::add_to(registry, plugins);
    let registry = registry.build()?;
    let mut lists = ToolLists::default();
    lists.allow.clone_from(&settings.tools.allow);
    lists.block.clone_from(&settings.tools.block);
    lists.confirm = settings.tools.confirm.union(&dangerous).cloned().collect();
    lists.unasked = settings.tools.unasked.union(&harmless).cloned().collect();
    let gates = GateChain::new().with(one_job_makes_no_other).with(
        move |call: &GatedCall<'_>, agent: &AgentState| {
            named(listed(&lists, call, agent), call, agent, &clock)
        },
    );
    let shown = |agent: &AgentState, call: &ToolCall| Some(job(agent, call)?.wish.task);
    Ok(Toolbox::new(registry).gates(gates).preview(shown))
}

/// Returns the job that a call cancels, as it was listed in this turn.
fn job(agent: &AgentState, call: &ToolCall) -> Option<Job> {
    let id = call.arguments.get("id").filter(|_| call.name == CANCEL)?;
    let mut jobs = agent.turn.listed_jobs()?.into_iter();
    jobs.find(|job| *id == *job.id)
}

/// Says on the card of a new job when it is due, as of when it was wished for, and on that of a
/// cancellation what the job does: the call has only its id. Jobs that were not listed are listed first.
fn named(verdict: Verdict, call: &GatedCall<'_>, agent: &AgentState, clock: &JobClock) -> Verdict {
    let Verdict::NeedConfirm(card) = verdict else {
        return verdict;
    };
    if call.spec.name == CREATE
        && let Ok(args) = CreateArgs::deserialize(&call.call.arguments)
    {
        return Verdict::NeedConfirm(args.on_card(card, clock, agent.turn.began_at));
    }
    if call.spec.name != CANCEL {
        return Verdict::NeedConfirm(card);
    }
    match (job(agent, call.call), agent.turn.listed_jobs()) {
        (Some(job), _) => Verdict::NeedConfirm(job.on_card(card, clock)),
        // The call itself says that there is no such job.
        (None, Some(_)) => Verdict::Allow,
        (None, None) => Verdict::Block(list_first()),
    }
}

/// Returns what a model has to do before it cancels a job.
pub(crate) fn list_first() -> String {
    say!(
        "call `list_cron_jobs` first, so that the person can be told what is cancelled",
        "请先调用 `list_cron_jobs`，这样才能告诉用户要取消什么"
    )
}

/// Blocks a job from making jobs, as that would never end.
fn one_job_makes_no_other(call: &GatedCall<'_>, agent: &AgentState) -> Verdict {
    if agent.turn.request.job.is_some() && call.spec.name == CREATE {
        return Verdict::Block(say!(
            "a job makes no other job; do its task, and notify the person",
            "任务不能再建任务；请做它要做的事，并通知用户"
        ));
    }
    Verdict::Allow
}

/// Judges a call by the person's lists. That a job notifies was agreed to when it was made.
fn listed(lists: &ToolLists, call: &GatedCall<'_>, agent: &AgentState) -> Verdict {
    let agreed = agent.turn.request.job.is_some() && call.spec.name == NOTIFY;
    match lists.judge(call, agent) {
        Verdict::NeedConfirm(_) if agreed => Verdict::Allow,
        verdict => verdict,
    }
}
