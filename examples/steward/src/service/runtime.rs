//! The judge of words for a plan that is under way.
use std::sync::Arc;

use fugato::{
    agent::decision::Judge,
    form::{FieldKind, Fields, Form, amount_value, cents, strings, text},
    llm::{ChatRequest, RejectedAnswer, ToolSchema},
    state::{Lang, say},
    words::{ShortAnswer, after_word, dates, decided, money, number},
};
use jiff::civil::Date;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::{RuleData, Situation};
use crate::{
    form::FormKind,
    ledger::Document,
    read::{DocumentQuestion, UNSURE, document_ids, exchanged},
    state::{PlanTask, RuntimeDecision, Steward},
};

/// The judge of the next step of a plan.
#[derive(Debug)]
pub struct NextStepJudge(pub(crate) Arc<RuleData>);

/// The most characters of an answer to the question for one field.
const SHORT: usize = 40;
/// The most facts of a complete task that words replace without being about another one.
const FEW: usize = 1;
/// The most fields that words about the current task give; more fields mean another form.
const MANY: usize = 3;

impl NextStepJudge {
    /// Returns true if these values differ from those of the current task, or do not fit into it.
    pub(crate) fn is_given_more(&self, state: &Steward, context: &Fields) -> bool {
        let mut at = Situation::of(state);
        (at.beside.context, at.beside.attachments) = (context.clone(), vec![]);
        let task = at.plan.current();
        task.is_some_and(|task| brings_more(&self.0, &at, task))
    }

    /// Returns the meaning of the words if rules are certain of it; no model is asked then.
    pub fn certain(&self, at: &Situation) -> Option<RuntimeDecision> {
        let desk = &self.0;
        let words = at.message.as_str();
        let Some(task) = at.plan.current() else {
            return Some(RuntimeDecision::NewRequest);
        };
        let denied = desk.reader.denied(words);
        let own = match task.form {
            FormKind::Withdrawal => Some(DocumentQuestion::Withdraw),
            FormKind::Restoration => Some(DocumentQuestion::Restore),
            _ => None,
        };
        if denied.is_some() && denied == own {
            return Some(RuntimeDecision::Cancel);
        }
        if desk.not_a_wish(words, at.base(), Lang::En).is_some()
            || is_complete(desk, task)
                && desk.left_for_another(words, at.base(), Lang::En).is_some()
        {
            return Some(RuntimeDecision::Unclear);
        }
        if desk.reader.means_next(words) {
            return Some(RuntimeDecision::Next);
        }
        match ShortAnswer::of(words) {
            // Files are more than a yes.
            Some(ShortAnswer::Yes | ShortAnswer::Continue) if brings_more(desk, at, task) => {
                return supplement(desk, at, task);
            }
            Some(ShortAnswer::Yes | ShortAnswer::Continue) => {
                return Some(RuntimeDecision::Confirm);
            }
            Some(ShortAnswer::No | ShortAnswer::Cancel) => return Some(RuntimeDecision::Cancel),
            Some(ShortAnswer::StartOver | ShortAnswer::Retry) => {
                return Some(RuntimeDecision::NewRequest);
            }
            _ => {}
        }
        if desk.reader.means_drop(words) {
            return Some(RuntimeDecision::Cancel);
        }
        // A no that is told with a change is about the card: 不对，是去苏州，预算改成800.
        let asked = desk.asked_beside(words, Some(task));
        let asked = asked.filter(|it| *it != DocumentQuestion::Revise || !corrects(desk, at));
        match asked {
            Some(DocumentQuestion::Withdraw) if means_task(desk, words, task) => {
                return Some(RuntimeDecision::Cancel);
            }
            Some(asked) if asked.begins_task() && at.names_targets() => {
                return Some(RuntimeDecision::NewRequest);
            }
            // The card is shown again.
            Some(_) if is_complete(desk, task) => return Some(RuntimeDecision::Unclear),
            Some(_) => return Some(RuntimeDecision::NewRequest),
            None => {}
        }
        if task.confidence <= UNSURE
            && let Some(form) = desk.reader.named_kind(words)
        {
            return Some(RuntimeDecision::Supplement {
                fields: Fields::new(),
                form: Some(form),
                unread: vec![],
            });
        }
        if let Some(fields) = changed(desk, at, task) {
            return Some(RuntimeDecision::Supplement {
                fields,
                form: None,
                unread: vec![],
            });
        }
        if is_further(desk, at, task) {
            return Some(RuntimeDecision::NewRequest);
        }
        supplement(desk, at, task)
    }
}

