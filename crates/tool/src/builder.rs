use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use fugato_state::{Schema, SchemaError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::{
    Access, Domains, Registry, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec,
    VisibilityUpdate, context_tools,
    dynamic::{DynTool, ErasedTool},
    registry::{Entry, Inner},
    schema::{Shape, closed},
    tool_fn,
};

/// A builder of a [`Registry`]. Nothing is checked before [`build`](Self::build).
#[derive(smart_default::SmartDefault, derive_more::Debug)]
#[debug("RegistryBuilder({:?})", self.tools.iter().map(|tool| &tool.spec.name).collect::<Vec<_>>())]
pub struct RegistryBuilder<S = (), U = ()> {
    tools: Vec<Candidate<S, U>>,
    #[default(Domains::new())]
    domains: Domains,
    timeout: Option<Duration>,
}

struct Candidate<S, U> {
    spec: ToolSpec,
    schema: Schema,
    tool: Box<dyn DynTool<S, U>>,
}

impl<S: Sync + 'static, U: 'static> RegistryBuilder<S, U> {
    /// Adds a tool.
    #[must_use]
    pub fn tool<T: Tool<S, U, Input: 'static> + 'static>(mut self, tool: T) -> Self {
        let spec = tool.spec();
        let schema = spec.schema.clone().unwrap_or_else(Schema::of::<T::Input>);
        self.tools.push(Candidate {
            spec,
            schema,
            tool: Box::new(ErasedTool(Arc::new(tool))),
        });
        self
    }

    /// Adds tools of one type, such as those of a server.
    #[must_use]
    pub fn tools<T: Tool<S, U, Input: 'static> + 'static>(
        self,
        tools: impl IntoIterator<Item = T>,
    ) -> Self {
        tools.into_iter().fold(self, Self::tool)
    }

    /// Adds a function that returns at once: [`tool_fn`] with the types known.
    #[must_use]
    pub fn function<I, O, F>(self, spec: ToolSpec, function: F) -> Self
    where
        F: Fn(ToolContext<'_, S>, I) -> Result<O, ToolFailure> + Send + Sync + 'static,
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Into<ToolOutput<U>> + 'static,
    {
        self.tool(tool_fn::<S, U, I, O, F>(spec, function))
    }

    fugato_state::setters! {
        /// Sets the domains and their packs.
        pub fn domains(domains: Domains) { domains = domains }

        /// Sets the time limit of calls of tools whose spec has none.
        pub fn timeout(timeout: Duration) { timeout = Some(timeout) }
    }

    /// Sets the domains and their packs, and adds the two tools with which a model chooses among
    /// them.
    #[must_use]
    pub fn domains_to_choose(self, domains: Domains) -> Self
    where
        U: From<VisibilityUpdate>,
    {
        context_tools::register(self.domains(domains.clone()), domains)
    }

    /// Checks all tools and domains, and builds the registry.
    pub fn build(self) -> Result<Registry<S, U>, RegistryError> {
        check_domains(&self.domains)?;
        let mut tools = BTreeMap::new();
        let mut names: HashMap<String, String> = HashMap::new();
        for Candidate {
            mut spec,
            schema,
            tool,
        } in self.tools
        {
            spec.timeout = spec.timeout.or(self.timeout);
            let name = spec.name.clone();
            check_place(&spec, &self.domains)?;
            for name in std::iter::once(&spec.name).chain(&spec.aliases) {
                check_name(name)?;
                if let Some(first) = names.insert(name.clone(), spec.name.clone()) {
                    let tools = [first, spec.name.clone()];
                    return Err(RegistryError::Duplicate {
                        name: name.clone(),
                        tools,
                    });
                }
            }
            let parameters = check_schema(&spec, &schema)?;
            tools.insert(
                name,
                Arc::new(Entry {
                    spec,
                    parameters,
                    tool,
                }),
            );
        }
        let aliases = names
            .into_iter()
            .filter(|(name, tool)| name != tool)
            .collect();
        Ok(Registry(Arc::new(Inner {
            tools,
            aliases,
            domains: self.domains,
        })))
    }
}

fn check_domains(domains: &Domains) -> Result<(), RegistryError> {
    for (name, domain) in domains.iter() {
        for pack in &domain.default_packs {
            if !domain.packs.contains(pack) {
                let (domain, pack) = (name.to_owned(), pack.clone());
                return Err(RegistryError::UnknownDefaultPack { domain, pack });
            }
        }
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), RegistryError> {
    if is_name(name) {
        Ok(())
    } else {
        Err(RegistryError::BadName {
            name: name.to_owned(),
        })
    }
}

/// Returns true if every model server accepts the name.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=64).contains(&name.len()) && name.chars().all(fits)
}

fn check_place(spec: &ToolSpec, domains: &Domains) -> Result<(), RegistryError> {
    let tool = spec.name.clone();
    match (&spec.domain, &spec.pack) {
        (None, None) => Ok(()),
        (Some(_), _) if spec.access == Access::Context => {
            Err(RegistryError::ContextToolInDomain { tool })
        }
        (None, Some(pack)) => Err(RegistryError::PackWithoutDomain {
            tool,
            pack: pack.clone(),
        }),
        (Some(name), pack) => {
            let Some(domain) = domains.get(name) else {
                return Err(RegistryError::UnknownDomain {
                    tool,
                    domain: name.clone(),
                });
            };
            match pack {
                Some(pack) if !domain.has(pack) => {
                    let (domain, pack) = (name.clone(), pack.clone());
                    Err(RegistryError::UnknownPack { tool, domain, pack })
                }
                _ => Ok(()),
            }
        }
    }
}

fn check_schema(spec: &ToolSpec, schema: &Schema) -> Result<Schema, RegistryError> {
    let tool = || spec.name.clone();
    let parameters =
        Schema::new(closed(schema.as_value().clone())).map_err(|source| RegistryError::Schema {
            tool: tool(),
            source,
        })?;
    let shape = Shape::of(parameters.as_value());
    if !shape.is_object() {
        return Err(RegistryError::ArgumentsNotAnObject { tool: tool() });
    }
    let mentioned = spec
        .argument_aliases
        .values()
        .chain(spec.synonyms.keys())
        .chain(&spec.preview);
    for argument in mentioned {
        if !shape.names().any(|name| name == argument) {
            return Err(RegistryError::UnknownArgument {
                tool: tool(),
                argument: argument.clone(),
            });
        }
    }
    Ok(parameters)
}

/// The error if tools do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Two tools have the same name or alias.
    #[error("the name {name:?} is taken by the tool {:?} and by {:?}", .tools[0], .tools[1])]
    Duplicate {
        /// The name.
        name: String,
        /// The names of the tools.
        tools: [String; 2],
    },
    /// Model servers do not accept the name.
    #[error("the name {name:?} is not allowed: 1 to 64 of A-Z a-z 0-9 _ - are")]
    BadName {
        /// The name.
        name: String,
    },
    /// The tool's domain does not exist.
    #[error("the tool {tool:?} is in the domain {domain:?}, which does not exist")]
    UnknownDomain {
        /// The tool.
        tool: String,
        /// The domain.
        domain: String,
    },
    /// The tool's pack does not exist.
    #[error("the tool {tool:?} is in the pack {pack:?}, which the domain {domain:?} does not have")]
    UnknownPack {
        /// The tool.
        tool: String,
        /// Its domain.
        domain: String,
        /// The pack.
        pack: String,
    },
    /// A pack without a domain is never active.
    #[error("the tool {tool:?} is in the pack {pack:?} of no domain")]
    PackWithoutDomain {
        /// The tool.
        tool: String,
        /// The pack.
        pack: String,
    },
    /// Context tools are visible in every domain.
    #[error("the context tool {tool:?} cannot be in a domain")]
    ContextToolInDomain {
        /// The tool.
        tool: String,
    },
    /// A domain has a default pack that it does not contain.
    #[error("the domain {domain:?} has no pack {pack:?} to activate by default")]
    UnknownDefaultPack {
        /// The domain.
        domain: String,
        /// The pack.
        pack: String,
    },
    /// An alias, a synonym or the preview names an argument that does not exist.
    #[error("the tool {tool:?} has no argument {argument:?}")]
    UnknownArgument {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
    },
    /// The arguments are not an object; they must have names.
    #[error("the arguments of the tool {tool:?} are not an object")]
    ArgumentsNotAnObject {
        /// The tool.
        tool: String,
    },
    /// The schema of the arguments is not usable.
    #[error("the schema of the tool {tool:?} is not usable")]
    Schema {
        /// The tool.
        tool: String,
        /// The error of the schema.
        source: SchemaError,
    },
}

#[cfg(test)]
mod tests;
