//! Tests of the reasons that are read from words.
use steward::service::RuleData;

use crate::common::TestResult;

#[test]
fn stw_32_facts_of_other_fields_are_kept_out_of_the_reason() -> TestResult {
    let desk = RuleData::load()?;
    let cases = [
        ("拜访客户交通火车", Some("拜访客户")),
        ("拜访客户 交通方式：高铁", Some("拜访客户")),
        ("高铁往返", Some("高铁往返")),
        ("高铁往返培训", Some("高铁往返培训")),
        ("交通调研", Some("交通调研")),
        ("customer visit, transport train", Some("customer visit")),
        ("customer visit by train", Some("customer visit")),
        ("high-speed round trip", Some("high-speed round trip")),
        ("train the sales team", Some("train the sales team")),
        ("验收项目预算1200元", Some("验收项目")),
        ("验收项目预算3千元", Some("验收项目")),
        ("交通火车", None),
    ];
    for (given, expected) in cases {
        assert_eq!(desk.facts.cleaned(given).as_deref(), expected, "{given}");
    }
    Ok(())
}