/// Returns the fields that words change in a task that changes a document, unless they name a form.
fn changed(desk: &RuleData, at: &Situation, task: &PlanTask) -> Option<Fields> {
    let document = Document {
        fields: task.fields.clone(),
        ..task.about.clone().filter(|it| it.form() == task.form)?
    };
    let words = at.message.as_str();
    if desk.reader.form_of(words).is_some() {
        return None;
    }
    let changed = desk.changed(&document, (words, at.base())).ok();
    changed.filter(|fields| !fields.is_empty())
}

/// Returns true if words that take something back can be about a task that is not written yet: they
/// name no document, no other form and no other place.
pub(super) fn means_task(desk: &RuleData, words: &str, task: &PlanTask) -> bool {
    let form = desk.reader.form_of(words);
    let place = desk.place_in(words);
    document_ids(words).is_empty()
        && form.is_none_or(|form| form == task.form)
        && place.is_none_or(|place| {
            let known = task.fields.get("destination");
            known.is_some_and(|known| is_same_place(desk, known, &place))
        })
}

fn is_complete(desk: &RuleData, task: &PlanTask) -> bool {
    task.confidence > UNSURE && desk.forms.missing(&task.form, &task.fields).is_empty()
}

/// Returns true if the words want something else than the current task: another form, or another
/// one of the same form. Of a complete task two facts that differ are another one, unless the words
/// say that they change it.
fn is_further(desk: &RuleData, at: &Situation, task: &PlanTask) -> bool {
    let words = at.message.as_str();
    let further = desk.reader.means_further(words);
    let changes = !further && desk.reader.means_change(words);
    let is_complete = is_complete(desk, task);
    let form = desk.forms.get(&task.form);
    let told = desk.told(words, at.base());
    let read = form.map(|form| desk.facts.read(form, &told, at.base()));
    let read = read.unwrap_or_default();
    let elsewhere = read
        .get("destination")
        .zip(task.fields.get("destination"))
        .is_some_and(|(goal, known)| !is_same_place(desk, goal, known));
    if elsewhere
        && !changes
        && !corrects(desk, at)
        && (read.len() > FEW || desk.reader.goes_somewhere(&told))
    {
        return true;
    }
    let asks = desk.reader.clauses(desk, words, at.base());
    asks.iter().any(|clause| {
        // What a trip is to cost is told with what it is for.
        let answers = task.form == FormKind::Application
            && !task.fields.contains_key("estimated_amount")
            && desk.reader.form_of(words).is_none()
            && !clause.fields.contains_key("expense_date");
        if clause.confidence > UNSURE && clause.form != task.form {
            return !answers;
        }
        let differs = |(name, value): &(&String, &Value)| {
            let is_same = |known| known == *value || is_same_place(desk, known, value);
            task.fields.get(*name).is_some_and(|known| !is_same(known))
        };
        let differing = clause.fields.iter().filter(differs).count();
        // Who goes somewhere else, and changes nothing, wants another trip.
        let elsewhere = clause
            .fields
            .get_key_value("destination")
            .is_some_and(|it| differs(&it));
        if elsewhere && (further || is_complete && !changes) {
            return true;
        }
        let most = if is_complete { FEW } else { MANY };
        clause.fields.len() > MANY && !is_complete && differing > 0
            || !changes && differing > most
            || is_complete && further && !clause.fields.is_empty()
    })
}

/// Returns true if words came with a no to the card, and name neither a form nor a document: they tell
/// what is to be different.
fn corrects(desk: &RuleData, at: &Situation) -> bool {
    let words = at.message.as_str();
    at.rejects && desk.reader.form_of(words).is_none() && document_ids(words).is_empty()
}

fn is_same_place(desk: &RuleData, one: &Value, other: &Value) -> bool {
    let names = one.as_str().zip(other.as_str());
    names.is_some_and(|(one, other)| desk.facts.is_same_place(one, other))
}

/// Returns true if files or values of fields came with the words that the task does not have.
fn brings_more(desk: &RuleData, at: &Situation, task: &PlanTask) -> bool {
    let there: Vec<_> = strings(task.fields.get("attachments")).collect();
    let is_new = |(name, value): (&String, &Value)| match name.as_str() {
        "attachments" => strings(Some(value)).any(|name| !there.contains(&name)),
        name => task.fields.get(name) != Some(value),
    };
    at.given(desk, task.form).iter().any(is_new) || !at.unfit(desk, task.form).is_empty()
}

/// Adds the files that a task has to those that come.
fn join_files(fields: &mut Fields, task: &PlanTask) {
    let Some(Value::Array(new)) = fields.get_mut("attachments") else {
        return;
    };
    let there = strings(task.fields.get("attachments"));
    let mut all: Vec<Value> = there.map(Value::from).collect();
    new.retain(|name| !all.contains(name));
    all.append(new);
    *new = all;
}

