//! Records of a thread, merged from the two tables that hold them.
use std::cmp::Ordering;

use fugato_state::Seq;
use fugato_store::Record;
use rusqlite::{Connection, Result, Rows, params};

use crate::{
    checksum,
    row::damaged,
    schema::{MAX_SEQ, key, seq_of},
};

/// Returns up to `limit` records of a thread from a position on.
pub(super) fn range(
    connection: &Connection,
    thread: i64,
    from: Seq,
    limit: usize,
) -> Result<Vec<(Seq, Record)>> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let range = params![key(thread, from), key(thread, MAX_SEQ), most];
    let by_thread = "SELECT at, body, sum FROM record_by_thread
                     WHERE at BETWEEN ?1 AND ?2 ORDER BY at LIMIT ?3";
    let by_arrival = "SELECT at, body, sum FROM record_by_arrival
                      WHERE at BETWEEN ?1 AND ?2 ORDER BY at LIMIT ?3";
    let mut by_thread = connection.prepare_cached(by_thread)?;
    let mut by_arrival = connection.prepare_cached(by_arrival)?;
    let mut sides = [
        Side::new(by_thread.query(range)?)?,
        Side::new(by_arrival.query(range)?)?,
    ];
    let mut found = vec![];
    while found.len() < limit {
        let [left, right] = &mut sides;
        let next = match left.order(right) {
            Ordering::Greater => right.take()?,
            _ => left.take()?,
        };
        match next {
            Some((at, body)) => {
                let seq = from + found.len() as Seq;
                if seq_of(at) != seq {
                    return Err(damaged(format!("the record at {seq} is missing")));
                }
                found.push((seq, Record(body)));
            }
            None => break,
        }
    }
    Ok(found)
}

/// The records of one table, in order, with a look-ahead of one.
struct Side<'r> {
    rows: Rows<'r>,
    next: Option<(i64, Vec<u8>)>,
}

impl<'r> Side<'r> {
    fn new(rows: Rows<'r>) -> Result<Self> {
        let mut side = Self { rows, next: None };
        side.take()?;
        Ok(side)
    }

    /// Compares the next keys of two sides; an exhausted side comes last.
    fn order(&self, other: &Self) -> Ordering {
        let at = |side: &Self| side.next.as_ref().map_or(i64::MAX, |(at, _)| *at);
        at(self).cmp(&at(other))
    }

    fn take(&mut self) -> Result<Option<(i64, Vec<u8>)>> {
        let taken = self.next.take();
        if let Some(row) = self.rows.next()? {
            let (at, body): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
            checksum::check(at, &body, row.get(2)?)?;
            self.next = Some((at, body));
        }
        Ok(taken)
    }
}
