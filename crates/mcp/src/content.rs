//! A server's result, as text for the model and data for programs, both of bounded size.
use fugato_state::say;
use fugato_tool::{ToolFailure, ToolOutput};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, ResourceContents};
use serde_json::{Value, json};

use crate::McpOptions;

/// The names of `_meta` fields by which our servers send a status and issues.
pub(crate) const STATUS: &str = "fugato/status";
pub(crate) const ISSUES: &str = "fugato/issues";

/// Reads a result.
///
/// The text is that of all blocks; another kind of block is named there, and kept under `content`
/// in the data. A structured value of the result becomes the data instead.
pub(crate) fn read(
    result: CallToolResult,
    options: &McpOptions,
) -> Result<ToolOutput, ToolFailure> {
    let mut issues = told_issues(result.meta.as_ref());
    let mut lines = vec![];
    let mut attached = vec![];
    for block in &result.content {
        lines.push(line(block));
        if !matches!(block, ContentBlock::Text(_)) {
            attached.push(serde_json::to_value(block).unwrap_or_default());
        }
    }
    let mut data = match result.structured_content {
        Some(value) => value,
        None if attached.is_empty() => Value::Null,
        None => json!({ "content": attached }),
    };
    let mut text = lines.join("\n");
    if text.is_empty() && !data.is_null() {
        text = data.to_string();
    }
    if let Some(issue) = cut(&mut text, options.most_text) {
        issues.push(issue);
    }
    let size = data.to_string().len();
    if size > options.most_data {
        let most = options.most_data;
        issues.push(say!(
            "the data of {size} bytes was left out; at most {most} are kept",
            "省略了 {size} 字节的数据；最多保留 {most}"
        ));
        data = Value::Null;
    }
    if result.is_error != Some(true) {
        let output = ToolOutput::new(text).data(data);
        return Ok(issues.into_iter().fold(output, ToolOutput::issue));
    }
    if text.is_empty() {
        text.push_str(&say!(
            "the tool failed, and did not say why",
            "工具失败了，没有说原因"
        ));
    }
    let failure = if is_blocked(result.meta.as_ref()) {
        ToolFailure::blocked(text)
    } else {
        ToolFailure::failed(text)
    };
    Err(issues
        .into_iter()
        .fold(failure.data(data), ToolFailure::issue))
}

fn line(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[image: {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[audio: {}]", audio.mime_type),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, mime_type, .. } => {
                let kind = mime_type.as_deref().unwrap_or("application/octet-stream");
                format!("[{uri}: {kind}]")
            }
            _ => say!("[a resource of an unknown kind]", "［未知类型的资源］"),
        },
        ContentBlock::ResourceLink(link) => format!("[{}: {}]", link.name, link.uri),
        _ => say!("[something of an unknown kind]", "［未知类型的内容］"),
    }
}

/// Cuts a text to `most` characters, with a note in the text; returns the issue to report.
fn cut(text: &mut String, most: usize) -> Option<String> {
    let (end, _) = text.char_indices().nth(most)?;
    let all = text.chars().count();
    text.truncate(end);
    let note = say!(
        "\n[cut: {most} of {all} characters are shown]",
        "\n［已截断：共 {all} 个字符，显示 {most} 个］"
    );
    text.push_str(&note);
    Some(say!(
        "the text was cut to {most} of {all} characters",
        "文本截到了 {all} 个字符中的 {most} 个"
    ))
}

fn told_issues(meta: Option<&MetaObject>) -> Vec<String> {
    let issues = meta
        .and_then(|meta| meta.get(ISSUES))
        .and_then(Value::as_array);
    let issues = issues.into_iter().flatten().filter_map(Value::as_str);
    issues.map(str::to_owned).collect()
}

fn is_blocked(meta: Option<&MetaObject>) -> bool {
    meta.and_then(|meta| meta.get(STATUS))
        .and_then(Value::as_str)
        == Some("blocked")
}
