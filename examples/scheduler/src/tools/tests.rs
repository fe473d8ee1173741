use fugato::tool::Visibility;
use fugato::tool::VisibilityUpdate;

use super::*;

/// Returns the names of the tools that a model sees with these packs.
fn visible(domain: &str, packs: &[&str]) -> Vec<String> {
    let registry = registry().unwrap();
    let mut active = Visibility::new();
    active.apply(VisibilityUpdate::Activated {
        domain: domain.into(),
        packs: packs.iter().map(|pack| (*pack).to_owned()).collect(),
    });
    let specs = registry.visible(&active);
    let names = specs.map(|spec| spec.name.clone());
    names
        .filter(|name| !name.starts_with("context_tools"))
        .collect()
}

#[test]
fn sch_89_every_pack_has_its_tools() {
    let core = [
        "find_free",
        "get_overview",
        "list_tasks",
        "query_available_slots",
        "query_target_tasks",
    ];
    assert_eq!(visible("schedule", &[]), core);
    assert_eq!(visible("taskclass", &[]), ["upsert_task_class"]);
    let beside = |pack: &str| {
        let mut names = visible("schedule", &[pack]);
        names.retain(|name| !core.contains(&name.as_str()));
        names
    };
    assert_eq!(
        beside("queue"),
        [
            "queue_apply_head_move",
            "queue_pop_head",
            "queue_skip_head",
            "queue_status"
        ]
    );
    assert_eq!(beside("detail_read"), ["get_task_info", "query_range"]);
    assert_eq!(beside("analyze"), ["analyze_health"]);
    // Tools that are switched off are not visible.
    assert_eq!(beside("deep_analyze"), ["analyze_rhythm"]);
    assert_eq!(
        beside("mutation"),
        ["batch_move", "move", "place", "swap", "unplace"]
    );
    assert_eq!(beside("web"), Vec::<String>::new());
}

#[test]
fn every_tool_that_can_be_called_has_words_for_people() {
    let registry = registry().unwrap();
    let callable = registry.all().filter(|spec| !spec.disabled);
    let mut names: Vec<_> = callable.map(|spec| spec.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, WORDS.map(|(name, ..)| name));
}

#[test]
fn sch_85_86_87_what_is_switched_off_is_registered() {
    let registry = registry().unwrap();
    for name in [
        "spread_even",
        "min_context_switch",
        "analyze_load",
        "analyze_subjects",
        "analyze_context",
        "analyze_tolerance",
        "web_search",
        "web_fetch",
    ] {
        assert!(registry.spec(name).unwrap().disabled, "{name}");
    }
}
