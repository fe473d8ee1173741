use std::path::Path;

use clap::Subcommand;
use fugato_axum::CallerRole;
use fugato_state::say;

use super::{PeopleFile, PersonLimits, account};
use crate::{CliError, Terminal};

/// The commands that say whom a program serves.
#[derive(Debug, Clone, Subcommand)]
#[non_exhaustive]
pub enum PeopleCommand {
    /// Makes a key for a person, and prints it once. A person may have several
    Add {
        /// The person: a-z, 0-9, `-`, `_` and `.`; with a tenant as in ada@acme
        #[arg(value_parser = account)]
        name: String,
        /// The rights of the key: reader, person, approver or operator
        #[arg(long, default_value = "person", value_parser = role)]
        role: CallerRole,
        /// The limits
        #[command(flatten)]
        limits: PersonLimits,
    },
    /// Lists the keys: their ids, persons, roles and limits
    List,
    /// Sets limits of a person; those that are not named stay. A running server takes them over
    /// when it starts again
    Limit {
        /// The person
        #[arg(value_parser = account)]
        name: String,
        /// The limits
        #[command(flatten)]
        limits: PersonLimits,
    },
    /// Makes a key invalid, or all keys of a person, at once. Their data stay
    Revoke {
        /// The person, the id of a key, or a key
        #[arg(value_name = "NAME|ID|KEY")]
        named: String,
    },
}

/// The longest part of an unknown name that is shown again.
const MOST_SHOWN: usize = 40;

/// The roles by their names.
const ROLES: [(&str, CallerRole); 4] = [
    ("reader", CallerRole::Reader),
    ("person", CallerRole::Person),
    ("approver", CallerRole::Approver),
    ("operator", CallerRole::Operator),
];

fn role(text: &str) -> Result<CallerRole, String> {
    let found = ROLES.iter().find(|(name, _)| *name == text);
    let names = ROLES.map(|(name, _)| name).join(", ");
    found.map(|(_, role)| *role).ok_or_else(|| {
        say!(
            "there is no role {text:?}; allowed are {names}",
            "没有角色 {text:?}；可用的有 {names}"
        )
    })
}

fn role_name(role: CallerRole) -> &'static str {
    let found = ROLES.iter().find(|(_, known)| *known == role);
    found.map_or("person", |(name, _)| name)
}

/// Carries out a command on the file of people.
pub(crate) fn execute(
    command: PeopleCommand,
    path: &Path,
    terminal: &mut Terminal,
) -> Result<(), CliError> {
    let lang = terminal.lang;
    match command {
        PeopleCommand::Add { name, role, limits } => {
            let key = PeopleFile::change(path, |people| {
                set(people, &name, limits);
                people.add(&name, role)
            })?;
            terminal.line(key);
            let told = lang.pick(
                "This key is shown once; only its digest is kept. A request sends it as Authorization: Bearer KEY.",
                "密钥只显示这一次，仅保存其摘要。请求中以 Authorization: Bearer KEY 发送。",
            );
            terminal.progress(told);
        }
        PeopleCommand::List => {
            let people = PeopleFile::read(path)?;
            for key in &people.keys {
                let (id, person, role) = (&key.id, &key.person, role_name(key.role));
                let limits = people.limits.get(person).map(shown).unwrap_or_default();
                terminal.line(format!("{id}  {person}  {role}  {limits}").trim_end());
            }
        }
        PeopleCommand::Limit { name, limits } => {
            PeopleFile::change(path, |people| {
                let known = people.accounts().contains(&*name);
                known
                    .then(|| set(people, &name, limits))
                    .ok_or_else(|| unknown(&name))
            })?;
        }
        PeopleCommand::Revoke { named } => {
            let revoked = PeopleFile::change(path, |people| match people.revoke(&named) {
                0 => Err(unknown(&named)),
                revoked => Ok(revoked),
            })?;
            let told = lang.pick("revoked keys: ", "已撤销的密钥：");
            terminal.line(format!("{told}{revoked}"));
        }
    }
    Ok(())
}

fn set(people: &mut PeopleFile, name: &str, limits: PersonLimits) {
    let before = people.limits.remove(name).unwrap_or_default();
    let limits = limits.or(before);
    if limits != PersonLimits::default() {
        people.limits.insert(name.to_owned(), limits);
    }
}

fn unknown(named: &str) -> CliError {
    // It may be a key: the part by which it is listed is not secret.
    let named = match named.split_once('-') {
        Some((id, secret)) if secret.len() > MOST_SHOWN => format!("{id}-…"),
        _ => named.to_owned(),
    };
    CliError::new(say!(
        "nobody has a key of the name or id {named:?}; `people list` lists them",
        "没有人的密钥有名字或 id {named:?}；`people list` 会列出"
    ))
}

fn shown(limits: &PersonLimits) -> String {
    let limits = serde_json::to_value(limits).unwrap_or_default();
    let limits = limits.as_object().into_iter().flatten();
    let limits: Vec<_> = limits
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    limits.join(" ")
}
