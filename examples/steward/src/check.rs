//! A check of the models: one request, asked as in normal use, over tables in memory.
use std::sync::Arc;

use fugato::{
    BoxError, MemoryLog, RunnerOptions,
    llm::ChatModel,
    state::{Lang, ThreadId},
};
use serde_json::Value;

use crate::{
    deps::Deps,
    ledger,
    response::StewardPlanResponse,
    service::RuleData,
    state::{Request, RequestKind, Runtime},
    steward_service::StewardService,
};

/// The request: a draft of an application with everything that is required.
const REQUEST: &str = "帮我保存一个出差申请草稿：3月2日到3月5日去上海拜访客户，坐火车，预算1200元";

/// Asks the models once, and returns the plan. Nothing is written.
pub async fn models(model: Option<Arc<dyn ChatModel>>) -> Result<StewardPlanResponse, BoxError> {
    let deps = Deps::new(&RuleData::load()?, ledger::open(":memory:").await?, model);
    let store = Arc::new(MemoryLog::default());
    let clerk = StewardService::new(&deps, &store, &RunnerOptions::default(), Runtime::Graph)?;
    let mut request = Request::new(RequestKind::Plan, "models", "nobody").message(REQUEST);
    // Who asks is told in their own language, whatever that of the request is.
    request.beside.lang = Some(Lang::current().to_string());
    let answer: Value = clerk.request(&ThreadId::new("models")?, request).await?;
    Ok(serde_json::from_value(answer)?)
}

/// Returns the plan as lines of text: the decider, and every attempt at every model.
pub fn lines(plan: &StewardPlanResponse) -> Vec<String> {
    let told = &plan.told;
    let source = format!("planning_source={}", told.planning_source.as_str());
    let traces = told.model_call_traces.iter().map(ToString::to_string);
    let reason = told.fallback_reason.iter();
    let reason = reason.map(|why| format!("fallback_reason={why}"));
    [source].into_iter().chain(traces).chain(reason).collect()
}
