//! Every statement that documents need. `$1` and `$2` are the time, as for threads.
use crate::{
    schema::Schema,
    sql::{CLOCK, TICK, until_commit},
};

/// The statements, with the name of the schema in them.
#[derive(Debug)]
pub(crate) struct DocSql {
    /// `$3` namespace, `$4` key.
    pub(crate) get: String,
    /// `$3` namespace, `$4` prefix, `$5` after, `$6` before, `$7` how many, `$8` with values.
    pub(crate) list: String,
    /// Columns of writes: `$3` namespaces, `$4` keys, `$5` values, `$6` times to live, `$7` what is
    /// done, `$8` versions that must be there. Returns a row for each that was done.
    pub(crate) write: String,
    /// `$1` namespaces, of which nobody else writes several documents until the transaction ends.
    pub(crate) lock: String,
    /// `$3` namespaces, `$4` keys. Returns the versions that are there, with the place in the list.
    pub(crate) look: String,
    /// `$1` namespace.
    pub(crate) remove: String,
    pub(crate) sweep: String,
}

impl DocSql {
    pub(crate) fn new(schema: &Schema) -> Self {
        let fill = |sql: &str, sync: &str| {
            let sql = sql.replace("{clock}", CLOCK).replace("{tick}", TICK);
            schema.fill(&sql.replace("{sync}", sync))
        };
        // Reading may note the time, and does not wait for the disk then.
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

/// Whoever saw that a document has expired must not see it again, whatever the clock does then.
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
        AND ($5::text IS NULL OR d.key > $5) AND ($6::text IS NULL OR d.key < $6)
        AND (d.expires IS NULL OR d.expires > c.now)
    ORDER BY d.key LIMIT $7";

/// What is done: 0 put, 1 put where nothing is, 2 put in the place of a version, 3 delete, 4 delete
/// a version, 5 delete where nothing is.
///
/// Conditions are part of the writing of a row, so that they hold of what it is at that moment and
/// remain so until the transaction ends. That nothing is there can only be kept so by something that
/// is: a document that has expired already.
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

/// Two batches could each hold a document that the other waits for. Who writes but one holds none
/// while waiting. The first number is the letters `fgto` and one more; there are few of the second,
/// because the server has room for few locks.
const LOCK: &str = "SELECT pg_advisory_xact_lock(1718056048, b.bucket) FROM (
        SELECT DISTINCT hashtext(a.space) & 255 AS bucket FROM unnest($1::text[]) AS a (space)
        ORDER BY bucket
    ) b";

const LOOK: &str = "WITH {clock}
    SELECT a.n, d.version
    FROM clock c, unnest($3::text[], $4::text[]) WITH ORDINALITY AS a (space, key, n)
        JOIN {s}.document d ON d.space = a.space AND d.key = a.key
    WHERE d.expires IS NULL OR d.expires > c.now";

/// Twice, because two ranges of an index are two searches. A slash is followed by the digit nought.
const REMOVE: &str = "WITH own AS (DELETE FROM {s}.document WHERE space = $1::text)
    DELETE FROM {s}.document WHERE space >= $1 || '/' AND space < $1 || '0'";

const SWEEP: &str = "WITH {clock}, old AS MATERIALIZED (
        SELECT space, key FROM {s}.document WHERE expires <= (SELECT now FROM clock)
        ORDER BY expires LIMIT 256 FOR UPDATE SKIP LOCKED
    )
    DELETE FROM {s}.document d USING old o WHERE d.space = o.space AND d.key = o.key";
