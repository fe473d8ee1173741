//! No sequence of requests, repeats, reloads, crashes and forgeries submits twice, or submits
//! without a confirmation and a valid precheck.
use std::{collections::BTreeSet, sync::atomic::Ordering};

use proptest::prelude::*;
use serde_json::{Value, json};
use steward::{
    Reply,
    clerk::Confirmation,
    ledger::{DocumentStatus, Write},
    state::{Request, Runtime, Steward},
};

use crate::common::{CLAIM, Stage, TRIP, agreed, asked, of, thread, trip, wants};

/// What happens next.
#[derive(Debug, Clone)]
enum Deed {
    Say(usize),
    /// The same is said again under the same name: its answer was lost.
    Again,
    Precheck(u8, u8),
    Request(u8, u8),
    /// A person agrees to what they see.
    Agree,
    Decline,
    /// Somebody agrees who has seen nothing: a made-up question, or another digest.
    Forge(bool),
    Repeat,
    Reload,
    /// An answer of the tables gets lost.
    Lose(u8),
    /// The program breaks while it looks something up.
    Break,
    Later,
    Legacy,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        3 => (0usize..6).prop_map(Deed::Say),
        3 => Just(Deed::Again),
        3 => (0u8..2, 0u8..2).prop_map(|(trace, what)| Deed::Precheck(trace, what)),
        4 => (0u8..3, 0u8..2).prop_map(|(trace, what)| Deed::Request(trace, what)),
        4 => Just(Deed::Agree),
        1 => Just(Deed::Decline),
        2 => any::<bool>().prop_map(Deed::Forge),
        2 => Just(Deed::Repeat),
        1 => Just(Deed::Reload),
        1 => (1u8..5).prop_map(Deed::Lose),
        1 => Just(Deed::Break),
        1 => Just(Deed::Later),
        1 => Just(Deed::Legacy),
    ];
    proptest::collection::vec(deed, 4..24)
}

/// Two trips on different days.
fn arguments(what: u8) -> Value {
    let mut trip = trip();
    if what == 1 {
        (trip["start_date"], trip["end_date"]) = (json!("2026-04-01"), json!("2026-04-02"));
    }
    trip
}

/// Everything that was seen and agreed to, and when.
#[derive(Default)]
struct Witness {
    agreed: Vec<Value>,
    last: Option<(String, u8)>,
    runtime: Runtime,
    words: Option<Request>,
    said: usize,
}

/// A trip and a claim: one card comes after the other.
const BOTH: &str = "申请出差：3月2日到3月5日去上海拜访客户，坐火车，预算1200元。报销打车费86.5元，日期2月20日，附件发票.pdf";
const SAYS: [&str; 6] = [TRIP, CLAIM, BOTH, "好的", "取消", "预算1500元"];

async fn happens(stage: &mut Stage, witness: &mut Witness, deed: Deed) {
    let runtime = witness.runtime;
    match deed {
        Deed::Say(nth) => {
            // "好的" under a card is a person's consent to what it shows.
            if SAYS[nth] == "好的" {
                witness.sees(stage).await;
            }
            witness.said += 1;
            let request = asked(steward::state::RequestKind::Chat, SAYS[nth]);
            let request = request.trace(format!("w{}", witness.said));
            witness.words = Some(request.clone());
            drop(stage.clerk.request_on(runtime, &thread(), request).await);
        }
        // Whatever card there is by now, nobody has seen it.
        Deed::Again => {
            if let Some(request) = witness.words.clone() {
                drop(stage.clerk.request_on(runtime, &thread(), request).await);
            }
        }
        Deed::Precheck(trace, what) => {
            let request = wants(
                &format!("p{trace}"),
                "run_duplicate_precheck",
                &of("application", &arguments(what)),
            );
            drop(stage.clerk.execute(runtime, &thread(), request, None).await);
        }
        Deed::Request(trace, what) => {
            witness.last = Some((format!("s{trace}"), what));
            witness.request(stage, None).await;
        }
        Deed::Repeat => witness.request(stage, None).await,
        Deed::Agree | Deed::Decline => {
            let approved = matches!(deed, Deed::Agree);
            if approved {
                witness.sees(stage).await;
            }
            if let Some(pending) = stage.pending().await {
                let reply = if approved {
                    Reply::approve()
                } else {
                    Reply::reject()
                };
                let said = confirmation(
                    &json!({ "pending_interrupt": pending }),
                    reply == Reply::approve(),
                );
                drop(stage.clerk.confirm(runtime, &thread(), "ann", said).await);
            }
        }
        Deed::Forge(knows) => {
            let pending = stage.pending().await.filter(|_| knows);
            let id = pending.map_or("human_review#1~1".to_owned(), |pending| {
                pending.id.as_str().to_owned()
            });
            let forged = Confirmation {
                interrupt_id: id,
                digest: "forged".into(),
                approved: true,
            };
            witness.request(stage, Some(forged)).await;
        }
        Deed::Reload => *stage = stage.reloaded(),
        Deed::Lose(answers) => stage.books.lose.store(answers.into(), Ordering::SeqCst),
        Deed::Break => stage.books.panics.store(1, Ordering::SeqCst),
        Deed::Later => _ = stage.now.fetch_add(11 * 60_000, Ordering::SeqCst),
        Deed::Legacy => {
            witness.runtime = if runtime == Runtime::Graph {
                Runtime::Legacy
            } else {
                Runtime::Graph
            };
        }
    }
}

