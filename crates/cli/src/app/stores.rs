//! The stores, the model and the limits that the flags of a program name.
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use fugato_graph::BoxError;
use fugato_llm::ChatModel;
use fugato_state::say;
use fugato_store::InterceptedLog;

use super::App;
use crate::{
    CliError, Resources, copy, model,
    people::{PeopleFile, PersonUsage, TokenLimit},
    ship,
    store::{self, Store},
    whole::WholeRemoval,
    without_password,
};

impl App {
    /// Opens the store and the model that the flags name, for a thread that goes on or begins.
    pub async fn open(&self) -> Result<Resources, BoxError> {
        let store = ship::shipped(&self.flags, self.local().await?).await?;
        self.opened(store, false)
    }

    /// Opens the store that the flags name, without its copy; it is made if there is none.
    pub(super) async fn local(&self) -> Result<Store, BoxError> {
        let (address, folder) = self.places()?;
        let store = store::open(&address, &folder, true).await?;
        store.ok_or_else(|| {
            CliError::new(say!(
                "a log is made if there is none",
                "没有日志时会新建一个"
            ))
            .into()
        })
    }

    /// Opens the store that the flags name, only to read; where nothing can be written, a copy of
    /// it, which is there as long as the program. There must be one.
    pub async fn open_to_read(&self) -> Result<Resources, BoxError> {
        let (address, _) = self.places()?;
        let path = store::file(&address)?.filter(|path| path.exists());
        if let Some(path) = path {
            let (store, copy) = copy::open_to_read(path)?;
            self.copies.extend(copy);
            return self.opened(store, true);
        }
        self.open_existing().await
    }

    /// Returns the path at which a command that only reads can open a database of the program: where
    /// nothing can be written, it is that of a copy, which is there as long as the program. There need
    /// be none.
    ///
    /// # Errors
    /// Names the file if it cannot be read.
    pub fn to_read(&self, path: &Path) -> Result<PathBuf, BoxError> {
        let (path, copy) = copy::to_read(path)?;
        self.copies.extend(copy);
        Ok(path)
    }

    /// Opens the store that the flags name for a command that begins no run. There must be one.
    pub(super) async fn open_existing(&self) -> Result<Resources, BoxError> {
        let store = self.stored().await?;
        self.opened(store.ok_or_else(|| self.nothing_stored())?, true)
    }

    /// Returns the error of a command for which there must be a store.
    pub(super) fn nothing_stored(&self) -> BoxError {
        let (name, folder) = (&self.name, self.flags.folder(&self.name));
        let place = self.flags.store.as_deref().map(without_password);
        let place = place.unwrap_or_else(|| folder.display().to_string());
        CliError::new(say!(
            "there are no conversations in {place}; `{name}` begins one",
            "{place} 中没有会话；用 `{name}` 开始一个"
        ))
        .into()
    }

    pub(super) async fn stored(&self) -> Result<Option<Store>, BoxError> {
        let (address, folder) = self.places()?;
        match store::open(&address, &folder, false).await? {
            Some(store) => ship::shipped(&self.flags, store).await.map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn places(&self) -> Result<(String, PathBuf), CliError> {
        let folder = self.flags.folder(&self.name);
        Ok((self.flags.log(&folder)?, folder))
    }

    pub(super) fn opened(&self, store: Store, reads: bool) -> Result<Resources, BoxError> {
        let model = if reads {
            None
        } else {
            model::open(&self.flags)?
        };
        let (dir, docs) = (self.flags.folder(&self.name), store.docs);
        let usage = match &self.flags.person {
            None => None,
            Some(person) => {
                let people = PeopleFile::read(&self.people())?;
                let limits = people.limits.get(person).copied().unwrap_or_default();
                Some(PersonUsage::new(limits, dir.clone(), docs.clone()))
            }
        };
        let model = match (model, &usage) {
            (Some(model), Some(usage)) if usage.limits.tokens_a_day.is_some() => {
                Some(Arc::new(TokenLimit::new(model, usage.clone())) as Arc<dyn ChatModel>)
            }
            (model, _) => model,
        };
        Ok(Resources {
            store: Arc::new(InterceptedLog::new(
                store.log,
                WholeRemoval((self.belongings)(&self.flags)),
            )),
            docs,
            models: self.flags.model_names(),
            model,
            dir,
            thread: self.thread()?,
            lang: self.flags.lang,
            flags: self.flags.clone(),
            limits: usage.as_ref().map(|usage| usage.limits).unwrap_or_default(),
            usage,
            reads,
            at_terminal: true,
            engine: None,
            program: self.name.clone(),
            keep_finished: self.flags.keep_finished,
            background: self.background.clone(),
        })
    }
}
