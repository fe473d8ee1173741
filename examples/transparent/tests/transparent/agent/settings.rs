//! The settings of a person.
use fugato_testkit::assert_contains;
use transparent::settings::{Settings, ToolSettings};

#[test]
fn trn_c6_the_turns_are_an_option() {
    let settings: Settings = toml::from_str("").unwrap();
    assert_eq!(settings, Settings::default());
    assert_eq!(settings.compaction.turns, 140);
    let settings: Settings = toml::from_str("[compaction]\nturns = 100\ntokens = 2000").unwrap();
    assert_eq!(
        (settings.compaction.turns, settings.compaction.tokens),
        (100, Some(2000))
    );
    let sample: Settings = toml::from_str(include_str!("../../../sample/config.toml")).unwrap();
    assert_eq!(sample.tools, ToolSettings::default());
    let error = toml::from_str::<Settings>("rot = 1")
        .unwrap_err()
        .to_string();
    assert_contains(&error, ["rot", "compaction"]);
}