fn confirmation(answer: &Value, approved: bool) -> Confirmation {
    Confirmation {
        approved,
        ..agreed(answer).expect("a question has an id and a digest")
    }
}

impl Witness {
    /// A person sees the card, and agrees to its call.
    async fn sees(&mut self, stage: &Stage) {
        if let Some(pending) = stage.pending().await {
            let call = &pending.question.prompt["call"];
            let seen = json!({ "name": call["name"], "arguments": call["arguments"] });
            self.agreed.push(seen);
        }
    }

    async fn request(&mut self, stage: &Stage, said: Option<Confirmation>) {
        let Some((trace, what)) = self.last.clone() else {
            return;
        };
        let request = wants(&trace, "submit_application", &arguments(what));
        drop(
            stage
                .clerk
                .execute(self.runtime, &thread(), request, said)
                .await,
        );
    }

    /// What must hold whatever has happened.
    async fn testify(&self, stage: &Stage) {
        let tried = stage.books.tried.lock().unwrap().clone();
        for (_, write, _) in &tried {
            let (name, fields) = match write {
                Write::Submit { fields, .. } => ("submit_application", fields),
                Write::Claim { fields, .. } => ("create_reimbursement_draft", fields),
                other => panic!("nobody asked for {other:?}"),
            };
            let call = json!({ "name": name, "arguments": fields });
            assert!(self.agreed.contains(&call), "nobody has agreed to {call}");
        }
        let documents = stage.documents().await;
        let submitted = documents
            .applications
            .iter()
            .filter(|it| it.status == DocumentStatus::Submitted);
        let days: Vec<_> = submitted
            .map(|it| it.fields["start_date"].to_string())
            .collect();
        let distinct: BTreeSet<_> = days.iter().collect();
        assert_eq!(days.len(), distinct.len(), "submitted twice: {days:?}");
        assert!(documents.reimbursements.len() <= 1, "claimed twice");
        if let Ok(Some(state)) = stage.clerk.runner().state(&thread()).await {
            is_consistent(&state);
        }
    }
}

/// The plan says of nothing that it is done without a document.
fn is_consistent(state: &Steward) {
    for task in &state.steward_state.tasks {
        let done = task.status == steward::state::TaskStatus::Done;
        assert_eq!(done, task.document.is_some(), "{task:?}");
    }
}

/// Every submission was let through by a finding about the same content that held at that time.
async fn was_prechecked(stage: &Stage) {
    let history = stage
        .clerk
        .runner()
        .history(&thread(), 1, 10_000)
        .await
        .unwrap_or_default();
    let mut findings = vec![];
    for entry in &history {
        collect(
            &serde_json::to_value(&entry.fact).unwrap_or_default(),
            &mut findings,
        );
    }
    let mut known = BTreeSet::new();
    for (key, write, at) in stage.books.tried.lock().unwrap().iter() {
        let Write::Submit { fields, .. } = write else {
            continue;
        };
        // A repeat under the same key writes nothing.
        if !known.insert(key.clone()) {
            continue;
        }
        let held = findings.iter().any(|found| {
            found["passed"] == true
                && found["subject"] == json!(fields)
                && found["at"].as_i64().is_some_and(|from| from <= *at)
                && found["expires_at"]
                    .as_i64()
                    .is_some_and(|until| *at < until)
        });
        assert!(held, "no precheck held for {fields:?}");
    }
}

/// Everything in a fact that is a finding.
fn collect(value: &Value, findings: &mut Vec<Value>) {
    match value {
        Value::Object(object) => {
            if object.contains_key("subject") && object.contains_key("expires_at") {
                findings.push(value.clone());
            }
            object.values().for_each(|value| collect(value, findings));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, findings)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn stw_w8_nothing_is_submitted_twice_or_unconfirmed_or_unchecked(deeds in deeds()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let mut stage = Stage::new().await;
            let mut witness = Witness::default();
            for deed in deeds {
                happens(&mut stage, &mut witness, deed).await;
                witness.testify(&stage).await;
            }
            was_prechecked(&stage).await;
        });
    }
}
