use async_trait::async_trait;
use fugato::{
    agent::decision::settle,
    graph::{BoxError, Context, Node, Outcome},
    llm::{
        Ask, ChatModel, ModelError, RejectedAnswer, Settlement, Tag, TaggedAnswer, visible_text,
    },
    state::say,
};

use super::{
    announce, asking, check_notes, check_words, request_text, said, understood::take_over,
};
use crate::{
    agent::{
        AgentState, Card, ContextHook, DecisionView, PendingInteraction, Phase, QuestionTopic,
        ROUGH_BUILD_DONE, Update,
    },
    contract::{self, Complexity, PlanAction, PlanDecision},
    deps::Deps,
    failure::Replacement,
    keywords,
    llm_config::{ModelStage, OnFailure, ask, show, stand_in, status, status_note, thought},
    prompts, rules,
};

/// The node that makes a plan; a complex request gets a second, slower look.
#[derive(Debug)]
pub struct PlanNode(pub Deps);

#[async_trait]
impl Node<AgentState> for PlanNode {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let mut updates = announce(&cx);
        status(&cx, "planning", say!("making a plan", "正在制定计划"));
        let by_rule = || (rules::plan(cx.state()), TaggedAnswer::default());
        let answer = self.think(&cx).await?;
        let thought = answer
            .as_ref()
            .and_then(|answer| thought(answer.as_ref().ok()?));
        let (decision, spoken) = match answer {
            None => by_rule(),
            Some(answer) => {
                let ask = Ask::reading("plan", |spoken| read(cx.state(), spoken));
                match settle(&cx, &ask.rejections(self.0.rejections), &answer) {
                    Settlement::Decided(plan) => (plan, answer.unwrap_or_default()),
                    Settlement::Again(outcome) => return Ok(outcome),
                    Settlement::Failed(why) => {
                        let (mind, policy) = (&self.0.mind, self.0.mind.on_failure);
                        updates.extend(mind.fall_back(&cx, policy, why, Replacement::Rules)?);
                        let text = request_text(cx.state());
                        let told = std::mem::take(&mut updates);
                        let taken = take_over(&self.0, &cx, told.clone(), &text).await?;
                        if let Some(taken) = taken {
                            return Ok(Outcome::done(taken));
                        }
                        updates = told;
                        if let Some(end) = rules::not_understood(cx.state(), "plan") {
                            updates.push(Update::Ended(end));
                            return Ok(Outcome::done(updates));
                        }
                        by_rule()
                    }
                }
            }
        };
        updates.extend(stand_in(&cx, &spoken.attempts));
        let (task, raw) = (cx.task(), &spoken.decision);
        tracing::debug!(task, raw, ?decision, "plan LLM");
        let accepted = decision.action == PlanAction::PlanDone && cx.state().run.always_execute;
        updates.extend(self.take(&cx, decision, &spoken));
        let accepted = accepted.then(|| {
            let told = say!("plan accepted", "计划已自动确认");
            status_note("plan_auto_confirmed", told)
        });
        let notes = thought.into_iter().chain(accepted);
        Ok(notes.fold(Outcome::done(updates), Outcome::note))
    }
}

impl PlanNode {
    async fn think(
        &self,
        cx: &Context<AgentState>,
    ) -> Result<Option<Result<TaggedAnswer, ModelError>>, BoxError> {
        let Some(model) = self.0.mind.answering(cx.state()) else {
            return Ok(None);
        };
        let stages = &self.0.mind.stages;
        let quick = self.ask(cx, model, ModelStage::Plan).await;
        let is_complex = |spoken: &TaggedAnswer| {
            let plan = contract::plan().read(&spoken.decision);
            plan.is_ok_and(|plan: PlanDecision| {
                plan.complexity == Complexity::Complex && plan.action == PlanAction::PlanDone
            })
        };
        if !stages.has_deep_plan() || !quick.as_ref().is_ok_and(is_complex) {
            return Ok(Some(quick));
        }
        match self.ask(cx, model, ModelStage::DeepPlan).await {
            Err(error) if self.0.mind.on_failure == OnFailure::Error => Err(error.into()),
            // The quick plan of the same model is used instead.
            Err(why) => {
                tracing::warn!(task = cx.task(), %why, "no deep plan");
                Ok(Some(quick))
            }
            deep => Ok(Some(deep)),
        }
    }

