//! The functions and tests of source files.
use std::collections::BTreeSet;

use syn::{
    Signature,
    visit::{self, Visit},
};

use crate::tree::TextFile;

/// Returns the names of all functions of a source file; none if it cannot be parsed.
pub fn functions(file: &TextFile) -> BTreeSet<String> {
    let mut names = Names::default();
    if let Ok(parsed) = syn::parse_file(&file.text) {
        names.visit_file(&parsed);
    }
    names.0
}

/// Returns the names of the tests of a page that are written like the name of a function.
pub fn page_tests(file: &TextFile) -> BTreeSet<String> {
    let names = file.text.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("test('")?.split_once('\'')?;
        (!name.contains(' ')).then(|| name.to_owned())
    });
    names.collect()
}

/// Returns true if a source file defines an item of this name.
pub fn defines(file: &TextFile, item: &str) -> bool {
    const KINDS: [&str; 8] = [
        "struct",
        "enum",
        "trait",
        "fn",
        "type",
        "const",
        "mod",
        "macro_rules!",
    ];
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    KINDS.iter().any(|kind| {
        let definition = format!("{kind} {item}");
        let mut found = file.text.match_indices(&definition);
        found.any(|(at, _)| ends(file.text.get(at + definition.len()..).unwrap_or_default()))
    })
}

#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_signature(&mut self, signature: &'ast Signature) {
        self.0.insert(signature.ident.to_string());
        visit::visit_signature(self, signature);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        // `proptest!` and its like hold functions that the parser does not see as such.
        let tokens = item.tokens.clone().into_iter();
        let tokens: Vec<String> = tokens.map(|token| token.to_string()).collect();
        let names = tokens.windows(2).filter_map(|pair| match pair {
            [word, name] if word == "fn" => Some(name.clone()),
            _ => None,
        });
        self.0.extend(names);
        visit::visit_macro(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_within_macros_have_names_too() {
        let text = "proptest! { #[test] fn a(x in 0..1) {} }\nmod m { fn b() {} }\nstruct Cd;";
        let file = TextFile::new("a.rs", text);
        assert_eq!(functions(&file).into_iter().collect::<Vec<_>>(), ["a", "b"]);
        assert!(defines(&file, "Cd") && defines(&file, "b") && !defines(&file, "C"));
    }
}
