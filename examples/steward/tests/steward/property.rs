//! No sequence of requests, repeats, reloads, crashes and forgeries, in two conversations and from
//! two processes, submits twice, or submits without a confirmation and a valid precheck.
use std::{collections::BTreeSet, sync::atomic::Ordering};

use fugato::{
    graph::Standing,
    state::{Interrupt, ThreadId},
};
use proptest::prelude::*;
use serde_json::{Value, json};
use steward::{
    action::reference,
    clerk::Confirmation,
    ledger::{DocumentStatus, Write},
    state::{Request, RequestKind, Runtime, Steward},
};
use tokio::runtime::{Builder, Runtime as Process};

use crate::common::{CLAIM, Stage, TODAY, TRIP, fields, of, trip, wants};

/// What happens next, in one of two conversations.
#[derive(Debug, Clone)]
enum Deed {
    Say(u8, usize),
    /// The same is said again under the same name: its answer was lost.
    Again,
    Precheck(u8, u8, u8),
    Request(u8, u8, u8, Told),
    Repeat,
    /// A person agrees to what they see.
    Agree(u8),
    /// A person presses the button of the first card that they have seen, in a page that is old.
    Stale,
    Decline(u8),
    /// Somebody agrees who has seen nothing: a made-up question, or another digest.
    Forge(u8, bool),
    /// Somebody else agrees, by the button or in words.
    Other(u8, bool),
    /// A person agrees in two processes at once, and so does a repeat of the request.
    Twice(u8),
    Reload,
    /// An answer of the tables gets lost.
    Lose(u8),
    /// The program breaks while it looks something up.
    Break,
    /// The process dies, so many steps before or behind a call of the tables from now.
    Die(u8),
    Later,
    Legacy,
}

/// What a request says of a precheck.
#[derive(Debug, Clone, Copy)]
enum Told {
    Nothing,
    Forged,
    /// The newest finding of this conversation, be it of this application or of another.
    Newest,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let chat = || 0u8..2;
    let told = prop_oneof![
        4 => Just(Told::Nothing),
        1 => Just(Told::Forged),
        2 => Just(Told::Newest),
    ];
    let deed = prop_oneof![
        3 => (chat(), 0usize..6).prop_map(|(chat, said)| Deed::Say(chat, said)),
        3 => Just(Deed::Again),
        4 => (chat(), 0u8..2, 0u8..2).prop_map(|(chat, trace, what)| Deed::Precheck(chat, trace, what)),
        5 => (chat(), 0u8..3, 0u8..2, told)
            .prop_map(|(chat, trace, what, told)| Deed::Request(chat, trace, what, told)),
        2 => Just(Deed::Repeat),
        5 => chat().prop_map(Deed::Agree),
        1 => Just(Deed::Stale),
        1 => chat().prop_map(Deed::Decline),
        2 => (chat(), any::<bool>()).prop_map(|(chat, knows)| Deed::Forge(chat, knows)),
        2 => (chat(), any::<bool>()).prop_map(|(chat, words)| Deed::Other(chat, words)),
        2 => chat().prop_map(Deed::Twice),
        1 => Just(Deed::Reload),
        1 => (1u8..5).prop_map(Deed::Lose),
        1 => Just(Deed::Break),
        3 => (1u8..8).prop_map(Deed::Die),
        1 => Just(Deed::Later),
        1 => Just(Deed::Legacy),
    ];
    proptest::collection::vec(deed, 4..28)
}

/// Two trips on different days.
fn arguments(what: u8) -> Value {
    let mut trip = trip();
    if what == 1 {
        (trip["start_date"], trip["end_date"]) = (json!("2026-04-01"), json!("2026-04-02"));
    }
    trip
}

/// A trip and a claim: one card comes after the other.
const BOTH: &str = "申请出差：3月2日到3月5日去上海拜访客户，坐火车，预算1200元。报销打车费86.5元，日期2月20日，附件发票.pdf";
const SAYS: [&str; 6] = [TRIP, CLAIM, BOTH, "好的", "取消", "预算1500元"];
const CHATS: [&str; 2] = ["c1", "c2"];

fn thread(chat: u8) -> ThreadId {
    ThreadId::new(CHATS[usize::from(chat)]).expect("a short name")
}

/// The steward, in a process that can die, and everything that was seen and agreed to.
struct Play {
    stage: Stage,
    process: Process,
    runtime: Runtime,
    /// In which conversation who has agreed to which call.
    agreed: BTreeSet<(String, String, String)>,
    first: Option<(u8, Interrupt)>,
    last: Option<(u8, String, u8, Told)>,
    words: Option<(u8, Request)>,
    said: usize,
}

