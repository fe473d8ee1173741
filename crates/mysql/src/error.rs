//! The conversion of server errors to store errors.
use fugato_store::{StoreError, StoreErrorKind};
use mysql_async::{DriverError, Error, ServerError};

/// Converts an error of the driver. After [`StoreErrorKind::Unavailable`] the outcome is unknown;
/// the nonce of a commit makes repeating it safe.
pub(crate) fn store_error(error: Error, operation: &'static str) -> StoreError {
    let kind = match &error {
        Error::Server(error) => kind_of(error),
        // The parse error is not quoted, because the URL may contain a password.
        Error::Url(_) => return url_error(operation),
        Error::Driver(
            DriverError::UnknownAuthPlugin { .. } | DriverError::MysqlOldPasswordDisabled,
        ) => StoreErrorKind::Invalid("the server asks for a password in an unknown way".into()),
        Error::Io(_)
        | Error::Driver(
            DriverError::ConnectionClosed
            | DriverError::PacketOutOfOrder
            | DriverError::UnexpectedPacket { .. },
        ) => StoreErrorKind::Unavailable,
        Error::Driver(_) | Error::Other(_) => StoreErrorKind::Other,
    };
    StoreError::new(kind, operation).because(error)
}

pub(crate) fn url_error(operation: &'static str) -> StoreError {
    let what = "the URL cannot be used".to_owned();
    StoreError::new(StoreErrorKind::Invalid(what), operation)
}

fn kind_of(error: &ServerError) -> StoreErrorKind {
    match error.code {
        // No space in a table, on the disk, or in memory.
        1021 | 1026 | 1037 | 1038 | 1041 | 1114 => StoreErrorKind::Full,
        // An error of the storage engine that contains the operating system's error number.
        1030 if error.message.contains("28") => StoreErrorKind::Full,
        // Too many connections; shutting down; killed; timed out; lock conflicts; read-only for
        // now.
        1040 | 1053 | 1203 | 1205 | 1213 | 1226 | 1290 | 1317 | 1792 | 1836 | 1927 | 1969
        | 3024 => StoreErrorKind::Unavailable,
        1044 | 1045 | 1698 => {
            StoreErrorKind::Invalid("the server refuses this user or password".into())
        }
        1049 => StoreErrorKind::Invalid("there is no such database".into()),
        1142 | 1143 | 1227 => StoreErrorKind::Invalid("the user may not do this".into()),
        1034 | 1054 | 1146 | 1194 | 1195 => {
            StoreErrorKind::Corrupt("a table is missing or damaged".into())
        }
        _ => StoreErrorKind::Other,
    }
}

/// Returns true if another transaction was in the way, so that a retry will succeed: a deadlock, a
/// lock that was held for too long, or a thread that was created at the same time.
pub(crate) fn was_in_the_way(error: &Error) -> bool {
    matches!(error, Error::Server(error) if matches!(error.code, 1020 | 1062 | 1205 | 1213))
}
