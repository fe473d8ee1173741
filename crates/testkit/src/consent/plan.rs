//! The requests that chance comes up with.
use serde_json::{Value, json};

use super::{
    cards::{Card, has_word},
    case::{Case, PlannedRequest},
    doors,
    world::{ConsentAnswer, ConsentWords, TestRequest},
};

const AGREEING: [&str; 5] = ["yes", "好的", "确定", "OK", "yes"];
const DECLINING: [&str; 2] = ["no", "不要"];
const VAGUE: [&str; 4] = ["continue", "继续", "yes?", "嗯"];

/// The card that words go with, and how they name it.
enum CardNaming {
    Card(Card),
    Code(Card),
    None,
}

impl Case<'_> {
    /// The next request; none if there is nothing to send it about.
    pub(super) fn plan(&mut self) -> Option<PlannedRequest> {
        let thread = self.random.pick(&["t1", "t2"]).copied()?.to_owned();
        let caller = self.caller(&thread)?;
        let at = (caller, thread);
        match self.random.below(100) {
            0..24 => {
                let requests = self.world.requests();
                let text = self.random.pick(&requests)?.clone();
                Some(self.words(at, text, &CardNaming::None, false))
            }
            24..35 => Some(simple(at, "GET", "")),
            35..56 => self.press(at),
            56..68 => {
                let naming = CardNaming::Card(self.card(&at)?);
                Some(self.short(at, &naming))
            }
            68..76 => {
                let naming = CardNaming::Code(self.card(&at)?);
                Some(self.short(at, &naming))
            }
            76..87 => Some(self.short(at, &CardNaming::None)),
            87..93 => {
                let edits = self.world.edits();
                let text = self.random.pick(&edits)?.clone();
                let card = self.card(&at).filter(|_| self.random.percent(50));
                let naming = card.map_or(CardNaming::None, CardNaming::Card);
                Some(self.words(at, text, &naming, false))
            }
            93..96 => Some(simple(at, "POST", "/cancel")),
            96..97 => Some(simple(at, "DELETE", "")),
            97..99 => Some(simple(at, "POST", "/recover")),
            _ => Some(simple(at, "POST", "/retry")),
        }
    }

    /// Returns the next caller; mostly the owner, where threads have owners.
    fn caller(&mut self, thread: &str) -> Option<String> {
        let callers = self.world.callers();
        if self.world.separates_callers() && self.random.percent(85) {
            let owner = usize::from(thread != "t1");
            return callers.get(owner).or(callers.first()).cloned();
        }
        self.random.pick(&callers).cloned()
    }

    /// A card that was shown: mostly the newest of this thread to this caller; else an older one,
    /// one of another thread, or where threads have owners that of another caller.
    fn card(&mut self, (caller, thread): &(String, String)) -> Option<Card> {
        let mut from = caller.clone();
        if self.world.separates_callers() && self.random.percent(15) {
            from = self.random.pick(&self.world.callers())?.clone();
        }
        let shown = self.book.of(&from);
        let here: Vec<&Card> = shown
            .iter()
            .copied()
            .filter(|it| it.thread == *thread)
            .collect();
        let card = match self.random.below(10) {
            0..7 => here.last().copied(),
            7..9 => self.random.pick(&here).copied(),
            _ => self.random.pick(&shown).copied(),
        };
        card.cloned()
    }

    /// A yes, a no, or neither.
    fn short(&mut self, at: (String, String), naming: &CardNaming) -> PlannedRequest {
        let (of, agrees): (&[&str], bool) = match self.random.below(10) {
            0..7 => (&AGREEING, true),
            7 => (&DECLINING, false),
            _ => (&VAGUE, false),
        };
        let text = self.random.pick(of).copied().unwrap_or("yes");
        self.words(at, text.to_owned(), naming, agrees)
    }

    fn words(
        &mut self,
        (caller, thread): (String, String),
        mut text: String,
        naming: &CardNaming,
        agrees: bool,
    ) -> PlannedRequest {
        let mut names = vec![];
        let mut card = None;
        match naming {
            CardNaming::Card(it) => {
                card = Some(it.id.clone());
                names.push(it.id.clone());
            }
            CardNaming::Code(it) => {
                text = format!("{text} {}", it.code());
                names.push(it.id.clone());
            }
            CardNaming::None => {}
        }
        let key = self.key();
        let said = ConsentWords {
            thread,
            text,
            card,
            key,
        };
        let own = self.world.own_words(&said);
        let door = self.random.below(doors::WORDS + 2 * own.len());
        let request = match own.get(door.saturating_sub(doors::WORDS) / 2) {
            Some(own) if door >= doors::WORDS => own.clone(),
            _ => {
                let history = self.history(&caller, &said.thread);
                if door >= doors::REPEATING && names.is_empty() {
                    names = self.repeated(&caller, &history);
                }
                self.named(doors::words(door, &said, &history), said.key.as_ref())
            }
        };
        if !agrees {
            names.clear();
        }
        PlannedRequest {
            caller,
            thread: said.thread,
            request,
            names,
            said: Some(said.text),
        }
    }

    /// The cards whose codes are in the last message of the assistant.
    fn repeated(&self, caller: &str, history: &[doors::Message]) -> Vec<String> {
        let Some((_, last)) = history.last() else {
            return vec![];
        };
        let cards = self.book.of(caller).into_iter();
        let shown = cards.filter(|it| has_word(last, &it.code()));
        shown.map(|it| it.id.clone()).collect()
    }

    fn press(&mut self, at: (String, String)) -> Option<PlannedRequest> {
        let card = self.card(&at)?;
        let (caller, thread) = at;
        let agrees = self.random.percent(80);
        let digest = match self.random.below(10) {
            0..5 => card.digest.clone(),
            5 => Some("0".repeat(16)),
            _ => None,
        };
        let answer = ConsentAnswer {
            thread,
            id: card.id.clone(),
            digest,
            agrees,
        };
        let own = self.world.own_answers(&answer);
        let door = self.random.below(doors::BUTTONS + 2 * own.len());
        let request = match own.get(door.saturating_sub(doors::BUTTONS) / 2) {
            Some(own) if door >= doors::BUTTONS => own.clone(),
            _ => {
                let key = self.key();
                let value = self.world.button(agrees);
                self.named(doors::button(door, &answer, &value), key.as_ref())
            }
        };
        let names = if agrees { vec![card.id] } else { vec![] };
        Some(PlannedRequest {
            caller,
            thread: answer.thread,
            request,
            names,
            said: None,
        })
    }

    /// A name for a request, if its client gives it one: mostly a new one.
    fn key(&mut self) -> Option<String> {
        if !self.random.percent(40) {
            return None;
        }
        if self.keys == 0 || !self.random.percent(8) {
            self.keys += 1;
            return Some(format!("k{}", self.keys));
        }
        Some(format!("k{}", 1 + self.random.below(self.keys)))
    }

    /// Mostly the response is the whole run; else it says that the run began.
    fn named(&mut self, mut request: TestRequest, key: Option<&String>) -> TestRequest {
        if self.random.percent(15) {
            request.headers.clear();
        }
        let key = key.map(|key| ("idempotency-key", key.clone()));
        request.headers.extend(key);
        request
    }
}

fn simple((caller, thread): (String, String), method: &'static str, path: &str) -> PlannedRequest {
    let body = if method == "POST" {
        json!({})
    } else {
        Value::Null
    };
    let request = TestRequest::new(method, format!("/threads/{thread}{path}"), body);
    PlannedRequest {
        caller,
        thread,
        request,
        names: vec![],
        said: None,
    }
}
