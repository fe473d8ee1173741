//! Of many who answer the same question at once, one is heard.
use fugato_graph::{AnswerError, Answers, HistoryEvent, RunErrorKind, RunResult};
use fugato_state::ThreadId;
use reliability::{
    BoxError,
    job::approved,
    parked,
    store::{Kind, Place, Store},
};

/// How many clients there are, each with connections of its own.
const CLIENTS: u64 = 24;

async fn one_is_heard(kind: Kind) -> Result<(), BoxError> {
    let Some(place) = Place::new(kind)? else {
        return Ok(());
    };
    let runner = place.open().await?.runner(parked::graph()?);
    let thread = ThreadId::new("asks")?;
    let parked = runner.start(&thread, ()).await?;
    let id = parked.interrupts().first().ok_or("it asks")?.id.clone();
    let mut clients = vec![];
    for client in 0..CLIENTS {
        let store = Store::open_with(&place.spec, 1).await?;
        clients.push((client, store.runner(parked::graph()?)));
    }
    let mut answering = vec![];
    for (client, runner) in clients {
        let (thread, id) = (thread.clone(), id.clone());
        answering.push(tokio::spawn(async move {
            let ended = runner.resume(&thread, Answers::to(id, client)?).await;
            Ok::<_, BoxError>((client, ended))
        }));
    }
    let (mut heard, mut late) = (vec![], 0);
    for answer in answering {
        match answer.await?? {
            (client, Ok(RunResult::Finished { .. })) => heard.push(client),
            (_, Err(error)) => match error.kind {
                RunErrorKind::Busy { .. }
                | RunErrorKind::Answer(AnswerError::NothingAsked | AnswerError::Unknown { .. }) => {
                    late += 1;
                }
                other => return Err(format!("a client was refused with {other:?}").into()),
            },
            (_, other) => return Err(format!("a client's run ended as {other:?}").into()),
        }
    }
    assert_eq!(
        (heard.len(), late),
        (1, CLIENTS - 1),
        "heard were {heard:?}"
    );
    let state = runner.state(&thread).await?.ok_or("it exists")?;
    let heard: Vec<_> = heard.into_iter().map(approved).collect();
    assert_eq!(state.lines, heard);
    let history = runner.history(&thread, 1, 100).await?;
    let answers = history
        .iter()
        .filter(|entry| matches!(entry.event(), HistoryEvent::Answered { .. }));
    assert_eq!(answers.count(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn k8_of_24_answers_one_is_heard_on_sqlite() -> Result<(), BoxError> {
    one_is_heard(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn k8_of_24_answers_one_is_heard_on_postgres() -> Result<(), BoxError> {
    one_is_heard(Kind::Postgres).await
}

#[tokio::test(flavor = "multi_thread")]
async fn k8_of_24_answers_one_is_heard_on_redis() -> Result<(), BoxError> {
    one_is_heard(Kind::Redis).await
}

#[tokio::test(flavor = "multi_thread")]
async fn k8_of_24_answers_one_is_heard_on_mysql() -> Result<(), BoxError> {
    one_is_heard(Kind::Mysql).await
}
