use std::fmt::{self, Write as _};

use fugato_state::Interrupt;
use serde_json::{Map, Value};

use crate::{EscapedText, prompt::PromptParts};

/// The text of a card: the question, everything that would be done, and how to answer.
///
/// Everything that comes from elsewhere is [escaped](EscapedText). The whole, as `Display` writes it,
/// is a message for a chat client: the card is indented, so that a client which renders Markdown
/// shows it verbatim.
#[derive(Debug, Clone, Copy)]
pub struct CardText<'a> {
    interrupt: &'a Interrupt,
    chinese: bool,
}

/// Returns the text of a card as a message; see [`CardText`].
pub fn card_text(interrupt: &Interrupt) -> String {
    CardText::of(interrupt).to_string()
}

/// Returns true if an answer to a card may be words that the agent reads itself, such as a change of
/// what it asks for: its schema has the action `say`. Such an answer agrees to nothing.
pub fn takes_words(interrupt: &Interrupt) -> bool {
    let schema = interrupt.question.schema.as_value();
    let action = schema.pointer("/properties/action");
    let inner = action.and_then(|action| action.get("$ref")?.as_str()?.strip_prefix('#'));
    let action = inner.and_then(|path| schema.pointer(path)).or(action);
    let all = |name: &str| action.and_then(|action| action.get(name)?.as_array());
    let mut names = all("enum").into_iter().chain(all("oneOf")).flatten();
    names.any(|name| name == "say" || name.get("const").is_some_and(|name| name == "say"))
}

/// Returns arguments as a person reads them: one a line with its name, and the lines of a longer
/// text indented below its name. Nothing is left out, and no value looks like another argument.
///
/// ```
/// use serde_json::json;
///
/// let arguments = json!({ "path": "a.txt", "text": "one\npath: b.txt" });
/// let text = "path: a.txt\ntext:\n  one\n  path: b.txt";
/// assert_eq!(fugato_stream::argument_lines(&arguments), text);
/// ```
pub fn argument_lines(arguments: &Value) -> String {
    match arguments {
        Value::Null => String::new(),
        Value::Object(arguments) => lines_of(arguments.iter()),
        other => other.to_string(),
    }
}

fn lines_of<'v>(arguments: impl Iterator<Item = (&'v String, &'v Value)>) -> String {
    let lines = arguments.map(|(name, value)| argument_line(&quoted(name), value));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the name of an argument, in quotation marks if it could look like something else.
fn quoted(name: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || "_-.".contains(char);
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        Value::from(name).to_string()
    }
}

fn argument_line(name: &str, value: &Value) -> String {
    let text = match value {
        Value::String(text) if !text.is_empty() && text.trim() == text => text.clone(),
        Value::String(text) if text.trim_end_matches('\n').contains('\n') => text.clone(),
        other => other.to_string(),
    };
    if text.contains('\n') {
        format!("{name}:\n  {}", text.replace('\n', "\n  "))
    } else {
        format!("{name}: {text}")
    }
}

impl<'a> CardText<'a> {
    /// Creates the text of this card, in the language of its prompt.
    pub fn of(interrupt: &'a Interrupt) -> Self {
        let prompt = &interrupt.question.prompt;
        let shown = PromptParts::of(interrupt);
        let lang = prompt.get("lang").and_then(Value::as_str);
        let chinese = match lang {
            Some(lang) => lang.starts_with("zh"),
            None => [shown.title, shown.words]
                .iter()
                .any(|text| text.chars().any(is_chinese)),
        };
        Self { interrupt, chinese }
    }

    fugato_state::setters! {
        /// Selects Chinese or English for the words that are not the prompt's.
        pub fn chinese(chinese: bool) { chinese = chinese }
    }

    /// Returns the short code of an approval.
    pub fn code(&self) -> Option<String> {
        PromptParts::code(self.interrupt)
    }

    /// Returns true if the words of a question were streamed before it was asked, and need not be
    /// shown again. An approval is always shown.
    pub fn is_said(&self) -> bool {
        let question = &self.interrupt.question;
        let said = question.prompt.get("streamed").and_then(Value::as_bool);
        question.digest.is_none() && said == Some(true)
    }

