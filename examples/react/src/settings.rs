use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The settings of this agent, beside those of all agents.
#[derive(smart_default::SmartDefault, Debug, Clone, Args)]
pub struct Settings {
    /// The number of rounds of tools that a request may take
    #[arg(long, global = true, value_name = "N", default_value_t = 8)]
    #[default(8)]
    pub max_steps: u32,

    /// The built-in tools, with commas between them
    #[arg(
        long,
        global = true,
        value_enum,
        value_delimiter = ',',
        default_values_t = BuiltIn::ALL
    )]
    #[default(BuiltIn::ALL.to_vec())]
    pub tools: Vec<BuiltIn>,

    /// The folder whose files it may read and, when you agree, write [default: files in --dir]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub files: Option<PathBuf>,

    /// A program that offers tools over MCP, with its arguments
    #[arg(long, global = true, value_name = "COMMAND")]
    pub mcp: Vec<String>,

    /// A server that offers tools over MCP
    #[arg(long, global = true, value_name = "URL")]
    pub mcp_url: Vec<String>,
}

/// A tool that is built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BuiltIn {
    /// The time of day
    Time,
    /// Calculating
    Calculator,
    /// Listing, reading and writing files of one folder
    Files,
    /// Finding what it was asked to remember, and forgetting it
    Memory,
    /// No tool at all
    None,
}

impl BuiltIn {
    /// All tools that are built in.
    pub const ALL: [Self; 4] = [Self::Time, Self::Calculator, Self::Files, Self::Memory];
}
