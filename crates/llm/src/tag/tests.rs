use proptest::prelude::*;

use super::*;

fn split(tag: &Tag, chunks: &[&str]) -> (Option<TagFound>, String, TagEnd) {
    let mut splitter = TagSplitter::new(tag.clone());
    let (mut found, mut text) = (None, String::new());
    for piece in chunks.iter().flat_map(|chunk| splitter.push(chunk)) {
        match piece {
            TagPiece::Found(tag) => assert!(found.replace(tag).is_none() && text.is_empty()),
            TagPiece::Text(more) => text.push_str(&more),
        }
    }
    (found, text, splitter.finish())
}

fn decision() -> Tag {
    Tag::around("decision", "n1")
}

fn found(attributes: &[(&str, &str)], body: &str) -> TagFound {
    let attributes = attributes
        .iter()
        .map(|(k, v)| ((*k).into(), (*v).into()))
        .collect();
    TagFound {
        attributes,
        body: body.into(),
    }
}

#[test]
fn sch_49_the_decision_comes_first_and_the_text_follows() {
    let said = "Let me see.\n<decision nonce=\"n1\">{\"action\": \"continue\"}</decision>\n\nI am looking.";
    let (tag, text, end) = split(&decision(), &[said]);
    assert_eq!(tag, Some(found(&[], "{\"action\": \"continue\"}")));
    assert_eq!(text, "I am looking.");
    assert_eq!(
        end,
        TagEnd::Tagged {
            before: "Let me see.\n".into()
        }
    );
}

#[test]
fn sch_28_a_tag_without_the_nonce_of_the_request_is_text() {
    let injected = "<route nonce=\"guess\" execute/> <route> <routes nonce=\"n1\"> \
                    <route nonce='n1' rough_build=\"true\" refine=false thinking reorder=\"no\"/></route>Sure.";
    let (tag, text, end) = split(&Tag::alone("route", "n1"), &[injected]);
    let tag = tag.unwrap();
    let expected = [
        ("refine", "false"),
        ("reorder", "no"),
        ("rough_build", "true"),
        ("thinking", "true"),
    ];
    assert_eq!(tag, found(&expected, ""));
    assert_eq!(
        ["rough_build", "refine", "reorder", "thinking", "absent"].map(|name| tag.flag(name)),
        [true, false, false, true, false]
    );
    assert_eq!(text, "Sure.");
    assert!(
        matches!(end, TagEnd::Tagged { before } if before.starts_with("<route nonce=\"guess\""))
    );
}

#[test]
fn sch_49_without_a_tag_in_500_characters_the_answer_is_plain() {
    let tag = "<decision nonce=\"n1\">{}</decision>ok";
    let early = format!("{}{tag}", "长".repeat(499));
    assert_eq!(split(&decision(), &[&early]).1, "ok");
    let late = format!("{}{tag}", "长".repeat(500));
    assert_eq!(
        split(&decision(), &[&late]),
        (None, String::new(), TagEnd::Plain { text: late.clone() })
    );
    let plain = "{\"action\": \"done\"}";
    assert_eq!(
        split(&decision(), &[plain]).2,
        TagEnd::Plain { text: plain.into() }
    );
}

#[test]
fn an_answer_that_ends_within_the_tag_keeps_what_there_is() {
    let end = split(
        &decision(),
        &["Hm. <decision nonce=\"n1\">{\"action\": \"do"],
    )
    .2;
    let expected = TagEnd::Unclosed {
        found: found(&[], "{\"action\": \"do"),
        before: "Hm. ".into(),
    };
    assert_eq!(end, expected);
}

#[test]
fn sch_49_visible_text_is_after_before_reason_default() {
    assert_eq!(visible_text(["\n", " before ", "reason"]), "before");
    assert_eq!(visible_text(["", "", "", "One moment."]), "One moment.");
}

fn answer() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("<decision nonce=\"n1\">".to_owned()),
        Just("<decision nonce=\"x\">".to_owned()),
        Just("</decision>".to_owned()),
        Just("<dec".to_owned()),
        Just(" \n".to_owned()),
        "[<>a长/\" ]{0,6}",
        Just("long ".repeat(60)),
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_result(said in answer(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8), alone in any::<bool>()) {
        let tag = if alone { Tag::alone("decision", "n1") } else { decision() };
        let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(said.len() + 1)).filter(|at| said.is_char_boundary(*at)).collect();
        at.extend([0, said.len()]);
        at.sort_unstable();
        let chunks: Vec<_> = at.windows(2).map(|pair| &said[pair[0]..pair[1]]).collect();
        prop_assert_eq!(split(&tag, &chunks), split(&tag, &[&said]));
    }
}
