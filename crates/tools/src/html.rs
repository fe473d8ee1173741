//! The visible text of an HTML page.

/// Returns the text of a page: without tags, scripts, styles and comments; blocks are lines.
pub(crate) fn text(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        push(&mut out, before);
        rest = after(&mut out, tag);
    }
    push(&mut out, rest);
    let lines = out.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// Skips the tag that begins here, and returns the rest.
fn after<'a>(out: &mut String, tag: &'a str) -> &'a str {
    if let Some(comment) = tag.strip_prefix("<!--") {
        return behind(comment, "-->");
    }
    let name = tag.get(1..).unwrap_or_default();
    let name: String = name
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '/')
        .collect();
    let name = name.to_ascii_lowercase();
    let bare = name.trim_matches('/');
    if BLOCKS.contains(&bare) {
        out.push('\n');
    }
    if name.is_empty() && !tag.starts_with("<!") && !tag.starts_with("<?") {
        out.push('<');
        return tag.get(1..).unwrap_or_default();
    }
    if ["script", "style", "noscript", "template"].contains(&name.as_str()) {
        return behind(closing(tag, &name), ">");
    }
    behind(tag, ">")
}

/// The tags that begin or end a line.
const BLOCKS: [&str; 23] = [
    "address",
    "article",
    "blockquote",
    "br",
    "dd",
    "div",
    "dt",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "p",
    "pre",
    "section",
    "title",
    "tr",
    "ul",
];

/// Returns the text from the closing tag of an element on, in upper or lower case.
fn closing<'a>(text: &'a str, name: &str) -> &'a str {
    let ends = |at: &usize| {
        let found = text.get(at + 2..at + 2 + name.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(name))
    };
    let at = text.match_indices("</").map(|(at, _)| at).find(ends);
    at.and_then(|at| text.get(at..)).unwrap_or_default()
}

fn behind<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

/// Appends text with runs of spaces as one, and with entities decoded.
fn push(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let named = ENTITIES.iter().find(|(name, _)| rest.starts_with(name));
        if let Some((name, meaning)) = named {
            out.push(*meaning);
            rest = rest.get(name.len()..).unwrap_or_default();
            continue;
        }
        if !c.is_whitespace() {
            out.push(c);
        } else if !out.ends_with(char::is_whitespace) {
            out.push(' ');
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
}

const ENTITIES: [(&str, char); 7] = [
    ("&amp;", '&'),
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&quot;", '"'),
    ("&#39;", '\''),
    ("&nbsp;", ' '),
    ("&apos;", '\''),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Copying the rest of the page for each element would take minutes.
    #[test]
    fn a_page_of_nothing_but_styles_is_read_in_time_that_grows_with_it() {
        let mut page = "<style></style>".repeat(2 * 1024 * 1024 / 15);
        page.push_str("<p>here");
        let (done, read) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(text(&page)));
        let read = read.recv_timeout(std::time::Duration::from_secs(20));
        assert_eq!(read.as_deref(), Ok("here"));
    }

    #[test]
    fn a_page_is_read_as_a_person_would() {
        let page = "<!doctype html><head><title>Tides</title><style>p{color:red}</style>\
            <script>if (a<b) alert('</p>')</SCRIPT></head><!-- <p>no</p> -->\
            <p>Twice   a\nday, &lt;always&gt; &amp; 每天 2 < 3<br>and night</p>";
        assert_eq!(
            text(page),
            "Tides\nTwice a day, <always> & 每天 2 < 3\nand night"
        );
        for broken in ["<", "<p", "<!--", "<script>", "&", "<é", ""] {
            assert!(text(broken).len() <= broken.len(), "{broken}");
        }
    }
}
