//! From content lines to components.
use super::error::{Fault, IcsProblem, Loss};
use super::lines::Line;

/// The properties between a `BEGIN` and its `END`.
#[derive(Debug)]
pub(super) struct Component<'a> {
    pub(super) kind: String,
    /// The line of its `BEGIN`.
    pub(super) begin: usize,
    pub(super) lines: Vec<&'a Line>,
    /// The parts of a `VTIMEZONE`; other components do not keep theirs.
    pub(super) parts: Vec<Component<'a>>,
}

impl<'a> Component<'a> {
    /// Returns the first property of this name.
    pub(super) fn line(&self, name: &str) -> Option<&'a Line> {
        self.all(name).next()
    }

    /// Returns all properties of this name.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &'a Line> {
        let lines = self.lines.iter().copied();
        lines.filter(move |line| line.name == name)
    }

    /// Returns the text of a property; none if it is empty.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let text = self.line(name).map(Line::text);
        text.filter(|text| !text.is_empty())
    }
}

/// Returns the components of a file in the order of their ends. One that is closed late or never is
/// closed where its parent is, or the file.
pub(super) fn components<'a>(lines: &'a [Line], faults: &mut Vec<Fault>) -> Vec<Component<'a>> {
    let mut done = Vec::new();
    let mut open: Vec<Component<'a>> = Vec::new();
    let mut ignored = |line: usize, problem| {
        faults.push(Fault::new(line, problem).costing(Loss::Line));
    };
    for line in lines {
        let kind = line.value.trim().to_ascii_uppercase();
        match line.name.as_str() {
            "BEGIN" => open.push(Component {
                kind,
                begin: line.number,
                lines: Vec::new(),
                parts: Vec::new(),
            }),
            "END" if !open.iter().any(|open| open.kind == kind) => {
                let kind = kind.chars().take(40).collect();
                ignored(line.number, IcsProblem::Mismatched(kind));
            }
            "END" => {
                while let Some(closed) = open.pop() {
                    let is_meant = closed.kind == kind;
                    if !is_meant {
                        ignored(closed.begin, unclosed(&closed));
                    }
                    close(closed, &mut open, &mut done);
                    if is_meant {
                        break;
                    }
                }
            }
            _ => {
                if let Some(component) = open.last_mut() {
                    component.lines.push(line);
                }
            }
        }
    }
    while let Some(closed) = open.pop() {
        ignored(closed.begin, unclosed(&closed));
        close(closed, &mut open, &mut done);
    }
    done
}

fn close<'a>(closed: Component<'a>, open: &mut [Component<'a>], done: &mut Vec<Component<'a>>) {
    match open.last_mut() {
        Some(zone) if zone.kind == "VTIMEZONE" => zone.parts.push(closed),
        _ => done.push(closed),
    }
}

fn unclosed(component: &Component<'_>) -> IcsProblem {
    IcsProblem::Unclosed(component.kind.chars().take(40).collect())
}
