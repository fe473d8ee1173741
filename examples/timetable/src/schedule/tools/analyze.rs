//! Analyses that go deeper than the diagnosis, for explanations. None of them proposes anything.
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::schedule::{
    Board, EventType, ScheduleState, WriteOptions,
    health::{AnalyzeHealthArgs, DiagnosisDetail, Dimension, Envelope, analyze_health},
};

/// The kinds of analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Analysis {
    /// Switches and blocks, day by day.
    Rhythm,
    /// Sections taken, day by day.
    Load,
    /// The sections of each subject, and the number of its days.
    Subjects,
    /// The days on which the subject changes, and the number of changes.
    Context,
    /// The room for changes.
    Tolerance,
}

/// Runs an analysis and returns its result as JSON.
pub fn analyze(state: &ScheduleState, which: Analysis, options: &WriteOptions) -> Value {
    match which {
        Analysis::Rhythm => {
            let found = diagnosed(state, Dimension::Rhythm, options);
            json!({ "rhythm": found.metrics.rhythm, "issues": found.issues })
        }
        Analysis::Load => load(state),
        Analysis::Subjects => subjects(state),
        Analysis::Context => {
            let found = diagnosed(state, Dimension::Rhythm, options);
            let days = found.metrics.rhythm.map(|rhythm| rhythm.days);
            let days = days.unwrap_or_default().into_iter();
            let switches = days.map(|day| json!({ "day": day.day, "switches": day.switch_count }));
            json!({ "days": switches.collect::<Vec<_>>() })
        }
        Analysis::Tolerance => {
            let found = diagnosed(state, Dimension::Tightness, options);
            json!({ "tightness": found.metrics.tightness })
        }
    }
}

fn diagnosed(state: &ScheduleState, dimension: Dimension, options: &WriteOptions) -> Envelope {
    let args = AnalyzeHealthArgs {
        dimensions: vec![dimension],
        detail: DiagnosisDetail::Full,
        ..AnalyzeHealthArgs::default()
    };
    analyze_health(state, &args, options)
}

fn load(state: &ScheduleState) -> Value {
    let board = Board::new(state);
    let days = state.window.days.iter().map(|day| {
        let taken = board.taken(day.day_index).count_ones();
        json!({ "day": day.day_index, "sections": taken })
    });
    json!({ "days": days.collect::<Vec<_>>() })
}

fn subjects(state: &ScheduleState) -> Value {
    let mut found: BTreeMap<&str, (u32, u32, Vec<u16>)> = BTreeMap::new();
    for task in state
        .tasks
        .iter()
        .filter(|task| task.event_type == EventType::Task)
    {
        let (tasks, sections, days) = found.entry(&task.category).or_default();
        *tasks += 1;
        for slot in &task.slots {
            *sections += u32::from(slot.sections());
            days.push(slot.day);
        }
    }
    let subjects = found
        .into_iter()
        .map(|(name, (tasks, sections, mut days))| {
            days.sort_unstable();
            days.dedup();
            json!({ "subject": name, "tasks": tasks, "sections": sections, "days": days.len() })
        });
    json!({ "subjects": subjects.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Slot;
    use crate::schedule::fixture::{course, item, state, suggested};

    #[test]
    fn sch_86_each_analysis_says_what_it_is_about() {
        let now = state(
            2,
            vec![
                course(1, "Physics", 1, 9, 12),
                suggested(2, 1, 1, Slot::new(1, 1, 2)),
                suggested(3, 2, 0, Slot::new(1, 3, 4)),
                item(4, 1, 2),
            ],
        );
        let look = |which| analyze(&now, which, &WriteOptions::default());
        assert_eq!(
            look(Analysis::Load),
            json!({ "days": [{ "day": 1, "sections": 8 }, { "day": 2, "sections": 0 }] })
        );
        assert_eq!(
            look(Analysis::Subjects),
            json!({ "subjects": [
                { "subject": "Class 1", "tasks": 2, "sections": 2, "days": 1 },
                { "subject": "Class 2", "tasks": 1, "sections": 2, "days": 1 },
            ] })
        );
        assert_eq!(
            look(Analysis::Context),
            json!({ "days": [{ "day": 1, "switches": 1 }] })
        );
        let rhythm = look(Analysis::Rhythm);
        let days = rhythm.pointer("/rhythm/days").and_then(Value::as_array);
        assert_eq!(days.map(Vec::len), Some(1), "{rhythm}");
        let tolerance = look(Analysis::Tolerance);
        assert!(
            tolerance.pointer("/tightness/tightness_level").is_some(),
            "{tolerance}"
        );
    }
}
