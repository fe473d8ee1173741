use std::{
    collections::{BTreeMap, HashMap},
    future::Future,
    sync::Arc,
    time::Duration,
};

use fugato_state::{JsonType, Lang, Schema, SchemaError};
use thiserror::Error;

use crate::{
    Access, Domains, Registry, Tool, ToolCaller, ToolContext, ToolFailure, ToolOutput, ToolSpec,
    VisibilityUpdate, context_tools,
    dynamic::{DynTool, ErasedTool},
    function::async_tool_fn,
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

    /// Adds a function that returns at once: [`tool_fn`] with the types known. An async function
    /// goes to [`function_with`](Self::function_with).
    #[must_use]
    pub fn function<I, O, F>(self, spec: ToolSpec, function: F) -> Self
    where
        F: Fn(ToolContext<'_, S>, I) -> Result<O, ToolFailure> + Send + Sync + 'static,
        I: JsonType + Send + 'static,
        O: Into<ToolOutput<U>> + 'static,
    {
        self.tool(tool_fn::<S, U, I, O, F>(spec, function))
    }

    /// Adds a tool that is an async function of what it depends on, such as a client, and of its
    /// arguments. Each call gets a clone of `deps`; several are a tuple. A tool that asks who calls
    /// goes to [`function_with_caller`](Self::function_with_caller); one that reads the state
    /// implements [`Tool`].
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fugato_tool::{Registry, ToolFailure, ToolSpec};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct City {
    ///     city: String,
    /// }
    ///
    /// async fn weather(server: Arc<str>, City { city }: City) -> Result<String, ToolFailure> {
    ///     Ok(format!("{city}, says {server}: sunny"))
    /// }
    ///
    /// let spec = ToolSpec::read("weather", "The weather of a city.");
    /// Registry::<(), ()>::builder().function_with(spec, Arc::from("the forecast"), weather).build()?;
    /// # Ok::<(), fugato_tool::RegistryError>(())
    /// ```
    #[must_use]
    pub fn function_with<D, I, O, F, Fut>(self, spec: ToolSpec, deps: D, function: F) -> Self
    where
        D: Clone + Send + Sync + 'static,
        I: JsonType + Send + 'static,
        O: Into<ToolOutput<U>>,
        F: Fn(D, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolFailure>> + Send + 'static,
    {
        let function = move |deps, _: ToolCaller, input| function(deps, input);
        self.function_with_caller(spec, deps, function)
    }

    /// Does the same as [`function_with`](Self::function_with), for a function that is told who
    /// calls, too.
    ///
    /// ```
    /// use fugato_tool::{NoArguments, Registry, ToolCaller, ToolFailure, ToolSpec};
    ///
    /// async fn orders(_: (), caller: ToolCaller, _: NoArguments) -> Result<String, ToolFailure> {
    ///     let user = caller.user.ok_or_else(|| ToolFailure::blocked("nobody is logged in"))?;
    ///     Ok(format!("the orders of {user}"))
    /// }
    ///
    /// let spec = ToolSpec::read("orders", "The orders of the person.");
    /// Registry::<(), ()>::builder().function_with_caller(spec, (), orders).build()?;
    /// # Ok::<(), fugato_tool::RegistryError>(())
    /// ```
    #[must_use]
    pub fn function_with_caller<D, I, O, F, Fut>(self, spec: ToolSpec, deps: D, function: F) -> Self
    where
        D: Clone + Send + Sync + 'static,
        I: JsonType + Send + 'static,
        O: Into<ToolOutput<U>>,
        F: Fn(D, ToolCaller, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolFailure>> + Send + 'static,
    {
        self.tool(async_tool_fn(spec, move |cx: ToolContext<'_, S>, input| {
            let called = function(deps.clone(), cx.caller(), input);
            Box::pin(async move { called.await.map(Into::into) })
        }))
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

    /// Checks all tools and domains, and builds the registry. The error names all problems.
    pub fn build(self) -> Result<Registry<S, U>, RegistryError> {
        let mut problems = vec![];
        check_domains(&self.domains, &mut problems);
        let mut tools = BTreeMap::new();
        let mut names: HashMap<String, String> = HashMap::new();
        for Candidate {
            mut spec,
            schema,
            tool,
        } in self.tools
        {
            spec.timeout = spec.timeout.or(self.timeout);
            problems.extend(misplaced(&spec, &self.domains));
            for name in std::iter::once(&spec.name).chain(&spec.aliases) {
                if !is_name(name) {
                    problems.push(RegistryIssue::BadName { name: name.clone() });
                }
                if let Some(first) = names.insert(name.clone(), spec.name.clone()) {
                    problems.push(RegistryIssue::Duplicate {
                        name: name.clone(),
                        tools: [first, spec.name.clone()],
                    });
                }
            }
            match check_schema(&spec, &schema) {
                Ok(parameters) => {
                    let chinese = schema.translated(Lang::Zh).map(serde_json::Value::from);
                    let chinese = chinese.and_then(|schema| Schema::new(closed(schema)).ok());
                    let entry = Entry {
                        spec,
                        parameters,
                        chinese,
                        tool,
                    };
                    tools.insert(entry.spec.name.clone(), Arc::new(entry));
                }
                Err(found) => problems.extend(found),
            }
        }
        if !problems.is_empty() {
            return Err(RegistryError { problems });
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

fn check_domains(domains: &Domains, problems: &mut Vec<RegistryIssue>) {
    for (name, domain) in domains.iter() {
        for pack in &domain.default_packs {
            if !domain.packs.contains(pack) {
                let (domain, pack) = (name.to_owned(), pack.clone());
                problems.push(RegistryIssue::UnknownDefaultPack { domain, pack });
            }
        }
    }
}

/// Returns true if every model server accepts the name.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=64).contains(&name.len()) && name.chars().all(fits)
}

/// Returns the problem of a tool whose domain or pack is not there.
fn misplaced(spec: &ToolSpec, domains: &Domains) -> Option<RegistryIssue> {
    let tool = spec.name.clone();
    let (name, pack) = match (&spec.domain, &spec.pack) {
        (None, None) => return None,
        (Some(_), _) if spec.access == Access::Context => {
            return Some(RegistryIssue::ContextToolInDomain { tool });
        }
        (None, Some(pack)) => {
            let pack = pack.clone();
            return Some(RegistryIssue::PackWithoutDomain { tool, pack });
        }
        (Some(name), pack) => (name.clone(), pack.clone()),
    };
    let Some(domain) = domains.get(&name) else {
        let domain = name;
        return Some(RegistryIssue::UnknownDomain { tool, domain });
    };
    let pack = pack.filter(|pack| !domain.has(pack))?;
    let domain = name;
    Some(RegistryIssue::UnknownPack { tool, domain, pack })
}

fn check_schema(spec: &ToolSpec, schema: &Schema) -> Result<Schema, Vec<RegistryIssue>> {
    let tool = || spec.name.clone();
    let english = schema.translated(Lang::En);
    let english = english.unwrap_or_else(|| schema.clone());
    let parameters = Schema::new(closed(english.into())).map_err(|source| {
        vec![RegistryIssue::Schema {
            tool: tool(),
            source,
        }]
    })?;
    let shape = Shape::of(parameters.as_value());
    if !shape.is_object() {
        return Err(vec![RegistryIssue::ArgumentsNotAnObject { tool: tool() }]);
    }
    let mentioned = spec
        .argument_aliases
        .values()
        .chain(spec.synonyms.keys())
        .chain(&spec.preview);
    let unknown = mentioned.filter(|argument| !shape.names().any(|name| name == *argument));
    let unknown: Vec<_> = unknown
        .map(|argument| RegistryIssue::UnknownArgument {
            tool: tool(),
            argument: argument.clone(),
        })
        .collect();
    if unknown.is_empty() {
        Ok(parameters)
    } else {
        Err(unknown)
    }
}

/// The error of tools that do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the tools do not fit together: {}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct RegistryError {
    /// All problems, in the order of the tools.
    pub problems: Vec<RegistryIssue>,
}

/// A problem of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegistryIssue {
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
