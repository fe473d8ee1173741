//! The folder of the agent: the files that people write, and the derived index.
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use fugato::{
    file::{Sandbox, SandboxError},
    memory::{Embedder, Fusion, HashedNgrams, HybridSearch, MemoryIndex, Notebook},
    prompt::TemplateFolder,
    sqlite::SqliteSearch,
    state::say,
    web::{AllowedHosts, BadSearchUrl, HttpWeb, Web},
};
use thiserror::Error;

use crate::settings::{Settings, WebSettings};

/// The files of a new folder.
const SAMPLE: [(&str, &[u8]); 9] = [
    ("SOUL.md", include_bytes!("../sample/SOUL.md")),
    ("USER.md", include_bytes!("../sample/USER.md")),
    ("tool.md", include_bytes!("../sample/tool.md")),
    ("notes/MEMORY.md", include_bytes!("../sample/MEMORY.md")),
    ("config.toml", include_bytes!("../sample/config.toml")),
    (
        "files/Documents/plan_v1.md",
        include_bytes!("../sample/files/Documents/plan_v1.md"),
    ),
    (
        "files/Documents/draft.docx",
        include_bytes!("../sample/files/Documents/draft.docx"),
    ),
    (
        "plugins/words/manifest.json",
        include_bytes!("../plugins/words/manifest.json"),
    ),
    (
        "plugins/words/main.py",
        include_bytes!("../plugins/words/main.py"),
    ),
];

/// The folder of the notebook.
const NOTES: &str = "notes";

/// The folder of the agent. The files that people write are the source, and the index is derived.
#[derive(derive_more::Debug, Clone)]
#[debug("Workspace {{ dir: {dir:?}, settings: {settings:?}, .. }}")]
pub struct Workspace {
    dir: PathBuf,
    /// The settings in `config.toml`.
    pub settings: Settings,
    /// The templates for the agent's character, the person's profile and the use of tools.
    pub templates: TemplateFolder,
    /// `MEMORY.md` and the daily logs.
    pub notebook: Notebook,
    /// The files that the agent may see.
    pub sandbox: Sandbox,
    /// The index over the notebook.
    pub search: HybridSearch,
}

/// The error of a folder that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// A file cannot be read or written.
    #[error("{}", say!("{} cannot be read or written", "无法读写 {}", path.display()))]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The settings cannot be used.
    #[error("{}", say!("config.toml cannot be used", "config.toml 无法使用"))]
    Settings(#[from] toml::de::Error),
    /// The folder of files cannot be used.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A database cannot be opened.
    #[error("{}", say!("a database cannot be opened", "无法打开数据库"))]
    Store(#[from] fugato::StoreError),
    /// The search service cannot be used.
    #[error("{}", say!("[web] search in config.toml cannot be used", "config.toml 的 [web] search 无法使用"))]
    Web(#[from] BadSearchUrl),
}

impl Workspace {
    /// Opens a folder. A folder without `SOUL.md` is new, and gets the sample files.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, WorkspaceError> {
        let dir = dir.into();
        if !dir.join("SOUL.md").exists() {
            fill(&dir)?;
        }
        let (index, damaged) = SqliteSearch::open_or_renew(dir.join("memory.db"))?;
        if let Some(kept) = damaged {
            let kept = kept.display();
            tracing::warn!(%kept, "damaged index of the memory made anew from the notes");
        }
        Self::over(dir, HybridSearch::new(Arc::new(index)))
    }

    /// Opens a folder for a command that only reads conversations. Nothing is written there, and
    /// the notes have no index.
    pub fn open_to_read(dir: impl Into<PathBuf>) -> Result<Self, WorkspaceError> {
        let index = MemoryIndex::default();
        Self::over(dir.into(), HybridSearch::new(Arc::new(index)))
    }

    fn over(dir: PathBuf, search: HybridSearch) -> Result<Self, WorkspaceError> {
        let path = dir.join("config.toml");
        let settings: Settings = match fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Settings::default(),
            Err(source) => return Err(WorkspaceError::File { path, source }),
        };
        let root = dir.join(settings.root.as_deref().unwrap_or("files"));
        // This agent fuses results by weights; the default is by ranks.
        let mut search = search.fused_by(Fusion::WEIGHTS);
        search = match &settings.embedding {
            Some(embedding) => search.embedded_by(Arc::new(embedding.embedder())),
            None if settings.spelling => search.embedded_by(Arc::new(HashedNgrams::default())),
            None => search,
        };
        Ok(Self {
            templates: TemplateFolder::new(&dir),
            notebook: Notebook::new(dir.join(NOTES)),
            sandbox: Sandbox::open(root)?,
            search,
            settings,
            dir,
        })
    }

    /// Sets an embedder, so the search uses vectors too.
    #[must_use]
    pub fn embedded_by(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.search = self.search.embedded_by(embedder);
        self
    }

    /// Returns the plugins in `plugins/`, with the places that they may be granted.
    #[cfg(feature = "plugins")]
    pub fn plugins(&self) -> fugato::mcp::plugin::Plugins {
        fugato::mcp::plugin::Plugins::new(self.dir.join("plugins"))
            .settings(self.settings.plugins.clone())
            .root(self.sandbox.root())
            .memory(self.dir.join(NOTES))
    }

    /// Returns the web, if a search service is set, limited to the allowed hosts.
    pub fn web(&self) -> Result<Option<Arc<dyn Web>>, WorkspaceError> {
        let WebSettings { search, hosts } = &self.settings.web;
        if search.trim().is_empty() {
            return Ok(None);
        }
        let web = HttpWeb::new(search.trim())?;
        Ok(Some(Arc::new(AllowedHosts::new(web, hosts.clone()))))
    }

    /// Returns the path of the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn fill(dir: &Path) -> Result<(), WorkspaceError> {
    for (name, bytes) in SAMPLE {
        let path = dir.join(name);
        let failed = |source| WorkspaceError::File {
            path: path.clone(),
            source,
        };
        if path.exists() {
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        fs::write(&path, bytes).map_err(failed)?;
    }
    Ok(())
}
