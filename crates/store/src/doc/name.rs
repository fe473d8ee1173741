use std::{fmt, str::FromStr, sync::Arc};

use fugato_state::say;
use serde::{Deserialize, Serialize};

/// A namespace of documents: a path of segments, such as `user/7/preference`.
///
/// Up to eight segments, 200 bytes with the slashes between them; a segment is not empty and holds
/// neither a slash nor a control character.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Namespace(Arc<str>);

impl Namespace {
    /// The longest path, in bytes.
    pub const MAX_BYTES: usize = 200;
    /// The most segments.
    pub const MAX_SEGMENTS: usize = 8;

    /// Creates a namespace from segments, after checking them.
    pub fn new<S: AsRef<str>>(segments: impl IntoIterator<Item = S>) -> Result<Self, InvalidName> {
        let segments: Vec<_> = segments.into_iter().collect();
        let path = segments
            .iter()
            .map(AsRef::as_ref)
            .collect::<Vec<_>>()
            .join("/");
        let one = |segment: &S| is_name(segment.as_ref()) && !segment.as_ref().contains('/');
        let fits = (1..=Self::MAX_SEGMENTS).contains(&segments.len())
            && path.len() <= Self::MAX_BYTES
            && segments.iter().all(one);
        if fits {
            Ok(Self(path.into()))
        } else {
            Err(InvalidName::Namespace { name: path })
        }
    }

    /// Returns the path, with slashes between the segments.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the segments.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns the namespace of this name within this one.
    pub fn child(&self, segment: &str) -> Result<Self, InvalidName> {
        Self::new(self.segments().chain([segment]))
    }

    /// Returns true if the other namespace is this one or within it.
    pub fn contains(&self, other: &Self) -> bool {
        let rest = other.0.strip_prefix(&*self.0);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// The name of a document within its namespace: 1 to 500 bytes without control characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DocKey(Arc<str>);

impl DocKey {
    /// The longest key, in bytes.
    pub const MAX_BYTES: usize = 500;

    /// Creates a key from a name, after checking it.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidName> {
        let name = name.into();
        if is_name(&name) && name.len() <= Self::MAX_BYTES {
            Ok(Self(name.into()))
        } else {
            Err(InvalidName::Key { name })
        }
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(char::is_control)
}

/// The error of a name that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidName {
    /// The name is not allowed for a namespace.
    #[error("{}", say!(
        "namespace {name:?} is not allowed: 1 to 8 segments without control characters are, of 200 bytes with the slashes between them",
        "不能用命名空间 {name:?}：允许 1 到 8 段，不含控制字符，连同斜杠最多 200 个字节"
    ))]
    Namespace {
        /// The rejected path.
        name: String,
    },
    /// The name is not allowed for a key.
    #[error("{}", say!(
        "key {name:?} is not allowed: 1 to 500 bytes without control characters are",
        "不能用键 {name:?}：允许 1 到 500 个字节，不含控制字符"
    ))]
    Key {
        /// The rejected name.
        name: String,
    },
}

impl FromStr for Namespace {
    type Err = InvalidName;
    fn from_str(path: &str) -> Result<Self, InvalidName> {
        Self::new(path.split('/'))
    }
}

impl FromStr for DocKey {
    type Err = InvalidName;
    fn from_str(name: &str) -> Result<Self, InvalidName> {
        Self::new(name)
    }
}

macro_rules! text {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(text: String) -> Result<Self, InvalidName> {
                text.parse()
            }
        }

        impl TryFrom<&str> for $name {
            type Error = InvalidName;
            fn try_from(text: &str) -> Result<Self, InvalidName> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.as_str().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.as_str())
            }
        }
    };
}

text!(Namespace);
text!(DocKey);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_path_is_refused() {
        let long = "a".repeat(201);
        for path in ["", "a//b", "/a", "a/", "a\nb", "1/2/3/4/5/6/7/8/9", &long] {
            let name = path.to_owned();
            assert_eq!(
                path.parse::<Namespace>(),
                Err(InvalidName::Namespace { name })
            );
        }
        let name = "a/b".to_owned();
        assert_eq!(
            Namespace::new(["a/b"]),
            Err(InvalidName::Namespace { name })
        );
        let none: [&str; 0] = [];
        let name = String::new();
        assert_eq!(Namespace::new(none), Err(InvalidName::Namespace { name }));
    }

    #[test]
    fn a_namespace_contains_what_lies_within_it_and_not_what_begins_like_it()
    -> Result<(), InvalidName> {
        let user = Namespace::new(["user", "7"])?;
        let child = user.child("preference")?;
        assert_eq!(
            child.segments().collect::<Vec<_>>(),
            ["user", "7", "preference"]
        );
        let contained = ["user/7", "user/7/preference", "user/70", "user"]
            .map(|path| path.parse().map(|other| user.contains(&other)));
        assert_eq!(contained, [Ok(true), Ok(true), Ok(false), Ok(false)]);
        Ok(())
    }

    #[test]
    fn names_survive_json_and_nonsense_does_not() -> Result<(), Box<dyn std::error::Error>> {
        let (space, key) = (Namespace::new(["a", "b"])?, DocKey::new("c d")?);
        let text = serde_json::to_string(&(&space, &key))?;
        assert_eq!(text, r#"["a/b","c d"]"#);
        assert_eq!(
            serde_json::from_str::<(Namespace, DocKey)>(&text)?,
            (space, key)
        );
        let refused = serde_json::from_str::<DocKey>(r#""\u0000""#).map_err(|e| e.to_string());
        let expected = r#"key "\0" is not allowed: 1 to 500 bytes without control characters are"#;
        assert_eq!(refused, Err(expected.to_owned()));
        Ok(())
    }
}
