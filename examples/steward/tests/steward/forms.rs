//! Tests of the reasons that are read from words.
use steward::service::RuleData;

use crate::common::{StewardFixture, TestResult};

#[tokio::test]
async fn an_answer_with_the_code_of_a_card_is_no_reason() {
    for (trip, code) in [
        (
            "trip to Berlin from 3 to 5 March, 900 euros, by train",
            "yes V3X3",
        ),
        ("申请3月3日到5日去柏林，坐火车，预算900欧元", "好的 P4U5"),
    ] {
        let stage = StewardFixture::new().await;
        stage.chat(trip).await;
        let told = stage.chat(code).await;
        let fields = stage
            .state()
            .await
            .steward_state
            .current()
            .unwrap()
            .fields
            .clone();
        assert!(!fields.contains_key("reason"), "{fields:?}");
        let named = code.split(' ').next_back().unwrap();
        let reply = told["reply"].as_str().unwrap_or_default();
        assert!(reply.contains(named), "{told}");
    }
}

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
