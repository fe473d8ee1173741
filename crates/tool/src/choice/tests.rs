use super::*;

fn domains() -> Domains {
    Domains::new()
        .with(
            "schedule",
            Domain::new("core")
                .packs(["analyze", "mutation", "queue"])
                .default_packs(["analyze", "mutation"]),
        )
        .with("taskclass", Domain::new("core"))
}

fn add(now: &Visibility, domain: &str, packs: &[&str], mode: Option<&str>) -> ChosenTools {
    let packs = packs.iter().map(ToString::to_string).collect();
    let request = AddTools {
        domain: domain.into(),
        packs,
        mode: mode.map(Into::into),
    };
    domains().add(now, &request)
}

fn remove(now: &Visibility, domain: Option<&str>, packs: &[&str], all: bool) -> ChosenTools {
    let packs = packs.iter().map(ToString::to_string).collect();
    domains().remove(
        now,
        &RemoveTools {
            domain: domain.map(Into::into),
            all,
            packs,
        },
    )
}

fn after(now: &Visibility, choice: ChosenTools) -> Visibility {
    let mut now = now.clone();
    if let Some(update) = choice.update {
        now.apply(update);
    }
    now
}

#[test]
fn sch_89_a_domain_without_packs_gets_its_default_packs() {
    let choice = add(&Visibility::new(), "schedule", &[], None);
    assert_eq!(
        (choice.success, choice.action),
        (true, ChoiceAction::Activate)
    );
    assert_eq!(
        after(&Visibility::new(), choice),
        Visibility::of("schedule", ["analyze", "mutation"])
    );
    let choice = add(&Visibility::new(), "taskclass", &[], None);
    assert_eq!(
        after(&Visibility::new(), choice),
        Visibility::of("taskclass", [""; 0])
    );
}

#[test]
fn sch_90_replace_sets_the_packs_and_merge_adds_within_the_domain() {
    let now = Visibility::of("schedule", ["queue"]);
    let replaced = add(&now, "schedule", &["analyze"], Some("replace"));
    assert_eq!(
        after(&now, replaced),
        Visibility::of("schedule", ["analyze"])
    );
    let merged = add(&now, "schedule", &["analyze"], Some("merge"));
    assert_eq!(merged.packs, ["analyze", "queue"]);
    assert_eq!(
        after(&now, merged),
        Visibility::of("schedule", ["analyze", "queue"])
    );
    let other = add(&now, "taskclass", &[], Some("merge"));
    assert_eq!(other.error_code, Some(ChoiceError::InvalidMode));
}

#[test]
fn sch_90_every_wrong_request_is_rejected_with_its_code() {
    let now = Visibility::of("schedule", ["queue"]);
    for (domain, packs, mode, code) in [
        ("shop", vec![], None, ChoiceError::InvalidDomain),
        ("schedule", vec![], Some("append"), ChoiceError::InvalidMode),
        ("schedule", vec!["analyse"], None, ChoiceError::InvalidPack),
        (
            "schedule",
            vec!["core"],
            None,
            ChoiceError::FixedPackForbidden,
        ),
        (
            "taskclass",
            vec!["queue"],
            None,
            ChoiceError::UnsupportedPacksForDomain,
        ),
    ] {
        let choice = add(&now, domain, &packs, mode);
        assert_eq!(choice.error_code, Some(code), "{domain} {packs:?} {mode:?}");
        assert_eq!(
            (choice.success, choice.action),
            (false, ChoiceAction::Reject)
        );
        assert_eq!(after(&now, choice), now);
    }
}

#[test]
fn sch_90_a_rejection_names_what_is_allowed() {
    let choice = add(&Visibility::new(), "schedule", &["analyse"], None);
    let json = serde_json::to_value(&choice).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "tool": "context_tools_add",
            "success": false,
            "action": "reject",
            "domain": "schedule",
            "packs": ["analyse"],
            "mode": "replace",
            "message": "",
            "error": "there is no pack \"analyse\"; \
                      the packs of schedule are analyze, mutation and queue",
            "error_code": "invalid_pack",
        })
    );
}

/// Two requests of one round are judged by the visibility before either.
#[test]
fn sch_90_what_is_asked_for_in_one_round_all_holds() {
    let before = Visibility::of("schedule", ["queue"]);
    let choices = [
        add(&before, "schedule", &["analyze"], Some("merge")),
        add(&before, "schedule", &["mutation"], Some("merge")),
        remove(&before, Some("schedule"), &["queue"], false),
    ];
    let now = choices
        .into_iter()
        .fold(before, |now, choice| after(&now, choice));
    assert_eq!(now, Visibility::of("schedule", ["analyze", "mutation"]));

    let choices = [
        add(&now, "taskclass", &[], None),
        remove(&now, Some("schedule"), &[], false),
    ];
    let now = choices
        .into_iter()
        .fold(now, |now, choice| after(&now, choice));
    assert_eq!(now, Visibility::of("taskclass", [""; 0]));
}

#[test]
fn sch_91_packs_a_domain_or_everything_can_be_removed() {
    let now = Visibility::of("schedule", ["analyze", "queue"]);
    for (choice, action, left) in [
        (
            remove(&now, None, &[], true),
            ChoiceAction::ClearAll,
            Visibility::new(),
        ),
        (
            remove(&now, Some("all"), &[], false),
            ChoiceAction::ClearAll,
            Visibility::new(),
        ),
        (
            remove(&now, Some("schedule"), &[], false),
            ChoiceAction::Deactivate,
            Visibility::new(),
        ),
        (
            remove(&now, Some("taskclass"), &[], false),
            ChoiceAction::Deactivate,
            now.clone(),
        ),
        (
            remove(&now, Some("schedule"), &["queue"], false),
            ChoiceAction::DeactivatePacks,
            Visibility::of("schedule", ["analyze"]),
        ),
        (
            remove(&now, Some("schedule"), &["queue", "analyze"], false),
            ChoiceAction::DeactivatePacks,
            Visibility::new(),
        ),
    ] {
        assert_eq!((choice.success, choice.action), (true, action));
        assert_eq!(after(&now, choice), left);
    }
}

#[test]
fn sch_91_wrong_removals_are_rejected() {
    let now = Visibility::of("schedule", ["queue"]);
    for (domain, packs, code) in [
        (None, vec![], ChoiceError::InvalidDomain),
        (Some("shop"), vec![], ChoiceError::InvalidDomain),
        (
            Some("schedule"),
            vec!["core"],
            ChoiceError::FixedPackForbidden,
        ),
        (Some("schedule"), vec!["x"], ChoiceError::InvalidPack),
        (
            Some("taskclass"),
            vec!["queue"],
            ChoiceError::UnsupportedPacksForDomain,
        ),
    ] {
        let choice = remove(&now, domain, &packs, false);
        assert_eq!(choice.error_code, Some(code), "{domain:?} {packs:?}");
        assert_eq!(after(&now, choice), now);
    }
}
