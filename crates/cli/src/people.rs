//! The people whom a program serves: their keys, roles and limits, in a file.
mod command;
mod directory;
mod file;
mod tokens;
mod usage;

pub use command::PeopleCommand;
pub(crate) use command::execute;
pub(crate) use directory::{OpenRequest, ProgramPeople};
pub use file::PersonLimits;
pub(crate) use file::{PeopleFile, digest, same};
pub(crate) use tokens::TokenLimit;
pub(crate) use usage::PersonUsage;

/// Reads the account of a person: a name, or a name and a tenant as in `ada@acme`. It names a
/// folder, and a part of a path on the web.
pub(crate) fn account(text: &str) -> Result<String, String> {
    let (name, tenant) = text.split_once('@').unwrap_or((text, "main"));
    if is_word(name) && is_word(tenant) {
        return Ok(text.to_owned());
    }
    Err(fugato_state::say!(
        "{text:?} names nobody: a name has 1 to 40 of a-z, 0-9, `-`, `_` and `.`, and does not begin with `.`; a tenant follows it as in ada@acme",
        "{text:?} 不是人名：人名为 1 到 40 个 a-z、0-9、`-`、`_` 和 `.`，且不以 `.` 开头；后面可以带租户，如 ada@acme"
    ))
}

fn is_word(text: &str) -> bool {
    let allowed = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_' | '.');
    (1..=40).contains(&text.len()) && !text.starts_with('.') && text.chars().all(allowed)
}

/// Returns the account of the person of this name in the tenant of another account; none for what
/// is no name within a tenant.
fn of_same_tenant(account: &str, name: &str) -> Option<String> {
    is_word(name).then(|| match account.split_once('@') {
        Some((_, tenant)) => format!("{name}@{tenant}"),
        None => name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_cannot_leave_its_folder_nor_look_like_another() {
        for good in ["ada", "ada@acme", "a.b-c_9@x"] {
            assert_eq!(account(good), Ok(good.to_owned()));
        }
        for bad in [
            "",
            "..",
            ".a",
            "a/b",
            "Ada",
            "a b",
            "a@",
            "@b",
            "a@b@c",
            "a@../b",
            "王",
            "a\n",
            "a%2fb",
            &"x".repeat(41),
        ] {
            assert!(account(bad).is_err(), "{bad:?}");
        }
        let colleague = |of, name| of_same_tenant(of, name);
        assert_eq!(colleague("bob@acme", "ada"), Some("ada@acme".to_owned()));
        assert_eq!(colleague("bob", "ada"), Some("ada".to_owned()));
        for of in ["bob", "bob@acme"] {
            for other in ["ada@rival", "@rival", "../ada", ""] {
                assert_eq!(colleague(of, other), None, "{other:?}");
            }
        }
    }
}
