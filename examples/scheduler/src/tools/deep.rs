//! Analyses for explanations, and planners by rule. Most of them are switched off: the diagnosis
//! and its candidates do better.
use fugato::tool::{NoArguments, RegistryBuilder, ToolOutput};

use super::{Cx, ToolView, read, write, written};
use crate::{
    agent::Update,
    schedule::tools::{Analysis, CompoundArgs, analyze, min_context_switch, spread_even},
};

const ANALYSES: [(&str, [&str; 2], Analysis); 5] = [
    (
        "analyze_rhythm",
        ["Switches and blocks, day by day.", "逐日的切换和连续时段。"],
        Analysis::Rhythm,
    ),
    (
        "analyze_load",
        ["Sections taken, day by day.", "逐日占用的节次。"],
        Analysis::Load,
    ),
    (
        "analyze_subjects",
        [
            "What each subject takes, and on how many days.",
            "每个科目占多少，分布在几天。",
        ],
        Analysis::Subjects,
    ),
    (
        "analyze_context",
        [
            "On which days the subject changes, and how often.",
            "哪些天切换科目，多少次。",
        ],
        Analysis::Context,
    ),
    (
        "analyze_tolerance",
        ["How much room there is for changes.", "有多少改动余地。"],
        Analysis::Tolerance,
    ),
];

pub(super) fn register(
    builder: RegistryBuilder<ToolView, Update>,
) -> RegistryBuilder<ToolView, Update> {
    let planner = |name: &str, text: &str| write("mutation", name, text).disabled();
    let builder = builder
        .function(
            planner("spread_even", "Spreads suggested tasks over the days.").chinese("把 suggested 任务分散到各天。"),
            |cx: Cx<'_>, args: CompoundArgs| {
                written(cx, |view| spread_even(&view.schedule, &args, &view.options))
            },
        )
        .function(
            planner(
                "min_context_switch",
                "Lets suggested tasks change places so that those of one subject follow each other.",
            ).chinese("让 suggested 任务互换位置，使同一科目相连。"),
            |cx: Cx<'_>, args: CompoundArgs| {
                written(cx, |view| {
                    let (schedule, allowed) = (&view.schedule, view.allow_reorder);
                    min_context_switch(schedule, &args, &view.options, allowed)
                })
            },
        );
    ANALYSES
        .into_iter()
        .fold(builder, |builder, (name, [text, chinese], which)| {
            let spec = read("deep_analyze", name, text).chinese(chinese);
            let spec = if which == Analysis::Rhythm {
                spec
            } else {
                spec.disabled()
            };
            builder.function(spec, move |cx: Cx<'_>, _: NoArguments| {
                let view = cx.state()?;
                let found = analyze(&view.schedule, which, &view.options);
                Ok(ToolOutput::<Update>::new(found.to_string()).data(found))
            })
        })
}
