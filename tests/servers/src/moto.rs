use crate::{
    find,
    server::{Recipe, Server, folder, free_port, is_done, text},
};

/// The place in which `.ci/run` installs it.
const PROGRAM: &str = "fugato-ci/venv/bin/moto_server";
const REMEDY: &str = "python3 -m venv ~/.cache/fugato-ci/venv && \
                      ~/.cache/fugato-ci/venv/bin/pip install 'moto[server]>=5.1,<6'";

/// moto, a server of others that speaks the protocol of S3. It keeps everything in its memory, and
/// takes any credentials.
#[derive(Debug, Clone, Copy)]
pub struct Moto;

impl Moto {
    /// The name of its bucket.
    pub const BUCKET: &'static str = "threads";

    /// A new server with one empty bucket; none if the program is not installed.
    pub fn start() -> Option<Server> {
        let program = find::cached(PROGRAM, REMEDY)?;
        let port = free_port();
        let command = [
            text(&program),
            "--host=127.0.0.1".to_owned(),
            format!("--port={port}"),
        ];
        let ready = |port| is_done(port, "PUT", &format!("/{}", Self::BUCKET));
        let recipe = Recipe::http(command, folder("moto"), port, ready);
        Some(Server::start(recipe))
    }

    /// The variables of the environment with which a program reaches it at this address.
    pub fn env(url: &str) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT", url),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "desk"),
            ("AWS_SECRET_ACCESS_KEY", "not-to-be-shown"),
        ]
        .map(|(name, value)| (name, value.to_owned()))
    }
}
