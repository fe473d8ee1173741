//! Tools that ask the web.
use std::sync::Arc;

use fugato::{
    tool::{RegistryBuilder, ToolSpec},
    web::{Web, WebFetch, WebSearch},
};

use super::ToolView;
use crate::agent::Update;

/// Registers the tools for the web; without a web they are known and switched off.
pub(super) fn register(
    builder: RegistryBuilder<ToolView, Update>,
    web: Option<Arc<dyn Web>>,
) -> RegistryBuilder<ToolView, Update> {
    let search = WebSearch::new(web.clone()).adjust(|spec| {
        told(
            spec,
            "Pages about general material, such as how long a book is. Never a source of times.",
            "查找一般资料的网页，例如一本书有多长。不能作为时间的来源。",
        )
    });
    let fetch = WebFetch::new(web).adjust(|spec| {
        told(
            spec,
            "The text of a page that was found. Never a source of times.",
            "找到的网页的文字。不能作为时间的来源。",
        )
    });
    builder.tool(search).tool(fetch)
}

fn told(mut spec: ToolSpec, description: &str, chinese: &str) -> ToolSpec {
    description.clone_into(&mut spec.description);
    spec.chinese(chinese).domain("schedule").pack("web")
}