/// Adds the files that a task has to those that come, without those that words take off. Returns false
/// if none were left, which a claim cannot be.
fn change_files(desk: &RuleData, words: &str, task: &PlanTask, fields: &mut Fields) -> bool {
    join_files(fields, task);
    let files = fields.get("attachments").or(task.fields.get("attachments"));
    let files: Vec<String> = strings(files).map(str::to_owned).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let left = desk.reader.files_left(words, &files);
    let is_some = left.as_ref().is_none_or(|left| !left.is_empty());
    if let Some(left) = left.filter(|_| is_some) {
        fields.insert("attachments".into(), json!(left));
    }
    is_some
}

/// Returns the fields that the words give for the current task.
fn supplement(desk: &RuleData, at: &Situation, task: &PlanTask) -> Option<RuntimeDecision> {
    let form = desk.forms.get(&task.form)?;
    let mut fields = at.given(desk, task.form);
    let told = desk.reader.without_submission(&at.message);
    let hands_in = told != at.message;
    let told = desk.told(&told, at.base());
    let mut said = desk.facts.read(form, &told, at.base());
    let mut unread = desk.facts.unread(form, &told, &said, at.base());
    // A reason is cut out of any words, also of a question.
    let asks = desk.reader.means_question(&at.message);
    let is_remark = is_remark(desk, &told, &said, at);
    let asks_beside = desk.reader.asks_for_documents(&at.message);
    if is_remark || asks_beside || asks && said.keys().all(|name| name == "reason") {
        said.clear();
    }
    // The same place in another language is no news.
    if let Some((goal, known)) = said.get("destination").zip(task.fields.get("destination"))
        && is_same_place(desk, goal, known)
    {
        said.insert("destination".into(), known.clone());
    }
    fields.extend(at.real(said));
    if !change_files(desk, &at.message, task, &mut fields) {
        unread.push(at.message.trim().to_owned());
    }
    let missing = desk.forms.missing(&task.form, &task.fields);
    let lacks = |name: &str| missing.iter().any(|it| it == name);
    // A single day fills the missing one.
    if !desk.reader.means_departure(&at.message)
        && lacks("end_date")
        && !lacks("start_date")
        && !fields.contains_key("end_date")
        && let Some(day) = fields.remove("start_date")
    {
        fields.insert("end_date".into(), day);
    }
    if let Some((last, day, rest)) = last_day(form, task, at) {
        fields.entry(last).or_insert(day.to_string().into());
        unread.retain(|part| rest.contains(part.as_str()));
    }
    if !exchanges(desk, form, task, at, &mut fields) {
        unread.push(at.message.trim().to_owned());
    }
    if let Some(code) = desk.reader.currency_alone(&at.message)
        && form.field("currency").is_some()
    {
        fields.insert("currency".into(), code.into());
    }
    if !moves_day(form, task, at, &mut fields) {
        unread = vec![at.message.trim().to_owned()];
    }
    // What is said to be wrong has to be there: "70, not 60" of 54 is asked.
    let others = denied_others(desk, form, task, at);
    if !others.is_empty() {
        fields.extend(others);
        unread = vec![at.message.trim().to_owned()];
    }
    // "Make it 54" changes the amount that there is, and "it was 54, not 45" if it is this one.
    let told_anew = desk.reader.amount_alone(&at.message);
    if let Some((field, (old, new))) = form
        .fields
        .iter()
        .find(|field| field.kind == FieldKind::Amount)
        .zip(told_anew)
        && old.is_none_or(|old| task.fields.get(&field.name).and_then(cents) == Some(old))
    {
        fields.insert(field.name.clone(), amount_value(new));
        unread.clear();
    }
    // What is added takes the place of no amount.
    if desk.reader.sums_up(&at.message) && !missing.iter().any(|name| is_amount(form, name)) {
        fields.retain(|name, _| !is_amount(form, name) && name != "currency");
        unread.push(at.message.trim().to_owned());
    }
    // A number alone answers what was asked.
    if fields.is_empty()
        && let Some(name) = missing.iter().find(|name| is_amount(form, name))
        && let Some(cents) = money(at.message.trim_end_matches(['.', '。']))
    {
        fields.insert(name.clone(), amount_value(cents));
        unread.clear();
    }
    if fields.is_empty()
        && !(asks || asks_beside || is_remark || hands_in)
        && unread.is_empty()
        && !desk.reader.means_change(&at.message)
        && !desk.reader.means_unknown(&at.message)
        && missing == ["reason"]
        && ShortAnswer::of(&at.message).is_none()
        && at.message.chars().count() <= SHORT
    {
        let reason = desk.facts.cleaned(&at.message)?;
        fields.insert("reason".into(), reason.into());
    }
    // "Yesterday was wrong" changes something, and names only what is there.
    let is_known = |(name, value): (&String, &Value)| task.fields.get(name) == Some(value);
    if fields.iter().all(is_known) && unread.is_empty() && desk.reader.means_change(&at.message) {
        unread.extend((!fields.is_empty()).then(|| at.message.trim().to_owned()));
    }
    let unfit = at.unfit(desk, task.form);
    let is_news = !fields.is_empty() || !unfit.is_empty();
    unread.extend(unfit);
    is_news.then_some(RuntimeDecision::Supplement {
        fields,
        form: None,
        unread,
    })
}

