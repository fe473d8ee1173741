//! Tests of opening: created tables, refused servers, and errors that contain no password.

use std::error::Error;

use crate::fixture::{TestResult, commit, connect, fresh, name, poke, why};
use fugato_postgres::{PostgresLog, PostgresOptions, Synchronous};
use fugato_store::{StoreError, StoreErrorKind, ThreadLog};
use futures::future::join_all;
use servers::Postgres;

/// Returns an error with all of its causes, as `Display` and as `Debug`.
fn told(error: &StoreError) -> String {
    let mut told = vec![format!("{error} {error:?}")];
    let mut cause = error.source();
    while let Some(found) = cause {
        told.push(format!("{found} {found:?}"));
        cause = found.source();
    }
    told.join("; ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_that_start_at_once_one_makes_the_tables() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let schema = fresh();
    let starting = (0..12).map(|number| {
        let schema = schema.clone();
        tokio::spawn(async move {
            let log = connect(server, &schema).await?;
            let thread = name(&format!("thread {number}"));
            log.append(&thread, &commit(0, 0, "a")).await
        })
    });
    for started in join_all(starting.collect::<Vec<_>>()).await {
        assert_eq!(started??.head, 1);
    }
    let sql = format!("SELECT version FROM \"{schema}\".version");
    let rows = poke(server).await?.client.query(&sql, &[]).await?;
    let versions: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(versions, [1, 2]);
    Ok(())
}

#[tokio::test]
async fn tables_of_a_newer_version_are_refused() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let schema = fresh();
    drop(connect(server, &schema).await?);
    let sql = format!("INSERT INTO \"{schema}\".version VALUES (7)");
    poke(server).await?.client.batch_execute(&sql).await?;
    let refused = connect(server, &schema).await.map(|_| ());
    let expected =
        format!("the tables in schema \"{schema}\" have version 7; versions 1 to 2 are known");
    assert_eq!(why(refused), Some(StoreErrorKind::Corrupt(expected)));
    Ok(())
}

#[tokio::test]
async fn tables_of_others_are_left_alone() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let (schema, poke) = (fresh(), poke(server).await?);
    let sql =
        format!("CREATE SCHEMA \"{schema}\"; CREATE TABLE \"{schema}\".thread (mine integer)");
    poke.client.batch_execute(&sql).await?;
    let refused = connect(server, &schema).await.map(|_| ());
    let expected = format!("schema \"{schema}\" holds tables that this store did not make");
    assert_eq!(why(refused), Some(StoreErrorKind::Invalid(expected)));
    let sql = "SELECT relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
        WHERE nspname = $1";
    let rows = poke.client.query(sql, &[&schema]).await?;
    let there: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(there, ["thread"]);
    Ok(())
}

#[tokio::test]
async fn a_name_of_a_schema_is_never_a_statement() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let schema = r#"it's "x"; DROP SCHEMA public; -- "#;
    let log = connect(server, schema).await?;
    let desk = name("desk");
    assert_eq!(log.append(&desk, &commit(0, 0, "a")).await?.head, 1);
    let claim = fugato_store::Claim {
        n: 1,
        owner: "a\0b".to_owned(),
        ttl: 1_000,
        ..Default::default()
    };
    log.lease(fugato_store::LeaseRequest::Claim(claim)).await?;
    let sql = "SELECT nspname FROM pg_namespace WHERE nspname = $1 OR nspname = 'public'";
    let rows = poke(server).await?.client.query(sql, &[&schema]).await?;
    assert_eq!(rows.len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_server_that_does_not_wait_for_its_disk_is_refused_unless_asked_for() -> TestResult {
    let Some(server) = Postgres::start_with(&["fsync=off"]) else {
        return Ok(());
    };
    let refused = connect(&server, "fugato").await.map(|_| ());
    let expected = "the server runs with fsync=off and full_page_writes=on, so that an \
                    acknowledged commit may be lost; switch both on, or ask for \
                    Synchronous::Normal";
    assert_eq!(
        why(refused),
        Some(StoreErrorKind::Invalid(expected.to_owned()))
    );
    let options = PostgresOptions::default().synchronous(Synchronous::Normal);
    PostgresLog::connect_with(server.url(), options).await?;
    Ok(())
}

#[tokio::test]
async fn a_database_of_another_encoding_is_refused() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let sql = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    poke(server).await?.client.batch_execute(sql).await?;
    let url = server.url().strip_suffix("/postgres");
    let url = url.ok_or("the address ends with the database")?;
    let refused = PostgresLog::connect(&format!("{url}/latin")).await;
    let expected = "the encoding of the database is LATIN1; it must be UTF8".to_owned();
    assert_eq!(
        why(refused.map(|_| ())),
        Some(StoreErrorKind::Invalid(expected))
    );
    Ok(())
}

#[tokio::test]
async fn the_password_is_never_told() -> TestResult {
    let Some(server) = Postgres::shared() else {
        return Ok(());
    };
    let secret = "not-to-be-shown";
    assert!(server.url().contains(secret));
    let log = connect(server, &fresh()).await?;
    assert!(!format!("{log:?}").contains(secret));

    let wrong = server.url().replace(secret, "wrong-and-secret");
    let refused = PostgresLog::connect(&wrong).await;
    let refused = refused.expect_err("the password is wrong");
    let expected = "the server refuses this user or database".to_owned();
    assert_eq!(refused.kind, StoreErrorKind::Invalid(expected));
    assert!(!told(&refused).contains("wrong-and-secret"));

    for nonsense in ["secret", "postgres://user:secret@host:port/x", "x=secret"] {
        let refused = PostgresLog::connect(nonsense).await;
        let refused = refused.expect_err("this is no address");
        assert!(matches!(refused.kind, StoreErrorKind::Invalid(_)));
        assert!(!told(&refused).contains("secret"), "{}", told(&refused));
    }
    Ok(())
}

#[tokio::test]
async fn where_nobody_listens_the_store_is_unavailable() {
    let refused = PostgresLog::connect("postgres://nobody@127.0.0.1:1/none").await;
    assert_eq!(why(refused.map(|_| ())), Some(StoreErrorKind::Unavailable));
}

#[cfg(not(feature = "tls"))]
#[tokio::test]
async fn an_address_that_asks_for_tls_is_refused_without_it() {
    let refused = PostgresLog::connect("postgres://nobody@127.0.0.1:1/none?sslmode=require").await;
    let expected = "sslmode=require needs the feature `tls` of fugato-postgres".to_owned();
    assert_eq!(
        why(refused.map(|_| ())),
        Some(StoreErrorKind::Invalid(expected))
    );
}
