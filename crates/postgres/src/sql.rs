//! The SQL statements of threads.
//!
//! A statement that changes a thread compares and sets in the row of the thread: it waits for a
//! concurrent change, and then checks the changed row. The same statement writes what belongs to
//! the thread, from the values that the row returned.
//!
//! In all of them `$1` is the time to use instead of the server's clock, or null, and `$2` the
//! newest time that this process has seen.
#[cfg(test)]
mod tests;

use crate::{Synchronous, schema::Schema};

/// A time before all others, which means "never held".
const NEVER: &str = "-9223372036854775808";

/// The current time, as part of a statement.
pub(crate) const CLOCK: &str = "clock AS MATERIALIZED (
    SELECT greatest(
        coalesce($1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint),
        $2::bigint, last_value) AS now
    FROM {s}.clock {sync})";

/// The current time, which is stored for other processes. A sequence is no table: writers do not
/// wait for each other, and old values leave no dead rows.
pub(crate) const TICK: &str = "clock AS MATERIALIZED (
    SELECT CASE WHEN seen.now > seen.newest THEN setval('{'s}.clock', seen.now) ELSE seen.newest END
        AS now
    FROM (
        SELECT last_value AS newest, greatest(
            coalesce($1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint),
            $2::bigint, last_value) AS now
        FROM {s}.clock {sync}) seen)";

/// The same, in a statement that stores the time only if it has rows.
const TICKED: &str = "(
    SELECT CASE WHEN k.now > s.last_value THEN setval('{'s}.clock', k.now) END
    FROM clock k, {s}.clock s)";

/// The time from which others can claim the thread, if this statement made it claimable.
const WAKES: &str = "CASE WHEN t.lease_until <= t.time
        AND (t.status = 1 OR t.status = 0 AND t.due = t.time) THEN t.due END AS wakes";

/// The changes that a commit makes to a thread: `$6` its nonce, `$7` the records, `$8` and `$9` the
/// status.
const COMMITTED: &str = "
    nonce = $6::bytea, status = $8::smallint, until = $9::bigint,
    due = CASE WHEN $8 <> 0 THEN $9 WHEN t.status = 0 THEN t.due ELSE greatest(c.now, t.time) END,
    time = greatest(c.now, t.time),
    owner = CASE WHEN $8 < 2 THEN t.owner END,
    lease_until = CASE WHEN $8 < 2 THEN t.lease_until ELSE {never} END,
    delivered = t.signals, signals = NULL";

/// The inserts of a commit: the records `$7`, and the snapshots `$10` with the bodies `$11`.
const BELONGINGS: &str = "
recorded AS (
    INSERT INTO {s}.record (thread, seq, body)
    SELECT w.id, w.first + r.n, r.body
    FROM written w, unnest($7::bytea[]) WITH ORDINALITY AS r (body, n)
), folded AS (
    INSERT INTO {s}.snapshot (thread, seq, body)
    SELECT w.id, f.seq, f.body FROM written w, unnest($10::bigint[], $11::bytea[]) AS f (seq, body)
    ON CONFLICT (thread, seq) DO UPDATE SET body = excluded.body
)
SELECT head, time, delivered, wakes FROM written";

/// The end of a lease of `$ttl` from a time, without an overflow.
const UNTIL: &str = "least({now}, 9223372036854775807 - greatest({ttl}, 0)) + {ttl}";

/// The statements, with the name of the schema filled in.
#[derive(Debug)]
pub(crate) struct Sql {
    /// Commits to a thread that does not exist: `$3` name, `$4` the position before its first
    /// record.
    pub(crate) create: String,
    /// Commits to a thread: `$3` name, `$4` head, `$5` fence.
    pub(crate) append: String,
    /// Makes the first commit to a thread that has a lease, with the same parameters.
    pub(crate) adopt: String,
    /// Reads the thread `$3`.
    pub(crate) look: String,
    /// Reads the thread `$3`, and locks it until the transaction ends.
    pub(crate) lock: String,
    /// Reads records of the thread `$1` from `$2` on, at most `$3`.
    pub(crate) read: String,
    /// Acquires a lease: `$3` name, `$4` owner, `$5` time to live.
    pub(crate) acquire: String,
    /// Claims due threads: `$3` limit, `$4` owner, `$5` time to live, `$6` prefix.
    pub(crate) claim: String,
    /// Renews a lease: `$3` name, `$4` fence, `$5` time to live.
    pub(crate) renew: String,
    /// Releases a lease: `$3` name, `$4` fence.
    pub(crate) release: String,
    /// Adds a signal: `$3` name, `$4` signal.
    pub(crate) signal: String,
    /// Puts a snapshot: `$3` name, `$4` position, `$5` body.
    pub(crate) put: String,
    /// Reads the latest snapshot up to a position: `$1` name, `$2` position.
    pub(crate) latest_at: String,
    /// Deletes a snapshot: `$1` name, `$2` position.
    pub(crate) delete: String,
    /// Lists threads: `$1` prefix, `$2` after, `$3` before, `$4` limit.
    pub(crate) list: String,
    /// Compacts a thread: `$1` id, `$2` position, `$3` body.
    pub(crate) compact: String,
    /// Removes the row of a thread: `$1` name.
    pub(crate) remove: String,
    /// Removes the records and snapshots of a thread: `$1` id.
    pub(crate) remove_belongings: String,
}

