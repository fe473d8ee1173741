//! The rules of the repository, applied to it.
use std::{collections::BTreeSet, env, process::Command, sync::OnceLock};

use serde_json::Value;
use tests::{
    doctest, guarantee,
    layer::{self, Package},
    markdown, path, requirement, said, source,
    tree::{self, TextFile},
};

const NOTHING: [&str; 0] = [];

fn files() -> &'static [TextFile] {
    static FILES: OnceLock<Vec<TextFile>> = OnceLock::new();
    FILES.get_or_init(|| tree::text_files(&tree::root()).expect("the repository can be read"))
}

fn file(path: &str) -> &'static TextFile {
    let found = files().iter().find(|file| file.path == path);
    found.unwrap_or_else(|| panic!("there is no {path}"))
}

fn with_extension(extension: &str) -> impl Iterator<Item = &'static TextFile> {
    files()
        .iter()
        .filter(move |file| file.has_extension(extension))
}

fn exists(path: &str) -> bool {
    tree::root().join(path).exists()
}

fn metadata() -> &'static Value {
    static METADATA: OnceLock<Value> = OnceLock::new();
    METADATA.get_or_init(|| {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let ask = |arguments: &[&str]| {
            let mut command = Command::new(&cargo);
            let out = command.args(arguments).current_dir(tree::root()).output();
            let out = out.expect("cargo runs");
            let error = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success(), "cargo {arguments:?} failed: {error}");
            String::from_utf8(out.stdout).expect("cargo prints text")
        };
        // What other systems need was perhaps never fetched.
        let version = ask(&["-vV"]);
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        let host = host.expect("cargo names its host");
        let metadata = ask(&[
            "metadata",
            "--format-version",
            "1",
            "--filter-platform",
            host,
        ]);
        serde_json::from_str(&metadata).expect("cargo prints JSON")
    })
}

#[test]
fn crates_depend_on_each_other_as_permitted() {
    let packages: Vec<Package> = layer::packages(metadata()).expect("cargo's output is understood");
    assert!(packages.iter().filter(|package| package.member).count() > 10);
    let table = &file("docs/architecture.md").text;
    assert_eq!(layer::complaints(table, &packages), NOTHING);
}

/// The files and the functions of the graph that a run may pass from its start to its end.
const PATH: (usize, usize) = (23, 74);

#[test]
fn a_run_passes_the_functions_that_the_page_lists() {
    let source = |name: &str| {
        let path = format!("crates/graph/src/{name}");
        let found = files().iter().find(|file| file.path == path);
        found.map(|file| file.text.as_str())
    };
    let page = &file("docs/architecture.md").text;
    assert_eq!(path::complaints(page, PATH, source), NOTHING);
}

/// Returns the names of the files in a folder, without their extension.
fn names(folder: &str, extension: &str) -> Vec<&'static str> {
    let names = with_extension(extension).filter_map(|file| {
        let name = file.path.strip_prefix(folder)?.strip_prefix('/')?;
        name.strip_suffix(extension)?.strip_suffix('.')
    });
    names.filter(|name| !name.contains('/')).collect()
}

#[test]
fn the_code_of_every_guide_and_every_small_example_is_run() {
    let (guides, examples) = (
        names("docs/guides", "md"),
        names("crates/fugato/examples", "rs"),
    );
    assert!(guides.len() > 8 && examples.len() > 11);
    let tested = &file("tests/src/guide.rs").text;
    let run = &file("crates/fugato/tests/examples.rs").text;
    let guides = guides
        .into_iter()
        .filter(|name| !tested.contains(&format!("\"{name}.md\"")));
    let examples = examples
        .into_iter()
        .filter(|name| !run.contains(&format!("    {name}::main()\n")));
    assert_eq!(guides.chain(examples).collect::<Vec<_>>(), NOTHING);
}

#[test]
fn log_keys_of_operators_are_in_the_code() {
    let table = &file("docs/log-keys.md").text;
    let rows = markdown::rows(table, &["key", "crate"]);
    assert!(rows.len() > 20);
    let wrong = rows.into_iter().filter(|row| {
        let key = format!("\"{}\"", row[0].trim_matches('`'));
        let [of_crate, of_example] =
            ["crates", "examples"].map(|folder| format!("{folder}/{}/src/", row[1]));
        let mut sources = with_extension("rs");
        !sources.any(|source| {
            let own = source.path.starts_with(&of_crate) || source.path.starts_with(&of_example);
            own && source.text.contains(&key)
        })
    });
    assert_eq!(wrong.collect::<Vec<_>>(), [[""; 0]; 0]);
}

#[test]
fn sch_w12_troubleshooting_names_log_keys_that_are_there() {
    let table = &file("docs/log-keys.md").text;
    let known: BTreeSet<&str> = markdown::code(table).collect();
    let rows = markdown::rows(&file("docs/troubleshooting.md").text, &["what one sees"]);
    let named: Vec<&str> = rows.iter().flat_map(|row| markdown::code(row[2])).collect();
    assert!(named.len() > 20);
    let unknown: Vec<_> = named
        .into_iter()
        .filter(|key| !known.contains(key))
        .collect();
    assert_eq!(unknown, NOTHING);
}

