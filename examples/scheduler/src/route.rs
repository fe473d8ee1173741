//! The routes of a request: talk or work by default, or five routes as an option.
use fugato::llm::TagFound;

use crate::contract::{Intent, IntentKind};

/// The routes that a model chooses among.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RouteSet {
    /// Talk or work, as a decision.
    #[default]
    Two,
    /// Five, as a tag before the text for the person.
    Five,
}

/// The destination of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RouteTo {
    /// An answer at once.
    DirectReply,
    /// An answer that is thought through.
    DeepAnswer,
    /// A single change, without a plan.
    Execute,
    /// Work with a plan; the default in doubt.
    #[default]
    Plan,
    /// A note, or something to do.
    QuickTask,
}

/// The classification of a request, before its literal words overrule it.
#[derive(smart_default::SmartDefault, Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the attributes of a route")]
pub struct RequestRoute {
    /// The destination.
    pub to: RouteTo,
    /// True if pending items are placed by rule first.
    pub rough_build: bool,
    /// True if the order of tasks may change.
    pub reorder: bool,
    /// True if the rough build is refined.
    #[default(true)]
    pub refine: bool,
    /// True if the model shall think during execution.
    #[default(true)]
    pub thinking: bool,
}

impl From<&Intent> for RequestRoute {
    fn from(intent: &Intent) -> Self {
        let to = match intent.intent {
            IntentKind::Chat => RouteTo::DirectReply,
            IntentKind::Task => RouteTo::Plan,
        };
        Self {
            to,
            ..Self::default()
        }
    }
}

impl From<&TagFound> for RequestRoute {
    /// Reads a route; a tag without a known route leads to a plan.
    fn from(tag: &TagFound) -> Self {
        let word = tag.attributes.get("to").map(String::as_str);
        let known = ROUTES.iter().find(|(name, ..)| Some(*name) == word);
        Self {
            to: known.map_or(RouteTo::default(), |(_, to, _)| *to),
            rough_build: tag.flag("rough_build"),
            reorder: tag.flag("reorder"),
            refine: tag.flag("refine"),
            thinking: tag.flag("thinking"),
        }
    }
}

/// The description of each route in the prompt, in English and Chinese.
pub(crate) const ROUTES: [(&str, RouteTo, [&str; 2]); 5] = [
    (
        "direct_reply",
        RouteTo::DirectReply,
        [
            "a greeting, thanks or a short question; write the answer after the tag",
            "问候、道谢或简短的问题；回答写在标签之后",
        ],
    ),
    (
        "deep_answer",
        RouteTo::DeepAnswer,
        [
            "a question that takes thought and changes nothing; write nothing after the tag, you are asked again",
            "需要思考、不改动任何内容的问题；标签之后什么都不写，会再问你",
        ],
    ),
    (
        "execute",
        RouteTo::Execute,
        ["a single change that needs no plan", "不需要计划的单个改动"],
    ),
    (
        "plan",
        RouteTo::Plan,
        [
            "everything else that needs the schedule; when in doubt, choose this",
            "其他需要日程的请求；拿不准时选这个",
        ],
    ),
    (
        "quick_task",
        RouteTo::QuickTask,
        [
            "a note or a to-do that is only to be kept",
            "只需记下的备忘或待办",
        ],
    ),
];
