//! The book in which the simulation of consents notes cards: a part of the crate that its users do
//! not see, and that is built here rather than all of the crate a second time.
#[expect(dead_code, reason = "what the simulation alone needs")]
#[path = "../../src/consent/book.rs"]
mod book;
#[expect(dead_code, reason = "what the simulation alone needs")]
#[path = "../../src/consent/cards.rs"]
mod cards;

use book::Book;
use fugato_state::InterruptId;
use serde_json::json;

fn book() -> Book {
    let mut book = Book::default();
    let card = ("act~1.aa".to_owned(), None, json!("one"));
    book.deliver(("ann", "t1"), card).expect("a new card");
    book
}

#[test]
fn a_write_needs_a_consent_of_its_own() {
    let mut book = book();
    let writes = [json!("one"), json!("one")];
    assert!(book.check(&writes[..1], &[]).is_err());
    for (caller, thread, id) in [
        ("bob", "t1", "act~1.aa"),
        ("ann", "t2", "act~1.aa"),
        ("ann", "t1", "act~2.bb"),
    ] {
        assert!(!book.may_agree((caller, thread), id, false));
    }
    assert!(book.may_agree(("ann", "t1"), "act~1.aa", true));
    book.consent("act~1.aa");
    assert_eq!(book.check(&writes[..1], &[]), Ok(()));
    assert!(book.check(&writes, &[]).is_err());
    assert!(book.check(&[json!("two")], &[]).is_err());
    assert_eq!(book.check(&writes, &[json!("one")]), Ok(()));
}

#[test]
fn a_card_that_changes_is_found() {
    let mut book = book();
    let card = |content: &str| ("act~1.aa".to_owned(), None, json!(content));
    assert_eq!(book.deliver(("bob", "t1"), card("one")), Ok(()));
    assert!(book.deliver(("bob", "t1"), card("two")).is_err());
}

/// There are some thousands of codes, so that two cards of a thread may have the same one.
#[test]
fn a_code_that_a_shown_card_has_too_is_not_told_without_it() {
    let mut book = book();
    let code = InterruptId::from("act~1.aa").code();
    let mut ids = (0..).map(|number: u32| format!("act~2.{number}"));
    let same = ids.find(|id| InterruptId::from(id.as_str()).code() == code);
    let body = format!("To agree, reply: yes {code}.");
    let other = (same.expect("there is one"), None, json!("two"));
    assert_eq!(book.deliver(("ann", "t1"), other.clone()), Ok(()));
    assert_eq!(book.told_without_a_card("t1", &body, &[other]), None);
    assert_eq!(book.told_without_a_card("t1", &body, &[]), Some(code));
}
