//! Sums in words and signs.
use fugato::words::{normalize, number, numerals};

use crate::calculator::{CalculationError, calculate, plain};

/// Words of sums, and their signs.
const OPERATORS: &[(&str, &str)] = &[
    ("the square root of ", "√"),
    ("square root of ", "√"),
    ("根号", "√"),
    (" percent of ", "% * "),
    ("% of ", "% * "),
    (" percent", "%"),
    ("half of ", "0.5 * "),
    (" squared", "^2"),
    (" cubed", "^3"),
    (" to the power of ", "^"),
    (" multiplied by ", " * "),
    (" times ", " * "),
    (" divided by ", " / "),
    (" plus ", " + "),
    (" minus ", " - "),
    (" mod ", " % "),
    ("除以", "/"),
    ("乘以", "*"),
    ("乘", "*"),
    ("加上", "+"),
    ("加", "+"),
    ("减去", "-"),
    ("减", "-"),
    ("的平方", "^2"),
    ("的立方", "^3"),
];

/// The words behind which a sum goes on with its result so far.
const NEXT: &[&str] = &[
    " and then ",
    ", then ",
    " then ",
    "然后再",
    "然后",
    "接着",
    "最后",
    "再",
];

/// The words with which it goes on, and their signs.
const STEPS: &[(&str, &str)] = &[
    ("add ", "+"),
    ("subtract ", "-"),
    ("take away ", "-"),
    ("multiply by ", "*"),
    ("multiply it by ", "*"),
    ("multiply that by ", "*"),
    ("multiply the result by ", "*"),
    ("divide by ", "/"),
    ("divide it by ", "/"),
    ("divide that by ", "/"),
    ("divide the result by ", "/"),
];

/// The words around a sum.
const AROUND: &[&str] = &[
    "hi",
    "hello",
    "could you",
    "can you",
    "please",
    "tell me",
    "what is",
    "what's",
    "whats",
    "what",
    "how much is",
    "calculate",
    "compute",
    "work out",
    "is",
    "sorry",
    "i meant",
    "no",
    "thanks",
    "the result of",
    "帮我",
    "请问",
    "请",
    "算一下",
    "算算",
    "计算",
    "谢谢",
    "等于多少",
    "等于几",
    "是多少",
    "得多少",
    "得几",
    "多少",
    "是",
    "不对",
    "我是说",
];

/// Returns an expression that can be calculated, or that fails with a division by zero or a result
/// that is too large.
pub(super) fn expression(text: &str) -> Option<String> {
    // What a person types on a keyboard stays as it is, such as ×.
    let narrow = |c: char| if c > '\u{ff00}' { plain(c) } else { c };
    let typed: String = normalize(text).chars().map(narrow).collect();
    let mut said = format!(" {} ", numerals(&typed));
    for next in NEXT {
        said = said.replace(next, "\n");
    }
    let mut steps = said.split('\n').filter(|step| !bare(step).is_empty());
    let mut sum = signs(steps.next()?);
    for step in steps {
        sum = format!("({sum}) {}", going_on(bare(step))?);
    }
    let operates = sum.contains(|c: char| "+-*/%^×÷√".contains(c));
    let counts = sum.contains(|c: char| c.is_ascii_digit());
    match calculate(&sum) {
        Ok(_) | Err(CalculationError::DivisionByZero | CalculationError::TooLarge)
            if operates && counts =>
        {
            Some(sum)
        }
        _ => None,
    }
}

/// Returns what is done with the result so far: "subtract 4 from it", 减4.
fn going_on(step: &str) -> Option<String> {
    let mut named = STEPS.iter();
    let named = named.find_map(|(word, sign)| Some(format!("{sign} {}", step.strip_prefix(word)?)));
    let signs = signs(&format!(" {} ", named.as_deref().unwrap_or(step)));
    let from = [" to it", " from it", " to that", " from that"];
    let rest = from.iter().find_map(|from| signs.strip_suffix(from));
    let rest = rest.unwrap_or(&signs);
    rest.starts_with(['+', '-', '*', '/', '^', '×', '÷'])
        .then(|| rest.to_owned())
}

/// Returns a part of a sum with signs in place of words, and without what stands around it.
fn signs(said: &str) -> String {
    let mut said = said.to_owned();
    for (word, sign) in OPERATORS {
        said = said.replace(word, sign);
    }
    if let Some((base, rest)) = said.split_once('的')
        && let Some((by, after)) = number(rest)
    {
        // 2的64次方, and 350的12%.
        let power = after.strip_prefix("次方");
        said = match power {
            Some(after) => format!("{base}^{by}{after}"),
            None => format!("{base}*{rest}"),
        };
    }
    bare(&times(&said)).to_owned()
}

/// Returns a text with the sign of a product for an x between two numbers: "3x4", but not "0x10".
fn times(text: &str) -> String {
    let mut out = String::new();
    for (at, sign) in text.char_indices() {
        let before = text.get(..at).unwrap_or_default().trim_end();
        let behind = text.get(at + sign.len_utf8()..).unwrap_or_default();
        let counted = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_number = before.ends_with(|c: char| c.is_ascii_digit() || c == ')')
            && !(before.ends_with('0') && counted.len() + 1 == before.len())
            && !counted.ends_with(char::is_alphabetic);
        let counts = |c: char| c.is_ascii_digit() || "(-".contains(c);
        let is_times = sign == 'x' && is_number && behind.trim_start().starts_with(counts);
        out.push(if is_times { '*' } else { sign });
    }
    out
}

/// Returns a sum without what stands around it.
pub(super) fn bare(text: &str) -> &str {
    let marks = |c: char| c.is_whitespace() || "?=＝,.!".contains(c);
    let latin = |c: char| c.is_ascii_alphanumeric();
    let mut said = text.trim_matches(marks);
    loop {
        let before = said;
        for phrase in AROUND {
            let is_latin = phrase.ends_with(latin);
            if let Some(rest) = said.strip_prefix(phrase)
                && !(is_latin && rest.starts_with(latin))
            {
                said = rest.trim_matches(marks);
            }
            if let Some(rest) = said.strip_suffix(phrase)
                && !(is_latin && rest.ends_with(latin))
            {
                said = rest.trim_matches(marks);
            }
        }
        if said == before {
            return said;
        }
    }
}
