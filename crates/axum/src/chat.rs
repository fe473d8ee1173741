//! The chat page, which any agent can serve.
use crate::{Asset, Page};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

macro_rules! files {
    ($page:expr, $kind:expr, $($name:literal),+) => {
        $page$(.file(concat!("/", $name), Asset::new($kind, include_bytes!(concat!("../page/", $name)))))+
    };
}

impl Page {
    /// A page for conversations: the conversation as it happens with its questions, a list of
    /// conversations, and the agent at work, in English and Chinese.
    ///
    /// An agent adds panels and styles of its own by `/agent.js` and `/agent.css`, which are empty
    /// here; `page/agent.js` of this crate's folder documents their form. No file is fetched from
    /// another server.
    ///
    /// ```
    /// use fugato_axum::{Asset, Page};
    ///
    /// let panels = b"export default { title: 'Weather', panels: [] };";
    /// let page = Page::chat().file("/agent.js", Asset::new("text/javascript", panels));
    /// ```
    pub fn chat() -> Self {
        let html = Asset::new(
            "text/html; charset=utf-8",
            include_bytes!("../page/index.html"),
        );
        let page = Self::new().file("/", html);
        let page = files!(page, STYLE, "style.css", "agent.css");
        files!(
            page,
            SCRIPT,
            "agent.js",
            "api.js",
            "app.js",
            "blocks.js",
            "card.js",
            "cards.js",
            "diff.js",
            "element.js",
            "escape.js",
            "graph.js",
            "inspector.js",
            "layout.js",
            "thread.js",
            "words.js"
        )
    }
}