fn process() -> Process {
    let built = Builder::new_current_thread().enable_all().build();
    built.expect("a runtime can be made")
}

impl Play {
    fn new() -> Self {
        let process = process();
        Self {
            stage: process.block_on(Stage::new()),
            process,
            runtime: Runtime::Graph,
            agreed: BTreeSet::new(),
            first: None,
            last: None,
            words: None,
            said: 0,
        }
    }

    /// Lets something happen. If the process dies of it, another one takes over when the lease of
    /// the dead one is over.
    fn lets(&mut self, deed: Deed) {
        let process = std::mem::replace(&mut self.process, process());
        let death = self.stage.books.died.clone();
        let dies = process.block_on(async {
            tokio::select! {
                biased;
                () = self.happens(deed) => false,
                () = death.notified() => true,
            }
        });
        if !dies {
            self.process = process;
            return;
        }
        process.shutdown_background();
        self.stage.now.fetch_add(11_000, Ordering::SeqCst);
        self.stage = self.stage.reloaded();
    }

    async fn happens(&mut self, deed: Deed) {
        match deed {
            Deed::Say(chat, nth) => {
                // "好的" under a card is a person's consent to what it shows.
                if SAYS[nth] == "好的" {
                    self.sees(chat, "ann").await;
                }
                self.said += 1;
                let request = self.words(chat, "ann", SAYS[nth]);
                self.words = Some((chat, request.clone()));
                self.asks(chat, request).await;
            }
            // Whatever card there is by now, nobody has seen it.
            Deed::Again => {
                if let Some((chat, request)) = self.words.clone() {
                    self.asks(chat, request).await;
                }
            }
            Deed::Precheck(chat, trace, what) => {
                let arguments = of("application", &arguments(what));
                let request = wants(&format!("p{trace}"), "run_duplicate_precheck", &arguments);
                self.asks(chat, within(chat, request)).await;
            }
            Deed::Request(chat, trace, what, told) => {
                self.last = Some((chat, format!("s{trace}"), what, told));
                self.requests(&self.stage, None).await;
            }
            Deed::Repeat => self.requests(&self.stage, None).await,
            Deed::Agree(chat) => {
                let card = self.sees(chat, "ann").await;
                self.confirms(&self.stage, chat, "ann", card, true).await;
            }
            Deed::Stale => {
                if let Some((chat, card)) = self.first.clone() {
                    self.agrees(chat, "ann", &card);
                    self.confirms(&self.stage, chat, "ann", Some(card), true)
                        .await;
                }
            }
            Deed::Decline(chat) => {
                let card = self.pending(chat).await;
                self.confirms(&self.stage, chat, "ann", card, false).await;
            }
            Deed::Forge(chat, knows) => self.forges(chat, knows).await,
            // A card about bob's own documents is his to answer, and no other.
            Deed::Other(chat, words) => {
                let card = self.sees(chat, "bob").await;
                if words {
                    self.said += 1;
                    let request = self.words(chat, "bob", "好的");
                    self.asks(chat, request).await;
                } else {
                    self.confirms(&self.stage, chat, "bob", card, true).await;
                }
            }
            Deed::Twice(chat) => {
                let card = self.sees(chat, "ann").await;
                let other = self.stage.reloaded();
                tokio::join!(
                    self.confirms(&self.stage, chat, "ann", card.clone(), true),
                    self.confirms(&other, chat, "ann", card, true),
                    self.requests(&other, None),
                    self.requests(&self.stage, None),
                );
            }
            Deed::Reload => self.stage = self.stage.reloaded(),
            Deed::Lose(answers) => self
                .stage
                .books
                .lose
                .store(answers.into(), Ordering::SeqCst),
            Deed::Break => self.stage.books.panics.store(1, Ordering::SeqCst),
            Deed::Die(steps) => self.stage.books.dies.store(steps.into(), Ordering::SeqCst),
            Deed::Later => _ = self.stage.now.fetch_add(11 * 60_000, Ordering::SeqCst),
            Deed::Legacy => {
                self.runtime = match self.runtime {
                    Runtime::Graph => Runtime::Legacy,
                    Runtime::Legacy => Runtime::Graph,
                };
            }
        }
    }

    fn words(&self, chat: u8, who: &str, words: &str) -> Request {
        let request = Request::new(RequestKind::Chat, CHATS[usize::from(chat)], who).on(TODAY);
        request.message(words).trace(format!("w{}", self.said))
    }

