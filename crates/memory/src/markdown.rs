use crate::{cut, digest, importance::importance};

/// A part of a Markdown file that is found as a whole: a section, or a part of a long one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Chunk {
    /// The path of the file, the headings above, and the number of the part.
    pub id: String,
    /// The headings above, outermost first, and the text. The headings let each part of a section
    /// be found by its topic.
    pub text: String,
    /// The importance: the value of a mark such as `<!-- importance: 0.9 -->`, or else an estimate
    /// from the words.
    pub importance: f32,
    /// The number of its first line, from 1.
    pub line: usize,
}

impl Chunk {
    /// The greatest length of the text in characters, without headings.
    pub const MOST_CHARACTERS: usize = 1_200;

    /// Returns the digest that detects a change of the chunk or of the embedder.
    pub(crate) fn digest(&self, embedded_by: &str) -> u64 {
        let importance = self.importance.to_string();
        digest::of(&[&self.text, &importance, embedded_by])
    }
}

/// Splits a Markdown file at its headings, and long sections at their paragraphs or else between their
/// lines. Only a line that is too long by itself is cut.
pub fn chunks(path: &str, markdown: &str) -> Vec<Chunk> {
    let mut cutting = MarkdownCutter {
        path,
        trail: vec![],
        body: String::new(),
        begin: 1,
        mark: None,
        done: vec![],
    };
    let mut fence = None;
    for (line, text) in (1..).zip(markdown.lines()) {
        fence = fenced(text, fence);
        match heading(text) {
            Some((level, title)) if fence.is_none() => cutting.section(level, title, line),
            _ => cutting.line(text, line),
        }
    }
    cutting.close();
    cutting.done
}

/// Returns the character of the code fence that is open after this line.
fn fenced(line: &str, open: Option<char>) -> Option<char> {
    let line = line.trim_start();
    let mark = ['`', '~'].into_iter().find(|mark| {
        let run = line.chars().take_while(|c| c == mark).count();
        run >= 3
    });
    match (open, mark) {
        (None, mark) => mark,
        (Some(open), Some(mark)) if open == mark => None,
        (open, _) => open,
    }
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let spaced = title.starts_with([' ', '\t']);
    ((1..=6).contains(&level) && spaced).then(|| (level, title.trim().trim_end_matches('#').trim()))
}

struct MarkdownCutter<'a> {
    path: &'a str,
    trail: Vec<(usize, &'a str)>,
    body: String,
    begin: usize,
    mark: Option<f32>,
    done: Vec<Chunk>,
}

impl<'a> MarkdownCutter<'a> {
    fn section(&mut self, level: usize, title: &'a str, line: usize) {
        self.close();
        self.trail.retain(|(above, _)| *above < level);
        self.trail.push((level, title));
        self.begin = line;
        self.mark = None;
    }

    fn line(&mut self, text: &str, line: usize) {
        let (text, mark) = unmarked(text);
        let characters = self.body.chars().count();
        let paragraph_ends = text.trim().is_empty();
        if paragraph_ends && characters >= Chunk::MOST_CHARACTERS / 2 {
            self.mark = mark.or(self.mark);
            self.close();
            self.begin = line + 1;
            return;
        }
        let is_full = characters + text.chars().count() > Chunk::MOST_CHARACTERS;
        if is_full && !self.body.trim().is_empty() {
            self.close();
            self.begin = line;
        }
        self.mark = mark.or(self.mark);
        self.body.push_str(&text);
        self.body.push('\n');
    }

    fn close(&mut self) {
        let body = std::mem::take(&mut self.body);
        let body = body.trim();
        let new_heading = self.trail.last().is_some()
            && self
                .done
                .last()
                .is_none_or(|last| !last.id.starts_with(&self.id_of_section()));
        if body.is_empty() && !new_heading {
            return;
        }
        let characters: Vec<char> = body.chars().collect();
        let mut parts: Vec<String> = characters
            .chunks(Chunk::MOST_CHARACTERS)
            .map(|part| part.iter().collect())
            .collect();
        if parts.is_empty() {
            parts.push(String::new());
        }
        for part in parts {
            self.push(&part);
        }
    }

