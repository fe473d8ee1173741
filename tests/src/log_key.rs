//! Whether log lines are found by the keys that the documents list.
use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Expr, ExprLit, ItemConst, Lit,
    visit::{self, Visit},
};

use crate::{markdown, tree::TextFile};

/// The file in which a crate keeps its keys.
const FILE: &str = "/log_key.rs";

const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// What is wrong: log lines without a key, keys without a row, rows without a key, rows with
/// another level.
pub fn complaints<'a>(table: &str, sources: impl IntoIterator<Item = &'a TextFile>) -> Vec<String> {
    let mut wrong = vec![];
    let mut said = BTreeSet::new();
    let mut keys = BTreeMap::new();
    for file in sources {
        let Some(name) = crate_of(&file.path) else {
            continue;
        };
        let Ok(parsed) = syn::parse_file(&file.text) else {
            continue;
        };
        let mut seen = Seen::default();
        seen.visit_file(&parsed);
        seen.scan(file.text.parse().unwrap_or_default());
        if file.path.ends_with(FILE) {
            let named = seen.constants.into_iter();
            keys.extend(named.map(|(constant, key)| ((name.to_owned(), constant), key)));
        }
        for (level, constant) in seen.lines {
            match constant {
                Some(constant) => {
                    said.insert((name.to_owned(), constant, level));
                }
                None => wrong.push(format!("{}: a line of {level} has no key", file.path)),
            }
        }
        let spans = seen.spans.into_iter();
        said.extend(spans.map(|span| (name.to_owned(), span, "span".to_owned())));
    }
    let key = |(name, constant, level): (String, String, String)| {
        let known = keys.get(&(name.clone(), constant.clone())).cloned();
        (known.unwrap_or(constant), name, level)
    };
    let said: BTreeSet<_> = said.into_iter().map(key).collect();
    let listed: BTreeSet<_> = markdown::rows(table, &["key", "crate", "level"])
        .iter()
        .filter_map(|row| match row[..] {
            [key, name, level, _] => Some((
                key.trim_matches('`').to_owned(),
                name.to_owned(),
                level.to_owned(),
            )),
            _ => None,
        })
        .collect();
    let row = |what: &str, (key, name, level): &(String, String, String)| {
        format!("{what}: `{key}` | {name} | {level}")
    };
    wrong.extend(
        said.difference(&listed)
            .map(|line| row("not in the table", line)),
    );
    wrong.extend(
        listed
            .difference(&said)
            .map(|line| row("not in the code", line)),
    );
    wrong
}

/// What a page calls a log key and `table` does not list: everything in a column "log keys", and
/// whatever in its text is several words and no command.
pub fn unknown(page: &str, table: &str) -> Vec<String> {
    let rows = markdown::rows(table, &["key", "crate", "level"]);
    let known: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row.first().and_then(|key| markdown::code(key).next()))
        .collect();
    let columns = markdown::columns(page, "log keys");
    let in_columns = columns.into_iter().flat_map(markdown::code);
    let in_text = page.lines().filter(|line| !line.starts_with('|'));
    let in_text = in_text.flat_map(markdown::code).filter(|code| {
        let command = code.starts_with("scheduler ") || code.starts_with("cargo ");
        code.contains(' ') && !command
    });
    let named: BTreeSet<&str> = in_columns.chain(in_text).collect();
    named
        .difference(&known)
        .map(|key| format!("`{key}` is no log key"))
        .collect()
}

/// The folder below `crates` or `examples` that a source file of a library or program lies in.
fn crate_of(path: &str) -> Option<&str> {
    let rest = path
        .strip_prefix("crates/")
        .or_else(|| path.strip_prefix("examples/"))?;
    let (name, rest) = rest.split_once('/')?;
    rest.starts_with("src/").then_some(name)
}

#[derive(Default)]
struct Seen {
    /// Constants that are texts.
    constants: Vec<(String, String)>,
    /// Levels, and the constant by which a line is found.
    lines: Vec<(String, Option<String>)>,
    /// The names of spans.
    spans: Vec<String>,
}

impl<'ast> Visit<'ast> for Seen {
    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        if let Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) = &*item.expr
        {
            self.constants.push((item.ident.to_string(), text.value()));
        }
        visit::visit_item_const(self, item);
    }
}