    /// Returns the heading, in one line, with the code of an approval.
    pub fn heading(&self) -> String {
        let shown = PromptParts::of(self.interrupt);
        let title = self.clipped(&EscapedText::line(shown.title).to_string());
        match self.code() {
            Some(code) if title.is_empty() => format!("[{code}]"),
            Some(code) => format!("[{code}] {title}"),
            None => title,
        }
    }

    /// Returns everything below the heading: the consequence, the words of the question, every
    /// argument that the words do not contain, and the tool's own description.
    pub fn body(&self) -> String {
        let prompt = &self.interrupt.question.prompt;
        let shown = PromptParts::of(self.interrupt);
        let mut parts = vec![shown.consequence.to_owned()];
        let arguments = self.arguments();
        if shown.words
            == arguments
                .map(|them| lines_of(them.iter()))
                .unwrap_or_default()
        {
            // A summary that only lists the arguments has the words of people for them.
            parts.push(self.named(arguments.into_iter().flatten()));
        } else {
            parts.extend([shown.words.to_owned(), self.unsaid(&shown)]);
        }
        // A call without arguments is said by its title.
        let is_said = !shown.title.is_empty() && (self.code().is_none() || arguments.is_some());
        if parts.iter().all(String::is_empty) && !is_said {
            let rest = prompt.as_object().into_iter().flatten();
            let rest = rest.filter(|(name, _)| !["title", "type", "says"].contains(&&***name));
            parts.push(lines_of(rest));
        }
        if !shown.says.is_empty() {
            let says = self.pick("The tool says of itself", "工具自述");
            parts.push(format!("({says}: {})", shown.says));
        }
        parts.retain(|part| !part.is_empty());
        EscapedText::block(&parts.join("\n")).to_string()
    }

    /// Returns the arguments of the call that the question is about.
    fn arguments(&self) -> Option<&Map<String, Value>> {
        let call = self.interrupt.question.prompt.get("call")?;
        call.get("arguments")?.as_object()
    }

    /// Returns what the prompt calls an argument (`names`), or its value (`labels`).
    fn called(&self, part: &str, argument: &str) -> Option<&Value> {
        self.interrupt.question.prompt.get(part)?.get(argument)
    }

    /// Returns lines of arguments and values, as people call them.
    fn named<'v>(&self, arguments: impl Iterator<Item = (&'v String, &'v Value)>) -> String {
        let line = |(argument, value): (&String, &Value)| {
            let name = self.called("names", argument).and_then(Value::as_str);
            let label = self.called("labels", argument).cloned();
            let truth = |is: bool| match (is, self.chinese) {
                (true, false) => "yes",
                (false, false) => "no",
                (true, true) => "是",
                (false, true) => "否",
            };
            let label = label.or_else(|| name.and(value.as_bool().map(|is| truth(is).into())));
            let name = name.map_or_else(|| quoted(argument), str::to_owned);
            argument_line(&name, label.as_ref().unwrap_or(value))
        };
        arguments.map(line).collect::<Vec<_>>().join("\n")
    }

    /// Returns the arguments that the words of the question do not say, neither by their values nor by
    /// what the prompt calls these values in `labels`.
    fn unsaid(&self, shown: &PromptParts<'_>) -> String {
        let arguments = self.arguments().into_iter().flatten();
        self.named(arguments.filter(|(name, value)| {
            ![Some(*value), self.called("labels", name)]
                .into_iter()
                .flatten()
                .any(|text| says(shown.words, text))
        }))
    }

    /// Returns the options of a question.
    fn options(&self) -> Vec<String> {
        let question = &self.interrupt.question;
        let options = question.prompt.get("options");
        let options = options.or_else(|| question.schema.as_value().get("enum"));
        let name = |option: &Value| {
            let names = ["label", "title", "value", "id"];
            let found = names.iter().find_map(|name| option.get(name));
            let name = found.unwrap_or(option);
            let text = name
                .as_str()
                .map_or_else(|| name.to_string(), str::to_owned);
            EscapedText::line(&text).to_string()
        };
        let options = options.and_then(Value::as_array).into_iter().flatten();
        options.map(name).collect()
    }

    /// Shortens a heading to one line, with the number of characters that are left out.
    fn clipped(&self, title: &str) -> String {
        let how = CardLimits {
            most: [2, TITLE],
            end: [1, TITLE / 4],
        };
        fold(title, &how, self.chinese).replace('\n', " ")
    }

    fn pick(&self, english: &'static str, chinese: &'static str) -> &'static str {
        if self.chinese { chinese } else { english }
    }
}