    fn push(&mut self, part: &str) {
        let titles: Vec<&str> = self.trail.iter().map(|(_, title)| *title).collect();
        let text = format!("{}\n{part}", titles.join(" / "));
        let text = text.trim().to_owned();
        let section = self.id_of_section();
        let before = self.done.iter().filter(|chunk| {
            let rest = chunk.id.strip_prefix(&section);
            rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
        });
        self.done.push(Chunk {
            id: format!("{section}{}", before.count() + 1),
            importance: self.mark.unwrap_or_else(|| importance(&text)),
            text,
            line: self.begin,
        });
    }

    fn id_of_section(&self) -> String {
        let titles: Vec<String> = self.trail.iter().map(|(_, title)| cut(title, 60)).collect();
        format!("{}#{}~", self.path, titles.join("/"))
    }
}

/// Returns the line without its importance mark, and the importance that the mark gives.
fn unmarked(line: &str) -> (String, Option<f32>) {
    const OPEN: &str = "<!-- importance:";
    let found = line.split_once(OPEN).and_then(|(before, rest)| {
        let (number, after) = rest.split_once("-->")?;
        let importance: f32 = number.trim().parse().ok()?;
        (0.0..=1.0)
            .contains(&importance)
            .then(|| (format!("{before}{after}"), importance))
    });
    match found {
        Some((text, importance)) => (text, Some(importance)),
        None => (line.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(markdown: &str) -> Vec<(String, String, usize)> {
        let chunks = chunks("M.md", markdown).into_iter();
        chunks
            .map(|chunk| (chunk.id, chunk.text, chunk.line))
            .collect()
    }

    fn expected(all: &[(&str, &str, usize)]) -> Vec<(String, String, usize)> {
        let owned =
            |(id, text, line): &(&str, &str, usize)| ((*id).to_owned(), (*text).to_owned(), *line);
        all.iter().map(owned).collect()
    }

    #[test]
    fn a_file_is_cut_at_its_headings() {
        let markdown =
            "before\n# One\n\ntext\n## 二\n### Deep\n```\n# no heading\n```\n# One\nagain";
        assert_eq!(
            seen(markdown),
            expected(&[
                ("M.md#~1", "before", 1),
                ("M.md#One~1", "One\ntext", 2),
                ("M.md#One/二~1", "One / 二", 5),
                (
                    "M.md#One/二/Deep~1",
                    "One / 二 / Deep\n```\n# no heading\n```",
                    6
                ),
                ("M.md#One~2", "One\nagain", 10),
            ])
        );
    }

    #[test]
    fn a_long_section_is_cut_at_its_paragraphs_and_no_character_is_lost() {
        let paragraph = "报".repeat(700);
        let endless = "销".repeat(3_000);
        let markdown = format!("# A\n{paragraph}\n\n{paragraph}\n\n{endless}\n");
        let chunks = chunks("M.md", &markdown);
        let lengths: Vec<_> = chunks
            .iter()
            .map(|chunk| chunk.text.chars().count() - 2)
            .collect();
        assert_eq!(lengths, [700, 700, 1_200, 1_200, 600]);
    }

    #[test]
    fn a_long_section_of_lines_is_cut_between_them() {
        let line = |n: usize| format!("- note {n} {}", "报".repeat(490));
        let lines: Vec<_> = (1..=5).map(line).collect();
        let markdown = format!("# A\n\n{}\n", lines.join("\n"));
        let part = |lines: &[String]| format!("A\n{}", lines.join("\n"));
        let expected = lines.chunks(2).map(part);
        let expected = expected.zip([1, 5, 7]).collect::<Vec<_>>();
        let chunks = chunks("M.md", &markdown).into_iter();
        let cut: Vec<_> = chunks.map(|chunk| (chunk.text, chunk.line)).collect();
        assert_eq!(cut, expected);
    }

    #[test]
    fn a_mark_says_how_much_a_section_matters() {
        let markdown = "# A\nx <!-- importance: 0.9 -->\n# B\ny <!-- importance: 7 -->\n";
        let chunks = chunks("M.md", markdown);
        assert_eq!(
            (chunks[0].text.as_str(), chunks[0].importance),
            ("A\nx", 0.9)
        );
        assert!((chunks[1].importance - 0.5).abs() < f32::EPSILON);
    }
}
