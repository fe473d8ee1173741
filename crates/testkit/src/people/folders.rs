//! The folders of people: what lies in them, and links that lead from one into another.
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{Client, PeopleTrial, SECRET};
use crate::TestProgram;

/// The name of the links.
const LINK: &str = "peek";

/// Returns the folder of a person of this program.
pub(super) fn folder(program: &TestProgram, person: &str) -> PathBuf {
    let entries = fs::read_dir(program.folder()).expect("the folder can be read");
    let mut data = entries.flatten().map(|entry| entry.path().join("@people"));
    let people = data.find(|people| people.is_dir());
    people.expect("there are people").join(person)
}

/// Returns every file below a folder with its content, without following links, and without what a
/// database changes by itself.
pub(super) fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    each(folder, &mut |path, is_folder| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_database = [".db", ".db-wal", ".db-shm"].map(|end| name.ends_with(end));
        if !is_folder && !is_database.contains(&true) {
            // It may have been removed since.
            found.insert(path.to_owned(), fs::read(path).unwrap_or_default());
        }
    });
    found
}

fn each(folder: &Path, visit: &mut impl FnMut(&Path, bool)) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type());
        let Ok(kind) = kind else { continue };
        if kind.is_dir() {
            visit(&path, true);
            each(&path, visit);
        } else if kind.is_file() {
            visit(&path, false);
        }
    }
}

/// Fails if a file below a folder has the secret in it, databases included.
pub(super) fn holds_no_secret(folder: &Path) {
    each(folder, &mut |path, is_folder| {
        let bytes = if is_folder {
            vec![]
        } else {
            fs::read(path).unwrap_or_default()
        };
        let mut parts = bytes.windows(SECRET.len());
        assert!(
            !parts.any(|part| part == SECRET.as_bytes()),
            "{} has what is somebody else's",
            path.display()
        );
    });
}

/// Puts links into every folder of the attacker that lead into that of the owner, and lets the
/// attacker and the one who copies their data follow them.
pub(super) async fn linked(
    program: &TestProgram,
    attacker: &Client,
    trial: &PeopleTrial<'_>,
    [owner, own]: [&str; 2],
) {
    let [theirs, own_folder] = [owner, own].map(|name| folder(program, name));
    let secret = content(&theirs);
    let mut secret = secret
        .iter()
        .filter(|(_, bytes)| String::from_utf8_lossy(bytes).contains(SECRET));
    let file = secret.next().map(|(path, _)| path.clone());
    let mut folders = vec![own_folder.clone()];
    each(&own_folder, &mut |path, is_folder| {
        if is_folder {
            folders.push(path.to_owned());
        }
    });
    for place in &folders {
        link(&theirs, &place.join(LINK));
        if let Some(file) = &file {
            link(file, &place.join(format!("{LINK}.md")));
        }
    }
    let before = content(&theirs);
    for words in trial.peeks {
        let messages = json!([{ "role": "user", "content": words }]);
        let body = json!({ "messages": messages });
        let said = attacker.ask("POST", "/v1/chat/completions", &body).await;
        assert!(!said.body.contains(SECRET), "{words:?}: {said:?}");
    }
    for path in trial.paths {
        let shown = attacker.get(path).await;
        assert!(!shown.body.contains(SECRET), "{path}: {shown:?}");
    }
    for name in attacker.threads().await {
        let to = format!("export-{}", name.len());
        let args = ["--person", own, "--thread", &name, "export", &to];
        let exported = program.run(&args);
        assert!(!exported.told().contains(SECRET), "{exported:?}");
        holds_no_secret(&program.path(&to));
        fs::remove_dir_all(program.path(&to)).unwrap_or_default();
    }
    let copied = program.run(&["--person", own, "backup", "copy"]);
    assert!(copied.well, "{copied:?}");
    holds_no_secret(&program.path("copy"));
    for name in attacker.threads().await {
        let path = format!("/threads/{name}");
        attacker.ask("DELETE", &path, &Value::Null).await;
    }
    assert_eq!(content(&theirs), before, "a link led into another folder");
    for place in &folders {
        for name in [LINK.to_owned(), format!("{LINK}.md")] {
            // Its folder may be gone with the conversation.
            drop(fs::remove_file(place.join(name)));
        }
    }
}

fn link(to: &Path, at: &Path) {
    #[cfg(unix)]
    std::os::unix::fs::symlink(to, at).expect("a link can be made");
    #[cfg(not(unix))]
    let _ = (to, at);
}
