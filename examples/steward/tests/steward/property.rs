//! No sequence of requests, repeats, reloads, crashes and forgeries, in two conversations and from
//! two processes, submits twice, or submits without a confirmation and a valid precheck.
use std::{
    collections::BTreeSet,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
};

use fugato::{
    graph::ThreadStatus,
    state::{Interrupt, ThreadId},
    store::{Commit, Expect, LeaseOutcome, LeaseRequest, MemoryLog, StoreError, ThreadLog as _},
};
use fugato_testkit::share_of;
use proptest::prelude::*;
use serde_json::{Value, json};
use steward::{
    action::reference,
    ledger::{Document, DocumentStatus, WriteKind},
    state::{Request, RequestKind, Runtime, Steward},
    steward_service::Confirmation,
};
use tokio::runtime::{Builder, Runtime as Process};

use crate::common::{CLAIM, StewardFixture, TODAY, TRIP, content, fields, of, trip, wants};

/// An event in one of two conversations.
#[derive(Debug, Clone)]
enum Event {
    Say(u8, usize),
    /// The same is said again under the same name: its answer was lost.
    Again,
    Precheck(u8, u8, u8),
    Request(u8, u8, u8, Receipts),
    Repeat,
    /// A person agrees to what they see.
    Agree(u8),
    /// A person presses the button of the first card that they have seen, in a page that is old.
    Stale,
    Decline(u8),
    /// An answer by somebody who has seen nothing: an invented question, or another digest.
    Forge(u8, bool),
    /// Another person agrees, by the button or in words.
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
    /// The log is lost, and restored to the time of the last check: the tables have more than it.
    Restore,
}

/// The reference of a request to a precheck.
#[derive(Debug, Clone, Copy)]
enum Receipts {
    Nothing,
    Forged,
    /// The newest finding of this conversation, be it of this application or of another.
    Newest,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let chat = || 0u8..2;
    let told = prop_oneof![
        4 => Just(Receipts::Nothing),
        1 => Just(Receipts::Forged),
        2 => Just(Receipts::Newest),
    ];
    let event = prop_oneof![
        3 => (chat(), 0usize..SAYS.len()).prop_map(|(chat, said)| Event::Say(chat, said)),
        3 => Just(Event::Again),
        4 => (chat(), 0u8..2, 0u8..2).prop_map(|(chat, trace, what)| Event::Precheck(chat, trace, what)),
        5 => (chat(), 0u8..3, 0u8..2, told)
            .prop_map(|(chat, trace, what, told)| Event::Request(chat, trace, what, told)),
        2 => Just(Event::Repeat),
        5 => chat().prop_map(Event::Agree),
        1 => Just(Event::Stale),
        1 => chat().prop_map(Event::Decline),
        2 => (chat(), any::<bool>()).prop_map(|(chat, knows)| Event::Forge(chat, knows)),
        2 => (chat(), any::<bool>()).prop_map(|(chat, words)| Event::Other(chat, words)),
        2 => chat().prop_map(Event::Twice),
        1 => Just(Event::Reload),
        1 => (1u8..5).prop_map(Event::Lose),
        1 => Just(Event::Break),
        3 => (1u8..8).prop_map(Event::Die),
        1 => Just(Event::Later),
        1 => Just(Event::Legacy),
        1 => Just(Event::Restore),
    ];
    proptest::collection::vec(event, 4..28)
}

/// Two trips on different days.
fn arguments(what: u8) -> Value {
    let mut trip = trip();
    if what == 1 {
        (trip["start_date"], trip["end_date"]) = (json!("2026-04-01"), json!("2026-04-02"));
    }
    trip
}

const OTHER: &str = "申请出差：3月9日到3月10日去北京开会，坐飞机，预算2300元";
/// A trip and a claim, and two trips: one card comes after the other.
const BOTH: &str = "申请出差：3月2日到3月5日去上海拜访客户，坐火车，预算1200元。报销打车费86.5元，日期2月20日，附件发票.pdf";
const TRIPS: &str = "申请出差：3月2日到3月5日去上海拜访客户，坐火车，预算1200元。另外申请出差：3月9日到3月10日去北京开会，坐飞机，预算2300元";
const SAYS: [&str; 8] = [
    TRIP,
    CLAIM,
    BOTH,
    "好的",
    "取消",
    "预算1500元",
    OTHER,
    TRIPS,
];
/// The file of the claim.
const FILE: &str = "发票.pdf";
const CHATS: [&str; 2] = ["c1", "c2"];

