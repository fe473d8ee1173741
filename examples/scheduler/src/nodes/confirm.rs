use fugato::graph::{BoxError, Context};

use crate::{
    agent::{AgentState, Card, PendingInteraction, Phase, QuestionTopic, Update},
    llm_config::status,
    report,
};

/// Makes the card of the question to the person. A write comes before a plan. No model is asked.
pub async fn confirm(cx: Context<AgentState>) -> Result<Vec<Update>, BoxError> {
    let agent = cx.state();
    let lang = agent.lang;
    let (code, card) = if let Some(wanted) = agent.wanted.as_ref().filter(|w| !w.accepted) {
        let title = lang.pick("Shall I do this?", "要这样做吗？");
        (
            "tool_confirm",
            Card::confirm(QuestionTopic::Tool, title, wanted.summary.clone()),
        )
    } else if agent.run.closing {
        let title = lang.pick("Shall I keep this schedule?", "保存这份日程吗？");
        (
            "confirm",
            Card::confirm(
                QuestionTopic::Schedule,
                title,
                report::schedule_summary(agent),
            ),
        )
    } else if agent.has_step() {
        let title = lang.pick("Shall I carry out this plan?", "要执行这个计划吗？");
        (
            "plan_confirm",
            Card::confirm(QuestionTopic::Plan, title, report::plan_summary(agent)),
        )
    } else {
        return Err("there is nothing to confirm: no wanted write, no plan, no schedule".into());
    };
    status(
        &cx,
        code,
        lang.pick("your consent is needed", "需要你的确认"),
    );
    let (topic, resume_phase) = (card.topic, Phase::WaitingConfirm);
    Ok(vec![Update::Asked(PendingInteraction {
        topic,
        card,
        resume_phase,
    })])
}