/// Puts one in the place of the other where words say so, also where they are texts: "not a taxi but a
/// train", "it was dinner, not lunch". Returns false if nothing comes of it.
fn exchanges(
    desk: &RuleData,
    form: &Form<FormKind>,
    task: &PlanTask,
    at: &Situation,
    fields: &mut Fields,
) -> bool {
    let Some((old, new)) = exchanged(&at.message) else {
        return true;
    };
    let new = desk.reader.becoming(new);
    let texts = form.fields.iter().filter(|it| it.kind == FieldKind::Text);
    for field in texts {
        let known = text(&task.fields, &field.name);
        // Lower case by ASCII keeps the byte positions.
        let place = known.to_ascii_lowercase().find(&old.to_ascii_lowercase());
        let around = place.and_then(|at| Some((known.get(..at)?, known.get(at + old.len()..)?)));
        if let Some((before, behind)) = around {
            let value = format!("{before}{new}{behind}");
            fields.insert(field.name.clone(), value.into());
        }
    }
    let is_known = |(name, value): (&String, &Value)| task.fields.get(name) == Some(value);
    !fields.iter().all(is_known)
}

/// Returns the field of the last day of a period, and the day of the month in which it begins that words
/// name as that, with the rest of them: "until the 10th", 10号回来.
fn last_day(
    form: &Form<FormKind>,
    task: &PlanTask,
    at: &Situation,
) -> Option<(String, Date, String)> {
    let words = decided(&at.message).map_or_else(|| at.message.clone(), |(_, rest)| rest);
    let words = words.trim_start_matches("还是").trim_start();
    let field = form.fields.iter().find(|it| it.not_before.is_some())?;
    let first = text(&task.fields, field.not_before.as_deref()?);
    let is_led = after_word(words, &["until", "till", "to the", "到", "至"]).is_some();
    let is_day = || number(words).is_some_and(|(_, rest)| rest.starts_with(['号', '日']));
    let gap = match () {
        () if is_led => " ",
        () if is_day() => "到",
        () => return None,
    };
    let read = dates(&format!("{first}{gap}{words}"), at.base(), form.toward);
    match *read.dates {
        [start, last] if start.to_string() == first && start <= last => {
            Some((field.name.clone(), last, read.rest))
        }
        _ => None,
    }
}

/// Puts a day in the place of the one that words deny, where that is not the first of the form: "the end
/// is not the 3rd, but the 4th". Returns false if the period would end before it begins; its days stay
/// then.
fn moves_day(form: &Form<FormKind>, task: &PlanTask, at: &Situation, fields: &mut Fields) -> bool {
    let ends = form
        .fields
        .iter()
        .find_map(|it| Some((it.not_before.as_ref()?, &it.name)));
    let Some(((first, last), (denied, _))) = ends.zip(exchanged(&at.message)) else {
        return true;
    };
    let denied = dates(denied, at.base(), form.toward).dates;
    let known = task.fields.get(last).and_then(Value::as_str);
    if denied.first().map(ToString::to_string).as_deref() == known
        && known.is_some()
        && !fields.contains_key(last)
        && let Some(day) = fields.remove(first)
    {
        fields.insert(last.clone(), day);
    }
    let day = |name: &str| fields.get(name).or_else(|| task.fields.get(name))?.as_str();
    let is_period = day(first)
        .zip(day(last))
        .is_none_or(|(first, last)| first <= last);
    if !is_period {
        for name in [first, last] {
            if let Some(known) = task.fields.get(name) {
                fields.insert(name.clone(), known.clone());
            }
        }
    }
    is_period
}