    /// Returns true if items are placed by rule: once, and again only if the person asks for it.
    fn builds(&self, agent: &AgentState, plan: &PlanDecision) -> bool {
        let built = agent.conversation.pinned(ROUGH_BUILD_DONE).is_some();
        let again = || keywords::said(&request_text(agent)).redo_rough_build;
        plan.needs_rough_build && self.0.provider.is_some() && (!built || again())
    }

    /// Returns the tools with which execution begins. Invented names are replaced.
    fn hook(&self, plan: &PlanDecision) -> ContextHook {
        let exists = |hook: &&ContextHook| {
            let domain = self.0.toolbox.registry().domains().get(&hook.domain);
            domain.is_some_and(|domain| hook.packs.iter().all(|pack| domain.has(pack)))
        };
        let hook = plan.context_hook.as_ref().filter(exists);
        hook.cloned()
            .unwrap_or_else(|| ContextHook::schedule("plan"))
    }

    async fn ask(
        &self,
        cx: &Context<AgentState>,
        model: &dyn ChatModel,
        stage: ModelStage,
    ) -> Result<TaggedAnswer, ModelError> {
        let tag = Tag::fresh("decision");
        let messages = prompts::plan(cx.state(), &tag, stage == ModelStage::DeepPlan);
        let request = self.0.mind.request(cx.state(), stage, messages);
        ask(cx, model, request, tag, &|decision| {
            contract::plan().read(decision).is_ok()
        })
        .await
    }

    fn take(
        &self,
        cx: &Context<AgentState>,
        plan: PlanDecision,
        spoken: &TaggedAnswer,
    ) -> Vec<Update> {
        let mut updates = vec![Update::Judged(DecisionView::Continue)];
        let text = visible_text([spoken.after.as_str(), &plan.speak, &spoken.before]);
        if spoken.after.is_empty() && plan.action != PlanAction::AskUser {
            show(cx, text);
        }
        match plan.action {
            PlanAction::Continue => updates.push(said(visible_text([text, plan.reason.as_str()]))),
            PlanAction::AskUser => {
                asking(cx);
                updates.push(said(text));
                let title = say!("A question", "请确认");
                let card = Card::question(QuestionTopic::AskUser, &title, text);
                let card = card.streamed(!spoken.after.is_empty());
                updates.push(Update::Asked(PendingInteraction::new(
                    card,
                    Phase::Planning,
                )));
            }
            PlanAction::PlanDone => {
                if !text.is_empty() {
                    updates.push(said(text));
                }
                updates.push(Update::Planned {
                    needs_rough_build: self.builds(cx.state(), &plan),
                    hook: self.hook(&plan),
                    task_class_ids: known(cx.state(), plan.task_class_ids),
                    steps: plan.plan_steps,
                });
                if cx.state().run.always_execute {
                    updates.push(Update::PlanConfirmed);
                }
            }
        }
        updates
    }
}

/// Reads a plan. Its texts for the person are checked like all texts of a model.
fn read(agent: &AgentState, spoken: &TaggedAnswer) -> Result<PlanDecision, RejectedAnswer> {
    let plan = contract::plan().read(&spoken.decision)?;
    check_words(agent, spoken, &[("/speak", &plan.speak)])?;
    let mut notes = vec![("/reason", plan.reason.as_str())];
    for step in &plan.plan_steps {
        notes.extend([
            ("/plan_steps", step.content.as_str()),
            ("/plan_steps", &step.done_when),
        ]);
    }
    check_notes(spoken, &notes)?;
    Ok(plan)
}

/// Returns the ids that the request has; a plan may narrow its classes, and not invent others.
fn known(agent: &AgentState, ids: Vec<u32>) -> Vec<u32> {
    let known = &agent.task_class_ids;
    ids.into_iter()
        .filter(|id| known.is_empty() || known.contains(id))
        .collect()
}
