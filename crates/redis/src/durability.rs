/// The durability that a server promises for acknowledged commits, the weakest first.
#[derive(derive_more::Display, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[display(rename_all = "lowercase")]
pub enum ServerDurability {
    /// `appendonly no`: commits are only in the memory of the server. When its process dies,
    /// everything since its last dump is lost.
    Memory,
    /// `appendfsync no`, or a setting that the server does not report: the operating system decides
    /// when to write. A power failure may undo the newest commits.
    System,
    /// `appendfsync everysec`: a power failure may undo the commits of about the last two seconds.
    Second,
    /// `appendfsync always`: commits are on the disk before they are acknowledged.
    Disk,
}

impl ServerDurability {
    /// Returns the durability of a server's settings. `sync` lists names and values in turn.
    pub(crate) fn of(append_only: bool, sync: Option<&[String]>) -> Self {
        if !append_only {
            return Self::Memory;
        }
        let value = |name: &str| {
            let mut pairs = sync.unwrap_or_default().chunks_exact(2);
            let pair = pairs.find(|pair| pair.first().is_some_and(|own| own == name));
            pair.and_then(|pair| pair.get(1)).map(String::as_str)
        };
        // With this setting the server would not wait for the disk while the log is rewritten.
        let always_waits = value("no-appendfsync-on-rewrite") == Some("no");
        match value("appendfsync") {
            Some("always") if always_waits => Self::Disk,
            Some("everysec") if always_waits => Self::Second,
            _ => Self::System,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ServerDurability::{self, Disk, Memory, Second, System};

    #[test]
    fn only_what_the_server_tells_is_declared() {
        let told = |sync: &str, rewrite: &str| {
            let told = ["appendfsync", sync, "no-appendfsync-on-rewrite", rewrite];
            ServerDurability::of(true, Some(&told.map(ToOwned::to_owned)))
        };
        let declared = [
            told("always", "no"),
            told("always", "yes"),
            told("everysec", "no"),
            told("everysec", "yes"),
            told("no", "no"),
            ServerDurability::of(true, Some(&[])),
            ServerDurability::of(true, None),
            ServerDurability::of(false, None),
        ];
        let expected = [Disk, System, Second, System, System, System, System, Memory];
        assert_eq!(declared, expected);
        assert!(Memory < System && System < Second && Second < Disk);
    }
}
