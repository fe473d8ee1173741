//! The chat page, which any agent can serve.
use serde_json::{Map, json};

use crate::{Asset, Page};

macro_rules! files {
    ($page:expr, $kind:ident, $($name:literal),+) => {
        $page$(.file(concat!("/", $name), Asset::$kind(include_bytes!(concat!("../page/", $name)))))+
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
    /// let page = Page::chat().file("/agent.js", Asset::script(panels));
    /// ```
    pub fn chat() -> Self {
        let html = Asset::new(
            "text/html; charset=utf-8",
            include_bytes!("../page/index.html"),
        );
        let page = Self::new().file("/", html);
        let page = files!(page, style, "style.css", "agent.css");
        files!(
            page,
            script,
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
        .tools([])
    }

    /// Sets what the page calls tools while they work: each with its name, in English and in
    /// Chinese. A tool without words is called by its name.
    ///
    /// ```
    /// use fugato_axum::Page;
    ///
    /// let page = Page::chat().tools([("find_free", "looking for free time", "查找空闲时间")]);
    /// ```
    #[must_use]
    pub fn tools<'a>(self, words: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> Self {
        let (mut en, mut zh) = (Map::new(), Map::new());
        for (name, english, chinese) in words {
            en.insert(name.to_owned(), english.into());
            zh.insert(name.to_owned(), chinese.into());
        }
        let script = format!("export default {};\n", json!({ "en": en, "zh": zh }));
        self.file("/tools.js", Asset::script(script.into_bytes()))
    }
}
