//! The settings of the stages of a model, from the command line.
use fugato::llm::{Profile, Thinking};
use scheduler::llm_config::{ModelChoice, Stage, Stages};

/// A setting of one stage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StageSetting {
    stage: Stage,
    setting: Setting,
}

#[derive(Debug, Clone, PartialEq)]
enum Setting {
    Temperature(f32),
    MaxTokens(u32),
    Thinking(Thinking),
    /// The name of its model.
    Model(String),
    /// The stage is left out.
    Off,
}

const ALLOWED: &str = "allowed are STAGE.temperature=0 to 2, STAGE.max_tokens=NUMBER, \
    STAGE.thinking=on or off, STAGE.model=NAME, and deep_plan=off; the stages are chat, deep_answer, plan, \
    deep_plan, execute, compact, deliver and title";

/// Reads a setting.
pub(crate) fn setting(text: &str) -> Result<StageSetting, String> {
    read(text).ok_or_else(|| format!("{text:?} is no setting of a stage; {ALLOWED}"))
}

fn read(text: &str) -> Option<StageSetting> {
    let (place, value) = text.split_once('=')?;
    let (stage, key) = place.split_once('.').unwrap_or((place, ""));
    let stage = Stage::ALL.into_iter().find(|known| known.name() == stage)?;
    let setting = match (key, value) {
        ("", "off") if stage == Stage::DeepPlan => Setting::Off,
        ("temperature", number) => {
            let number = number.parse().ok()?;
            (0.0..=2.0)
                .contains(&number)
                .then_some(Setting::Temperature(number))?
        }
        ("max_tokens", number) => {
            Setting::MaxTokens(number.parse().ok().filter(|tokens| *tokens > 0)?)
        }
        ("model", name) if !name.is_empty() => Setting::Model(name.to_owned()),
        ("thinking", "on") => Setting::Thinking(Thinking::On),
        ("thinking", "off") => Setting::Thinking(Thinking::Off),
        _ => return None,
    };
    Some(StageSetting { stage, setting })
}

/// Returns the stages with these settings, the last of which counts.
pub(crate) fn stages(settings: &[StageSetting]) -> Stages {
    let mut stages = Stages::default();
    let deep = stages.deep_plan.unwrap_or_default();
    for StageSetting { stage, setting } in settings {
        let profile = match stage {
            Stage::Chat => &mut stages.chat,
            Stage::DeepAnswer => &mut stages.deep_answer,
            Stage::Plan => &mut stages.plan,
            Stage::Execute => &mut stages.execute,
            Stage::Compact => &mut stages.compact,
            Stage::Deliver => &mut stages.deliver,
            Stage::Title => &mut stages.title,
            Stage::DeepPlan if *setting == Setting::Off => {
                stages.deep_plan = None;
                continue;
            }
            Stage::DeepPlan => stages.deep_plan.get_or_insert(deep),
        };
        set(profile, setting);
    }
    stages
}

fn set(profile: &mut Profile, setting: &Setting) {
    match setting {
        Setting::Temperature(temperature) => profile.temperature = Some(*temperature),
        Setting::MaxTokens(tokens) => profile.max_tokens = Some(*tokens),
        Setting::Thinking(thinking) => profile.thinking = Some(*thinking),
        Setting::Model(_) | Setting::Off => {}
    }
}

/// Returns the models that these settings name, the last of which counts.
pub(crate) fn models(settings: &[StageSetting]) -> ModelChoice {
    let named = settings
        .iter()
        .filter_map(|setting| match &setting.setting {
            Setting::Model(name) => Some((setting.stage, name.clone())),
            _ => None,
        });
    ModelChoice {
        all: None,
        stages: named.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sch_34_the_stages_are_set_by_name() {
        let read = |texts: &[&str]| -> Vec<StageSetting> {
            texts.iter().map(|text| setting(text).unwrap()).collect()
        };
        let set = stages(&read(&[
            "deep_plan=off",
            "plan.temperature=0.7",
            "execute.thinking=off",
            "deliver.max_tokens=100",
        ]));
        assert_eq!(set.deep_plan, None);
        assert_eq!(set.plan.temperature, Some(0.7));
        assert_eq!(set.execute.thinking, Some(Thinking::Off));
        assert_eq!(set.deliver.max_tokens, Some(100));
        let again = stages(&read(&["deep_plan=off", "deep_plan.max_tokens=9"]));
        assert_eq!(again.deep_plan.unwrap().max_tokens, Some(9));
        for wrong in [
            "",
            "plan",
            "plan=off",
            "plan.temperature=3",
            "plan.max_tokens=0",
            "x.thinking=on",
        ] {
            assert!(setting(wrong).is_err(), "{wrong}");
        }
    }
}
