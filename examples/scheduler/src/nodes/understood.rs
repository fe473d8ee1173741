//! The reading of a request by rules, with the same routes, gates and cards as a model's decisions.
use std::sync::Arc;

use fugato::{
    graph::{BoxError, Context},
    state::{Role, say},
};

use super::{errand_told, keep::commit, said};
use crate::{
    agent::{AgentState, DecisionView, Phase, RouteDecision, TerminalOutcome, Update},
    deps::Deps,
    keywords::said as said_words,
    llm_config::show,
    report::Receipts,
    route::RequestRoute,
    rules,
    schedule::{EventType, PlacementStatus, ScheduleState, ScheduleTask},
    store::{Calendar, MemoryNote, Reminder, StoreWrite},
    understand::{Facts, Understanding, instead, place_pending, understand},
};
use fugato::state::State as _;

/// A request that rules may read.
#[derive(Default)]
pub(super) struct RuleReading {
    agent: AgentState,
    notes: Vec<MemoryNote>,
    reminders: Vec<Reminder>,
    /// The calendar of a conversation that had none so far; talk alone does not take it in.
    first: Option<Arc<ScheduleState>>,
    /// The reason why rules do nothing amid the work.
    refusal: Option<String>,
    /// The updates that lead to it.
    pub(super) updates: Vec<Update>,
}

impl RuleReading {
    /// Reads notes and reminders, and shows the reminders that are due.
    pub(super) async fn begin(deps: &Deps, cx: &Context<AgentState>) -> Result<Self, BoxError> {
        let mut reading = Self::of_calendar(deps, cx).await?;
        let due = reading.reminders.iter().enumerate();
        let due = due.filter(|(_, reminder)| reminder.is_due(reading.agent.now));
        let due: Vec<usize> = due.map(|(at, _)| at).collect();
        if let Some(calendars) = &deps.calendars
            && !due.is_empty()
        {
            let lines = due.iter().filter_map(|at| reading.reminders.get(*at));
            let lines: Vec<_> = lines.map(|reminder| reminder.text.clone()).collect();
            let lines = lines.join(&say!("; ", "；"));
            let text = say!("Reminder: {lines}", "提醒：{lines}");
            show(cx, &text);
            reading.push(said(text));
            commit(calendars, cx, StoreWrite::Told { reminders: due }).await?;
        }
        Ok(reading)
    }

    /// Reads notes and reminders, and takes over the calendar.
    async fn of_calendar(deps: &Deps, cx: &Context<AgentState>) -> Result<Self, BoxError> {
        let mut reading = Self {
            agent: cx.state().clone(),
            ..Self::default()
        };
        if let Some(calendars) = &deps.calendars {
            let name = calendars.name(cx.thread());
            if let Some(calendar) = calendars.store().read(&name).await? {
                (reading.notes, reading.reminders) = (calendar.notes, calendar.reminders);
                reading.take(calendar.schedule.into());
            }
        }
        Ok(reading)
    }

    fn push(&mut self, update: Update) {
        self.agent.apply(update.clone());
        self.updates.push(update);
    }

    /// Takes over the calendar, if the conversation has none.
    fn take(&mut self, loaded: Arc<ScheduleState>) {
        if self.agent.schedule.is_none() {
            self.agent.apply(Update::Loaded(loaded.clone()));
            self.first = Some(loaded);
        }
    }

    /// Loads a schedule that no calendar holds.
    async fn load(&mut self, deps: &Deps, cx: &Context<AgentState>) -> Result<(), BoxError> {
        if self.agent.schedule.is_none()
            && let Some(provider) = &deps.provider
        {
            self.take(provider.load(cx.thread()).await?.into());
        }
        Ok(())
    }

    /// Places by rule, and improves.
    fn build(&mut self, routed: RouteDecision) {
        self.push(Update::Judged(DecisionView::Continue));
        self.work();
        self.push(Update::PlacedByWord);
        self.push(Update::Routed(routed));
    }

    /// Takes the calendar into the conversation, because there is work on it.
    fn work(&mut self) {
        let first = self.first.take().map(Update::Loaded);
        self.updates.extend(first);
    }
}