impl Sql {
    pub(crate) fn new(schema: &Schema, synchronous: Synchronous) -> Self {
        // Requests that a caller must be able to rely on wait for the disk at either level.
        let firm = match synchronous {
            Synchronous::Full => String::new(),
            Synchronous::Normal => until_commit("on"),
        };
        let lazy = until_commit("off");
        let fill = |sql: &str, sync: &str| {
            let sql = sql
                .replace("{clock}", CLOCK)
                .replace("{tick}", TICK)
                .replace("{ticked}", TICKED)
                .replace("{wakes}", WAKES)
                .replace("{committed}", COMMITTED)
                .replace("{belongings}", BELONGINGS)
                .replace("{never}", NEVER)
                .replace("{sync}", sync);
            schema.fill(&sql)
        };
        Self {
            create: fill(CREATE, ""),
            append: fill(&update(APPEND), ""),
            adopt: fill(&update(ADOPT), ""),
            look: fill(&look(""), ""),
            lock: fill(&look("FOR UPDATE OF t"), ""),
            read: fill(READ, ""),
            acquire: fill(&acquire(), &firm),
            claim: fill(&claim(), &firm),
            renew: fill(&renew(), &firm),
            release: fill(RELEASE, &lazy),
            signal: fill(SIGNAL, &firm),
            put: fill(PUT, &lazy),
            latest_at: fill(LATEST_AT, ""),
            delete: fill(DELETE, ""),
            list: fill(LIST, ""),
            compact: fill(COMPACT, ""),
            remove: fill(REMOVE, ""),
            remove_belongings: fill(REMOVE_BELONGINGS, ""),
        }
    }
}

/// Returns a condition that sets `synchronous_commit` for the transaction of this statement alone.
pub(crate) fn until_commit(level: &str) -> String {
    format!("WHERE set_config('synchronous_commit', '{level}', true) IS NOT NULL")
}

fn until(now: &str, ttl: &str) -> String {
    UNTIL.replace("{now}", now).replace("{ttl}", ttl)
}

const CREATE: &str = "WITH {clock}, written AS (
    INSERT INTO {s}.thread AS t (name, head, base, nonce, status, until, due, time)
    SELECT $3::text, $4::bigint + cardinality($7::bytea[]), $4, $6::bytea, $8::smallint, $9::bigint,
        CASE WHEN $8 = 0 THEN c.now ELSE $9 END, c.now
    FROM clock c WHERE $5::bigint = 0
    ON CONFLICT (name) DO NOTHING
    RETURNING t.id, $4::bigint AS first, t.head, t.time, t.delivered, {wakes}
), {belongings}";

fn update(thread: &str) -> String {
    format!(
        "WITH {{clock}}, written AS (
            UPDATE {{s}}.thread t SET {{committed}}, {thread}
            RETURNING t.id, $4::bigint AS first, t.head, t.time, t.delivered, {{wakes}}
        ), {{belongings}}"
    )
}

const APPEND: &str = "head = t.head + cardinality($7::bytea[])
    FROM clock c
    WHERE t.name = $3 AND t.head = $4 AND t.fence = $5 AND t.nonce IS DISTINCT FROM $6
        AND coalesce(($10::bigint[])[1], t.base) BETWEEN t.base AND t.head + cardinality($7::bytea[])";

const ADOPT: &str = "head = $4::bigint + cardinality($7::bytea[]), base = $4
    FROM clock c
    WHERE t.name = $3 AND t.fence = $5 AND t.status IS NULL";

fn look(lock: &str) -> String {
    format!(
        "WITH {{clock}}
        SELECT t.id, t.status, t.until, t.head, t.base, t.fence, t.nonce, t.delivered,
            coalesce(t.owner, ''), t.lease_until, greatest(c.now, t.time)
        FROM {{s}}.thread t, clock c WHERE t.name = $3 {lock}"
    )
}

const READ: &str = "SELECT t.base, r.seq, r.body
    FROM {s}.thread t LEFT JOIN LATERAL (
        SELECT seq, body FROM {s}.record WHERE thread = t.id AND seq >= $2 ORDER BY seq LIMIT $3
    ) r ON true
    WHERE t.name = $1 ORDER BY r.seq";

/// Returns the statement that acquires a lease. The fences of all threads come from one sequence,
/// so that a thread that is created again under an old name cannot grant a fence that its former
/// owner still holds.
fn acquire() -> String {
    let first = until("c.now", "$5::bigint");
    let later = until("greatest(excluded.time, t.time)", "$5");
    format!(
        "WITH {{tick}}, taken AS (
            INSERT INTO {{s}}.thread AS t (name, fence, owner, lease_until, time)
            SELECT $3::text, nextval('{{'s}}.fence'), $4::text, {first}, c.now FROM clock c
            ON CONFLICT (name) DO UPDATE SET
                fence = greatest(excluded.fence, t.fence + 1), owner = excluded.owner,
                lease_until = {later}, time = greatest(excluded.time, t.time)
            WHERE t.lease_until <= greatest(excluded.time, t.time)
            RETURNING t.name, t.fence, t.head, t.lease_until, t.time
        )
        SELECT name, fence, head, lease_until, time FROM taken"
    )
}

