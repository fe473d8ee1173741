use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use clap::Args;
use fugato_axum::CallerRole;
use fugato_graph::BoxError;
use fugato_state::say;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    CliError,
    error::{ErrorContext as _, make_folder},
};

/// The people of a program. The file holds digests of keys, and no key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PeopleFile {
    /// The keys, oldest first.
    #[serde(default)]
    pub(crate) keys: Vec<PersonKey>,
    /// The limits of accounts that have any.
    #[serde(default)]
    pub(crate) limits: BTreeMap<String, PersonLimits>,
}

/// A key of a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PersonKey {
    /// The first part of the key, by which it is listed and revoked.
    pub(crate) id: String,
    /// The account, such as `ada` or `ada@acme`.
    pub(crate) person: String,
    /// The rights that this key gives.
    pub(crate) role: CallerRole,
    /// The SHA-256 of the whole key, in hexadecimal.
    pub(crate) digest: String,
}

/// The limits of a person; those that are not set do not hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PersonLimits {
    /// The runs that may be under way at a time
    #[arg(long, value_name = "NUMBER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_at_a_time: Option<usize>,

    /// The runs that may begin within 24 hours
    #[arg(long, value_name = "NUMBER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_a_day: Option<usize>,

    /// The tokens of models that may be used within 24 hours
    #[arg(long, value_name = "NUMBER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_a_day: Option<u64>,

    /// The size of everything that is stored: conversations, memory, files and jobs
    #[arg(long, value_name = "NUMBER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub megabytes: Option<u64>,

    /// The jobs and reminders that may be kept at a time
    #[arg(long, value_name = "NUMBER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<usize>,
}

impl PersonLimits {
    /// Returns these limits, and for those that are not set the ones of before.
    pub(crate) fn or(self, before: Self) -> Self {
        Self {
            runs_at_a_time: self.runs_at_a_time.or(before.runs_at_a_time),
            runs_a_day: self.runs_a_day.or(before.runs_a_day),
            tokens_a_day: self.tokens_a_day.or(before.tokens_a_day),
            megabytes: self.megabytes.or(before.megabytes),
            jobs: self.jobs.or(before.jobs),
        }
    }
}

impl PeopleFile {
    /// Reads the file; nobody is in a missing one.
    pub(crate) fn read(path: &Path) -> Result<Self, CliError> {
        match std::fs::read(path) {
            Ok(bytes) => Self::parse(path, &bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).tell(|| say!("cannot read {}", "无法读取 {}", path.display())),
        }
    }

    pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, CliError> {
        let read: Self = serde_json::from_slice(bytes)
            .tell(|| say!("{} is no list of people", "{} 不是人员名单", path.display()))?;
        let accounts = read.keys.iter().map(|key| &key.person);
        for account in accounts.chain(read.limits.keys()) {
            super::account(account).tell(|| say!("in {}", "在 {} 中", path.display()))?;
        }
        Ok(read)
    }

    /// Changes the file, which no other command changes meanwhile.
    pub(crate) fn change<T>(
        path: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        if let Some(folder) = path.parent() {
            make_folder(folder)?;
        }
        let draft = Draft::begin(path)?;
        let mut people = Self::read(path)?;
        let result = change(&mut people)?;
        draft.keep(&people)?;
        Ok(result)
    }

    /// Makes a key for a person, and returns it. Only its digest is kept.
    pub(crate) fn add(&mut self, person: &str, role: CallerRole) -> Result<String, CliError> {
        let mut random = [0; 28];
        getrandom::fill(&mut random).map_err(|error| {
            CliError::new(say!(
                "there is no random number: {error}",
                "没有随机数：{error}"
            ))
        })?;
        let random = hex(&random);
        let (id, secret) = random.split_at(8);
        let key = format!("{id}-{secret}");
        self.keys.push(PersonKey {
            id: id.to_owned(),
            person: person.to_owned(),
            role,
            digest: digest(&key),
        });
        Ok(key)
    }

