//! What belongs to a person and not to one session: what they are about, and what they prefer.
use std::{fmt, sync::Arc};

use fugato::{
    memory::{Decision, PreferenceUpdate, Preferences, TaskState, TaskUpdate},
    state::Millis,
    store::{
        DocKey, DocStore, DocStoreExt as _, Namespace, Precondition, StoreError, StoreErrorKind,
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::facts;

/// A change of what belongs to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserUpdate {
    /// Of what they are about.
    Task(TaskUpdate),
    /// Of what they want in general.
    Preference(PreferenceUpdate),
}

/// Where it is stored: documents under keys, in one namespace for all people.
#[derive(Clone)]
pub struct Users(Arc<dyn DocStore>);

/// The namespace of the keys.
const CONFIG: &str = "config";
/// How often somebody else may come first.
const TRIES: usize = 32;

impl Users {
    /// What is stored here.
    pub fn new(docs: Arc<dyn DocStore>) -> Self {
        Self(docs)
    }

    /// What somebody is about, and what they prefer.
    pub async fn recall(&self, user: &str) -> Result<(TaskState, Preferences), StoreError> {
        let (task, _) = self.read::<StoredTask>(&task_key(user)).await?;
        let (preferences, _) = self.read(&preference_key(user)).await?;
        Ok((task.into(), preferences))
    }

    /// Applies changes to what is stored now, whoever has changed it meanwhile: nothing that
    /// another session has learnt is lost.
    pub async fn apply(&self, user: &str, updates: &[UserUpdate]) -> Result<(), StoreError> {
        let tasks: Vec<_> = updates.iter().filter_map(UserUpdate::task).collect();
        if !tasks.is_empty() {
            let merge = |stored: StoredTask| {
                let mut task = TaskState::from(stored);
                for update in &tasks {
                    task.apply(facts::without_live((*update).clone()));
                }
                if task.is_empty() {
                    Value::String(String::new())
                } else {
                    json(StoredTask::from(task))
                }
            };
            self.change(&task_key(user), merge).await?;
        }
        let wishes: Vec<_> = updates.iter().filter_map(UserUpdate::preference).collect();
        if !wishes.is_empty() {
            let merge = |mut preferences: Preferences| {
                for update in &wishes {
                    preferences.apply((*update).clone());
                }
                json(preferences)
            };
            self.change(&preference_key(user), merge).await?;
        }
        Ok(())
    }

    /// The document under a key, as it lies there.
    pub async fn document(&self, key: &str) -> Result<Option<Value>, StoreError> {
        let (space, key) = place(key)?;
        Ok(self.0.get(&space, &key).await?.map(|doc| doc.value))
    }

    async fn read<T: Default + DeserializeOwned>(
        &self,
        key: &str,
    ) -> Result<(T, Precondition), StoreError> {
        let (space, key) = place(key)?;
        let Some(doc) = self.0.get(&space, &key).await? else {
            return Ok((T::default(), Precondition::Absent));
        };
        let expect = Precondition::Version(doc.version);
        // What is empty is stored as an empty string.
        if doc.value.as_str() == Some("") {
            return Ok((T::default(), expect));
        }
        let value = serde_json::from_value(doc.value).map_err(|error| {
            let what = "it is not what this key is for".to_owned();
            StoreError::new(StoreErrorKind::Corrupt(what), "get")
                .on_document(&space, &key)
                .because(error)
        })?;
        Ok((value, expect))
    }

    async fn change<T: Default + DeserializeOwned>(
        &self,
        name: &str,
        merge: impl Fn(T) -> Value,
    ) -> Result<(), StoreError> {
        let (space, key) = place(name)?;
        let mut tries = 1;
        loop {
            let (stored, expect) = self.read(name).await?;
            match self.0.put_if(&space, &key, merge(stored), expect).await {
                Err(error) if error.is_conflict() && tries < TRIES => tries += 1,
                written => return written.map(drop),
            }
        }
    }
}

impl UserUpdate {
    fn task(&self) -> Option<&TaskUpdate> {
        match self {
            Self::Task(update) => Some(update),
            Self::Preference(_) => None,
        }
    }

    fn preference(&self) -> Option<&PreferenceUpdate> {
        match self {
            Self::Preference(update) => Some(update),
            Self::Task(_) => None,
        }
    }
}

/// The key of what somebody is about.
pub fn task_key(user: &str) -> String {
    format!("agent_task_state_{user}")
}

/// The key of what somebody prefers.
pub fn preference_key(user: &str) -> String {
    format!("agent_preferences_{user}")
}

fn place(key: &str) -> Result<(Namespace, DocKey), StoreError> {
    let invalid = |error: fugato::store::InvalidName| {
        let what = format!("{key:?} cannot be a key");
        StoreError::new(StoreErrorKind::Invalid(what), "get").because(error)
    };
    let space = Namespace::new([CONFIG]).map_err(invalid)?;
    Ok((space, DocKey::new(key).map_err(invalid)?))
}

fn json(value: impl Serialize) -> Value {
    serde_json::to_value(value).expect("strings, numbers and lists of them are JSON")
}

/// What somebody is about, under the names that it is stored by.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredTask {
    current_goal: String,
    active_flow: String,
    open_loops: Vec<String>,
    important_facts: Vec<String>,
    last_decision: Option<StoredDecision>,
    updated_at: Millis,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredDecision {
    action: String,
    reason: String,
    still_valid: bool,
    timestamp: Millis,
}

impl From<StoredTask> for TaskState {
    fn from(stored: StoredTask) -> Self {
        Self {
            goal: stored.current_goal,
            flow: stored.active_flow,
            open_loops: stored.open_loops,
            facts: stored.important_facts,
            decision: stored.last_decision.map(|decision| Decision {
                action: decision.action,
                reason: decision.reason,
                still_valid: decision.still_valid,
            }),
            updated: stored.updated_at,
        }
    }
}

impl From<TaskState> for StoredTask {
    fn from(task: TaskState) -> Self {
        let timestamp = task.updated;
        Self {
            current_goal: task.goal,
            active_flow: task.flow,
            open_loops: task.open_loops,
            important_facts: task.facts,
            last_decision: task.decision.map(|decision| StoredDecision {
                action: decision.action,
                reason: decision.reason,
                still_valid: decision.still_valid,
                timestamp,
            }),
            updated_at: task.updated,
        }
    }
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Users").finish_non_exhaustive()
    }
}
