//! The tools: those that are built in, and those of MCP servers.
mod clock;
#[cfg(feature = "mcp")]
mod mcp;
pub(crate) mod place;

use std::{path::PathBuf, sync::Arc};

use fugato::{
    agent::{
        React, ReactUpdate,
        memory::{forget, recall},
    },
    file::{ListFiles, ReadFile, Sandbox, WriteFile},
    graph::BoxError,
    memory::Notebook,
    tool::{
        EffectClass, Registry, RegistryBuilder, ToolContext, ToolFailure, ToolOutput, ToolSpec,
    },
};
use jiff::{Timestamp, Zoned};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{BuiltIn, Settings, calculator};

/// A function that returns the time.
pub type Clock = Arc<dyn Fn() -> Zoned + Send + Sync>;

/// The environment of the tools.
#[derive(derive_more::Debug, Clone)]
#[debug("Tools {{ files: {files:?}, .. }}")]
pub struct ToolEnvironment {
    /// The clock.
    pub clock: Clock,
    /// The folder whose files are read and written.
    pub files: PathBuf,
    /// The notebook with what the person asked to be remembered.
    pub notebook: Notebook,
}

type Builder = RegistryBuilder<React, ReactUpdate>;

impl ToolEnvironment {
    /// Tools that work in this folder: its files in `files`, its memory in `memory`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self {
            clock: Arc::new(|| Timestamp::now().to_zoned(jiff::tz::TimeZone::system())),
            files: folder.join("files"),
            notebook: Notebook::new(folder.join("memory")),
        }
    }

    /// Returns the wanted tools that are built in, without those of servers.
    pub fn built_in(&self, wanted: &[BuiltIn]) -> Result<Builder, BoxError> {
        let mut builder = Registry::builder();
        for tool in BuiltIn::ALL {
            if !wanted.contains(&tool) {
                continue;
            }
            builder = match tool {
                BuiltIn::Time => clock::add(builder, self.clock.clone()),
                BuiltIn::Calculator => builder.function(calculate_spec(), calculate),
                BuiltIn::Files => self.files(builder)?,
                BuiltIn::Memory => builder
                    .tool(recall(self.notebook.clone()))
                    .tool(forget(self.notebook.clone())),
                BuiltIn::None => builder,
            };
        }
        Ok(builder)
    }

    /// Returns all tools that the settings name.
    pub async fn registry(
        &self,
        settings: &Settings,
    ) -> Result<Registry<React, ReactUpdate>, BoxError> {
        let builder = self.built_in(&settings.tools)?;
        Ok(of_servers(builder, settings).await?.build()?)
    }

    fn files(&self, builder: Builder) -> Result<Builder, BoxError> {
        std::fs::create_dir_all(&self.files)?;
        let sandbox = Sandbox::open(&self.files)?;
        Ok(builder
            .tool(ListFiles::new(sandbox.clone()))
            .tool(ReadFile::new(sandbox.clone()))
            .tool(WriteFile::new(sandbox)))
    }
}

/// Adds the tools of the servers that the settings name.
#[cfg(feature = "mcp")]
async fn of_servers(mut builder: Builder, settings: &Settings) -> Result<Builder, BoxError> {
    for server in mcp::servers(settings)? {
        builder = builder.tools(mcp::tools(&server).await?);
    }
    Ok(builder)
}

#[cfg(not(feature = "mcp"))]
fn of_servers(
    builder: Builder,
    settings: &Settings,
) -> std::future::Ready<Result<Builder, BoxError>> {
    let lacks = "--mcp and --mcp-url need a program that is built with `--features mcp`";
    let named = !settings.mcp.is_empty() || !settings.mcp_url.is_empty();
    std::future::ready(if named {
        Err(lacks.into())
    } else {
        Ok(builder)
    })
}

/// What is to be calculated.
#[derive(Deserialize, JsonSchema)]
struct Expression {
    /// Numbers, + - * / % ^ √ and brackets.
    #[schemars(extend("x-zh" = "数字、+ - * / % ^ √ 和括号。"))]
    expression: String,
}

fn calculate_spec() -> ToolSpec {
    ToolSpec::read("calculate", "Calculates an arithmetic expression.")
        .chinese("计算一个算式。")
        .titled("Calculate", "计算")
        .effect(EffectClass::Pure)
        .argument_alias("input", "expression")
        .preview(["expression"])
}

fn calculate(
    _: ToolContext<'_, React>,
    Expression { expression }: Expression,
) -> Result<ToolOutput<ReactUpdate>, ToolFailure> {
    let value = calculator::calculate(&expression);
    let value = value.map_err(|error| ToolFailure::failed(error.to_string()))?;
    let equals = if value.is_exact() { "=" } else { "≈" };
    let text = format!("{} {equals} {value}", expression.trim());
    Ok(ToolOutput::new(text).data(value.to_f64()))
}

/// The work of each tool as a short phrase, in English and Chinese.
pub const WORDS: [(&str, &str, &str); 7] = [
    ("time", "looking at the clock", "查看时间"),
    ("calculate", "calculating", "计算"),
    ("list_files", "listing files", "列出文件"),
    ("read_file", "reading a file", "读取文件"),
    ("write_file", "writing a file", "写入文件"),
    ("recall", "looking into the notebook", "查看记忆"),
    ("forget", "forgetting a note", "忘掉笔记"),
];
