//! The tables, in SQLite and on servers.
use fugato_testkit::{assert_contains, assert_lacks};
use std::sync::Arc;

use serde_json::{Value, json};
#[cfg(feature = "postgres")]
use servers::Postgres;
use steward::ledger::{self, Ledger, LedgerError, LedgerWrite, Receipt, WriteKind};

use crate::common::{self, TestResult, claim, trip};

fn write(deed: WriteKind, employee: &str, fields: &Value) -> LedgerWrite {
    LedgerWrite {
        deed,
        employee: employee.into(),
        fields: common::fields(fields),
        files: vec![],
        known: None,
        status: None,
    }
}

fn submit() -> LedgerWrite {
    write(WriteKind::Submit, "ann", &trip())
}

fn written(document: &str) -> Receipt {
    Receipt::Written {
        document: document.into(),
    }
}

/// Checks the contract of a ledger, which every database keeps.
async fn keeps_to_the_contract(ledger: &dyn Ledger) -> TestResult {
    let draft = write(WriteKind::Draft, "ann", &trip());
    assert_eq!(ledger.write("k1", &draft).await?, written("A-1"));
    // A repeat gets the same receipt; the same key with another write is an error.
    assert_eq!(ledger.write("k1", &draft).await?, written("A-1"));
    assert!(
        matches!(ledger.write("k1", &submit()).await, Err(LedgerError::KeyReused { key }) if key == "k1")
    );
    let twice = ledger.write("k2", &draft).await?;
    assert!(matches!(twice, Receipt::Refused { why } if why.contains("A-1")));

    // The draft is handed in, once.
    assert_eq!(ledger.write("k3", &submit()).await?, written("A-1"));
    let twice = ledger.write("k4", &submit()).await?;
    assert!(matches!(twice, Receipt::Refused { why } if why.contains("A-1")));
    // Another employee may travel on the same days, and is told nothing of the first.
    let other = write(WriteKind::Submit, "bob", &trip());
    assert_eq!(ledger.write("k5", &other).await?, written("A-1"));
    let kept = write(WriteKind::Claim, "bob", &claim());
    assert_eq!(ledger.write("k5b", &kept).await?, written("R-1"));
    let others = ledger.documents("bob").await?;

    let claimed = write(WriteKind::Claim, "ann", &claim());
    assert_eq!(ledger.write("k6", &claimed).await?, written("R-1"));
    let link = |application: &str| {
        let fields = json!({ "reimbursement": "R-1", "application": application });
        write(WriteKind::Link, "ann", &fields)
    };
    let foreign = ledger.write("k7", &link("A-2")).await?;
    assert!(matches!(foreign, Receipt::Refused { why } if why.contains("there are A-1")));
    assert_eq!(ledger.write("k8", &link("A-1")).await?, written("R-1"));
    let files = json!(["发票.pdf", "it's \"odd\".png"]);
    let fields = json!({ "reimbursement": "R-1", "attachments": files });
    let attach = write(WriteKind::Attach, "ann", &fields);
    assert_eq!(ledger.write("k9", &attach).await?, written("R-1"));

    let documents = serde_json::to_value(ledger.documents("ann").await?)?;
    let mut claim = claim();
    (claim["application"], claim["attachments"]) =
        (json!("A-1"), json!(["it's \"odd\".png", "发票.pdf"]));
    let sorted = |mut documents: Value| {
        if let Some(files) = documents["reimbursements"][0]["fields"]["attachments"].as_array_mut()
        {
            files.sort_by_key(ToString::to_string);
        }
        documents
    };
    let expected = json!({
        "applications": [{ "id": "A-1", "status": "submitted", "fields": trip() }],
        "reimbursements": [{ "id": "R-1", "status": "draft", "fields": claim }],
    });
    assert_eq!(sorted(documents), sorted(expected));
    // A document of the same number is another one.
    let withdraw = write(WriteKind::Withdraw, "ann", &json!({ "document": "R-1" }));
    assert_eq!(ledger.write("k10", &withdraw).await?, written("R-1"));
    assert_eq!(ledger.documents("bob").await?, others);
    Ok(())
}

