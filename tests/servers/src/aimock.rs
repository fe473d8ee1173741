use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    find,
    server::{Recipe, Server, folder, free_port, is_well, text},
};

/// Where `tests/peers/run` installs it.
const PROGRAM: &str = "fugato-ci/peers/node_modules/@copilotkit/aimock/dist/cli.js";

/// aimock, a model server of others: it speaks the protocols of several vendors, and fails as it is
/// told to.
#[derive(Debug, Clone, Copy)]
pub struct Aimock;

impl Aimock {
    /// A new server that answers as these fixtures say, in its own format; none if it is not
    /// installed.
    pub fn start(fixtures: &str) -> Option<Server> {
        let node = find::program("node", &[], "nodejs")?;
        let program = find::cached(PROGRAM, "tests/peers/run")?;
        let (folder, port) = (folder("aimock"), free_port());
        let file = written(&folder, fixtures);
        let command = [
            text(&node),
            text(&program),
            "--fixtures".to_owned(),
            text(&file),
            "--port".to_owned(),
            port.to_string(),
            "--validate-on-load".to_owned(),
        ];
        let ready = |port| is_well(port, "/__aimock/health");
        let recipe = Recipe::http(command, folder, port, ready);
        Some(Server::start(recipe))
    }
}

fn written(folder: &Path, fixtures: &str) -> PathBuf {
    let file = folder.join("fixtures.json");
    fs::write(&file, fixtures).expect("a new folder can be written to");
    file
}
