//! The settings of the stages of a model, from the command line.
use fugato::{llm::Thinking, state::say};
use scheduler::llm_config::{ModelChoice, ModelStage, Stages};
use serde::{
    Deserialize as _,
    de::{
        IntoDeserializer as _,
        value::{self, StrDeserializer},
    },
};

/// A setting of one stage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StageSetting {
    stage: ModelStage,
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

/// Reads a setting.
pub(crate) fn setting(text: &str) -> Result<StageSetting, String> {
    read(text).ok_or_else(|| {
        say!(
            "{text:?} is no setting of a stage; allowed are STAGE.temperature=0 to 2, STAGE.max_tokens=NUMBER, \
             STAGE.thinking=on or off, STAGE.model=NAME, and deep_plan=off; the stages are chat, deep_answer, plan, \
             deep_plan, execute, compact, deliver and title",
            "{text:?} 不是阶段的设置；可用的有 STAGE.temperature=0 到 2、STAGE.max_tokens=数字、\
             STAGE.thinking=on 或 off、STAGE.model=名称，以及 deep_plan=off；阶段有 chat、deep_answer、plan、\
             deep_plan、execute、compact、deliver 和 title"
        )
    })
}

fn read(text: &str) -> Option<StageSetting> {
    let (place, value) = text.split_once('=')?;
    let (stage, key) = place.split_once('.').unwrap_or((place, ""));
    let stage: StrDeserializer<'_, value::Error> = stage.into_deserializer();
    let stage = ModelStage::deserialize(stage).ok()?;
    let setting = match (key, value) {
        ("", "off") if stage == ModelStage::DeepPlan => Setting::Off,
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
    for StageSetting { stage, setting } in settings {
        match setting {
            Setting::Temperature(it) => stages.of_mut(*stage).temperature = Some(*it),
            Setting::MaxTokens(tokens) => stages.of_mut(*stage).max_tokens = Some(*tokens),
            Setting::Thinking(thinking) => stages.of_mut(*stage).thinking = Some(*thinking),
            Setting::Off => stages.drop_deep_plan(),
            Setting::Model(_) => {}
        }
    }
    stages
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
        assert!(!set.has_deep_plan());
        assert_eq!(set.of(ModelStage::Plan).temperature, Some(0.7));
        assert_eq!(set.of(ModelStage::Execute).thinking, Some(Thinking::Off));
        assert_eq!(set.of(ModelStage::Deliver).max_tokens, Some(100));
        let again = stages(&read(&["deep_plan=off", "deep_plan.max_tokens=9"]));
        assert_eq!(again.of(ModelStage::DeepPlan).max_tokens, Some(9));
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
