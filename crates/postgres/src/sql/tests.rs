//! Tests of the statements' query plans.
use std::{error::Error, sync::Arc};

use servers::Postgres;
use tokio_postgres::types::ToSql;

use crate::{PostgresOptions, connection::Connection, database::Database, row::get};

type TestResult = Result<(), Box<dyn Error>>;

async fn open(url: &str, schema: &str) -> Result<Arc<Database>, Box<dyn Error>> {
    let options = PostgresOptions::default().schema(schema);
    Ok(Database::open(url, options).await?)
}

/// Returns the plan of a prepared statement after it ran with these parameters.
async fn plan(
    connection: &mut Connection,
    sql: &str,
    parameters: &str,
) -> Result<String, Box<dyn Error>> {
    connection
        .batch(&format!("PREPARE planned AS {sql}"))
        .await?;
    let explain = format!("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) EXECUTE planned({parameters})");
    let rows = connection.rows(&explain, &[]).await?;
    connection.batch("DEALLOCATE planned").await?;
    let lines: Result<Vec<String>, _> = rows.iter().map(|row| get(row, 0)).collect();
    Ok(lines?.join("\n"))
}

#[tokio::test]
async fn a_hundred_thousand_parked_threads_cost_a_claim_nothing() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let database = open(server.url(), "parked").await?;
    let mut connection = database.connection().await?;
    // Most wait for an answer, some of them until the year 2100, and the rest are idle.
    let park = "INSERT INTO parked.thread (name, head, status, until, due, time)
        SELECT 'thread ' || n, 1, CASE n % 3 WHEN 0 THEN 3 ELSE 2 END,
            CASE n % 3 WHEN 1 THEN 4102444800000 END, CASE n % 3 WHEN 1 THEN 4102444800000 END, 0
        FROM generate_series(1, 100000) n";
    connection.batch(park).await?;
    for analysed in [false, true] {
        if analysed {
            connection.batch("ANALYZE parked.thread").await?;
        }
        let plan = plan(
            &mut connection,
            &database.sql.claim,
            "NULL, 0, 10, 'worker', 1000, 'thread ', '{}'",
        )
        .await?;
        assert!(plan.contains("using thread_due on thread t"), "{plan}");
        assert!(!plan.contains("Rows Removed"), "{plan}");
        assert!(!plan.contains("Seq Scan on thread"), "{plan}");
        assert!(!plan.contains("Sort Key: t."), "{plan}");
    }
    // It writes nothing: a transaction that writes has a number.
    connection.begin().await?;
    let except = ["thread 1"];
    let claim: [&(dyn ToSql + Sync); 7] = [
        &None::<i64>,
        &0_i64,
        &10_i64,
        &"worker",
        &1_000_i64,
        &"thread ",
        &except.as_slice(),
    ];
    assert!(
        connection
            .rows(&database.sql.claim, &claim)
            .await?
            .is_empty()
    );
    let number = "SELECT txid_current_if_assigned() IS NULL";
    assert!(get::<bool>(&connection.row(number, &[]).await?, 0)?);
    connection.roll_back().await?;
    Ok(())
}

#[tokio::test]
async fn nothing_is_read_but_by_an_index() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let database = open(server.url(), "planned").await?;
    let mut connection = database.connection().await?;
    let (sql, docs) = (&database.sql, &database.doc_sql);
    let commit = r"NULL, 0, 'a', 1, 1, '\x00', ARRAY['\x00'::bytea], 0, NULL, '{}', '{}'";
    for (sql, parameters) in [
        (&sql.create, commit),
        (&sql.append, commit),
        (&sql.adopt, commit),
        (&sql.look, "NULL, 0, 'a'"),
        (&sql.read, "'a', 1, 10"),
        (&sql.acquire, "NULL, 0, 'a', 'owner', 1000"),
        (&sql.renew, "NULL, 0, 'a', 1, 1000"),
        (&sql.release, "NULL, 0, 'a', 1"),
        (&sql.put, r"NULL, 0, 'a', 1, '\x00'"),
        (&sql.latest_at, "'a', 1"),
        (&sql.delete, "'a', 1"),
        (&sql.list, "'a', NULL, 'b', 10"),
        (&docs.get, "NULL, 0, 'a', 'b'"),
        (&docs.list, "NULL, 0, 'a', 'b', NULL, 'c', 10, true"),
        (&docs.look, "NULL, 0, '{a}', '{b}'"),
        (&docs.remove, "'a'"),
        (&docs.sweep, "NULL, 0"),
    ] {
        let plan = plan(&mut connection, sql, parameters).await?;
        for table in ["thread", "record", "snapshot", "document"] {
            let scan = format!("Seq Scan on {table}");
            assert!(!plan.contains(&scan), "{sql}\n{plan}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn what_the_database_is_set_to_changes_nothing() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let first = open(server.url(), "settings").await?;
    let mut connection = first.connection().await?;
    connection.batch("CREATE DATABASE settled").await?;
    for setting in [
        "synchronous_commit = off",
        "default_transaction_isolation = serializable",
        "search_path = settings",
    ] {
        let sql = format!("ALTER ROLE fugato IN DATABASE settled SET {setting}");
        connection.batch(&sql).await?;
    }
    let url = server.url().strip_suffix("/postgres");
    let url = format!(
        "{}/settled",
        url.ok_or("the address ends with the database")?
    );
    let second = open(&url, "settings").await?;
    let mut connection = second.connection().await?;
    let sql = "SELECT current_setting('synchronous_commit'),
        current_setting('transaction_isolation'), current_setting('search_path'),
        current_database()::text";
    let row = connection.row(sql, &[]).await?;
    let found: Result<Vec<String>, _> = (0..4).map(|column| get(&row, column)).collect();
    assert_eq!(found?, ["on", "read committed", "pg_catalog", "settled"]);
    Ok(())
}
