//! Texts in two languages: every `say!` has both, with the same places for values.
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::tree::TextFile;

/// Returns a line for each `say!` whose English and Chinese texts do not fit together: they name
/// other values, the English text has Chinese characters, or the Chinese one has words and no
/// Chinese character.
pub fn complaints(file: &TextFile) -> Vec<String> {
    let mut found = vec![];
    if let Ok(tokens) = file.text.parse::<TokenStream>() {
        visit(tokens, &mut |en, zh| {
            if let Some(why) = mismatch(en, zh) {
                found.push(format!("{}: {en:?} {why}", file.path));
            }
        });
    }
    found
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
                TokenTree::Literal(literal) => {
                    let text = syn::parse_str::<syn::LitStr>(&literal.to_string());
                    text.ok().map(|text| text.value())
                }
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
    let han = |c: char| matches!(c, '\u{3400}'..='\u{9fff}');
    let is_word = |text: &str| without_places(text).chars().any(char::is_alphabetic);
    if places(en) != places(zh) {
        Some("has other values in Chinese")
    } else if en.chars().any(han) {
        Some("is not English")
    } else if is_word(en) && !zh.chars().any(han) {
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
            b(say!("none", "none")); say!("{a}: {b}", "{a}：{b}"); say!("无", "无"); }"#;
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
            ]
        );
    }
}
