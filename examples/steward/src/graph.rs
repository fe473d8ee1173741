//! The wiring: five graphs, one of them around the others.
mod action;
mod target;
mod understand;

use fugato::stream::EventKind;

pub use action::action;
#[expect(deprecated, reason = "whoever uses it is told")]
pub use target::legacy;
pub use target::target;
pub use understand::{planner, runtime, slots};

/// Returns a line of progress, in both languages: pages show one of them.
fn phase(code: &str) -> EventKind {
    let summary = match code {
        "planning" => "模型规划中 · planning",
        "judging_fields" => "字段判断中 · judging fields",
        "waiting_for_confirmation" => "等待确认 · waiting for confirmation",
        _ => "执行动作 · executing",
    };
    EventKind::Status {
        code: code.to_owned(),
        summary: summary.to_owned(),
    }
}
