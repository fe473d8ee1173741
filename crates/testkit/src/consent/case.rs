//! One case: requests by chance, and what must hold after each.
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use super::{
    ConsentReport,
    book::Book,
    cards,
    doors::Message,
    life::Life,
    random::Random,
    world::{ConsentWorld, TestRequest, TestResponse},
};

/// A request that is about to be sent.
#[derive(Debug, Clone)]
pub(super) struct PlannedRequest {
    pub(super) caller: String,
    pub(super) thread: String,
    pub(super) request: TestRequest,
    /// The cards that it names and agrees to.
    pub(super) names: Vec<String>,
    /// The words that it says.
    pub(super) said: Option<String>,
}

/// More of a conversation no client repeats.
const REMEMBERED: usize = 8;
/// More of a body nobody reads in a failure.
const SHORT: usize = 600;

pub(super) struct Case<'a> {
    pub(super) world: &'a dyn ConsentWorld,
    pub(super) random: Random,
    pub(super) book: Book,
    pub(super) keys: usize,
    pub(super) report: ConsentReport,
    pub(super) transcript: Vec<String>,
    histories: BTreeMap<(String, String), Vec<Message>>,
    sent: Vec<PlannedRequest>,
    life: Life,
    turn: Duration,
}

impl<'a> Case<'a> {
    /// Begins a case in which a turn takes this long.
    pub(super) fn begin(
        world: &'a dyn ConsentWorld,
        turn: Duration,
        seed: u64,
    ) -> Result<Self, String> {
        Ok(Self {
            world,
            random: Random::new(seed),
            book: Book::default(),
            keys: 0,
            report: ConsentReport::default(),
            transcript: vec![],
            histories: BTreeMap::new(),
            sent: vec![],
            life: Life::begin(world, turn)?,
            turn,
        })
    }

    /// Runs the case to its end, or to the first promise that is broken.
    pub(super) fn run(&mut self, steps: usize) -> Result<(), String> {
        let steps = steps / 2 + self.random.below(steps);
        for _ in 0..steps {
            self.step()?;
            self.check()?;
        }
        // What was left is gone on with, and leads to nothing new.
        self.life.idle(200);
        self.crash()?;
        for thread in ["t1", "t2"] {
            for caller in self.world.callers() {
                let body = Value::Object(serde_json::Map::new());
                let request = TestRequest::post(format!("/threads/{thread}/recover"), body);
                self.perform(&[PlannedRequest {
                    caller,
                    thread: thread.to_owned(),
                    request,
                    names: vec![],
                    said: None,
                }])?;
            }
        }
        self.check()?;
        let writes = self.life.run(self.world.writes());
        self.report.writes = writes.len();
        self.report.cards = self.book.cards();
        self.report.consents = self.book.consents();
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        match self.random.below(100) {
            0..3 => self.crash(),
            3..8 => {
                let turns = self.random.below(200);
                self.life.idle(turns);
                Ok(())
            }
            8..24 if !self.sent.is_empty() => {
                let first = self.sent.len().saturating_sub(6);
                let first = if self.random.percent(70) { first } else { 0 };
                let Some(again) = self.sent.get(first..).and_then(|it| self.random.pick(it)) else {
                    return Ok(());
                };
                let again = again.clone();
                let times = 1 + self.random.below(6);
                self.perform(&vec![again; times])
            }
            _ => {
                let size = self.random.pick(&[1, 1, 1, 2, 3]).copied().unwrap_or(1);
                let batch: Vec<_> = (0..size).filter_map(|_| self.plan()).collect();
                self.perform(&batch)
            }
        }
    }

    /// The program dies, and another one goes on.
    fn crash(&mut self) -> Result<(), String> {
        self.report.kills += 1;
        self.transcript.push("the program dies".to_owned());
        // Everything of the old one is gone before the new one is opened.
        self.life = Life::nothing()?;
        self.life = Life::begin(self.world, self.turn)?;
        Ok(())
    }

    fn perform(&mut self, batch: &[PlannedRequest]) -> Result<(), String> {
        for planned in batch {
            self.agree(planned)?;
            self.book.record_words(planned.said.iter());
        }
        let dies_after = self.random.percent(10).then(|| self.random.below(150));
        let several = batch.len() > 1;
        let delays = batch.iter().map(|planned| {
            let delay = if several { self.random.below(30) } else { 0 };
            (planned.clone(), delay)
        });
        let delayed: Vec<_> = delays.collect();
        let responses = self.life.send(self.world, &delayed, dies_after);
        for ((planned, delay), response) in delayed.iter().zip(responses?) {
            self.note(planned, *delay, response.as_ref());
            if let Some(response) = response {
                self.take(planned, &response)?;
            }
        }
        self.sent.extend(batch.first().cloned());
        if dies_after.is_some() {
            self.crash()?;
        }
        Ok(())
    }

