use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use fugato_state::{Lang, Schema, ToolCall, ToolSchema};

use crate::{
    Access, AdmittedCall, Domains, Refusal, RegistryBuilder, ToolContext, ToolResult, ToolSpec,
    Visibility, arguments, choice::ADD, dynamic::DynTool,
};

/// The tools of an agent, by name. Immutable and cheap to clone.
///
/// Visibility is decided in one place, so that a prompt shows exactly the tools that can be called.
#[derive_where::derive_where(Clone)]
#[derive(derive_more::Debug)]
#[debug("Registry({:?})", self.0.tools.keys())]
pub struct Registry<S = (), U = ()>(pub(crate) Arc<Inner<S, U>>);

pub(crate) struct Inner<S, U> {
    pub(crate) tools: BTreeMap<String, Arc<Entry<S, U>>>,
    /// The name of each tool by each of its aliases.
    pub(crate) aliases: HashMap<String, String>,
    pub(crate) domains: Domains,
}

pub(crate) struct Entry<S, U> {
    pub(crate) spec: ToolSpec,
    pub(crate) parameters: Schema,
    /// The same with descriptions in Chinese; none if there are none.
    pub(crate) chinese: Option<Schema>,
    pub(crate) tool: Box<dyn DynTool<S, U>>,
}

impl<S, U> Entry<S, U> {
    /// Returns the schema with descriptions in the language that is spoken now.
    pub(crate) fn schema(&self) -> &Schema {
        match (&self.chinese, Lang::current()) {
            (Some(chinese), Lang::Zh) => chinese,
            _ => &self.parameters,
        }
    }
}

impl<S: Sync + 'static, U: 'static> Registry<S, U> {
    /// Creates a builder of a registry.
    pub fn builder() -> RegistryBuilder<S, U> {
        RegistryBuilder::default()
    }
}

impl<S, U> Registry<S, U> {
    /// Returns the spec of a tool, visible or not, by its name or an alias.
    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.entry(name).map(|entry| &entry.spec)
    }

    /// Returns the domains and packs.
    pub fn domains(&self) -> &Domains {
        &self.0.domains
    }

    /// Returns the specs of all tools, visible or not, by name.
    pub fn all(&self) -> impl Iterator<Item = &ToolSpec> {
        self.0.tools.values().map(|entry| &entry.spec)
    }

    /// Returns the specs of the visible tools, by name.
    pub fn visible(&self, visibility: &Visibility) -> impl Iterator<Item = &ToolSpec> {
        self.visible_entries(visibility).map(|entry| &entry.spec)
    }

    /// Returns the schemas of the visible tools for a model server, by name, so that the same
    /// visibility always gives the same text.
    pub fn schemas(&self, visibility: &Visibility) -> Vec<ToolSchema> {
        self.visible_entries(visibility)
            .map(|entry| {
                let spec = &entry.spec;
                ToolSchema::new(&spec.name, spec.about(), entry.schema().clone())
            })
            .collect()
    }

    /// Checks a call without executing it. Arguments are normalised first: aliases and synonyms are
    /// replaced.
    pub fn admit(
        &self,
        call: &ToolCall,
        visibility: &Visibility,
    ) -> Result<AdmittedCall<S, U>, Refusal> {
        let Some(entry) = self.entry(&call.name) else {
            let callable = self.callable(visibility);
            return Err(Refusal::Unknown {
                name: call.name.clone(),
                callable,
            });
        };
        self.check_visible(entry, visibility)?;
        let name = entry.spec.name.clone();
        let arguments = arguments::normalised(&entry.spec, call.arguments.clone());
        let problems = arguments::problems(&entry.parameters, &arguments);
        if !problems.is_empty() {
            return Err(Refusal::Arguments { name, problems });
        }
        match entry.tool.prepare(arguments.clone()) {
            Ok(prepared) => Ok(AdmittedCall {
                entry: Arc::clone(entry),
                call: ToolCall {
                    id: call.id.clone(),
                    name,
                    arguments,
                },
                prepared,
                agreed: None,
                repeat: false,
            }),
            Err(error) => Err(Refusal::Arguments {
                name,
                problems: vec![error.to_string()],
            }),
        }
    }

    /// Checks a call against the visibility in the context, and executes it. A refusal is a result
    /// too, from which the model reads the reason.
    pub async fn call(&self, call: &ToolCall, cx: ToolContext<'_, S>) -> ToolResult<U>
    where
        S: Sync,
    {
        match self.admit(call, cx.active()) {
            Ok(admitted) => admitted.run(cx).await,
            Err(refusal) => refusal.into(),
        }
    }

    fn entry(&self, name: &str) -> Option<&Arc<Entry<S, U>>> {
        let name = self.0.aliases.get(name).map_or(name, String::as_str);
        self.0.tools.get(name)
    }

    pub(crate) fn visible_entries(
        &self,
        visibility: &Visibility,
    ) -> impl Iterator<Item = &Entry<S, U>> {
        let visible = |entry: &&Arc<Entry<S, U>>| self.hidden(entry, visibility).is_none();
        self.0.tools.values().filter(visible).map(AsRef::as_ref)
    }

    fn callable(&self, visibility: &Visibility) -> Vec<String> {
        self.visible(visibility)
            .map(|spec| spec.name.clone())
            .collect()
    }

    /// Returns the reason why a tool is hidden; `None` if it is visible. No other code decides
    /// this.
    fn hidden(&self, entry: &Entry<S, U>, visibility: &Visibility) -> Option<HiddenReason> {
        let spec = &entry.spec;
        if spec.disabled || visibility.disabled.contains(&spec.name) {
            return Some(HiddenReason::Disabled);
        }
        if visibility
            .only
            .as_ref()
            .is_some_and(|only| !only.contains(&spec.name))
        {
            return Some(HiddenReason::NotInPhase);
        }
        let domain = spec
            .domain
            .as_deref()
            .filter(|_| spec.access != Access::Context)?;
        if visibility.domain.as_deref() != Some(domain) {
            return Some(HiddenReason::Inactive { merge: false });
        }
        let pack = spec.pack.as_deref()?;
        let is_core = self
            .0
            .domains
            .get(domain)
            .is_some_and(|domain| domain.core == pack);
        (!is_core && !visibility.packs.contains(pack))
            .then_some(HiddenReason::Inactive { merge: true })
    }

    fn check_visible(&self, entry: &Entry<S, U>, visibility: &Visibility) -> Result<(), Refusal> {
        let name = entry.spec.name.clone();
        match self.hidden(entry, visibility) {
            None => Ok(()),
            Some(HiddenReason::Disabled) => Err(Refusal::Disabled {
                name,
                callable: self.callable(visibility),
            }),
            Some(HiddenReason::NotInPhase) => Err(Refusal::NotInPhase {
                name,
                callable: self.callable(visibility),
            }),
            Some(HiddenReason::Inactive { merge }) => {
                let domain = entry.spec.domain.clone().unwrap_or_default();
                let core = self.0.domains.get(&domain).map(|domain| &domain.core);
                let pack = entry.spec.pack.clone().filter(|pack| Some(pack) != core);
                let adder = self.0.tools.get(ADD);
                let can_be_added =
                    adder.is_some_and(|adder| self.hidden(adder, visibility).is_none());
                Err(Refusal::Inactive {
                    name,
                    domain,
                    pack,
                    merge,
                    can_be_added,
                })
            }
        }
    }
}

enum HiddenReason {
    Disabled,
    NotInPhase,
    Inactive { merge: bool },
}

#[cfg(test)]
mod tests;