impl fmt::Display for CardText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (heading, body) = (self.heading(), self.body());
        let Some(code) = self.code() else {
            let parts = [heading, body];
            let parts: Vec<_> = parts.iter().filter(|part| !part.is_empty()).collect();
            for (nth, part) in parts.iter().enumerate() {
                f.write_str(if nth == 0 { "" } else { "\n" })?;
                f.write_str(part)?;
            }
            for (number, option) in (1..).zip(self.options()) {
                write!(f, "\n{number}. {option}")?;
            }
            return Ok(());
        };
        let asks = "Nothing is done yet. Please look at this card:";
        writeln!(f, "{}\n", self.pick(asks, "尚未执行。请查看这张卡片："))?;
        let card = fold(&format!("{heading}\n{body}"), &FOLD, self.chinese);
        for line in card.lines() {
            writeln!(f, "    {line}")?;
        }
        if self.chinese {
            write!(f, "\n同意请回复：好的 {code}；不同意请回复：不要 {code}")
        } else {
            write!(
                f,
                "\nTo agree, reply: yes {code}. To refuse, reply: no {code}."
            )
        }
    }
}

/// The longest heading, in characters.
const TITLE: usize = 200;

/// The limits of a shown card, in lines and characters.
#[derive(Debug, Clone, Copy)]
pub struct CardLimits {
    /// The largest numbers of lines and characters that are shown.
    pub most: [usize; 2],
    /// The part of them that is taken from the end.
    pub end: [usize; 2],
}

/// 200 lines and 20,000 characters, a fifth of them from the end.
pub const FOLD: CardLimits = CardLimits {
    most: [200, 20_000],
    end: [40, 4_000],
};

/// Returns the beginning and the end of a text that is too long, with the length of the omitted
/// middle between them; a shorter text as it is.
pub fn fold(text: &str, how: &CardLimits, chinese: bool) -> String {
    let count = text.chars().count();
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let [lines, chars] = how.most;
    if count <= chars && ends.len() < lines {
        return text.to_owned();
    }
    let at_char = |nth: usize| {
        text.char_indices()
            .nth(nth)
            .map_or(text.len(), |(at, _)| at)
    };
    let at_line = |nth: usize| ends.get(nth).copied().unwrap_or(text.len());
    let [end_lines, end_chars] = how.end;
    let first = (lines - end_lines).saturating_sub(1);
    let begin = at_line(first).min(at_char(chars - end_chars));
    let last = (ends.len() + 1).saturating_sub(end_lines);
    let last = last.checked_sub(1).map_or(0, |end| at_line(end) + 1);
    let last = last.max(at_char(count.saturating_sub(end_chars)));
    let last = last.clamp(begin, text.len());
    let (head, tail) = (text.get(..begin), text.get(last..));
    let middle = text.get(begin..last).unwrap_or_default();
    let middle = middle.strip_prefix('\n').unwrap_or(middle);
    let (chars, lines) = (middle.chars().count(), middle.matches('\n').count());
    let mut folded = head.unwrap_or_default().to_owned();
    // Writing into a string cannot fail.
    let _ = if chinese {
        write!(folded, "\n… 此处省略 {chars} 个字符、{lines} 行 …\n")
    } else {
        write!(
            folded,
            "\n… {chars} more characters, {lines} more lines …\n"
        )
    };
    folded + tail.unwrap_or_default()
}

/// Returns true if words contain a value with everything in it.
fn says(words: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.lines().all(|line| words.contains(line.trim())),
        Value::Array(values) => values.iter().all(|value| says(words, value)),
        Value::Object(values) => values.values().all(|value| says(words, value)),
        other => words.contains(&other.to_string()),
    }
}

fn is_chinese(char: char) -> bool {
    matches!(char, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2ffff}')
}

#[cfg(test)]
mod tests;