fn thread(chat: u8) -> ThreadId {
    ThreadId::new(CHATS[usize::from(chat)]).expect("a short name")
}

/// The last request in words, and its conversation.
type Words = Option<(u8, Request)>;

/// The steward, in a process that can die, and everything that was seen and agreed to.
struct Model {
    stage: StewardFixture,
    process: Rc<Process>,
    runtime: Runtime,
    /// The conversation, the employee and the call of every consent.
    agreed: BTreeSet<(String, String, String)>,
    first: Option<(u8, Interrupt)>,
    last: Option<(u8, String, u8, Receipts)>,
    words: Words,
    said: usize,
    /// The log at the time of the last check, and the last request in words by then.
    copy: Option<(Arc<MemoryLog>, Words)>,
    /// The findings of lost logs.
    lost: Vec<(&'static str, Value)>,
    /// The number of writes that were checked.
    known: usize,
}

fn process() -> Rc<Process> {
    let built = Builder::new_current_thread().enable_all().build();
    Rc::new(built.expect("a runtime can be made"))
}

impl Model {
    fn new() -> Self {
        let process = process();
        Self {
            stage: process.block_on(StewardFixture::new()),
            process,
            runtime: Runtime::Graph,
            agreed: BTreeSet::new(),
            first: None,
            last: None,
            words: None,
            said: 0,
            copy: None,
            lost: vec![],
            known: 0,
        }
    }

    /// Runs the events one after the other, and checks the invariants after each.
    fn happen(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.allows(event);
            self.process.clone().block_on(self.check_invariants());
        }
        self.process.clone().block_on(self.was_prechecked());
    }

    /// Lets something happen. If the process dies of it, another one takes over when the lease of
    /// the dead one is over.
    fn allows(&mut self, event: Event) {
        let running = self.process.clone();
        let death = self.stage.books.died.clone();
        let dies = running.block_on(async {
            tokio::select! {
                biased;
                () = self.step(event) => false,
                () = death.notified() => true,
            }
        });
        if !dies {
            return;
        }
        self.process = process();
        if let Some(dead) = Rc::into_inner(running) {
            dead.shutdown_background();
        }
        self.stage.now.advance(11_000);
        self.stage = self.stage.reloaded();
    }

