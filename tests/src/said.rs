//! Texts in two languages: every `say!` has both, with the same places for values, and no error or
//! result that a person or a model reads is made of a text in English alone.
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::tree::TextFile;

/// The types whose texts a person or a model reads.
const READ: [&str; 8] = [
    "AccessDenied",
    "ApiError",
    "BadInput",
    "CliError",
    "RejectedAnswer",
    "ToolFailure",
    "ToolOutput",
    "Verdict",
];

/// Returns a line for each `say!` whose English and Chinese texts do not fit together: they name
/// other values, the English text has Chinese characters, or the Chinese one has words and no
/// Chinese character. And a line for each English sentence of which one of the types that people
/// read is made without a Chinese one.
pub fn complaints(file: &TextFile) -> Vec<String> {
    let mut found = vec![];
    if let Ok(tokens) = file.text.parse::<TokenStream>() {
        visit(tokens.clone(), &mut |en, zh| {
            if let Some(why) = mismatch(en, zh) {
                found.push(format!("{}: {en:?} {why}", file.path));
            }
        });
        for text in english_alone(tokens) {
            found.push(format!("{}: {text:?} has no Chinese text", file.path));
        }
    }
    found
}

/// Returns the English sentences of which one of [`READ`] is made, outside of tests.
fn english_alone(tokens: TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut found, mut is_test) = (vec![], false);
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        let before = |back: usize| {
            let token = at.checked_sub(back).and_then(|at| tokens.get(at));
            token.map_or_else(String::new, ToString::to_string)
        };
        if group.delimiter() == Delimiter::Bracket {
            let inner: String = group.stream().to_string();
            is_test |=
                before(1) == "#" && inner.split_whitespace().collect::<String>() == "cfg(test)";
        } else if group.delimiter() == Delimiter::Brace && std::mem::take(&mut is_test) {
            continue;
        }
        let is_read = READ.contains(&before(4).as_str()) && before(3) == ":";
        if group.delimiter() == Delimiter::Parenthesis && is_read {
            sentences(group.stream(), &mut found);
        } else {
            found.extend(english_alone(group.stream()));
        }
    }
    found
}

/// Adds the English sentences that no `say!` holds, unless a Chinese text is beside them.
fn sentences(tokens: TokenStream, found: &mut Vec<String>) {
    let (mut previous, mut here) = (String::new(), vec![]);
    for token in tokens {
        match &token {
            TokenTree::Literal(literal) => here.extend(text(literal)),
            TokenTree::Group(group) if previous != "say!" => sentences(group.stream(), found),
            _ => {}
        }
        previous = match &token {
            TokenTree::Punct(mark) if mark.as_char() == '!' => previous + "!",
            other => other.to_string(),
        };
    }
    if !here.iter().any(|text| text.chars().any(is_han)) {
        found.extend(here.into_iter().filter(|text| is_sentence(text)));
    }
}

fn is_sentence(text: &str) -> bool {
    let is_word = |word: &&str| {
        let word = word.trim_end_matches([',', '.', ';', ':']);
        word.chars().all(|c| c.is_ascii_alphabetic())
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(3).any(|three| three.iter().all(is_word))
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}')
}

fn text(literal: &proc_macro2::Literal) -> Option<String> {
    let text = syn::parse_str::<syn::LitStr>(&literal.to_string());
    text.ok().map(|text| text.value())
}

fn visit(tokens: TokenStream, report: &mut dyn FnMut(&str, &str)) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let next = (tokens.get(at + 1), tokens.get(at + 2));
        if let (
            TokenTree::Ident(name),
            (Some(TokenTree::Punct(mark)), Some(TokenTree::Group(group))),
        ) = (token, next)
            && name == "say"
            && mark.as_char() == '!'
            && group.delimiter() == Delimiter::Parenthesis
        {
            let literals = group.stream().into_iter().filter_map(|token| match token {
                TokenTree::Literal(literal) => text(&literal),
                _ => None,
            });
            if let [en, zh] = &literals.take(2).collect::<Vec<_>>()[..] {
                report(en, zh);
            }
        }
        if let TokenTree::Group(group) = token {
            visit(group.stream(), report);
        }
    }
}

fn mismatch(en: &str, zh: &str) -> Option<&'static str> {
    let is_word = |text: &str| without_places(text).chars().any(char::is_alphabetic);
    if places(en) != places(zh) {
        Some("has other values in Chinese")
    } else if en.chars().any(is_han) {
        Some("is not English")
    } else if is_word(en) && !zh.chars().any(is_han) {
        Some("has no Chinese text")
    } else {
        None
    }
}

/// Returns the names of the values in a format string, in order; two braces are a brace.
fn places(text: &str) -> Vec<String> {
    let text = text.replace("{{", "").replace("}}", "");
    let parts = text.split('{').skip(1);
    let mut places: Vec<String> = parts
        .filter_map(|part| Some(part.split_once('}')?.0.to_owned()))
        .collect();
    places.sort();
    places
}

fn without_places(text: &str) -> String {
    let parts = text.split('{');
    parts
        .map(|part| part.split_once('}').map_or(part, |(_, rest)| rest))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_do_not_fit_together_are_found() {
        let text = r#"fn a() { say!("day {day}", "第 {day} 天"); vec![say!("{n} free", "{m} 空闲")];
            b(say!("none", "none")); say!("{a}: {b}", "{a}：{b}"); say!("无", "无");
            c(BadInput::new(format!("it is none of those {a}"))); f("it is of those");
            CliError::new(say!("it is so", "是这样")); lang.pick("it is so now", "现在是这样"); }
            #[cfg(test)] mod tests { fn d() { BadInput::new("it is a test"); } }"#;
        let file = TextFile {
            path: "a.rs".into(),
            text: text.into(),
        };
        let found = complaints(&file);
        assert_eq!(
            found,
            [
                "a.rs: \"{n} free\" has other values in Chinese",
                "a.rs: \"none\" has no Chinese text",
                "a.rs: \"无\" is not English",
                "a.rs: \"it is none of those {a}\" has no Chinese text",
            ]
        );
    }
}
