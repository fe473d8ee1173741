//! Texts of nodes, actions, questions and outputs are in the language of the state.
use std::sync::Arc;

use fugato_graph::{Answers, BoxError, Context, END, Graph, RunResult, Runner};
use fugato_state::{EffectClass, Lang, State, ThreadId, say};
use fugato_store::MemoryLog;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Letter {
    lang: Lang,
    texts: Vec<String>,
}

impl State for Letter {
    type Update = String;

    fn lang(&self) -> Lang {
        self.lang
    }

    fn apply(&mut self, text: String) {
        if text == "zh" {
            self.lang = Lang::Zh;
        } else {
            self.texts.push(text);
        }
    }
}

fn sent() -> String {
    say!("sent", "已发送")
}

#[tokio::test]
async fn everything_that_runs_speaks_the_language_of_the_state() {
    let graph = Graph::<Letter>::starting_at("send")
        .node("send", async |cx: Context<Letter>| {
            let act = async |_: String| Ok::<_, BoxError>(sent());
            // An action that must be done once runs in a task of its own.
            let once = cx.effect("mail", EffectClass::Once, &1, act).await?;
            let again = cx.effect("call", EffectClass::Idempotent, &1, act).await?;
            Ok::<_, BoxError>(vec![sent(), once, again])
        })
        .edge("send", "ask")
        .pause("ask", |_: &Letter| sent(), |_: &Letter, _: bool| sent())
        .edge("ask", END)
        .output(|letter: &Letter| format!("{}: {}", sent(), letter.texts.join(" ")))
        .build()
        .expect("the wiring is right");
    for (first, expected) in [("en", "sent"), ("zh", "已发送")] {
        let runner = Runner::new(graph.clone(), Arc::new(MemoryLog::default()));
        let thread = ThreadId::new("t").expect("the name keeps the rules");
        let asked = runner.start(&thread, vec![first.to_owned()]).await;
        let asked = asked.expect("it asks");
        let question = &asked.interrupts().first().expect("a question").question;
        assert_eq!(question.prompt, expected);
        let ended = runner
            .resume(&thread, Answers::only(true).expect("JSON"))
            .await
            .expect("it ends");
        let RunResult::Finished { output, state } = ended else {
            panic!("it is over");
        };
        let said = state.texts.iter().filter(|text| *text == expected);
        assert_eq!(said.count(), 4);
        let output = output.expect("an output");
        let prefix = format!("{expected}: ");
        assert!(
            output.as_str().is_some_and(|it| it.starts_with(&prefix)),
            "{output}"
        );
    }
}
