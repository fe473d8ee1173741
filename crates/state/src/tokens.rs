use crate::Message;

/// A counter or estimator of tokens.
pub trait TokenCount: Send + Sync {
    /// Returns the number of tokens of a text.
    fn text(&self, text: &str) -> u64;

    /// Returns the number of tokens of a message, with the overhead that the server adds to each.
    fn message(&self, message: &Message) -> u64;

    /// Returns the number of tokens of all messages.
    fn messages(&self, messages: &[Message]) -> u64 {
        messages.iter().map(|message| self.message(message)).sum()
    }
}

/// An estimate that needs no vocabulary: a CJK character is a token, four ASCII characters are a
/// token, any other character is two; and six for each message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EstimatedTokens;

const PER_MESSAGE: u64 = 6;

impl TokenCount for EstimatedTokens {
    fn text(&self, text: &str) -> u64 {
        let (mut ascii, mut tokens) = (0u64, 0u64);
        for c in text.chars() {
            match c {
                _ if c.is_ascii() => ascii += 1,
                _ if is_cjk(c) => tokens += 1,
                _ => tokens += 2,
            }
        }
        tokens + ascii.div_ceil(4)
    }

    fn message(&self, message: &Message) -> u64 {
        let calls = message.tool_calls.iter().map(|call| {
            self.text(&call.id) + self.text(&call.name) + self.text(&call.arguments.to_string())
        });
        let reasoning = message
            .reasoning
            .as_deref()
            .map_or(0, |text| self.text(text));
        self.text(&message.content) + reasoning + calls.sum::<u64>() + PER_MESSAGE
    }
}

/// Returns true for Chinese, Japanese and Korean script and its punctuation.
fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE4F}' | '\u{FF00}'..='\u{FFEF}'
        | '\u{20000}'..='\u{323AF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const _: Option<&dyn TokenCount> = None;

    #[test]
    fn sch_116_tokens_are_estimated_by_script() {
        for (text, tokens) in [
            ("", 0),
            ("abcd", 1),
            ("abcde", 2),
            ("复习，下周", 5),
            ("复习ab", 3),
            ("é", 2),
            ("😀", 2),
        ] {
            assert_eq!(EstimatedTokens.text(text), tokens, "{text}");
        }
        let messages = [Message::user("abcd"), Message::assistant("复习")];
        assert_eq!(EstimatedTokens.messages(&messages), 1 + 2 + 2 * 6);
    }
}
