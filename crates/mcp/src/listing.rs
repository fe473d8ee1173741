use std::{collections::BTreeSet, slice, sync::Arc, vec};

use fugato_state::Schema;
use fugato_tool::ToolSpec;
use rmcp::{
    model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool},
    service::ServiceError,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{Hints, McpError, McpServer, McpTool, link::Session, name::Names};

/// The longest description that a model gets, in characters: a server writes it.
const LONGEST_DESCRIPTION: usize = 4_000;
/// The largest schema, in bytes of JSON.
const LARGEST_SCHEMA: usize = 64 * 1024;

/// The tools of a server, to be given to
/// [`RegistryBuilder::tools`](fugato_tool::RegistryBuilder::tools).
#[derive(Debug, Clone)]
pub struct McpTools {
    tools: Vec<McpTool>,
    refused: Vec<RefusedTool>,
}

/// A tool that the server offers, and that cannot be used as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedTool {
    /// Its name, or its place in the list if it has none.
    pub name: String,
    /// The defect.
    pub reason: String,
}

impl McpTools {
    /// Returns the tools.
    pub fn iter(&self) -> slice::Iter<'_, McpTool> {
        self.tools.iter()
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns true if there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the offered tools that cannot be used. Each was reported to `tracing`, too.
    pub fn refused(&self) -> &[RefusedTool] {
        &self.refused
    }
}

impl IntoIterator for McpTools {
    type Item = McpTool;
    type IntoIter = vec::IntoIter<McpTool>;

    fn into_iter(self) -> Self::IntoIter {
        self.tools.into_iter()
    }
}

impl<'a> IntoIterator for &'a McpTools {
    type Item = &'a McpTool;
    type IntoIter = slice::Iter<'a, McpTool>;

    fn into_iter(self) -> Self::IntoIter {
        self.tools.iter()
    }
}

/// Reads the whole list, page by page.
pub(crate) async fn list(server: &McpServer, session: &Arc<Session>) -> Result<McpTools, McpError> {
    let mut offered = vec![];
    let mut cursor = None;
    let mut seen = BTreeSet::new();
    let most = server.link.options.most_tools;
    loop {
        let page = page(server, session, cursor.take()).await?;
        offered.extend(page.tools);
        if offered.len() > most {
            let server = server.name().to_owned();
            return Err(McpError::TooManyTools { server, most });
        }
        match page.next {
            None => break,
            Some(next) if seen.insert(next.clone()) => cursor = Some(next),
            Some(_) => {
                let what = "a list of tools that goes round in a circle";
                return Err(garbage(server, what));
            }
        }
    }
    Ok(sorted(server, offered))
}

struct Page {
    tools: Vec<Value>,
    next: Option<String>,
}

async fn page(
    server: &McpServer,
    session: &Arc<Session>,
    cursor: Option<String>,
) -> Result<Page, McpError> {
    let request = ListToolsRequest {
        params: cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor))),
        ..ListToolsRequest::default()
    };
    let limit = server.link.options.timeout;
    let asked = session
        .peer()
        .send_request(ClientRequest::ListToolsRequest(request));
    let Ok(answer) = timeout(limit, asked).await else {
        let server = server.name().to_owned();
        return Err(McpError::TimedOut { server, limit });
    };
    match answer {
        Ok(answer) => {
            server.link.worked().await;
            read(answer).ok_or_else(|| garbage(server, "something that is no list of tools"))
        }
        Err(error) => Err(failed(server, session, error).await),
    }
}

/// Reads one page of the list. Each tool is parsed by itself later, so that a malformed one does
/// not spoil the others.
fn read(answer: ServerResult) -> Option<Page> {
    let mut list = match answer {
        ServerResult::ListToolsResult(list) => serde_json::to_value(list).ok()?,
        ServerResult::CustomResult(other) => other.0,
        _ => return None,
    };
    let next = list
        .get("nextCursor")
        .and_then(Value::as_str)
        .map(str::to_owned);
    match list.get_mut("tools").map(Value::take) {
        Some(Value::Array(tools)) => Some(Page { tools, next }),
        _ => None,
    }
}

