use fugato_state::{Interrupt, Question};
use serde_json::json;

use super::*;

fn approval(prompt: Value) -> Interrupt {
    Interrupt {
        id: "token".into(),
        task: "act#1".into(),
        question: Question::new::<bool>("confirm/c1", prompt).digest("d1"),
    }
}

fn written(text: &str) -> Interrupt {
    let arguments = json!({ "path": "notes.txt", "text": text });
    approval(json!({
        "title": "write_file",
        "summary": argument_lines(&arguments),
        "call": { "id": "c1", "name": "write_file", "arguments": arguments },
        "consequence": "overwrites notes.txt, 534 bytes",
        "says": "Writes a text file.",
    }))
}

#[test]
fn k35_a_card_names_every_argument_what_it_replaces_and_its_code() {
    let asked = written("line one\nline two\n");
    let code = asked.id.code();
    assert_eq!(
        card_text(&asked),
        format!(
            "Nothing is done yet. Please look at this card:\n\n    [{code}] write_file\n    \
             overwrites notes.txt, 534 bytes\n    path: notes.txt\n    text:\n      line one\n      \
             line two\n      \n    (The tool says of itself: Writes a text file.)\n\n\
             To agree, reply: yes {code}. To refuse, reply: no {code}."
        )
    );
}

#[test]
fn k35_arguments_that_a_summary_leaves_out_are_named() {
    let card = |summary: &str| {
        let arguments = json!({ "to": "attacker", "amount": 99999, "note": null });
        let call = json!({ "id": "c1", "name": "pay", "arguments": arguments });
        let asked = approval(json!({ "title": "pay", "summary": summary, "call": call }));
        CardText::of(&asked).body()
    };
    let looks = "Looks up the balance.";
    assert_eq!(card(looks), format!("{looks}\namount: 99999\nto: attacker"));
    assert_eq!(card("99999 to attacker"), "99999 to attacker");
}

#[test]
fn k35_a_value_that_the_summary_calls_by_a_label_is_named_once() {
    let card = |summary: &str| {
        let arguments = json!({ "category": "transport", "amount": 7 });
        let call = json!({ "id": "c1", "name": "claim", "arguments": arguments });
        let labels = json!({ "category": "交通" });
        let prompt =
            json!({ "title": "报销？", "summary": summary, "call": call, "labels": labels });
        CardText::of(&approval(prompt)).body()
    };
    assert_eq!(card("费用类别: 交通\n金额: 7"), "费用类别: 交通\n金额: 7");
    assert_eq!(card("金额: 7"), "金额: 7\ncategory: 交通");
}

#[test]
fn k35_a_card_calls_the_act_its_arguments_and_their_values_as_people_do() {
    let arguments = json!({ "path": "清单.md", "side": "buy", "once": true, "more": true });
    let card = |summary: &str, lang: &str| {
        let call = json!({ "id": "c1", "name": "act", "arguments": arguments });
        let names = json!({ "path": "文件", "side": "方向", "once": "只一次" });
        let asked = approval(json!({
            "title": "写文件", "summary": summary, "call": call, "lang": lang,
            "names": names, "labels": { "side": "买" },
        }));
        CardText::of(&asked).body()
    };
    let lines = argument_lines(&arguments);
    let shown = "more: true\n只一次: 是\n文件: 清单.md\n方向: 买";
    assert_eq!(card(&lines, "zh"), shown);
    assert_eq!(card(&lines, "en"), shown.replace("是", "yes"));
    // What a summary of its own leaves out has its names, too.
    let own = "买，清单.md，true";
    assert_eq!(card(own, "zh"), own);
    assert_eq!(
        card("买", "zh"),
        "买\nmore: true\n只一次: 是\n文件: 清单.md"
    );
}

#[test]
fn k35_the_end_of_a_long_text_is_shown() {
    let long = format!("begin\n{}EVIL AT THE END", "so on\n".repeat(10_000));
    let text = card_text(&written(&long));
    assert!(text.contains("EVIL AT THE END"));
    assert!(text.lines().count() < 220, "{}", text.lines().count());
    let shown = text.matches("      so on").count();
    let folded = format!(
        "… {} more characters, {} more lines …",
        (10_000 - shown) * 8,
        10_000 - shown
    );
    assert!(text.contains(&folded), "{folded}");
    let wide = card_text(&written(&format!("begin {} end", "x".repeat(100_000))));
    assert!(wide.contains("begin xxx") && wide.contains("xxx end") && wide.len() < 21_000);
}

#[test]
fn k35_no_value_looks_like_another_argument_or_the_end_of_the_card() {
    let asked = approval(json!({
        "title": "pay\n[A2B3] look",
        "summary": argument_lines(&json!({ "amount": 99999, "x\ny": "a\nto: me\n\nyes\u{1b}[1A" })),
    }));
    let text = card_text(&asked);
    let card: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("    "))
        .collect();
    let code = asked.id.code();
    assert_eq!(
        card,
        [
            &*format!("    [{code}] pay⏎[A2B3] look"),
            "    amount: 99999",
            "    \"x\\ny\":",
            "      a",
            "      to: me",
            "      ",
            "      yes␛[1A",
        ]
    );
}

#[test]
fn a_chinese_card_is_answered_in_chinese_and_a_question_has_its_options() {
    let asked = approval(json!({ "title": "提交？", "summary": "金额: 86.5" }));
    let text = card_text(&asked);
    assert!(
        text.contains("同意请回复：好的 ") && text.contains("    金额: 86.5"),
        "{text}"
    );
    let lang = approval(json!({ "title": "submit", "lang": "zh" }));
    assert!(card_text(&lang).contains("同意请回复"));
    let mut asked =
        approval(json!({ "title": "Which?", "options": [{ "label": "Oslo" }, "Rome"] }));
    asked.question.digest = None;
    assert_eq!(card_text(&asked), "Which?\n1. Oslo\n2. Rome");
    asked.question.prompt = json!("Which week?");
    assert_eq!(card_text(&asked), "Which week?");
}

#[test]
fn an_approval_without_words_shows_what_it_has() {
    let asked = approval(json!({ "title": "Send?", "to": "Ada", "type": "confirm" }));
    assert_eq!(CardText::of(&asked).body(), "to: Ada");
}

#[test]
fn k35_a_long_title_does_not_push_the_code_away() {
    let asked = approval(json!({ "title": format!("begin {} end", "x".repeat(100_000)) }));
    let heading = CardText::of(&asked).heading();
    assert!(
        heading.starts_with(&format!("[{}] begin x", asked.id.code())),
        "{heading}"
    );
    assert!(
        heading.ends_with("x end") && heading.chars().count() < 300,
        "{heading}"
    );
    assert!(
        heading.contains("… 99810 more characters, 0 more lines …"),
        "{heading}"
    );
}
