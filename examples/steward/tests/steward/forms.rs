//! What fits into fields, and what is read of reasons.
use serde_json::json;
use steward::{
    form::{amount_text, amount_value, cents},
    service::Desk,
};

use crate::common::Tested;

#[test]
fn stw_32_facts_of_other_fields_are_kept_out_of_the_reason() -> Tested {
    let desk = Desk::load()?;
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
        assert_eq!(desk.reader.cleaned(given).as_deref(), expected, "{given}");
    }
    Ok(())
}

#[test]
fn one_amount_is_one_number_however_it_is_written() {
    for given in [
        json!(1200),
        json!(1200.0),
        json!("¥1,200"),
        json!("1200.00元"),
    ] {
        let value = cents(&given).map(amount_value);
        assert_eq!(value, Some(json!(1200)), "{given}");
    }
    let value = cents(&json!("12.5 yuan")).map(amount_value);
    assert_eq!(value, Some(json!(12.5)));
    assert_eq!(amount_text(&json!(12.5)), "12.50");
    for wrong in [
        json!("soon"),
        json!(1.001),
        json!([]),
        json!(-3),
        json!("9".repeat(40)),
        json!("-300"),
        json!("86,50"),
        json!("300-500"),
    ] {
        let cents = cents(&wrong).filter(|cents| *cents > 0);
        assert_eq!(cents, None, "{wrong}");
    }
}
