use crate::{
    find,
    server::{Recipe, Server, folder, free_port, is_well, text},
};

/// Where `tests/peers/install-llama` puts things.
const PYTHON: &str = "fugato-ci/llama/venv/bin/python";
const MODEL: &str = "fugato-ci/llama/model.gguf";
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/clients/llama.py");

/// llama.cpp's server with a model of 135 million parameters, which mostly answers garbage.
#[derive(Debug, Clone, Copy)]
pub struct Llama;

impl Llama {
    /// A new server that wants this key; none if it is not installed, not even where `CI` is set:
    /// installing it takes long.
    pub fn start(key: &str) -> Option<Server> {
        let (python, model) = (find::kept(PYTHON)?, find::kept(MODEL)?);
        let port = free_port();
        let command = [
            text(&python),
            PROGRAM.to_owned(),
            text(&model),
            key.to_owned(),
            port.to_string(),
        ];
        // It is well once the model is loaded.
        let ready = |port| is_well(port, "/health");
        let recipe = Recipe::http(command, folder("llama"), port, ready);
        Some(Server::start(recipe))
    }
}
