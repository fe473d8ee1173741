use fugato::{
    graph::{BoxError, Context},
    state::say,
};

use crate::{
    agent::{AgentState, Card, PendingInteraction, Phase, QuestionTopic, Update},
    llm_config::status,
    report,
};

/// Makes the card of the question to the person. A write comes before a plan. No model is asked.
pub async fn confirm(cx: Context<AgentState>) -> Result<Vec<Update>, BoxError> {
    let agent = cx.state();
    let (code, topic, title, summary) = if let Some(wanted) =
        agent.wanted.as_ref().filter(|w| !w.accepted)
    {
        let title = say!("Shall I do this?", "要这样做吗？");
        let summary = wanted.summary.clone();
        ("tool_confirm", QuestionTopic::Tool, title, summary)
    } else if agent.run.closing {
        let title = say!("Shall I keep this schedule?", "保存这份日程吗？");
        let summary = report::schedule_summary(agent);
        ("confirm", QuestionTopic::Schedule, title, summary)
    } else if agent.has_step() {
        let title = say!("Shall I carry out this plan?", "要执行这个计划吗？");
        let summary = report::plan_summary(agent);
        ("plan_confirm", QuestionTopic::Plan, title, summary)
    } else {
        return Err("there is nothing to confirm: no wanted write, no plan, no schedule".into());
    };
    let told = say!("your consent is needed", "需要你的确认");
    status(&cx, code, told);
    let card = Card::confirm(topic, &title, summary);
    Ok(vec![Update::Asked(PendingInteraction::new(
        card,
        Phase::WaitingConfirm,
    ))])
}
