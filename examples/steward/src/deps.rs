//! The dependencies of the graphs.
use std::{collections::BTreeSet, sync::Arc, time::Duration};

use fugato::{
    agent::trace::{ModelCall, RecordedModel},
    llm::ChatModel,
    state::Millis,
    store::system_clock,
};

use crate::{files::FileStore, ledger::Ledger, service::RuleData};

/// The dependencies of the graphs. Cheap to clone.
#[derive(derive_more::Debug, Clone)]
#[non_exhaustive]
#[debug("Deps {{ model: {:?}, policy: {policy:?}, .. }}", self.model.as_ref().map(ChatModel::name))]
pub struct Deps {
    /// Forms and words.
    pub desk: Arc<RuleData>,
    /// The one entry to all models; it hides the providers and their keys.
    pub model: Option<Arc<dyn ChatModel>>,
    /// The business services.
    pub ledger: Arc<dyn Ledger>,
    /// The files that people upload; none are kept unless a folder is set.
    pub files: FileStore,
    /// The policy that says which actions run without consent.
    pub policy: ConsentPolicy,
    /// The time, in milliseconds since the Unix epoch.
    pub clock: Clock,
    /// The time for which a precheck is valid.
    pub evidence_holds: Duration,
    /// The reason for which an operator has switched to the legacy path.
    pub rollback: Option<String>,
}

/// A function that returns the time, in milliseconds since the Unix epoch.
pub type Clock = Arc<dyn Fn() -> Millis + Send + Sync>;

/// The writing actions that need no consent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConsentPolicy {
    without_asking: BTreeSet<String>,
}

impl ConsentPolicy {
    fugato::state::setters! {
        /// Lets an action run without asking. Handing in is always asked for.
        pub fn without_asking(action: impl Into<String>) { without_asking.insert(action.into()) }
    }

    /// Returns true if a person has to agree to a writing action.
    pub fn asks(&self, action: &str) -> bool {
        action == crate::action::SUBMIT || !self.without_asking.contains(action)
    }
}

impl Deps {
    /// Creates the dependencies with these rules and tables, and with a model or without.
    pub fn new(
        desk: &Arc<RuleData>,
        ledger: Arc<dyn Ledger>,
        model: Option<Arc<dyn ChatModel>>,
    ) -> Self {
        let watched = |model| {
            Arc::new(RecordedModel::new(model).keeping(ModelCall::WORDS)) as Arc<dyn ChatModel>
        };
        Self {
            desk: desk.clone(),
            model: model.map(watched),
            ledger,
            files: FileStore::default(),
            policy: ConsentPolicy::default(),
            clock: Arc::new(system_clock),
            evidence_holds: Duration::from_mins(10),
            rollback: None,
        }
    }

    fugato::state::setters! {
        /// Sets the policy, so that fewer actions need consent.
        pub fn policy(policy: ConsentPolicy) { policy = policy }

        /// Sets the store of uploaded files.
        pub fn files(files: FileStore) { files = files }

        /// Sets the reason for which an operator has switched to the legacy path, for the log of each
        /// conversation there.
        pub fn rollback(reason: Option<String>) { rollback = reason }

        /// Sets another clock, such as that of a test.
        pub fn clock(clock: impl Fn() -> Millis + Send + Sync + 'static) { clock = Arc::new(clock) }
    }
}