    async fn asks(&self, chat: u8, request: Request) {
        let (clerk, thread) = (&self.stage.clerk, thread(chat));
        drop(clerk.request_on(self.runtime, &thread, request).await);
    }

    async fn pending(&self, chat: u8) -> Option<Interrupt> {
        match self.stage.clerk.runner().standing(&thread(chat)).await {
            Ok(Standing::Waiting(open)) => open.into_iter().next(),
            _ => None,
        }
    }

    /// A person sees the card, and agrees to its call.
    async fn sees(&mut self, chat: u8, who: &str) -> Option<Interrupt> {
        let card = self.pending(chat).await?;
        self.agrees(chat, who, &card);
        self.first.get_or_insert((chat, card.clone()));
        Some(card)
    }

    fn agrees(&mut self, chat: u8, who: &str, card: &Interrupt) {
        let call = &card.question.prompt["call"];
        let seen = json!({ "name": call["name"], "arguments": call["arguments"] });
        let chat = CHATS[usize::from(chat)].to_owned();
        self.agreed.insert((chat, who.to_owned(), seen.to_string()));
    }

    async fn confirms(
        &self,
        stage: &Stage,
        chat: u8,
        who: &str,
        card: Option<Interrupt>,
        approved: bool,
    ) {
        let Some(card) = card else { return };
        let said = Confirmation {
            interrupt_id: card.id.as_str().to_owned(),
            digest: card.question.digest.unwrap_or_default(),
            approved,
        };
        let (clerk, thread) = (&stage.clerk, thread(chat));
        drop(clerk.confirm(self.runtime, &thread, who, said).await);
    }

    async fn forges(&mut self, chat: u8, knows: bool) {
        let card = self.pending(chat).await.filter(|_| knows);
        let id = card.map_or("human_review#1~1".to_owned(), |card| {
            card.id.as_str().to_owned()
        });
        let forged = Confirmation {
            interrupt_id: id,
            digest: "forged".into(),
            approved: true,
        };
        self.requests(&self.stage, Some(forged)).await;
    }

    async fn requests(&self, stage: &Stage, said: Option<Confirmation>) {
        let Some((chat, trace, what, told)) = self.last.clone() else {
            return;
        };
        let precheck_ref = match told {
            Told::Nothing => None,
            Told::Forged => Some("passed".to_owned()),
            Told::Newest => self.newest(chat).await,
        };
        let mut request = within(chat, wants(&trace, "submit_application", &arguments(what)));
        request.kind = RequestKind::Execute {
            action: "submit_application".into(),
            arguments: fields(&arguments(what)),
            precheck_ref,
        };
        let (clerk, thread) = (&stage.clerk, thread(chat));
        drop(clerk.execute(self.runtime, &thread, request, said).await);
    }

    /// How a client refers to what was found last.
    async fn newest(&self, chat: u8) -> Option<String> {
        let state = self
            .stage
            .clerk
            .runner()
            .state(&thread(chat))
            .await
            .ok()??;
        let about = |what: &Value| {
            state
                .evidence
                .about("run_duplicate_precheck", what)
                .map(reference)
        };
        about(&arguments(0)).or_else(|| about(&arguments(1)))
    }

    /// What must hold whatever has happened.
    async fn testify(&self) {
        let tried = self.stage.books.tried.lock().unwrap().clone();
        for (key, write, _) in &tried {
            let (name, fields) = match write {
                Write::Submit { fields, .. } => ("submit_application", fields),
                Write::Claim { fields, .. } => ("create_reimbursement_draft", fields),
                other => panic!("nobody asked for {other:?}"),
            };
            let call = json!({ "name": name, "arguments": fields }).to_string();
            let consent = (chat_of(key).to_owned(), write.employee().to_owned(), call);
            assert!(
                self.agreed.contains(&consent),
                "nobody has agreed to {consent:?}"
            );
        }
        for who in ["ann", "bob"] {
            let documents = self.stage.books.tables.documents(who).await.unwrap();
            let all = documents.applications.iter();
            let days = all
                .filter(|it| it.status == DocumentStatus::Submitted)
                .map(|it| it.fields["start_date"].to_string());
            differ("submitted", days);
            // The amount of a claim can be changed before it is agreed to.
            let claims = documents.reimbursements.iter();
            let parts = ["expense_date", "category", "amount"];
            differ(
                "claimed",
                claims.map(|it| parts.map(|part| it.fields[part].to_string()).concat()),
            );
        }
        for chat in 0..2 {
            if let Ok(Some(state)) = self.stage.clerk.runner().state(&thread(chat)).await {
                is_consistent(&state);
            }
        }
    }

