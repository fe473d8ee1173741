use std::fmt::Write as _;

use fugato_state::{Lang, say};

use crate::{Access, Registry, Visibility, registry::Entry, schema::Shape, words::list};

/// The level of detail of a catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CatalogueDetail {
    /// Each tool with its arguments.
    Full,
    /// A line for each of the first tools, and the names of the rest.
    Lite {
        /// The number of tools that get a line.
        most: usize,
    },
}

impl CatalogueDetail {
    /// A line for each of the first 18 tools.
    pub const LITE: Self = Self::Lite { most: 18 };
}

impl<S, U> Registry<S, U> {
    /// Returns the visible tools as text for a prompt, by name; empty if none is visible.
    pub fn catalogue(&self, visibility: &Visibility, detail: CatalogueDetail) -> String {
        let mut text = String::new();
        match detail {
            CatalogueDetail::Full => {
                self.visible_entries(visibility)
                    .for_each(|entry| full(entry, &mut text));
            }
            CatalogueDetail::Lite { most } => {
                self.visible_entries(visibility)
                    .take(most)
                    .for_each(|e| lite(e, &mut text));
                let rest = self
                    .visible(visibility)
                    .skip(most)
                    .map(|spec| spec.name.as_str());
                let rest: Vec<_> = rest.collect();
                if !rest.is_empty() {
                    let _ = writeln!(text, "- {}", say!("and {}", "以及{}", list(rest)));
                }
            }
        }
        text
    }
}

fn lite<S, U>(entry: &Entry<S, U>, text: &mut String) {
    let shape = Shape::of(entry.schema().as_value());
    let arguments: Vec<_> = shape
        .properties()
        .iter()
        .map(|p| {
            if p.required {
                p.name.to_owned()
            } else {
                format!("{}?", p.name)
            }
        })
        .collect();
    let spec = &entry.spec;
    let about = first_sentence(spec.about());
    let _ = writeln!(text, "- {}({}): {about}", spec.name, arguments.join(", "));
}

fn full<S, U>(entry: &Entry<S, U>, text: &mut String) {
    let spec = &entry.spec;
    let access = match spec.access {
        Access::Read => say!("reads", "读取"),
        Access::Write => say!("writes", "写入"),
        Access::Context => say!("chooses tools", "选择工具"),
    };
    let _ = writeln!(text, "- {} ({access}): {}", spec.name, spec.about());
    for property in Shape::of(entry.schema().as_value()).properties() {
        let _ = write!(text, "  - {}", property.name);
        if !property.required {
            text.push_str(&say!(" (optional)", "（可选）"));
        }
        let about = property
            .description
            .unwrap_or_default()
            .trim_end_matches(['.', '。']);
        let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
        let values = match property.values.as_slice() {
            [] => String::new(),
            values => say!("one of {}", "{} 之一", list(values)),
        };
        let parts: Vec<_> = [about, values]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        if !parts.is_empty() {
            let _ = write!(text, ": {}", parts.join(Lang::current().pick("; ", "；")));
        }
        text.push('\n');
    }
}

fn first_sentence(text: &str) -> &str {
    let end = text
        .find(". ")
        .map(|at| at + 1)
        .or_else(|| text.find('。').map(|at| at + '。'.len_utf8()));
    text.get(..end.unwrap_or(text.len())).unwrap_or(text)
}
