//! Statements as text. All external values are numbers or bytes, and bytes are written as
//! hexadecimal literals, so that no value can be read as a statement.
use fugato_state::{Millis, ThreadId};
use fugato_store::Status;

use crate::clock::StoreClock;

/// The largest piece of a body that one statement carries, in bytes.
pub(crate) const PIECE: usize = 1 << 20;

/// The size of a packet, in bytes, from which on the next statement begins a new one.
const ENOUGH: usize = 1 << 20;

/// The largest packet that is ever sent: a full packet of small statements, and one piece in
/// hexadecimal digits.
pub(crate) const LARGEST_PACKET: usize = ENOUGH + 2 * PIECE + (1 << 16);

/// The most records that one statement writes.
const ROWS: usize = 100;

/// The largest record that shares a statement with others, in bytes. The columns of a union have
/// one type, which is not always made large enough for more than 64 KiB.
const SMALL: usize = 1 << 13;

/// A sequence of statements in few packets. The last one returns the rows.
#[derive(Debug, Default)]
pub(crate) struct Script {
    packets: Vec<String>,
}

impl Script {
    pub(crate) fn add(&mut self, statement: &str) -> &mut Self {
        match self.packets.last_mut() {
            Some(packet) if packet.len() < ENOUGH => {
                packet.push(';');
                packet.push_str(statement);
            }
            _ => self.packets.push(statement.to_owned()),
        }
        self
    }

    pub(crate) fn packets(&self) -> &[String] {
        &self.packets
    }

    /// Begins a transaction that locks a thread. Its columns are in variables from here on; all of
    /// them are null or 0 if there is no such thread.
    pub(crate) fn lock(thread: &ThreadId, clock: &StoreClock) -> Self {
        let mut script = Self::default();
        let name = hex(thread.as_str().as_bytes());
        script
            .add(
                "SET @id=NULL,@head=0,@base=0,@fence=0,@nonce=NULL,@status=NULL,@owner=NULL,\
                 @lease=NULL,@seen=NULL,@signals=NULL,@delivered=NULL",
            )
            .add("START TRANSACTION")
            .add(&format!(
                "SELECT id,head,base,fence,nonce,status,owner,lease,seen,signals,delivered \
                 INTO @id,@head,@base,@fence,@nonce,@status,@owner,@lease,@seen,@signals,@delivered \
                 FROM fugato_thread WHERE name={name} FOR UPDATE"
            ))
            .add(&format!("SET @now={}", clock.now("@seen")));
        script
    }

    /// Creates the locked thread if there is none. If another request creates it at the same time,
    /// the server reports a duplicate, and the whole script is retried.
    pub(crate) fn make(&mut self, thread: &ThreadId) -> &mut Self {
        let name = hex(thread.as_str().as_bytes());
        self.add(&format!(
            "INSERT INTO fugato_thread (name) SELECT {name} FROM DUAL WHERE @id IS NULL"
        ))
        .add("SET @id=COALESCE(@id,LAST_INSERT_ID())")
    }

    /// Writes records from a position on, if the variable `@go` is true.
    pub(crate) fn records<'r>(
        &mut self,
        first: u64,
        records: impl IntoIterator<Item = &'r [u8]>,
    ) -> &mut Self {
        let mut rows = vec![];
        for (place, record) in (0..).zip(records) {
            let seq = first.saturating_add(place);
            if rows.len() == ROWS || record.len() > SMALL {
                self.rows(&mut rows);
            }
            rows.push(format!(
                "SELECT @id,{seq},{} FROM DUAL WHERE @go",
                hex(record)
            ));
            if record.len() > SMALL {
                self.rows(&mut rows);
            }
        }
        self.rows(&mut rows)
    }

    fn rows(&mut self, rows: &mut Vec<String>) -> &mut Self {
        if rows.is_empty() {
            return self;
        }
        let rows = std::mem::take(rows).join(" UNION ALL ");
        self.add(&format!(
            "INSERT INTO fugato_record (thread,seq,body) {rows}"
        ))
    }

    /// Writes a snapshot in pieces, and replaces an existing one, if the variable `@go` is true.
    pub(crate) fn fold(&mut self, seq: u64, body: &[u8]) -> &mut Self {
        self.add(&format!(
            "DELETE FROM fugato_snapshot WHERE thread=@id AND seq={seq} AND @go"
        ));
        let empty = body.is_empty().then_some(&[][..]);
        for (part, piece) in empty.into_iter().chain(body.chunks(PIECE)).enumerate() {
            self.add(&format!(
                "INSERT INTO fugato_snapshot (thread,seq,part,body) \
                 SELECT @id,{seq},{part},{} FROM DUAL WHERE @go",
                hex(piece)
            ));
        }
        self
    }
}

/// Returns bytes as a literal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| {
        DIGITS
            .get(usize::from(value))
            .map_or('0', |digit| char::from(*digit))
    };
    let mut text = String::with_capacity(2 * bytes.len() + 3);
    text.push_str("x'");
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text.push('\'');
    text
}

/// Returns the condition that a name begins with a prefix.
pub(crate) fn named(prefix: &str) -> String {
    let begin = format!("name>={}", hex(prefix.as_bytes()));
    // No byte of UTF-8 text is 255, so that the last one has a successor.
    let Some((last, rest)) = prefix.as_bytes().split_last() else {
        return begin;
    };
    let end = [rest, &[last.saturating_add(1)]].concat();
    format!("{begin} AND name<{}", hex(&end))
}

/// Returns the columns `status` and `till` as literals.
pub(crate) fn status(status: Status) -> (u8, String) {
    let till =
        |till: Option<Millis>| till.map_or_else(|| "NULL".to_owned(), |till| till.to_string());
    match status {
        Status::Runnable => (0, till(None)),
        Status::Sleeping { until } => (1, till(Some(until))),
        Status::Waiting { expires } => (2, till(expires)),
        Status::Idle => (3, till(None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_digits() {
        assert_eq!(hex(b"a'\0\xff"), "x'612700ff'");
        assert_eq!(hex(b""), "x''");
    }

    #[test]
    fn no_packet_is_larger_than_promised_and_nothing_is_left_out() {
        for (count, size) in [
            (1, PIECE),
            (16, PIECE),
            (30, PIECE / 2),
            (5_000, 10),
            (1, 0),
            (250, 5_000),
        ] {
            let body = vec![7; size];
            let mut script = Script::default();
            let records = vec![body.as_slice(); count];
            script.records(1, records).fold(9, &vec![7; 3 * PIECE + 1]);
            let sizes: Vec<_> = script.packets().iter().map(String::len).collect();
            assert!(
                sizes.iter().all(|size| *size <= LARGEST_PACKET),
                "{sizes:?}"
            );
            let text = script.packets().concat();
            assert_eq!(
                text.matches("WHERE @go").count(),
                count + 4,
                "{count} of {size}"
            );
        }
    }
}