    /// Every submission was let through by a finding of its conversation about the same content
    /// that held at that time.
    async fn was_prechecked(&self) {
        let mut findings = vec![];
        for (chat, name) in (0..).zip(CHATS) {
            let history = self
                .stage
                .clerk
                .runner()
                .history(&thread(chat), 1, 10_000)
                .await;
            for entry in history.unwrap_or_default() {
                let fact = serde_json::to_value(&entry.fact).unwrap_or_default();
                collect(name, &fact, &mut findings);
            }
        }
        let mut known = BTreeSet::new();
        for (key, write, at) in self.stage.books.tried.lock().unwrap().iter() {
            // A repeat under the same key writes nothing.
            let (Write::Submit { fields, .. }, true) = (write, known.insert(key.clone())) else {
                continue;
            };
            let held = findings.iter().any(|(chat, found)| {
                let until = found["expires_at"].as_i64();
                *chat == chat_of(key)
                    && found["passed"] == true
                    && found["subject"] == json!(fields)
                    && found["at"].as_i64().is_some_and(|from| from <= *at)
                    && until.is_some_and(|until| *at < until)
            });
            assert!(held, "no precheck held for {fields:?}");
        }
    }
}

/// Nothing was done twice.
fn differ(what: &str, all: impl Iterator<Item = String>) {
    let mut known = BTreeSet::new();
    for one in all {
        assert!(known.insert(one.clone()), "{what} twice: {one}");
    }
}

/// The same request in another conversation.
fn within(chat: u8, mut request: Request) -> Request {
    CHATS[usize::from(chat)].clone_into(&mut request.conversation_id);
    request
}

/// The conversation whose write has this key.
fn chat_of(key: &str) -> &str {
    key.split('@').next().unwrap_or_default()
}

/// The plan says of nothing that it is done without a document.
fn is_consistent(state: &Steward) {
    for task in &state.steward_state.tasks {
        let done = task.status == steward::state::TaskStatus::Done;
        assert_eq!(done, task.document.is_some(), "{task:?}");
    }
}

/// Everything in a fact that is a finding.
fn collect<'a>(chat: &'a str, value: &Value, findings: &mut Vec<(&'a str, Value)>) {
    match value {
        Value::Object(object) => {
            if object.contains_key("subject") && object.contains_key("expires_at") {
                findings.push((chat, value.clone()));
            }
            object
                .values()
                .for_each(|value| collect(chat, value, findings));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|value| collect(chat, value, findings)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn stw_w8_nothing_is_submitted_twice_or_unconfirmed_or_unchecked(deeds in deeds()) {
        let mut play = Play::new();
        for deed in deeds {
            play.lets(deed);
            play.process.block_on(play.testify());
        }
        play.process.block_on(play.was_prechecked());
    }
}

/// A person agrees to a trip in one conversation after the other, and each process dies once, at
/// each step before and behind each call of the tables.
#[test]
fn stw_t10_it_is_submitted_once_wherever_the_process_dies() {
    let mut deaths = 0;
    for steps in 1..8 {
        for runtime in [Runtime::Graph, Runtime::Legacy] {
            let mut play = Play::new();
            play.runtime = runtime;
            let request = |chat| {
                [
                    Deed::Precheck(chat, 0, 0),
                    Deed::Request(chat, 0, 0, Told::Nothing),
                ]
            };
            let mut deeds = vec![Deed::Die(steps)];
            for chat in 0..2 {
                deeds.extend(request(chat));
                deeds.extend([
                    Deed::Repeat,
                    Deed::Twice(chat),
                    Deed::Repeat,
                    Deed::Agree(chat),
                ]);
            }
            // What a crash has left is brought to its end.
            deeds.extend(
                (0..2).flat_map(|chat| [Deed::Say(chat, 3), Deed::Agree(chat), Deed::Agree(chat)]),
            );
            for deed in deeds {
                play.lets(deed);
                play.process.block_on(play.testify());
            }
            play.process.block_on(play.was_prechecked());
            deaths += usize::from(play.stage.books.dies.load(Ordering::SeqCst) == 0);
            let documents = play.process.block_on(play.stage.documents());
            assert_eq!(documents.applications.len(), 1, "{steps} {runtime:?}");
        }
    }
    assert!(deaths > 10, "only {deaths} have died");
}
