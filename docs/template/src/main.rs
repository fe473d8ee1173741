//! `my-agent WORDS` says something; `my-agent yes CODE` and `my-agent no CODE` answer a card.
use std::{env, fs, path::PathBuf, sync::Arc};

use fugato::{
    Answers, BoxError, Interrupt, OpenAi, Report, Runner, SqliteLog, ThreadId,
    agent::{Assistant, React, ReplyError},
    graph::ThreadStatus,
    llm::ApiKey,
};
use my_agent::{Shop, graph};

/// Opens the model that the environment names.
fn model() -> Result<OpenAi, BoxError> {
    let variable = |name: &str| {
        let missing =
            || format!("set {name}; MODEL_URL and MODEL name the model, MODEL_KEY its key");
        env::var(name).map_err(|_| missing())
    };
    let model = OpenAi::new(&variable("MODEL_URL")?, variable("MODEL")?);
    Ok(match ApiKey::from_env("MODEL_KEY") {
        Some(key) => model.key(key),
        None => model,
    })
}

#[tokio::main]
async fn main() -> Result<(), Report> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let data = PathBuf::from("data");
    fs::create_dir_all(&data)?;
    // Every conversation is a thread in this file. Whatever stops the program, the next start goes
    // on with it.
    let log = SqliteLog::open(data.join("threads.db"))?;
    let shop = Shop {
        orders: data.join("orders.txt"),
    };
    let runner = Runner::new(graph(model()?, shop)?, Arc::new(log));
    let thread = ThreadId::new("desk")?;

    if runner.status(&thread).await? == ThreadStatus::Unfinished {
        runner.recover(&thread).await?;
    }
    let ended = match words.as_slice() {
        [] => return Err("say something, as in: my-agent 'What does tea cost?'".into()),
        [answer @ ("yes" | "no"), code] => {
            let card = open_card(&runner, &thread, code).await?;
            let answers = Answers::to(card.id, *answer == "yes")?;
            runner.resume(&thread, answers).await?
        }
        words => {
            let assistant = Assistant::<React>::new(runner.clone());
            assistant.chat_stream(&thread, &words.join(" ")).await?
        }
    };
    match Assistant::<React>::reply(ended) {
        Ok(reply) => println!("{}", reply.final_reply),
        Err(ReplyError::Asks(cards)) => {
            for card in cards {
                let code = card.id.code();
                println!(
                    "{:#}\nanswer with: my-agent yes {code}, or: my-agent no {code}",
                    card.question.prompt
                );
            }
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Finds the card with this code among those that wait.
async fn open_card(
    runner: &Runner<React>,
    thread: &ThreadId,
    code: &str,
) -> Result<Interrupt, BoxError> {
    let ThreadStatus::Waiting(cards) = runner.status(thread).await? else {
        return Err("nothing waits for an answer".into());
    };
    let codes: Vec<_> = cards.iter().map(|card| card.id.code()).collect();
    let found = cards
        .into_iter()
        .find(|card| card.id.code().eq_ignore_ascii_case(code));
    found.ok_or_else(|| {
        format!(
            "no card has the code {code}; there are: {}",
            codes.join(", ")
        )
        .into()
    })
}
