/// The durability that a server promises for acknowledged commits, the weakest first.
#[derive(derive_more::Display, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[display(rename_all = "lowercase")]
pub enum ServerDurability {
    /// `innodb_flush_log_at_trx_commit` is 0 or not reported: commits of about the last second may
    /// be lost when the server dies.
    Second,
    /// It is 2, or there is a binary log and `sync_binlog` is not 1: a power failure may undo the
    /// newest commits.
    System,
    /// It is 1: commits are on the disk before they are acknowledged.
    Disk,
}

impl ServerDurability {
    /// Returns the durability of a server's settings. After a power failure a server with a binary
    /// log undoes commits that are missing in that log, so the log must be on the disk as well.
    pub(crate) fn of(flush: &str, binary_log: bool, sync_binary_log: &str) -> Self {
        match flush {
            "1" if !binary_log || sync_binary_log == "1" => Self::Disk,
            "1" | "2" => Self::System,
            _ => Self::Second,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ServerDurability::{self, Disk, Second, System};

    #[test]
    fn both_logs_must_be_on_the_disk() {
        let declared = [
            ServerDurability::of("1", false, "0"),
            ServerDurability::of("1", true, "1"),
            ServerDurability::of("1", true, "0"),
            ServerDurability::of("1", true, "100"),
            ServerDurability::of("2", false, "1"),
            ServerDurability::of("0", false, "1"),
            ServerDurability::of("", false, ""),
        ];
        let expected = [Disk, Disk, System, System, System, Second, Second];
        assert_eq!(declared, expected);
        assert!(Second < System && System < Disk);
    }
}
