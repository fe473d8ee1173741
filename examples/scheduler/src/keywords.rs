//! The words of a person overrule the classification of a model. The word lists are data.
use std::sync::LazyLock;

use fugato::words::{has_word, is_wanted};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    reorder_allowed: Vec<String>,
    reorder_forbidden: Vec<String>,
    global_reopt: Vec<String>,
    redo_rough_build: Vec<String>,
    draft_only: Vec<String>,
    place_all: Vec<String>,
    quick_note: Vec<String>,
    quick_task: Vec<String>,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    toml::from_str(include_str!("keywords.toml")).expect("the lists are part of the program")
});

/// The wishes that a request states literally.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one list of words")]
pub struct KeywordHits {
    /// Some if the request says whether the order of tasks may change.
    pub reorder: Option<bool>,
    /// True if everything shall be optimised once more.
    pub global_reopt: bool,
    /// True if everything shall be placed from the start.
    pub redo_rough_build: bool,
    /// True if only a first placement is wanted.
    pub draft_only: bool,
    /// True if everything pending shall be placed.
    pub place_all: bool,
    /// True if the text shall only be noted.
    pub quick_note: bool,
    /// True if a task shall only be written down.
    pub quick_task: bool,
}

impl KeywordHits {
    /// Returns true if the request asks for work on the schedule.
    pub const fn wants_work(&self) -> bool {
        self.place_all || self.global_reopt || self.redo_rough_build || self.draft_only
    }
}

/// Reads a request.
pub fn said(text: &str) -> KeywordHits {
    let text = text.to_lowercase().replace('’', "'");
    let says = |list: &[String]| list.iter().any(|phrase| has_word(&text, phrase));
    let any = |list: &[String]| is_wanted(&text, list);
    let reorder = if says(&LISTS.reorder_forbidden) {
        Some(false)
    } else {
        says(&LISTS.reorder_allowed).then_some(true)
    };
    KeywordHits {
        reorder,
        global_reopt: any(&LISTS.global_reopt),
        redo_rough_build: any(&LISTS.redo_rough_build),
        draft_only: any(&LISTS.draft_only),
        place_all: any(&LISTS.place_all),
        quick_note: any(&LISTS.quick_note),
        quick_task: any(&LISTS.quick_task),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sch_30_what_is_denied_is_not_wanted() {
        for text in [
            "先不要把任务都排一下",
            "别把任务都排一下，先看看",
            "Please don't place everything yet",
            "don’t plan my week, I am on holiday",
            "请不要整体重排",
            "please do not rearrange everything, only tell me what is wrong",
            "Never place all",
            "不要记一下",
        ] {
            assert_eq!(said(text), KeywordHits::default(), "{text}");
        }
        assert!(said("Not now? No: plan my week").place_all);
        assert!(said("不要整体重排，只要把任务都排一下").place_all);
        assert!(said("place everything, but don't refine").draft_only);
    }

    #[test]
    fn sch_30_what_forbids_reordering_wins() {
        assert_eq!(said("顺序不限").reorder, Some(true));
        assert_eq!(said("Any order will do").reorder, Some(true));
        assert_eq!(
            said("any order, but keep the order of algebra").reorder,
            Some(false)
        );
        assert_eq!(said("请不要打乱").reorder, Some(false));
        assert_eq!(said("hello").reorder, None);
        assert_eq!(said("move it in order to free Friday").reorder, None);
    }

    #[test]
    fn sch_30_a_phrase_is_made_of_whole_words() {
        assert!(said("arrange everything").place_all);
        assert!(!said("rearrange everything").place_all);
        assert!(!said("place allotments").place_all);
        assert!(said("请把任务都排一下吧").place_all);
    }

    #[test]
    fn sch_30_both_languages_have_words_for_everything() {
        for (zh, en) in [
            ("请整体重排", "Rearrange everything"),
            ("重新粗排吧", "redo the rough build"),
            ("只要初稿", "a draft only"),
            ("把任务都排一下", "plan my week"),
            ("记一下买牛奶", "make a note: milk"),
        ] {
            let flags = |text| {
                let KeywordHits {
                    global_reopt,
                    redo_rough_build,
                    draft_only,
                    quick_note,
                    ..
                } = said(text);
                [global_reopt, redo_rough_build, draft_only, quick_note]
            };
            assert_eq!(flags(zh), flags(en), "{zh} and {en}");
            assert_ne!(
                (said(zh), said(en)),
                (KeywordHits::default(), KeywordHits::default())
            );
        }
    }
}