    async fn step(&mut self, event: Event) {
        match event {
            Event::Say(chat, nth) => {
                // "好的" under a card is a person's consent to what it shows.
                if SAYS[nth] == "好的" {
                    self.sees(chat, "ann").await;
                }
                self.said += 1;
                let request = self.words(chat, "ann", SAYS[nth]);
                self.words = Some((chat, request.clone()));
                self.asks(chat, request).await;
            }
            // No card that is open by now has been seen.
            Event::Again => {
                if let Some((chat, request)) = self.words.clone() {
                    self.asks(chat, request).await;
                }
            }
            Event::Precheck(chat, trace, what) => {
                let arguments = of("application", &arguments(what));
                let request = wants(&format!("p{trace}"), "run_duplicate_precheck", &arguments);
                self.asks(chat, within(chat, request)).await;
                let copy = copied(&self.stage).await.ok();
                self.copy = copy.map(|log| (log, self.words.clone()));
            }
            Event::Request(chat, trace, what, told) => {
                self.last = Some((chat, format!("s{trace}"), what, told));
                self.requests(&self.stage, None).await;
            }
            Event::Repeat => self.requests(&self.stage, None).await,
            Event::Agree(chat) => {
                let card = self.sees(chat, "ann").await;
                self.confirms(&self.stage, chat, "ann", card, true).await;
            }
            Event::Stale => {
                if let Some((chat, card)) = self.first.clone() {
                    self.agrees(chat, "ann", &card);
                    self.confirms(&self.stage, chat, "ann", Some(card), true)
                        .await;
                }
            }
            Event::Decline(chat) => {
                let card = self.pending(chat).await;
                self.confirms(&self.stage, chat, "ann", card, false).await;
            }
            Event::Forge(chat, knows) => self.forges(chat, knows).await,
            // A card about bob's own documents is only his to answer.
            Event::Other(chat, words) => {
                let card = self.sees(chat, "bob").await;
                if words {
                    self.said += 1;
                    let request = self.words(chat, "bob", "好的");
                    self.asks(chat, request).await;
                } else {
                    self.confirms(&self.stage, chat, "bob", card, true).await;
                }
            }
            Event::Twice(chat) => {
                let card = self.sees(chat, "ann").await;
                let other = self.stage.reloaded();
                tokio::join!(
                    self.confirms(&self.stage, chat, "ann", card.clone(), true),
                    self.confirms(&other, chat, "ann", card, true),
                    self.requests(&other, None),
                    self.requests(&self.stage, None),
                );
            }
            Event::Reload => self.stage = self.stage.reloaded(),
            Event::Lose(answers) => self
                .stage
                .books
                .lose
                .store(answers.into(), Ordering::SeqCst),
            Event::Break => self.stage.books.panics.store(1, Ordering::SeqCst),
            Event::Die(steps) => self.stage.books.dies.store(steps.into(), Ordering::SeqCst),
            Event::Later => self.stage.now.advance(11 * 60_000),
            Event::Legacy => {
                self.runtime = match self.runtime {
                    Runtime::Graph => Runtime::Legacy,
                    Runtime::Legacy => Runtime::Graph,
                };
            }
            Event::Restore => {
                if let Some((log, words)) = self.copy.take() {
                    let found = self.findings().await;
                    self.lost.extend(found);
                    self.stage.store = log;
                    // A restored log has no record of the request, so that any repeat is new to
                    // it.
                    self.words = words;
                    self.stage.now.advance(11_000);
                    self.stage = self.stage.reloaded();
                }
            }
        }
    }

    fn words(&self, chat: u8, who: &str, words: &str) -> Request {
        let request = Request::new(RequestKind::Chat, CHATS[usize::from(chat)], who).on(TODAY);
        request.message(words).trace(format!("w{}", self.said))
    }

    async fn asks(&self, chat: u8, request: Request) {
        let (clerk, thread) = (&self.stage.clerk, thread(chat));
        if request.message.contains(FILE) {
            let (files, owner) = (&self.stage.files.store, request.employee.as_str());
            let kept = files.upload(&thread, owner, FILE, content(FILE)).await;
            kept.expect("it is a file");
        }
        drop(clerk.on(self.runtime, &thread).request(&request).await);
    }