impl Seen {
    /// Looks at every call of a macro of `tracing`, also within other macros.
    fn scan(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            if let TokenTree::Group(group) = token {
                match called(tokens.get(..at).unwrap_or_default()) {
                    Some(level) if LEVELS.contains(&level.as_str()) => {
                        self.lines.push((level, constant(&group.stream())));
                    }
                    Some(name) if name.ends_with("span") => {
                        self.spans.extend(span_name(&group.stream()));
                    }
                    _ => self.scan(group.stream()),
                }
            }
        }
    }
}

/// The macro of `tracing` that the tokens before its arguments name.
fn called(before: &[TokenTree]) -> Option<String> {
    let [
        ..,
        tracing,
        TokenTree::Punct(_),
        TokenTree::Punct(_),
        name,
        TokenTree::Punct(bang),
    ] = before
    else {
        return None;
    };
    let is_tracing = matches!(tracing, TokenTree::Ident(ident) if ident == "tracing");
    match name {
        TokenTree::Ident(name) if is_tracing && bang.as_char() == '!' => Some(name.to_string()),
        _ => None,
    }
}

/// The name behind `log_key::`.
fn constant(tokens: &TokenStream) -> Option<String> {
    let mut tokens = tokens.clone().into_iter();
    tokens.find(|token| matches!(token, TokenTree::Ident(ident) if ident == "log_key"))?;
    tokens.find_map(|token| match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    })
}

/// The first text that is no target.
fn span_name(tokens: &TokenStream) -> Option<String> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let is_target = |at: usize| {
        let before = at.checked_sub(2).and_then(|before| tokens.get(before));
        matches!(before, Some(TokenTree::Ident(ident)) if ident == "target")
    };
    tokens
        .iter()
        .enumerate()
        .find_map(|(at, token)| match token {
            TokenTree::Literal(literal) if !is_target(at) => {
                let text = literal.to_string();
                Some(text.trim_matches('"').to_owned())
            }
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> TextFile {
        TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_page_names_keys_that_are_there() {
        let table = "| key | crate | level | says |\n|---|---|---|---|\n| `it was lost` | a | warn | x |\n| `chat` | a | span | x |\n";
        let page = "Look for `it was lost`, or run `scheduler trace --full` of `wanted`.\n\n\
            | what | log keys | where |\n|---|---|---|\n| x | `chat`, `it was lost` | `here` |\n";
        assert_eq!(unknown(page, table), [""; 0]);
        let wrong = page
            .replace("`chat`", "`chats`")
            .replace("for `it", "for `that it");
        assert_eq!(
            unknown(&wrong, table),
            ["`chats` is no log key", "`that it was lost` is no log key"]
        );
    }

    #[test]
    fn a_key_is_in_the_code_and_in_the_table() {
        let keys = source(
            "crates/a/src/log_key.rs",
            r#"pub(crate) const LOST: &str = "it was lost"; const SPARE: &str = "spare";"#,
        );
        let line = r#"fn f() { tracing::warn!(target: "x", n, "{}", crate::log_key::LOST); tracing::info_span!(target: "x", "chat", n); }"#;
        let code = source("crates/a/src/lib.rs", line);
        let head = "| key | crate | level | says |\n|---|---|---|---|\n";
        let good = format!("{head}| `it was lost` | a | warn | x |\n| `chat` | a | span | x |\n");
        let none: [&str; 0] = [];
        assert_eq!(complaints(&good, [&keys, &code]), none);
        let other = format!("{head}| `it was lost` | a | info | x |\n");
        assert_eq!(
            complaints(&other, [&keys, &code]),
            [
                "not in the table: `chat` | a | span",
                "not in the table: `it was lost` | a | warn",
                "not in the code: `it was lost` | a | info",
            ]
        );
        let within = "fn f() { select! { x => { tracing::warn!(n, \"{}\", log_key::LOST) } } }";
        let within = source("crates/a/src/c.rs", within);
        let only = format!("{head}| `it was lost` | a | warn | x |\n");
        assert_eq!(complaints(&only, [&keys, &within]), none);
        let loose = source("crates/a/src/b.rs", r#"fn f() { tracing::warn!("oh"); }"#);
        assert_eq!(
            complaints(head, [&loose]),
            ["crates/a/src/b.rs: a line of warn has no key"]
        );
        let test = source("crates/a/tests/b.rs", r#"fn f() { tracing::warn!("oh"); }"#);
        assert_eq!(complaints(head, [&test]), none);
    }
}