#[test]
fn every_example_runs() {
    let documented = with_extension("rs").chain(with_extension("md"));
    let wrong: Vec<_> = documented.flat_map(doctest::skipped).collect();
    assert_eq!(wrong, NOTHING);
}

#[test]
fn only_what_is_allowed_lies_at_the_top() {
    let entries = std::fs::read_dir(tree::root()).expect("the root can be read");
    let names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry can be read")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    let wrong = tree::not_allowed_at_the_top(names.iter().map(String::as_str));
    assert_eq!(wrong, NOTHING);
}

#[test]
fn every_readme_of_a_crate_is_its_documentation() {
    let manifests = with_extension("toml").filter_map(|file| {
        file.path
            .strip_prefix("crates/")?
            .strip_suffix("/Cargo.toml")
    });
    let mut wrong = vec![];
    for name in manifests {
        let root = &file(&format!("crates/{name}/src/lib.rs")).text;
        if !root.starts_with("#![doc = include_str!(\"../README.md\")]") {
            wrong.push(format!(
                "crates/{name}: the README is not the documentation"
            ));
        }
    }
    assert_eq!(wrong, NOTHING);
}

#[test]
fn every_file_and_item_to_read_exists() {
    let defines = |path: &str, item: &str| {
        let path = path.trim_end_matches('/');
        let found = files().iter().find(|file| file.path == path);
        let found = found.map(|file| source::defines(file, item));
        found.or_else(|| exists(path).then_some(false))
    };
    let pages = with_extension("md");
    let wrong: Vec<_> = pages
        .flat_map(|page| markdown::unreadable(page, defines))
        .collect();
    assert_eq!(wrong, NOTHING);
    let rows = markdown::rows(&file("docs/reading.md").text, &["to understand", "read"]);
    assert!(rows.len() >= 30);
}

#[test]
fn every_link_leads_somewhere() {
    let ours = |file: &&TextFile| file.path.starts_with("docs/") || !file.path.contains('/');
    let documents = with_extension("md").filter(ours);
    let wrong: Vec<_> = documents
        .flat_map(|file| markdown::broken_links(file, exists))
        .collect();
    assert_eq!(wrong, NOTHING);
}

#[test]
fn the_index_lists_every_decision() {
    let names: Vec<&str> = files()
        .iter()
        .filter_map(|file| file.path.strip_prefix("docs/adr/"))
        .filter(|name| *name != "README.md")
        .collect();
    assert!(!names.is_empty());
    let wrong = markdown::index_complaints(&file("docs/adr/README.md").text, &names);
    assert_eq!(wrong, NOTHING);
}

#[test]
fn every_command_of_a_readme_names_what_exists() {
    let packages = metadata()["packages"]
        .as_array()
        .expect("cargo lists packages");
    let members = packages
        .iter()
        .filter(|package| package["source"].is_null());
    let (mut names, mut binaries) = (vec![], vec![]);
    for member in members {
        names.extend(member["name"].as_str());
        let targets = member["targets"].as_array().into_iter().flatten();
        let is_binary = |target: &&Value| target["kind"][0] == "bin";
        binaries.extend(
            targets
                .filter(is_binary)
                .filter_map(|target| target["name"].as_str()),
        );
    }
    let commands = with_extension("md").flat_map(|file| markdown::cargo_commands(&file.text));
    let wrong: Vec<_> = commands
        .flat_map(|command| markdown::unknown_targets(command, &names, &binaries))
        .collect();
    assert_eq!(wrong, NOTHING);
}

#[test]
fn the_readme_promises_the_two_commands() {
    let commands = markdown::cargo_commands(&file("README.md").text);
    assert_eq!(
        commands,
        ["cargo run -p scheduler", "cargo test --workspace"]
    );
}

#[test]
fn every_requirement_is_shown_to_hold() {
    let of_pages = with_extension("mjs").flat_map(source::page_tests);
    let functions = with_extension("rs").flat_map(source::functions);
    let tests: BTreeSet<String> = functions.chain(of_pages).collect();
    let table = &file("docs/requirements.md").text;
    assert_eq!(
        requirement::complaints(table, &requirement::names(), &tests),
        NOTHING
    );
    let of_programs = with_extension("rs").filter(|file| !file.path.starts_with("crates/"));
    let of_programs = of_programs.flat_map(source::functions).collect();
    let unseen = requirement::unseen_in_programs(table, &of_programs);
    assert_eq!(unseen, NOTHING);
}

#[test]
fn every_promise_is_proved_by_a_test() {
    let page = file("docs/guarantees.md");
    let functions = |link: &str| {
        let path = link.strip_prefix("../")?;
        let found = files().iter().find(|file| file.path == path);
        found.map(source::functions)
    };
    assert_eq!(guarantee::complaints(page, functions), NOTHING);
}

#[test]
fn sch_115_every_text_has_both_languages() {
    let is_tried = |file: &&TextFile| {
        let path = &file.path;
        ["tests/", "tests.rs", "/examples/", "docs/"]
            .iter()
            .any(|it| path.contains(it))
    };
    let sources = with_extension("rs").filter(|file| !is_tried(file));
    let found: Vec<String> = sources.flat_map(said::complaints).collect();
    assert_eq!(found, NOTHING);
}