/// Returns the statement that claims threads. A claim that finds none writes nothing, not even the
/// time.
fn claim() -> String {
    let until = until("greatest(c.now, t.time)", "$5::bigint");
    format!(
        "WITH {{clock}}, picked AS MATERIALIZED (
            SELECT t.id, t.due AS since FROM {{s}}.thread t
            WHERE t.due <= (SELECT now FROM clock) AND t.lease_until <= (SELECT now FROM clock)
                AND starts_with(t.name, $6) AND t.name <> ALL ($7::text[])
            ORDER BY t.due, t.id LIMIT $3 FOR UPDATE OF t SKIP LOCKED
        ), taken AS (
            UPDATE {{s}}.thread t SET
                fence = greatest(nextval('{{'s}}.fence'), t.fence + 1), owner = $4,
                lease_until = {until}, time = greatest(c.now, t.time)
            FROM picked p, clock c WHERE t.id = p.id
            RETURNING t.name, t.fence, t.head, t.lease_until, t.time, p.since, t.id
        )
        SELECT name, fence, head, lease_until, time, {{ticked}} FROM taken ORDER BY since, id"
    )
}

fn renew() -> String {
    let until = until("greatest(c.now, t.time)", "$5::bigint");
    format!(
        "WITH {{tick}}
        UPDATE {{s}}.thread t SET
            lease_until = {until}, time = greatest(c.now, t.time),
            renewed = t.signals, signals = NULL
        FROM clock c
        WHERE t.name = $3 AND t.fence = $4 AND t.lease_until <> {{never}}
        RETURNING t.lease_until, t.time, t.renewed"
    )
}

const RELEASE: &str = "WITH {clock}
    UPDATE {s}.thread t SET owner = NULL, lease_until = {never}, time = greatest(c.now, t.time)
    FROM clock c
    WHERE t.name = $3 AND t.fence = $4 AND t.lease_until <> {never}
    RETURNING t.time, CASE WHEN t.status < 2 THEN t.due END";

const SIGNAL: &str = "WITH {clock}
    UPDATE {s}.thread t SET signals = array_append(t.signals, $4::text), time = greatest(c.now, t.time)
    FROM clock c WHERE t.name = $3 RETURNING t.time";

/// The lock keeps compaction and removal from getting in between the read and the write.
const PUT: &str = "WITH {clock}, reached AS MATERIALIZED (
        SELECT t.id FROM {s}.thread t
        WHERE t.name = $3 AND t.status IS NOT NULL AND $4::bigint BETWEEN t.base AND t.head
        FOR SHARE OF t
    )
    INSERT INTO {s}.snapshot (thread, seq, body) SELECT r.id, $4, $5 FROM reached r, clock c
    ON CONFLICT (thread, seq) DO UPDATE SET body = excluded.body
    RETURNING seq";

const LATEST_AT: &str = "SELECT f.seq, f.body FROM {s}.thread t, LATERAL (
        SELECT seq, body FROM {s}.snapshot WHERE thread = t.id AND seq <= $2
        ORDER BY seq DESC LIMIT 1
    ) f
    WHERE t.name = $1";

const DELETE: &str = "WITH kept AS MATERIALIZED (
        SELECT t.id, t.base FROM {s}.thread t WHERE t.name = $1 FOR SHARE OF t
    ), gone AS (
        DELETE FROM {s}.snapshot f USING kept k
        WHERE f.thread = k.id AND f.seq = $2 AND NOT (k.base > 0 AND k.base = f.seq)
    )
    SELECT base > 0 AND base = $2 FROM kept";

const LIST: &str = "SELECT name, head, status, until FROM {s}.thread
    WHERE status IS NOT NULL AND name >= $1 AND starts_with(name, $1)
        AND name > COALESCE($2::text, '') AND ($3::text IS NULL OR name < $3)
    ORDER BY name LIMIT $4";

const COMPACT: &str = "WITH records AS (
        DELETE FROM {s}.record WHERE thread = $1 AND seq <= $2
    ), older AS (
        DELETE FROM {s}.snapshot WHERE thread = $1 AND seq < $2
    ), fold AS (
        INSERT INTO {s}.snapshot (thread, seq, body) VALUES ($1, $2, $3)
        ON CONFLICT (thread, seq) DO UPDATE SET body = excluded.body
    )
    UPDATE {s}.thread SET base = $2 WHERE id = $1";

const REMOVE: &str = "DELETE FROM {s}.thread WHERE name = $1 RETURNING id";

const REMOVE_BELONGINGS: &str = "WITH records AS (DELETE FROM {s}.record WHERE thread = $1)
    DELETE FROM {s}.snapshot WHERE thread = $1";