/// Checks that simultaneous writes, under one key or under many, hand the application in once.
async fn is_handed_in_once(ledgers: [Arc<dyn Ledger>; 2]) -> TestResult {
    let writes = (0..8).map(|nth| {
        let ledger = if nth < 4 { &ledgers[0] } else { &ledgers[1] }.clone();
        tokio::spawn(async move { ledger.write(&format!("race-{}", nth % 2), &submit()).await })
    });
    let mut told = vec![];
    for write in writes.collect::<Vec<_>>() {
        told.push(write.await??);
    }
    let done = told
        .iter()
        .filter(|receipt| matches!(receipt, Receipt::Written { .. }));
    assert!(done.count() >= 1, "{told:?}");
    assert_eq!(ledgers[0].documents("ann").await?.applications.len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stw_25_sqlite_writes_once_for_each_key() -> TestResult {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("steward.db").display().to_string();
    keeps_to_the_contract(&*ledger::open(&path).await?).await?;
    // Another process finds it.
    let again = ledger::open(&format!("sqlite:{path}")).await?;
    assert_eq!(again.documents("ann").await?.applications.len(), 1);
    // Two processes on one database.
    let path = folder.path().join("race.db").display().to_string();
    is_handed_in_once([ledger::open(&path).await?, ledger::open(&path).await?]).await
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn stw_25_postgres_writes_once_for_each_key() -> TestResult {
    let Some(server) = Postgres::start() else {
        return Ok(());
    };
    keeps_to_the_contract(&*ledger::open(server.url()).await?).await?;
    let other = Postgres::start().ok_or("it was there before")?;
    let url = other.url();
    is_handed_in_once([ledger::open(url).await?, ledger::open(url).await?]).await
}

#[cfg(feature = "mysql")]
#[tokio::test(flavor = "multi_thread")]
async fn stw_25_mariadb_writes_once_for_each_key() -> TestResult {
    let Some(server) = servers::MariaDb::start() else {
        return Ok(());
    };
    keeps_to_the_contract(&*ledger::open(server.url()).await?).await?;
    let other = servers::MariaDb::start().ok_or("it was there before")?;
    let url = other.url();
    is_handed_in_once([ledger::open(url).await?, ledger::open(url).await?]).await
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn postgres_is_found_again_after_it_was_killed() -> TestResult {
    let Some(server) = Postgres::start() else {
        return Ok(());
    };
    let ledger = ledger::open(server.url()).await?;
    ledger.write("k1", &submit()).await?;
    server.kill9();
    // The server process of this connection goes on until it notices.
    let down = loop {
        match ledger.documents("ann").await {
            Ok(_) => tokio::task::yield_now().await,
            Err(down) => break down,
        }
    };
    assert!(matches!(down, LedgerError::Unavailable(_)), "{down}");
    server.restart();
    // The connection that broke is left, and the key is known.
    assert_eq!(ledger.write("k1", &submit()).await?, written("A-1"));
    assert_eq!(ledger.documents("ann").await?.applications.len(), 1);
    Ok(())
}

#[tokio::test]
async fn an_address_that_names_no_tables_is_refused_without_its_password() {
    for address in [
        "",
        "mssql://ann:secret@host/db",
        "postgres://ann:secret@host:port/db",
    ] {
        let error = ledger::open(address).await.err().unwrap().to_string();
        assert_contains(&error, "allowed are a path");
        let lacks = !cfg!(feature = "postgres");
        assert_eq!(error.contains("`--features postgres`"), lacks, "{error}");
        assert_lacks(&error, "secret");
    }
}

#[tokio::test]
async fn stw_24_money_of_another_currency_is_no_duplicate() -> TestResult {
    let ledger = ledger::open(":memory:").await?;
    let with = |currency: Value| {
        let mut fields = claim();
        fields["currency"] = currency;
        write(WriteKind::Claim, "ann", &fields)
    };
    assert_eq!(
        ledger.write("k1", &with(json!("USD"))).await?,
        written("R-1")
    );
    assert_eq!(
        ledger.write("k2", &with(json!("CNY"))).await?,
        written("R-2")
    );
    // Yuan are meant where no currency is named.
    let mut bare = write(WriteKind::Claim, "ann", &claim());
    bare.fields.remove("currency");
    let twice = ledger.write("k3", &bare).await?;
    assert!(
        matches!(twice, Receipt::Refused { why } if why.contains("R-2") && why.contains("CNY"))
    );
    let documents = ledger.documents("ann").await?;
    let kept = documents
        .reimbursements
        .iter()
        .map(|it| &it.fields["currency"]);
    assert_eq!(kept.collect::<Vec<_>>(), [&json!("USD"), &json!("CNY")]);
    Ok(())
}

/// Tables that were made before amounts had a currency get its column, and keep their rows.
#[tokio::test]
async fn tables_without_a_currency_are_migrated() -> TestResult {
    let folder = fugato_testkit::tempdir()?;
    let path = folder.path().join("tables.db");
    let address = path.to_str().unwrap();
    let old = fugato::cli::Tables::open(address).await?;
    let sql = [
        "CREATE TABLE applications (number BIGINT PRIMARY KEY, employee TEXT NOT NULL, status TEXT \
         NOT NULL, reason TEXT, start_date TEXT, end_date TEXT, destination TEXT, transport TEXT, \
         estimated_amount BIGINT)",
        "INSERT INTO applications VALUES (7, 'ann', 'submitted', 'r', '2026-03-02', '2026-03-05', \
         'Oslo', 'train', 120000)",
        "INSERT INTO applications VALUES (8, 'bob', 'draft', 'r', '2026-03-02', '2026-03-05', \
         'Oslo', 'train', 120000)",
    ];
    let sql = sql.map(|sql| fugato::store::Statement::new(sql, []));
    let made = move |_| Ok::<_, LedgerError>((sql.to_vec(), ()));
    let made = old.write(1, vec![], made).await;
    made.unwrap()?;
    drop(old);
    for _ in 0..2 {
        let ledger = ledger::open(address).await?;
        let documents = ledger.documents("ann").await?;
        assert_eq!(documents.applications.len(), 1);
        assert_eq!(documents.applications[0].id, "A-7");
        assert_eq!(documents.applications[0].fields["estimated_amount"], 1200);
    }
    let ledger = ledger::open(address).await?;
    let mut fields = trip();
    fields["start_date"] = json!("2026-04-02");
    fields["end_date"] = json!("2026-04-03");
    fields["currency"] = json!("USD");
    let next = write(WriteKind::Submit, "ann", &fields);
    assert_eq!(ledger.write("k1", &next).await?, written("A-8"));
    // The eighth of the other one is still theirs.
    let kept = ledger.documents("bob").await?;
    let withdraw = write(WriteKind::Withdraw, "ann", &json!({ "document": "A-8" }));
    assert_eq!(ledger.write("k2", &withdraw).await?, written("A-8"));
    assert_eq!(ledger.documents("bob").await?, kept);
    assert_eq!(kept.applications[0].id, "A-8");
    Ok(())
}
