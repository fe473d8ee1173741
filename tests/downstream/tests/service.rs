//! The service runs, with each of its parts as a trait object.
use std::{error::Error, fs::OpenOptions, io::Write as _, path::Path, sync::Arc};

use downstream::{Change, JsonLines, Order, OrderAgent, Stock, Telegram, desk};
use fugato::{
    Answers, Encoder, Frames, RunResult, Runner, ThreadId, ThreadLog, futures::StreamExt as _,
    serde_json::json,
};

type TestResult = Result<(), Box<dyn Error>>;

fn service(path: &Path) -> Result<Runner<Order>, Box<dyn Error>> {
    let stock = Stock(vec![("tea".into(), 350), ("lamp".into(), 4900)]);
    let log: Arc<dyn ThreadLog> = Arc::new(JsonLines::open(path)?);
    Ok(Runner::on_log(desk(OrderAgent::new(stock)?)?, log))
}

#[tokio::test]
async fn an_order_is_approved_after_the_service_was_opened_again() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("orders.jsonl");
    let thread = ThreadId::new("order-1")?;

    let parked = service(&path)?
        .start(&thread, Change::Wished("lamp".into()))
        .await?;
    let prompts: Vec<_> = parked
        .interrupts()
        .iter()
        .map(|asked| &asked.question.prompt)
        .collect();
    assert_eq!(prompts, [&json!({ "wish": "lamp", "cents": 4900 })]);

    let ended = service(&path)?
        .resume(&thread, Answers::only(true)?)
        .await?;
    let expected = Order {
        wish: "lamp".into(),
        cost: Some(4900),
        said: vec!["lamp costs 4900 cents".into()],
        approved: Some(true),
    };
    assert_eq!(
        ended,
        RunResult::Finished {
            state: Arc::new(expected),
            output: Some(json!(true))
        }
    );
    Ok(())
}

#[tokio::test]
async fn a_wrong_answer_changes_nothing() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("orders.jsonl");
    let (desk, thread) = (service(&path)?, ThreadId::new("order-1")?);
    desk.start(&thread, Change::Wished("tea".into())).await?;
    let before = JsonLines::open(&path)?.read(&thread, 1, 100).await?;
    assert!(
        desk.resume(&thread, Answers::only("perhaps")?)
            .await
            .is_err()
    );
    let after = JsonLines::open(&path)?.read(&thread, 1, 100).await?;
    assert_eq!(after, before);
    assert!(
        desk.resume(&thread, Answers::only(false)?)
            .await?
            .interrupts()
            .is_empty()
    );
    Ok(())
}

#[tokio::test]
async fn the_encoder_tells_what_happened() -> TestResult {
    let folder = tempfile::tempdir()?;
    let desk = service(&folder.path().join("orders.jsonl"))?;
    let mut encoder: Box<dyn Encoder> = Box::new(Telegram::default());
    let mut frames = Frames::new();
    let mut run = desk.start(&ThreadId::new("order-1")?, Change::Wished("kite".into()));
    while let Some(event) = run.next().await {
        encoder.encode(&event, &mut frames);
    }
    encoder.finish(&mut frames);
    let told = [
        "THERE IS NO KITE; THERE ARE: TEA, LAMP STOP\n",
        "DONE STOP\n",
        "2 LINES END\n",
    ];
    assert_eq!(frames.iter().collect::<Vec<_>>(), told);
    Ok(())
}

#[tokio::test]
async fn of_two_services_one_is_told_to_wait() -> TestResult {
    let folder = tempfile::tempdir()?;
    let log: Arc<dyn ThreadLog> = Arc::new(JsonLines::open(&folder.path().join("orders.jsonl"))?);
    let thread = ThreadId::new("order-1")?;
    let acquire = fugato::store::LeaseRequest::Acquire {
        thread: thread.clone(),
        owner: "the other desk".into(),
        ttl: 60_000,
    };
    log.lease(acquire).await?;
    let desk = Runner::on_log(desk(OrderAgent::new(Stock(vec![]))?)?, log.clone());
    let refused = desk.start(&thread, Change::Wished("tea".into())).await;
    assert!(refused.is_err());
    assert_eq!(log.head(&thread).await?, None);
    Ok(())
}

#[tokio::test]
async fn half_a_line_was_never_acknowledged() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("orders.jsonl");
    let thread = ThreadId::new("order-1")?;
    service(&path)?
        .start(&thread, Change::Wished("tea".into()))
        .await?;
    OpenOptions::new()
        .append(true)
        .open(&path)?
        .write_all(b"{\"thread\":\"order-1\",\"fe")?;
    let ended = service(&path)?
        .resume(&thread, Answers::only(true)?)
        .await?;
    assert_eq!(ended.state().approved, Some(true));
    Ok(())
}