async fn failed(server: &McpServer, session: &Arc<Session>, error: ServiceError) -> McpError {
    let name = server.name().to_owned();
    match error {
        ServiceError::McpError(error) => McpError::Refused {
            server: name,
            message: error.message.into_owned(),
            code: error.code.0,
        },
        ServiceError::TransportSend(error) => McpError::Unreachable {
            server: name,
            source: Box::new(error),
        },
        ServiceError::TransportClosed => {
            server.link.lost(session).await;
            McpError::Lost { server: name }
        }
        _ => garbage(server, "something that is no list of tools"),
    }
}

fn garbage(server: &McpServer, what: &'static str) -> McpError {
    let server = server.name().to_owned();
    McpError::Garbage { server, what }
}

/// Separates the usable tools from the refused ones.
fn sorted(server: &McpServer, offered: Vec<Value>) -> McpTools {
    let mut found = McpTools {
        tools: vec![],
        refused: vec![],
    };
    let (mut names, mut taken) = (Names::default(), BTreeSet::new());
    for (n, offered) in offered.into_iter().enumerate() {
        let name = match offered.get("name").and_then(Value::as_str) {
            Some(name) => name.to_owned(),
            None => format!("#{}", n + 1),
        };
        let only = server.link.options.only.as_ref();
        if only.is_some_and(|only| !only.contains(&name)) {
            continue;
        }
        let usable = if taken.insert(name.clone()) {
            usable(server, offered, &mut names)
        } else {
            Err("another tool of the server has the same name".to_owned())
        };
        match usable {
            Ok(tool) => found.tools.push(tool),
            Err(reason) => {
                tracing::warn!(server = server.name(), tool = %name, %reason, "tool refused");
                found.refused.push(RefusedTool { name, reason });
            }
        }
    }
    found
}

fn usable(server: &McpServer, offered: Value, names: &mut Names) -> Result<McpTool, String> {
    let tool: Tool = serde_json::from_value(offered).map_err(|error| error.to_string())?;
    if tool.name.is_empty() {
        return Err("it has no name".to_owned());
    }
    let schema = schema(tool.input_schema.as_ref().clone().into())?;
    let options = &server.link.options;
    let hints = if options.trusts_hints {
        Hints::of(tool.annotations.as_ref())
    } else {
        Hints::worst()
    };
    let prefix = options.prefix.as_deref().unwrap_or(server.name());
    let name = names.give(prefix, &tool.name);
    let (access, effect) = hints.means();
    let described = tool.description.as_deref().or(tool.title.as_deref());
    let description: String = described
        .unwrap_or_default()
        .chars()
        .take(LONGEST_DESCRIPTION)
        .collect();
    let mut spec = ToolSpec::write(name, description)
        .effect(effect)
        .schema(schema);
    spec.access = access;
    spec.domain.clone_from(&options.domain);
    spec.pack.clone_from(&options.pack);
    if let Some(adjust) = options.adjust.get(tool.name.as_ref()) {
        spec = adjust(spec);
    }
    Ok(McpTool::new(
        server.clone(),
        tool.name.into_owned(),
        spec,
        hints,
    ))
}

/// Checks and completes the schema of the arguments for a registry.
fn schema(mut schema: Value) -> Result<Schema, String> {
    if schema.to_string().len() > LARGEST_SCHEMA {
        return Err(format!("its schema is larger than {LARGEST_SCHEMA} bytes"));
    }
    if let Some(object) = schema.as_object_mut() {
        // A registry reads every schema as one of the newest draft.
        object.remove("$schema");
        object.entry("type").or_insert_with(|| json!("object"));
    }
    if schema.get("type") != Some(&json!("object")) {
        return Err("the schema of its arguments is not that of an object".to_owned());
    }
    Schema::new(schema).map_err(|error| error.to_string())
}