/// Decides by rules what a request leads to, and tells the person what there is to tell.
pub(super) async fn by_rules(
    deps: &Deps,
    cx: &Context<AgentState>,
    reading: &mut RuleReading,
    text: &str,
) -> Result<(), BoxError> {
    reading.load(deps, cx).await?;
    let schedule = reading.agent.schedule.clone().unwrap_or_default();
    let agent = reading.agent.clone();
    let mut facts = Facts::of(&agent, &schedule, deps);
    let (notes, reminders) = (reading.notes.clone(), reading.reminders.clone());
    (facts.notes, facts.reminders) = (&notes, &reminders);
    let amid = agent.phase == Phase::Executing || agent.phase == Phase::Planning;
    let (mut understanding, mut beside) = understand(text, &facts).parted();
    // A card that is refused keeps nothing free.
    if !matches!(understanding, Understanding::Calls { .. })
        && let Some(times) = beside.free_times.take()
    {
        reading.push(Update::Travels(beside.travels));
        reading.push(Update::KeptFree(times));
    }
    if understanding == Understanding::PlaceAll {
        let routed = rules::route(&agent, RequestRoute::default(), text);
        // Amid the work only calls are left.
        if routed.rough_build && agent.phase != Phase::Executing {
            reading.build(routed);
            return Ok(());
        }
        understanding = place_pending(&facts);
    }
    // A draft is improved as it was made, and asked about as a whole.
    let kept = |task: &ScheduleTask| {
        task.event_type == EventType::Task && task.status == PlacementStatus::Existing
    };
    let improves = said_words(text).global_reopt
        && agent.free_times.is_empty()
        && !schedule.tasks.iter().any(kept);
    if improves && !matches!(understanding, Understanding::Refusal(_)) && !amid {
        reading.build(rules::route(&agent, RequestRoute::default(), text));
        return Ok(());
    }
    reading.push(Update::Judged(DecisionView::Continue));
    let errand = match understanding {
        // The end of the work tells why.
        Understanding::Refusal(text) if amid => {
            reading.refusal = Some(text);
            return Ok(());
        }
        Understanding::Answer(text) | Understanding::Refusal(text) => {
            reading.reply(cx, text);
            return Ok(());
        }
        Understanding::Calls { say, calls } => {
            if !say.is_empty() {
                show(cx, &say);
                reading.push(said(say));
            }
            reading.work();
            reading.push(Update::Routed(RouteDecision::straight()));
            reading.push(Update::PlannedCalls(calls));
            beside.updates().for_each(|update| reading.push(update));
            return Ok(());
        }
        Understanding::Repairs { say, repairs } => {
            show(cx, &say);
            reading.push(said(say));
            reading.work();
            reading.push(Update::Routed(RouteDecision::straight()));
            reading.push(Update::PlannedRepairs(repairs));
            return Ok(());
        }
        Understanding::PlaceAll | Understanding::With(..) => return Ok(()),
        Understanding::Note(note) => StoreWrite::Note(note),
        Understanding::Remind(reminder) => StoreWrite::Remind(reminder),
        Understanding::Correct(reminder, to) => StoreWrite::Correct { reminder, to },
        Understanding::Forget(numbers) => {
            let known = notes.len();
            let (notes, reminders): (Vec<usize>, Vec<usize>) =
                numbers.into_iter().partition(|number| *number < known);
            let reminders = reminders.into_iter().map(|number| number - known).collect();
            StoreWrite::Forget { notes, reminders }
        }
    };
    let errand = errand.over(&Calendar {
        notes,
        reminders,
        ..Calendar::default()
    });
    reading.push(Update::Errand(errand));
    reading.push(Update::Routed(RouteDecision {
        phase: Phase::QuickTask,
        ..RouteDecision::straight()
    }));
    Ok(())
}

impl RuleReading {
    fn reply(&mut self, cx: &Context<AgentState>, text: String) {
        show(cx, &text);
        self.push(said(text));
        self.push(Update::Routed(RouteDecision {
            phase: Phase::Chatting,
            ..RouteDecision::straight()
        }));
    }
}

/// Returns the updates with which rules take over from a model that failed amid the work; none if
/// the request has already changed something. The work ends where rules have an answer alone.
pub(super) async fn take_over(
    deps: &Deps,
    cx: &Context<AgentState>,
    told: Vec<Update>,
    text: &str,
) -> Result<Option<Vec<Update>>, BoxError> {
    let agent = cx.state();
    let begun = Receipts::of_request(agent).is_any() || agent.run.planned.is_some();
    if begun || agent.run.optimize_only || agent.run.refused || agent.run.unsaved {
        return Ok(None);
    }
    let mut reading = RuleReading::of_calendar(deps, cx).await?;
    for update in told {
        reading.push(update);
    }
    by_rules(deps, cx, &mut reading, text).await?;
    if let Some(refusal) = reading.refusal.take() {
        let why = "rules do not understand the request";
        let end = TerminalOutcome::aborted("rules", "not_understood", &refusal, why);
        reading.push(Update::Ended(end));
        return Ok(Some(reading.updates));
    }
    match reading.agent.phase {
        Phase::Executing => {}
        Phase::QuickTask => {
            let errand = reading.agent.run.errand.clone();
            if let (Some(errand), Some(calendars)) = (errand, &deps.calendars) {
                let receipt = commit(calendars, cx, errand.clone()).await?;
                let reply = errand_told(&errand, &receipt);
                show(cx, &reply);
                reading.push(said(reply));
            }
            reading.push(Update::Done);
        }
        _ => reading.push(Update::Done),
    }
    Ok(Some(reading.updates))
}

/// Reads the words with which the person declined the planned calls as another wish: "rather on
/// Wednesday" corrects the request. Returns the updates that lead to it, or tell that it was not
/// understood; none if there are no such words.
pub(super) fn wished_instead(deps: &Deps, cx: &Context<AgentState>) -> Vec<Update> {
    let agent = cx.state();
    let Some(reason) = declined(agent) else {
        return vec![];
    };
    let schedule = agent.schedule.clone().unwrap_or_default();
    let facts = Facts {
        knows_notes: false,
        ..Facts::of(agent, &schedule, deps)
    };
    let (then, beside) = instead(reason, &facts).parted();
    let Understanding::Calls { say, calls } = then else {
        let told = say!(
            "From your answer I took only the no, and did not understand “{reason}” as another wish. Say it as a sentence of its own.",
            "你的回答我只当作拒绝，没有看懂“{reason}”想要什么，请单独说一遍。"
        );
        show(cx, &told);
        return vec![said(told)];
    };
    let mut updates = vec![];
    if !say.is_empty() {
        show(cx, &say);
        updates.push(said(say));
    }
    updates.push(Update::PlannedCalls(calls));
    updates.extend(beside.updates());
    updates
}

/// Returns the words with which the last planned call of the request was declined.
fn declined(agent: &AgentState) -> Option<&str> {
    let is_last = agent.run.planned.as_ref()?.is_empty();
    match agent.conversation.history.as_slice() {
        [.., called, reason] if called.role == Role::Tool && reason.role == Role::User => {
            is_last.then_some(&*reason.content)
        }
        _ => None,
    }
}
