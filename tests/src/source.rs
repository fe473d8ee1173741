//! How long files and functions are, and which tests are switched off.
use std::collections::BTreeSet;

use proc_macro2::Span;
use syn::{
    Attribute, Block, File, ImplItemFn, ItemFn, ItemMod, Signature, TraitItemFn,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::tree::TextFile;

/// The most lines that a file may have, without the tests at its end.
pub const LONGEST_FILE: usize = 800;
/// The most lines that a function may have.
pub const LONGEST_FUNCTION: usize = 100;

/// What is wrong with a source file, as `path:line: what`.
pub fn complaints(file: &TextFile) -> Vec<String> {
    let parsed = match syn::parse_file(&file.text) {
        Ok(parsed) => parsed,
        Err(error) => return vec![format!("{}: {error}", file.path)],
    };
    let mut seen = read(&parsed);
    let lines = file.text.lines().count().saturating_sub(seen.test_lines);
    if lines > LONGEST_FILE {
        let what = format!("{lines} lines are more than {LONGEST_FILE}");
        seen.wrong.push((1, what));
    }
    let place = |(line, what)| format!("{}:{line}: {what}", file.path);
    seen.wrong.into_iter().map(place).collect()
}

/// The names of all functions of a source file; none if it cannot be parsed.
pub fn functions(file: &TextFile) -> BTreeSet<String> {
    let parsed = syn::parse_file(&file.text);
    parsed.map(|parsed| read(&parsed).names).unwrap_or_default()
}

/// The names of the tests of a page: those that are written like the name of a function.
pub fn page_tests(file: &TextFile) -> BTreeSet<String> {
    let names = file.text.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("test('")?.split_once('\'')?;
        (!name.contains(' ')).then(|| name.to_owned())
    });
    names.collect()
}

fn read(file: &File) -> Seen {
    let mut seen = Seen::default();
    seen.visit_file(file);
    seen
}

#[derive(Default)]
struct Seen {
    wrong: Vec<(usize, String)>,
    names: BTreeSet<String>,
    test_lines: usize,
}

impl Seen {
    fn function(&mut self, attributes: &[Attribute], signature: &Signature, body: Option<&Block>) {
        let name = signature.ident.to_string();
        let line = signature.span().start().line;
        if attributes.iter().any(|attr| attr.path().is_ident("ignore")) {
            self.wrong
                .push((line, format!("the test `{name}` is switched off")));
        }
        let long = body.map_or(0, |body| {
            lines(signature.span().join(body.span()).unwrap_or(body.span()))
        });
        if long > LONGEST_FUNCTION {
            let what = format!("`{name}` has {long} lines, more than {LONGEST_FUNCTION}");
            self.wrong.push((line, what));
        }
        self.names.insert(name);
    }
}

fn lines(span: Span) -> usize {
    span.end().line + 1 - span.start().line
}

fn is_test(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute
            .parse_args::<syn::Path>()
            .is_ok_and(|path| path.is_ident("test"))
}

impl<'ast> Visit<'ast> for Seen {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.attrs, &item.sig, Some(&item.block));
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.attrs, &item.sig, Some(&item.block));
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.function(&item.attrs, &item.sig, item.default.as_ref());
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.attrs.iter().any(is_test) {
            self.test_lines += lines(item.span());
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        // `proptest!` and its like hold functions that the parser does not see as such.
        let tokens: Vec<String> = item
            .tokens
            .clone()
            .into_iter()
            .map(|t| t.to_string())
            .collect();
        for pair in tokens.windows(2) {
            if let [word, name] = pair
                && word == "fn"
            {
                self.names.insert(name.clone());
            }
        }
        visit::visit_macro(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_function_is_found_wherever_it_is() {
        let body = "    ();\n".repeat(LONGEST_FUNCTION);
        let text = format!("impl A {{\nfn long() {{\n{body}}}\n}}\nfn short() {{}}\n");
        let wrong = complaints(&TextFile::new("a.rs", text));
        assert_eq!(wrong, ["a.rs:2: `long` has 102 lines, more than 100"]);
    }

    #[test]
    fn a_long_file_is_found_but_its_tests_do_not_count() {
        let line = "const A: u8 = 1;\n";
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", line.repeat(300));
        let fits = format!("{}{tests}", line.repeat(LONGEST_FILE));
        assert_eq!(complaints(&TextFile::new("a.rs", &fits)), [""; 0]);
        let wrong = complaints(&TextFile::new("a.rs", format!("{line}{fits}")));
        assert_eq!(wrong, ["a.rs:1: 801 lines are more than 800"]);
    }

    #[test]
    fn a_test_that_is_switched_off_is_found() {
        let text = "#[test]\n#[ignore = \"slow\"]\nfn a() {}\n";
        let wrong = complaints(&TextFile::new("a.rs", text));
        assert_eq!(wrong, ["a.rs:3: the test `a` is switched off"]);
    }

    #[test]
    fn functions_within_macros_have_names_too() {
        let text = "proptest! { #[test] fn a(x in 0..1) {} }\nmod m { fn b() {} }\n";
        let names = functions(&TextFile::new("a.rs", text));
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_file_that_cannot_be_parsed_is_named() {
        let wrong = complaints(&TextFile::new("a.rs", "fn {"));
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].starts_with("a.rs: "));
    }
}
