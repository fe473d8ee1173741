//! The SQL statements of documents. `$1` and `$2` are the time, as for threads.
use crate::{
    schema::Schema,
    sql::{CLOCK, TICK, until_commit},
};

/// The statements, with the name of the schema filled in.
#[derive(Debug)]
pub(crate) struct DocSql {
    /// Reads a document: `$3` namespace, `$4` key.
    pub(crate) get: String,
    /// Lists documents: `$3` namespace, `$4` prefix, `$5` after, `$6` before, `$7` limit, `$8` with
    /// values.
    pub(crate) list: String,
    /// Writes documents, in columns: `$3` namespaces, `$4` keys, `$5` values, `$6` times to live,
    /// `$7` operations, `$8` expected versions. Returns a row for each write that was done.
    pub(crate) write: String,
    /// Locks the namespaces `$1` against other batches until the transaction ends.
    pub(crate) lock: String,
    /// Reads versions: `$3` namespaces, `$4` keys. Returns the existing versions with their places
    /// in the lists.
    pub(crate) look: String,
    /// Removes the namespace `$1` and all within it.
    pub(crate) remove: String,
    pub(crate) sweep: String,
}

impl DocSql {
    pub(crate) fn new(schema: &Schema) -> Self {
        let fill = |sql: &str, sync: &str| {
            let sql = sql.replace("{clock}", CLOCK).replace("{tick}", TICK);
            schema.fill(&sql.replace("{sync}", sync))
        };
        // A read may store the time, and does not wait for the disk then.
        let lazy = until_commit("off");
        Self {
            get: fill(GET, &lazy),
            list: fill(LIST, &lazy),
            write: fill(WRITE, ""),
            lock: fill(LOCK, ""),
            look: fill(LOOK, ""),
            remove: fill(REMOVE, ""),
            sweep: fill(SWEEP, ""),
        }
    }
}

/// Stores the time if the document has expired, so that it stays expired even if the clock is set
/// back.
const GET: &str = "WITH {clock}
    SELECT CASE WHEN d.expires <= c.now AND c.now > s.last_value
            THEN setval('{'s}.clock', c.now) ELSE c.now END,
        d.value, d.version, d.written, d.expires
    FROM {s}.document d, clock c, {s}.clock s WHERE d.space = $3 AND d.key = $4";

const LIST: &str = "WITH {clock}, told AS MATERIALIZED (
        SELECT CASE WHEN k.now > s.last_value AND EXISTS (
                SELECT FROM {s}.document WHERE expires <= k.now AND space = $3)
            THEN setval('{'s}.clock', k.now) ELSE k.now END AS now
        FROM clock k, {s}.clock s)
    SELECT c.now, CASE WHEN $8::boolean THEN d.value END, d.version, d.written, d.expires, d.key
    FROM told c, {s}.document d
    WHERE d.space = $3 AND d.key >= $4 AND starts_with(d.key, $4)
        AND d.key > COALESCE($5::text, '') AND ($6::text IS NULL OR d.key < $6)
        AND (d.expires IS NULL OR d.expires > c.now)
    ORDER BY d.key LIMIT $7";

/// Writes a batch. The operations are 0 put, 1 put if absent, 2 put if a version matches, 3 delete,
/// 4 delete if a version matches, 5 delete if absent.
///
/// Each condition is checked by the statement that writes the row, so that it holds until the
/// transaction ends. A condition of absence needs a row to lock: operation 5 writes a document that
/// has expired already.
const WRITE: &str = "WITH {tick}, asked AS MATERIALIZED (
        SELECT a.space, a.key, coalesce(a.value, 'null') AS value, a.done, a.version, c.now,
            CASE WHEN a.done = 5 THEN c.now
                ELSE least(c.now, 9223372036854775807 - a.ttl) + a.ttl END AS expires
        FROM clock c, unnest($3::text[], $4::text[], $5::text[], $6::bigint[], $7::smallint[],
            $8::bigint[]) AS a (space, key, value, ttl, done, version)
        ORDER BY a.space COLLATE \"C\", a.key COLLATE \"C\"
    ), put AS (
        INSERT INTO {s}.document AS d (space, key, value, version, written, expires)
        SELECT space, key, value, nextval('{'s}.document_version'), now, expires
        FROM asked WHERE done = 0
        ON CONFLICT (space, key) DO UPDATE SET value = excluded.value,
            version = excluded.version, written = excluded.written, expires = excluded.expires
        RETURNING d.space, d.key, d.version
    ), made AS (
        INSERT INTO {s}.document AS d (space, key, value, version, written, expires)
        SELECT space, key, value, nextval('{'s}.document_version'), now, expires
        FROM asked WHERE done IN (1, 5)
        ON CONFLICT (space, key) DO UPDATE SET value = excluded.value,
            version = excluded.version, written = excluded.written, expires = excluded.expires
        WHERE d.expires <= excluded.written
        RETURNING d.space, d.key, d.version
    ), changed AS (
        UPDATE {s}.document d SET value = a.value, written = a.now, expires = a.expires,
            version = nextval('{'s}.document_version')
        FROM asked a
        WHERE a.done = 2 AND d.space = a.space AND d.key = a.key AND d.version = a.version
            AND (d.expires IS NULL OR d.expires > a.now)
        RETURNING d.space, d.key, d.version
    ), gone AS (
        DELETE FROM {s}.document d USING asked a
        WHERE a.done IN (3, 4) AND d.space = a.space AND d.key = a.key
            AND (a.done = 3 OR d.version = a.version AND (d.expires IS NULL OR d.expires > a.now))
        RETURNING d.space, d.key, d.version
    )
    SELECT space, key, version FROM put UNION ALL SELECT space, key, version FROM made
    UNION ALL SELECT space, key, version FROM changed
    UNION ALL SELECT space, key, version FROM gone";

/// Locks namespaces, because two batches could each hold a document that the other waits for. A
/// batch of one write holds none while it waits. The first number is the letters `fgto` plus one;
/// the second has few values, because the server has room for few locks.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1718056048, b.bucket) FROM (
        SELECT DISTINCT hashtext(a.space) & 255 AS bucket FROM unnest($1::text[]) AS a (space)
        ORDER BY bucket
    ) b";

const LOOK: &str = "WITH {clock}
    SELECT a.n, d.version
    FROM clock c, unnest($3::text[], $4::text[]) WITH ORDINALITY AS a (space, key, n)
        JOIN {s}.document d ON d.space = a.space AND d.key = a.key
    WHERE d.expires IS NULL OR d.expires > c.now";

/// Two statements, because two ranges of an index are two searches. The character after the slash
/// is `0`.
const REMOVE: &str = "WITH own AS (DELETE FROM {s}.document WHERE space = $1::text)
    DELETE FROM {s}.document WHERE space >= $1 || '/' AND space < $1 || '0'";

const SWEEP: &str = "WITH {clock}, old AS MATERIALIZED (
        SELECT space, key FROM {s}.document WHERE expires <= (SELECT now FROM clock)
        ORDER BY expires LIMIT 256 FOR UPDATE SKIP LOCKED
    )
    DELETE FROM {s}.document d USING old o WHERE d.space = o.space AND d.key = o.key";