    /// Notes the cards that a request agrees to, if they are open now.
    fn agree(&mut self, planned: &PlannedRequest) -> Result<(), String> {
        let separates = self.world.separates_callers();
        let by = (planned.caller.as_str(), planned.thread.as_str());
        let may = |id: &&String| self.book.may_agree(by, id, separates) && !self.book.is_agreed(id);
        let named: Vec<String> = planned.names.iter().filter(may).cloned().collect();
        if named.is_empty() {
            return Ok(());
        }
        let open = self.open(by)?;
        let is_open = |id: &&String| open.as_ref().is_none_or(|open| open.contains(*id));
        for id in named.iter().filter(is_open) {
            self.book.consent(id);
        }
        Ok(())
    }

    /// The questions that are open in a thread, as its caller sees it; none if it is not at rest, so
    /// that nobody can tell.
    fn open(&self, (caller, thread): (&str, &str)) -> Result<Option<BTreeSet<String>>, String> {
        let look = TestRequest::new("GET", format!("/threads/{thread}"), Value::Null);
        let response = self.life.run(self.life.ask(self.world, caller, look));
        if response.status >= 400 {
            // It is not there, or somebody else's by now.
            return Ok(Some(BTreeSet::new()));
        }
        let view: Value = serde_json::from_str(&response.body)
            .map_err(|error| format!("a thread cannot be read: {error}"))?;
        let status = view.get("status").and_then(Value::as_str);
        if !matches!(status, Some("waiting" | "idle")) {
            return Ok(None);
        }
        let open = view.get("interrupts").and_then(Value::as_array);
        let ids = open.into_iter().flatten().filter_map(|asked| {
            let id = asked.get("id")?.as_str()?;
            Some(id.to_owned())
        });
        Ok(Some(ids.collect()))
    }

    /// Notes what a response shows.
    fn take(&mut self, planned: &PlannedRequest, response: &TestResponse) -> Result<(), String> {
        self.report.requests += 1;
        self.report.accepted += usize::from(response.status < 400);
        let shown = cards::shown(&response.body, &|prompt| self.world.content(prompt));
        let at = (planned.caller.clone(), planned.thread.clone());
        if let Some(said) = &planned.said {
            let told = self
                .book
                .told_without_a_card(&planned.thread, &response.body, &shown);
            if let Some(code) = told {
                return Err(format!("the code {code} was told without its card"));
            }
            let history = self.histories.entry(at.clone()).or_default();
            history.push(("user", said.clone()));
            history.push(("assistant", cards::rendered(&response.body, &shown)));
        }
        for card in shown {
            self.book.deliver((&at.0, &at.1), card)?;
        }
        Ok(())
    }

    /// The conversation as a client of this caller has it.
    pub(super) fn history(&self, caller: &str, thread: &str) -> Vec<Message> {
        let at = (caller.to_owned(), thread.to_owned());
        let whole = self.histories.get(&at).map_or(&[][..], Vec::as_slice);
        let from = whole.len().saturating_sub(REMEMBERED);
        whole.get(from..).unwrap_or_default().to_vec()
    }

    fn check(&mut self) -> Result<(), String> {
        let (world, life) = (self.world, &self.life);
        let (writes, standing) = life.run(async { (world.writes().await, world.standing().await) });
        self.book.check(&writes, &standing)
    }

    fn note(&mut self, planned: &PlannedRequest, delay: usize, response: Option<&TestResponse>) {
        let TestRequest {
            method,
            path,
            headers,
            body,
        } = &planned.request;
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, it)| format!("{name}: {it}"))
            .collect();
        let headers = headers.join(", ");
        let came = match response {
            Some(TestResponse { status, body }) => format!("{status} {}", short(body)),
            None => "lost".to_owned(),
        };
        let body = short(&body.to_string());
        self.transcript.push(format!(
            "+{delay} {} {method} {path} [{headers}] {body}\n    -> {came}",
            planned.caller
        ));
    }
}

fn short(text: &str) -> String {
    let line = text.replace('\n', " ");
    if line.chars().count() <= SHORT {
        return line;
    }
    let start: String = line.chars().take(SHORT).collect();
    format!("{start} …")
}