    /// Removes a key by its id or as a whole, or all keys of a person; returns the number of them.
    pub(crate) fn revoke(&mut self, named: &str) -> usize {
        let (before, digest) = (self.keys.len(), digest(named));
        self.keys
            .retain(|key| key.person != named && key.id != named && key.digest != digest);
        before - self.keys.len()
    }

    /// Returns the entry of a key that a client sends.
    pub(crate) fn find(&self, key: &str) -> Option<&PersonKey> {
        let sent = digest(key);
        let mut keys = self.keys.iter();
        keys.find(|known| same(known.digest.as_bytes(), sent.as_bytes()))
    }

    /// Returns the accounts that have a key.
    pub(crate) fn accounts(&self) -> BTreeSet<&str> {
        self.keys.iter().map(|key| key.person.as_str()).collect()
    }
}

/// The new version of the file, which is at the same time the lock.
struct Draft<'a> {
    path: &'a Path,
    at: PathBuf,
    file: std::fs::File,
}

impl<'a> Draft<'a> {
    fn begin(path: &'a Path) -> Result<Self, CliError> {
        let mut at = path.as_os_str().to_owned();
        at.push(".new");
        let at = PathBuf::from(at);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&at).tell(|| {
            say!(
                "cannot change {}: if no other command does, remove {}",
                "无法修改 {}：如果没有别的命令在修改，请删除 {}",
                path.display(),
                at.display()
            )
        })?;
        Ok(Self { path, at, file })
    }

    fn keep(mut self, people: &PeopleFile) -> Result<(), CliError> {
        let mut write = || -> Result<(), BoxError> {
            serde_json::to_writer_pretty(&mut self.file, people)?;
            self.file.write_all(b"\n")?;
            self.file.sync_all()?;
            std::fs::rename(&self.at, self.path)?;
            // The next one to have this name is of another command.
            self.at.clear();
            Ok(())
        };
        write().tell(|| say!("cannot write {}", "无法写入 {}", self.path.display()))
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        // One that was kept has no name any more.
        drop(std::fs::remove_file(&self.at));
    }
}

/// Returns the SHA-256 of a text, in hexadecimal.
pub(crate) fn digest(key: &str) -> String {
    hex(&Sha256::digest(key.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        use std::fmt::Write as _;
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Compares two keys in a time that does not depend on the position of a difference.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_by_its_digest_until_it_is_revoked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/people.json");
        let add = |role| PeopleFile::change(&path, |people| people.add("ada", role)).unwrap();
        let (own, second) = (add(CallerRole::Person), add(CallerRole::Reader));
        assert_ne!(own, second);
        let text = std::fs::read_to_string(&path).unwrap();
        let secret = own.split_once('-').unwrap().1;
        assert!(!text.contains(secret), "{text}");
        let people = PeopleFile::read(&path).unwrap();
        let found = people.find(&second).map(|key| (&*key.person, key.role));
        assert_eq!(found, Some(("ada", CallerRole::Reader)));
        for wrong in ["", "ada", &own[..own.len() - 1], &format!("{own} ")] {
            assert_eq!(people.find(wrong), None, "{wrong:?}");
        }
        let id = people.keys[1].id.clone();
        assert_eq!(
            PeopleFile::change(&path, |people| Ok(people.revoke(&id))).unwrap(),
            1
        );
        let people = PeopleFile::read(&path).unwrap();
        assert_eq!(people.find(&second), None);
        assert_eq!(people.find(&own).map(|key| &*key.person), Some("ada"));
    }

    #[test]
    fn two_commands_do_not_change_the_file_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("people.json");
        let inner = PeopleFile::change(&path, |_| {
            Ok(PeopleFile::change(&path, |_| Ok(()))
                .unwrap_err()
                .to_string())
        });
        let told = inner.unwrap();
        assert!(told.contains("people.json.new"), "{told}");
        PeopleFile::change(&path, |_| Ok(())).unwrap();
    }

    #[test]
    fn keys_are_compared_as_a_whole() {
        assert!(same(b"abc", b"abc"));
        assert!(!same(b"abc", b"abd"));
        assert!(!same(b"abc", b"ab"));
    }
}