/// Returns the fields of a task, as they are, of which words deny another value than they have.
fn denied_others(
    desk: &RuleData,
    form: &Form<FormKind>,
    task: &PlanTask,
    at: &Situation,
) -> Fields {
    let Some((denied, _)) = exchanged(&at.message) else {
        return Fields::new();
    };
    let mut denied_fields = desk.facts.read(form, denied, at.base());
    let mut amounts = form.fields.iter().filter(|it| it.kind == FieldKind::Amount);
    if let Some((field, cents)) = amounts.next().zip(money(denied)) {
        denied_fields.insert(field.name.clone(), amount_value(cents));
    }
    let days = form.fields.iter().filter(|it| it.kind == FieldKind::Day);
    let days: Vec<_> = days.filter_map(|it| task.fields.get(&it.name)).collect();
    let other = |(name, denied): (String, Value)| {
        let known = task.fields.get(&name)?;
        let is_text = form.field(&name)?.kind == FieldKind::Text;
        let is_there = *known == denied
            || cents(known).is_some_and(|known| Some(known) == cents(&denied))
            || is_same_place(desk, known, &denied)
            || days.contains(&&denied);
        (!is_text && !is_there).then(|| (name, known.clone()))
    };
    denied_fields.into_iter().filter_map(other).collect()
}

/// Returns true if more of the words is unknown than was read of them, and they neither name a field nor
/// change one: what they say in passing fills in nothing.
fn is_remark(desk: &RuleData, words: &str, said: &Fields, at: &Situation) -> bool {
    /// The fewest words that make a remark.
    const FEWEST: usize = 2;
    let reader = &desk.reader;
    let names = reader.called(words).next().is_some() || reader.means_change(words);
    let plain = !names && !said.contains_key("attachments") && desk.reader.form_of(words).is_none();
    let unknown = || desk.unknown_words(words, said, at.base());
    plain && !said.is_empty() && unknown() >= FEWEST.max(said.len())
}

fn is_amount(form: &Form<FormKind>, name: &str) -> bool {
    form.field(name)
        .is_some_and(|field| field.kind == FieldKind::Amount)
}

const DECISIONS: [&str; 6] = [
    "supplement",
    "confirm",
    "cancel",
    "next",
    "new_request",
    "unclear",
];

impl Judge for NextStepJudge {
    type Situation = Situation;
    type Verdict = RuntimeDecision;

    fn question(&self, at: &Situation) -> (ChatRequest, ToolSchema) {
        let task = at.plan.current();
        let told = say!(
            "A person works on a form with a program. Call decide_next to say what their words \
             mean: supplement for something about this form, with its fields; confirm to go on \
             with it; cancel to leave it; next for the next form; new_request for something else \
             that they want; unclear if you cannot tell.\nThe form now: {}",
            "有人在用程序填写表单。调用 decide_next，说明他们的话是什么意思：supplement 表示说的是这张表单的内容，\
             并给出字段；confirm 表示继续办理；cancel 表示不办了；next 表示下一张表单；new_request 表示另外的要求；\
             看不出来就用 unclear。\n现在的表单：{}",
            json!({ "form": task.map(|task| task.form), "fields": task.map(|task| &task.fields) }),
        );
        let fields = self.0.schema(task.map(|task| task.form));
        let decision = json!({ "type": "string", "enum": DECISIONS });
        let arguments = json!({
            "type": "object",
            "properties": { "decision": decision, "fields": fields },
            "required": ["decision"],
        });
        let says = say!("Says what the words mean.", "说明这些话的意思。");
        let function = ("decide_next", says);
        self.0.question("decide", at, &told, function, arguments)
    }

    fn read(&self, at: &Situation, arguments: &Value) -> Result<RuntimeDecision, RejectedAnswer> {
        let called = RuntimeDecision::deserialize(arguments)?;
        let Some(task) = at.plan.current() else {
            return Ok(RuntimeDecision::NewRequest);
        };
        let RuntimeDecision::Supplement { fields, form, .. } = called else {
            return Ok(called);
        };
        let kind = form.unwrap_or(task.form);
        let mut fields = at.real(self.0.taken(kind, "/fields", &fields)?);
        join_files(&mut fields, task);
        if fields.is_empty() && form.is_none() {
            let why = say!(
                "name at least one field, or choose another decision",
                "至少给出一个字段，或者选择别的 decision"
            );
            return Err(RejectedAnswer::at("/fields", why));
        }
        Ok(RuntimeDecision::Supplement {
            fields,
            form,
            unread: vec![],
        })
    }

    fn rules(&self, at: &Situation) -> RuntimeDecision {
        self.certain(at).unwrap_or(RuntimeDecision::Unclear)
    }
}
