//! The folder of the agent: what people write, and what is made of it.
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use fugato::{
    file::{Sandbox, SandboxError},
    mcp::plugin::Plugins,
    memory::{Embedder, Fusion, HybridSearch, Notebook},
    prompt::TemplateFolder,
    sqlite::SqliteSearch,
    web::{Allowed, BadSearchUrl, HttpWeb, Web},
};
use thiserror::Error;

use crate::settings::{Settings, WebSettings};

/// What lies in a folder that is new.
const SAMPLE: [(&str, &str); 9] = [
    ("SOUL.md", include_str!("../sample/SOUL.md")),
    ("USER.md", include_str!("../sample/USER.md")),
    ("tool.md", include_str!("../sample/tool.md")),
    ("notes/MEMORY.md", include_str!("../sample/MEMORY.md")),
    ("config.toml", include_str!("../sample/config.toml")),
    (
        "files/Documents/plan_v1.md",
        include_str!("../sample/files/Documents/plan_v1.md"),
    ),
    (
        "files/Documents/draft.docx",
        include_str!("../sample/files/Documents/draft.docx"),
    ),
    (
        "plugins/words/manifest.json",
        include_str!("../plugins/words/manifest.json"),
    ),
    (
        "plugins/words/main.py",
        include_str!("../plugins/words/main.py"),
    ),
];

/// Where what lasts is written down.
const NOTES: &str = "notes";

/// The folder of the agent. What people write is the source, and the index is derived.
#[derive(Clone)]
pub struct Desk {
    dir: PathBuf,
    /// What a person has set.
    pub settings: Settings,
    /// Who the agent is, whom it serves, how tools are used.
    pub templates: TemplateFolder,
    /// `MEMORY.md` and the daily logs.
    pub notebook: Notebook,
    /// The files that the agent may see.
    pub sandbox: Sandbox,
    /// The index over the notebook.
    pub search: HybridSearch,
}

/// A folder cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DeskError {
    /// A file.
    #[error("{} cannot be read or written", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The settings.
    #[error("config.toml cannot be used")]
    Settings(#[from] toml::de::Error),
    /// The files that the agent may see.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A database.
    #[error("a database cannot be opened")]
    Store(#[from] fugato::StoreError),
    /// The search service.
    #[error("[web] search in config.toml cannot be used")]
    Web(#[from] BadSearchUrl),
}

impl Desk {
    /// Opens a folder. One that has no `SOUL.md` is new, and gets a sample.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, DeskError> {
        let dir = dir.into();
        if !dir.join("SOUL.md").exists() {
            fill(&dir)?;
        }
        let path = dir.join("config.toml");
        let settings: Settings = match fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Settings::default(),
            Err(source) => return Err(DeskError::File { path, source }),
        };
        let root = dir.join(settings.root.as_deref().unwrap_or("files"));
        let index = SqliteSearch::open(dir.join("memory.db"))?;
        // The weights are what is wished for here; ranks are the default elsewhere.
        let mut search = HybridSearch::new(Arc::new(index)).fused_by(Fusion::WEIGHTS);
        if let Some(embedding) = &settings.embedding {
            search = search.embedded_by(Arc::new(embedding.embedder()));
        }
        Ok(Self {
            templates: TemplateFolder::new(&dir),
            notebook: Notebook::new(dir.join(NOTES)),
            sandbox: Sandbox::open(root)?,
            search,
            settings,
            dir,
        })
    }

    /// Searches by vectors too.
    #[must_use]
    pub fn embedded_by(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.search = self.search.embedded_by(embedder);
        self
    }

    /// The programs of `plugins/`, and what each may reach.
    pub fn plugins(&self) -> Plugins {
        Plugins::new(self.dir.join("plugins"))
            .settings(self.settings.plugins.clone())
            .root(self.sandbox.root())
            .memory(self.dir.join(NOTES))
    }

    /// The web, if a search service is named: only its hosts may be found.
    pub fn web(&self) -> Result<Option<Arc<dyn Web>>, DeskError> {
        let WebSettings { search, hosts } = &self.settings.web;
        if search.trim().is_empty() {
            return Ok(None);
        }
        let web = HttpWeb::new(search.trim())?;
        Ok(Some(Arc::new(Allowed::new(web, hosts.clone()))))
    }

    /// Where it lies.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn fill(dir: &Path) -> Result<(), DeskError> {
    for (name, text) in SAMPLE {
        let path = dir.join(name);
        let failed = |source| DeskError::File {
            path: path.clone(),
            source,
        };
        if path.exists() {
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        fs::write(&path, text).map_err(failed)?;
    }
    Ok(())
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk")
            .field("dir", &self.dir)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
