//! The command line of a program, whose errors are in the language of the person.
use std::{
    error::Error as _, ffi::OsString, io::Write as _, net::AddrParseError, num::ParseIntError,
};

use clap::{
    Command, Parser,
    error::{ContextKind, Error, ErrorKind},
};
use fugato_state::say;
use fugato_stream::EscapedText;

use crate::{Lang, flags::spoken};

/// Reads the arguments of this process. An error ends the process with the code 2, and is told in the
/// language that `--lang` names, or in that of the system. `--help` and `--version` end it with 0;
/// their texts are English.
pub fn parse<P: Parser>() -> P {
    let line: Vec<OsString> = std::env::args_os().collect();
    let lang = spoken(named(&line));
    lang.scope(|| match read::<P>(line) {
        Ok(args) => args,
        Err(error) => match told(&error) {
            Some(text) => {
                // Who closed the pipe reads no error.
                let _ = writeln!(std::io::stderr(), "{}", EscapedText::block(&text));
                std::process::exit(error.exit_code())
            }
            None => error.exit(),
        },
    })
}

/// Reads a line. A command without the one that must follow it is an error like others, which says
/// what is missing, and no page of help.
fn read<P: Parser>(line: Vec<OsString>) -> Result<P, Error> {
    let mut command = without_help(P::command());
    let mut matches = command.try_get_matches_from_mut(line)?;
    P::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

fn without_help(command: Command) -> Command {
    command
        .arg_required_else_help(false)
        .mut_subcommands(without_help)
}

/// Returns the language that a line names, whatever else is wrong with it.
fn named(line: &[OsString]) -> Option<Lang> {
    let mut words = line.iter().skip(1).filter_map(|word| word.to_str());
    let mut words = words.by_ref().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--lang") {
            Some("") => words.next(),
            Some(value) => value.strip_prefix('='),
            None => None,
        };
        if let Some(lang) = value.and_then(|value| value.parse().ok()) {
            return Some(lang);
        }
    }
    None
}

/// Returns the text of an error; none for a text that is no error, such as that of `--help`.
fn told(error: &Error) -> Option<String> {
    let part = |kind| {
        error
            .get(kind)
            .map(ToString::to_string)
            .filter(|it| !it.is_empty())
    };
    let (arg, value) = (
        part(ContextKind::InvalidArg),
        part(ContextKind::InvalidValue),
    );
    let command = part(ContextKind::InvalidSubcommand);
    let mut text = match error.kind() {
        ErrorKind::ArgumentConflict => {
            let this = arg.or(command)?;
            match part(ContextKind::PriorArg) {
                Some(prior) if prior != this => say!(
                    "'{this}' and '{prior}' exclude each other",
                    "'{this}' 不能与 '{prior}' 同时使用"
                ),
                _ => say!("'{this}' may be given once only", "'{this}' 只能出现一次"),
            }
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let arg = arg?;
            match value {
                None => say!("'{arg}' needs a value", "'{arg}' 缺少值"),
                Some(value) => say!(
                    "'{value}' is no value for '{arg}'",
                    "'{value}' 不能作为 '{arg}' 的值"
                ),
            }
        }
        ErrorKind::TooManyValues => {
            let (arg, value) = (arg?, value?);
            say!(
                "'{arg}' takes no value '{value}'",
                "'{arg}' 不接受值 '{value}'"
            )
        }
        ErrorKind::NoEquals | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            let arg = arg?;
            say!(
                "'{arg}' needs more or fewer values",
                "'{arg}' 的值的个数不对"
            )
        }
        ErrorKind::UnknownArgument => {
            let arg = arg?;
            say!("there is no argument '{arg}'", "没有参数 '{arg}'")
        }
        ErrorKind::InvalidSubcommand => {
            let command = command?;
            say!("there is no command '{command}'", "没有命令 '{command}'")
        }
        ErrorKind::MissingRequiredArgument => {
            let arg = arg?;
            say!("this is missing: {arg}", "缺少：{arg}")
        }
        ErrorKind::MissingSubcommand => {
            let command = command?;
            say!(
                "a command is missing after '{command}'",
                "'{command}' 后面缺少命令"
            )
        }
        ErrorKind::InvalidUtf8 => say!("an argument is no UTF-8", "有参数不是 UTF-8"),
        _ => return None,
    };
    if let Some(cause) = cause(error) {
        text = say!("{text}: {cause}", "{text}：{cause}");
    }
    for allowed in [ContextKind::ValidValue, ContextKind::ValidSubcommand]
        .into_iter()
        .filter_map(part)
    {
        text = say!(
            "{text}; allowed are {allowed}",
            "{text}；可用的有 {allowed}"
        );
    }
    let similar = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    for similar in similar.into_iter().filter_map(part) {
        text = say!("{text}; similar: {similar}", "{text}；相近的有 {similar}");
    }
    let usage = part(ContextKind::Usage).unwrap_or_default();
    let usage = usage.trim_start_matches("Usage: ").trim();
    if !usage.is_empty() {
        text = say!("{text}\n\nUsage: {usage}", "{text}\n\n用法：{usage}");
    }
    Some(say!(
        "error: {text}\n\nMore is told by '--help'.",
        "错误：{text}\n\n详见 '--help'。"
    ))
}

/// Returns the reason for which a value is none. What reads values of a program's own says it in the
/// language that is spoken.
fn cause(error: &Error) -> Option<String> {
    let cause = error.source()?;
    let text = cause.to_string();
    Some(if cause.is::<ParseIntError>() {
        say!("a whole number is needed", "需要整数")
    } else if cause.is::<AddrParseError>() {
        say!(
            "an address and a port are needed, as in 127.0.0.1:8080",
            "需要地址和端口，如 127.0.0.1:8080"
        )
    } else if let Some((value, range)) = text.split_once(" is not in ") {
        say!("{value} is not in {range}", "{value} 不在 {range} 之内")
    } else {
        text
    })
}