    async fn pending(&self, chat: u8) -> Option<Interrupt> {
        match self.stage.clerk.runner().status(&thread(chat)).await {
            Ok(ThreadStatus::Waiting(open)) => open.into_iter().next(),
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
        stage: &StewardFixture,
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
        drop(clerk.on(self.runtime, &thread).confirm(who, said).await);
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

    async fn requests(&self, stage: &StewardFixture, said: Option<Confirmation>) {
        let Some((chat, trace, what, told)) = self.last.clone() else {
            return;
        };
        let precheck_ref = match told {
            Receipts::Nothing => None,
            Receipts::Forged => Some("passed".to_owned()),
            Receipts::Newest => self.newest(chat).await,
        };
        let mut request = within(chat, wants(&trace, "submit_application", &arguments(what)));
        request.kind = RequestKind::Execute {
            action: "submit_application".into(),
            arguments: fields(&arguments(what)),
            precheck_ref,
        };
        let (clerk, thread) = (&stage.clerk, thread(chat));
        drop(
            clerk
                .on(self.runtime, &thread)
                .execute(&request, said)
                .await,
        );
    }

    /// Returns the reference to the newest finding of a conversation.
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

    /// Checks the invariants that hold after every event.
    async fn check_invariants(&mut self) {
        let tried = self.stage.books.tried.lock().unwrap().clone();
        for (key, write, _) in tried.iter().skip(self.known) {
            let name = match write.deed {
                WriteKind::Submit => "submit_application",
                WriteKind::Claim => "create_reimbursement_draft",
                other => panic!("nobody asked for {other:?}"),
            };
            let call = json!({ "name": name, "arguments": write.fields }).to_string();
            let consent = (chat_of(key).to_owned(), write.employee.clone(), call);
            assert!(
                self.agreed.contains(&consent),
                "nobody has agreed to {consent:?}"
            );
        }
        if self.known < tried.len() {
            self.known = tried.len();
            self.documents_are_right().await;
        }
        for chat in 0..2 {
            if let Ok(Some(state)) = self.stage.clerk.runner().state(&thread(chat)).await {
                is_consistent(&state);
            }
        }
    }

    /// Checks that nothing is written twice, and that every document that was reported as written
    /// exists as it was agreed to.
    async fn documents_are_right(&self) {
        let told = self.stage.books.told.lock().unwrap().clone();
        for who in ["ann", "bob"] {
            let documents = self.stage.books.tables.documents(who).await.unwrap();
            let (trips, claims) = (&documents.applications, &documents.reimbursements);
            let handed_in = |it: &&Document| it.status == DocumentStatus::Submitted;
            let days = trips.iter().filter(handed_in);
            let days = days.map(|it| it.fields["start_date"].to_string());
            differ("submitted", days);
            // The amount of a claim can be changed before it is agreed to.
            let parts = ["expense_date", "category", "amount"];
            let parts = |it: &Document| parts.map(|part| it.fields[part].to_string()).concat();
            differ("claimed", claims.iter().map(parts));
            for (write, document) in told.iter().filter(|(write, _)| write.employee == who) {
                let mut all = trips.iter().chain(claims);
                let there = all.find(|it| it.id == *document).map(|it| &it.fields);
                assert_eq!(
                    there,
                    Some(&write.fields),
                    "{document} is said to be written"
                );
            }
        }
    }

    /// Everything that was found in the conversations.
    async fn findings(&self) -> Vec<(&'static str, Value)> {
        let mut findings = vec![];
        for (chat, name) in (0..).zip(CHATS) {
            let runner = self.stage.clerk.runner();
            let history = runner.history(&thread(chat), 1, 10_000).await;
            for entry in history.unwrap_or_default() {
                let fact = serde_json::to_value(entry.stored()).unwrap_or_default();
                collect(name, &fact, &mut findings);
            }
        }
        findings
    }

    /// Checks that every submission was let through by a finding of its conversation about the same
    /// content that was valid at that time.
    async fn was_prechecked(&self) {
        let mut findings = self.findings().await;
        findings.extend(self.lost.iter().cloned());
        let mut known = BTreeSet::new();
        for (key, write, at) in self.stage.books.tried.lock().unwrap().iter() {
            // A repeat under the same key writes nothing.
            let is_new = known.insert(key.clone());
            if write.deed != WriteKind::Submit || !is_new {
                continue;
            }
            let fields = &write.fields;
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

/// Returns a copy of the log. After a second it has no lease.
async fn copied(stage: &StewardFixture) -> Result<Arc<MemoryLog>, StoreError> {
    let now = stage.now.clone();
    let copy = MemoryLog::with_clock(move || now.now());
    for thread in [thread(0), thread(1)] {
        let Some(head) = stage.store.head(&thread).await? else {
            continue;
        };
        let lease = LeaseRequest::Acquire {
            thread: thread.clone(),
            owner: "copy".into(),
            ttl: 1000,
        };
        let LeaseOutcome::Granted(leases) = copy.lease(lease).await? else {
            continue;
        };
        let (records, fence) = (stage.store.read(&thread, 1, 10_000).await?, leases[0].fence);
        let commit = Commit {
            expect: Expect { head: 0, fence },
            nonce: head.nonce,
            records: records.into_iter().map(|(_, record)| record).collect(),
            status: head.status,
            base: None,
        };
        copy.append(&thread, &commit).await?;
    }
    Ok(Arc::new(copy))
}

/// Checks that no entry occurs twice.
fn differ(what: &str, all: impl Iterator<Item = String>) {
    let mut known = BTreeSet::new();
    for one in all {
        assert!(known.insert(one.clone()), "{what} twice: {one}");
    }
}

/// Returns the same request in another conversation.
fn within(chat: u8, mut request: Request) -> Request {
    CHATS[usize::from(chat)].clone_into(&mut request.conversation_id);
    request
}

/// Returns the conversation whose write has this key.
fn chat_of(key: &str) -> &str {
    key.split('@').next().unwrap_or_default()
}

/// Checks that the plan reports no task as done without a document.
fn is_consistent(state: &Steward) {
    for task in &state.steward_state.tasks {
        let done = task.status == steward::state::WorkStatus::Done;
        assert_eq!(done, task.document.is_some(), "{task:?}");
    }
}

/// Collects every finding within a fact.
fn collect(chat: &'static str, value: &Value, findings: &mut Vec<(&'static str, Value)>) {
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
    #![proptest_config(ProptestConfig { cases: share_of(64), max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn stw_w8_nothing_is_submitted_twice_or_unconfirmed_or_unchecked(events in events()) {
        let mut play = Model::new();
        play.happen(events);
    }
}

/// The log comes back without a submission, and its name is used for another one: the tables keep
/// the key.
#[test]
fn stw_25_a_log_that_was_restored_passes_no_write_off_as_another() {
    let mut play = Model::new();
    let submits = |trace, what| {
        [
            Event::Precheck(0, trace, what),
            Event::Request(0, 0, what, Receipts::Nothing),
            Event::Agree(0),
        ]
    };
    let events = submits(0, 0).into_iter().chain([Event::Restore]);
    play.happen(events.chain(submits(1, 1)));
    let keys: BTreeSet<_> = {
        let tried = play.stage.books.tried.lock().unwrap();
        tried.iter().map(|(key, ..)| key.clone()).collect()
    };
    assert_eq!((keys.len(), play.known), (1, 2), "one key for two writes");
}

/// "好的" was sent before there was a card, and the restored log has a record of it.
#[test]
fn stw_25_words_that_a_restored_log_has_heard_answer_no_other_card() {
    let mut play = Model::new();
    play.happen([
        Event::Say(1, 3),
        Event::Precheck(1, 0, 1),
        Event::Restore,
        Event::Request(1, 0, 1, Receipts::Nothing),
        Event::Again,
    ]);
    let card = play.process.clone().block_on(play.pending(1));
    assert_eq!((card.is_some(), play.known), (true, 0), "it still waits");
}

/// A path without the nodes of the graphs does not take over a run that a crash has left in them.
#[test]
fn stw_7_what_is_repeated_on_the_other_path_after_a_crash_comes_to_an_end() {
    let mut play = Model::new();
    let repeated = [Event::Legacy, Event::Again, Event::Legacy, Event::Again];
    play.happen(
        [Event::Die(2), Event::Say(1, 0)]
            .into_iter()
            .chain(repeated),
    );
    let card = play.process.clone().block_on(play.pending(1));
    assert!(card.is_some(), "the graphs went on");
}

/// A person agrees to a trip in one conversation after the other, and each process dies once, at
/// each step before and behind each call of the tables.
#[test]
fn stw_t10_it_is_submitted_once_wherever_the_process_dies() {
    let mut deaths = 0;
    for steps in 1..8 {
        for runtime in [Runtime::Graph, Runtime::Legacy] {
            let mut play = Model::new();
            play.runtime = runtime;
            let request = |chat| {
                [
                    Event::Precheck(chat, 0, 0),
                    Event::Request(chat, 0, 0, Receipts::Nothing),
                ]
            };
            let mut events = vec![Event::Die(steps)];
            for chat in 0..2 {
                events.extend(request(chat));
                events.extend([
                    Event::Repeat,
                    Event::Twice(chat),
                    Event::Repeat,
                    Event::Agree(chat),
                ]);
            }
            // The runs that a crash has left are completed.
            events
                .extend((0..2).flat_map(|chat| {
                    [Event::Say(chat, 3), Event::Agree(chat), Event::Agree(chat)]
                }));
            play.happen(events);
            deaths += usize::from(play.stage.books.dies.load(Ordering::SeqCst) == 0);
            let documents = play.process.block_on(play.stage.documents());
            assert_eq!(documents.applications.len(), 1, "{steps} {runtime:?}");
        }
    }
    assert!(deaths > 10, "only {deaths} have died");
}
