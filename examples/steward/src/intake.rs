//! The intake of a request: its words are cleaned, and its action is looked up. No model is asked,
//! and nothing is written.
use fugato::{
    BoxError, Context,
    agent::sequence::{ActionEnd, ActionRequest, ActionsUpdate},
    form::{Fields, day, strings},
    state::{Lang, Millis, State as _, say},
    words::normalize_whitespace,
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde_json::Value;

use crate::{
    action::{self, WHITELIST},
    bounds::out_of_bounds,
    deps::Deps,
    files::{self, Attachment},
    form::FormKind,
    ledger::{named, unknown},
    read::Goal,
    reply,
    state::{Request, RequestKind, Runtime, Steward, Update},
    verdict,
};

/// The most characters of a message.
const LONGEST: usize = 4000;

/// Returns the clean words of the request, the files that were uploaded, and the action that it asks
/// for. While a card waits, words about it are read already.
pub(crate) async fn prepared(
    deps: &Deps,
    cx: &Context<Steward>,
    runtime: Runtime,
) -> Result<Vec<Update>, BoxError> {
    let state = cx.state();
    let request = state.request.as_ref().ok_or("nothing is requested")?;
    let mut files = deps.files.of(cx.thread(), &state.employee)?;
    let of_next = files_of_next(deps, state, &files);
    files.extend(of_next);
    let words = if state.is_pending() {
        &state.message
    } else {
        &request.message
    };
    let aside = set_aside(deps, state, words, &files);
    let aside = (aside != state.set_aside).then_some(Update::SetAside(aside));
    let attached = (files != state.files).then(|| Update::Attached(files.clone()));
    let placed = (state.thread != cx.thread().as_str())
        .then(|| Update::Placed(cx.thread().as_str().to_owned()));
    let attached = placed.into_iter().chain(attached).chain(aside);
    let base = day(&request.beside.base_date).unwrap_or_else(|| today(cx.now()));
    if state.is_pending() {
        let targeted = targeted(deps, state, (&state.message, base)).await?;
        let told = asides(deps, state).await?;
        let told = (told != state.aside).then_some(Update::Aside(told));
        return Ok(attached.chain(targeted).chain(told).collect());
    }
    let prepared = Update::Prepared {
        message: normalize_whitespace(&request.message.chars().take(LONGEST).collect::<String>()),
        client_trace_id: match request.client_trace_id.as_str() {
            "" => format!("run-{}", cx.run().0),
            named => named.to_owned(),
        },
        base_date: base.to_string(),
        runtime,
    };
    let targeted = targeted(deps, state, (&request.message, base)).await?;
    let requested = requested(deps, state, request, (&files, base)).await?;
    let requested = requested.into_iter().map(Update::Acted);
    let before = attached.chain(targeted).chain([prepared]);
    Ok(before.chain(requested).collect())
}

/// Returns the files that a document was written with and that an open task has, too: they wait no more,
/// and their content is kept.
fn files_of_next(deps: &Deps, state: &Steward, waiting: &[Attachment]) -> Vec<Attachment> {
    let is_gone = |file: &&Attachment| waiting.iter().all(|it| it.name != file.name);
    let files = state.files.iter().filter(is_gone);
    let files = files.filter(|file| state.is_of_task(&file.name));
    files
        .filter(|file| deps.files.is_kept(file))
        .cloned()
        .collect()
}

/// Returns the answer to words under a card that ask about documents; none if they do not.
async fn asides(deps: &Deps, state: &Steward) -> Result<Option<String>, BoxError> {
    let words = (state.message.as_str(), state.lang());
    let left = deps.desk.left_for_another(words.0, state.base(), words.1);
    if left.is_some() {
        return Ok(left);
    }
    let task = state.steward_state.current();
    let Some(asked) = deps.desk.asked_beside(words.0, task) else {
        return Ok(None);
    };
    let documents = deps.ledger.documents(&state.employee).await?;
    let base = state.base();
    let told = reply::about_documents(&deps.desk, words, (asked, base), &documents);
    Ok(Some(told))
}

/// Returns the names of the files that the words leave aside: those that they take off, those that they
/// do not name where they name others, and those that were left aside before, unless they are named, uploaded anew, or meant
/// by words about all attachments.
fn set_aside(deps: &Deps, state: &Steward, words: &str, files: &[Attachment]) -> Vec<String> {
    let request = state.request.as_ref();
    let beside = request.map_or(&[][..], |request| &request.beside.attachments);
    let off = |name: &String| deps.desk.reader.takes_off(words, name);
    let is_named =
        |name: &String| files::is_named(words, name) && !off(name) || beside.contains(name);
    // A name without a file is no reason to take another file.
    let names = || deps.desk.named_files(words).into_iter();
    let names_some =
        names().any(|name| !off(&name)) || files.iter().any(|file| is_named(&file.name));
    if !names_some && deps.desk.reader.means_attached(words) {
        return vec![];
    }
    let was_aside =
        |file: &Attachment| state.set_aside.contains(&file.name) && state.files.contains(file);
    let stays = |file: &&Attachment| {
        !is_named(&file.name) && (names_some || off(&file.name) || was_aside(file))
    };
    let names = files.iter().filter(stays).map(|file| file.name.clone());
    names.collect()
}

/// Returns the documents that the words or the action are about, if they are others than before.
async fn targeted(
    deps: &Deps,
    state: &Steward,
    words: (&str, Date),
) -> Result<Option<Update>, BoxError> {
    let named = match state.kind() {
        Some(RequestKind::Execute { arguments, .. }) => named(arguments).unwrap_or_default(),
        _ => "",
    };
    let desk = &deps.desk;
    let asked = desk.document_question(words.0);
    let asked = asked.filter(|asked| asked.begins_task());
    let links = asked.is_none() && desk.reader.means_link(words.0);
    let targets = if named.is_empty() && asked.is_none() && !links {
        vec![]
    } else {
        let documents = deps.ledger.documents(&state.employee).await?;
        match asked {
            Some(asked) => desk.targets(&documents, words, asked),
            None if links => desk.linked(&documents, words.0),
            None => {
                let named = documents.all().filter(|it| it.id == named);
                named.cloned().collect()
            }
        }
    };
    Ok((targets != state.targets).then_some(Update::Targeted(targets)))
}

/// Returns the day of this time, in the time zone of this machine.
pub(crate) fn today(now: Millis) -> Date {
    let now = Timestamp::from_millisecond(now).unwrap_or_default();
    now.to_zoned(TimeZone::system()).date()
}

/// Requests an action of the whitelist with its arguments in canonical form; any other is rejected
/// before anything is called.
async fn requested(
    deps: &Deps,
    state: &Steward,
    request: &Request,
    (files, base): (&[Attachment], Date),
) -> Result<Vec<ActionsUpdate>, BoxError> {
    let RequestKind::Execute {
        action: name,
        arguments,
        precheck_ref,
    } = &request.kind
    else {
        return Ok(vec![]);
    };
    let (given, end) = match given(deps, name, arguments, (files, state.lang())) {
        Ok(given) => {
            let told = precheck_ref.as_deref();
            let refuted = told.and_then(|told| refuted(state, name, &given, told));
            let end = match refuted {
                None => refused(deps, state, (name, &given), base).await?,
                refuted => refuted,
            };
            (given, end)
        }
        Err(end) => (Value::Null, Some(end)),
    };
    let asked = ActionRequest::new(request.client_trace_id.as_str(), name, given);
    let ended = end.map(ActionsUpdate::Ended);
    let requested = [ActionsUpdate::Requested(asked)];
    Ok(requested.into_iter().chain(ended).collect())
}

/// Blocks a write that nobody should be asked about: of a document that is not there, of what is
/// beyond the bounds, or one that the tables would refuse.
async fn refused(
    deps: &Deps,
    state: &Steward,
    (name, given): (&str, &Value),
    base: Date,
) -> Result<Option<ActionEnd>, BoxError> {
    let action = action::find(name).filter(|action| action.writes());
    let of = action.and_then(|action| action.form).zip(given.as_object());
    let Some((form, fields)) = of.filter(|(form, fields)| {
        // What is missing is said first.
        deps.desk.forms.missing(form, fields).is_empty()
    }) else {
        return Ok(None);
    };
    let lang = state.lang();
    let mut against = out_of_bounds(fields, form, Some(base), lang);
    if form != FormKind::Application {
        let documents = deps.ledger.documents(&state.employee).await?;
        match unknown(&documents, fields, lang).as_slice() {
            [] => against.extend(verdict::refused(
                &documents,
                (form, Goal::Draft),
                fields,
                lang,
            )),
            unknown => against.extend_from_slice(unknown),
        }
    }
    Ok((!against.is_empty()).then(|| ActionEnd::Blocked {
        at: name.to_owned(),
        why: reply::joined(&against, lang),
    }))
}

fn given(
    deps: &Deps,
    name: &str,
    arguments: &Fields,
    (files, lang): (&[Attachment], Lang),
) -> Result<Value, ActionEnd> {
    let unknown = || {
        let allowed: Vec<_> = WHITELIST.iter().map(|action| action.name).collect();
        let allowed = allowed.join(", ");
        let why = say!(
            "there is no action {name:?}; allowed are {allowed}",
            "没有操作 {name:?}；允许的有 {allowed}"
        );
        ActionEnd::Rejected { why }
    };
    let action = action::find(name).ok_or_else(unknown)?;
    let blocked = |why| {
        let at = name.to_owned();
        ActionEnd::Blocked { at, why }
    };
    let given = action.canonical(&deps.desk.forms, arguments);
    let given = given.map_err(blocked)?;
    let named = strings(given.get("attachments"));
    let is_file = |name: &&str| files.iter().any(|file| file.name == **name);
    let lacking: Vec<_> = named.filter(|name| !is_file(name)).collect();
    if action.writes() && !lacking.is_empty() {
        return Err(blocked(reply::no_file(&lacking, lang)));
    }
    Ok(given)
}

/// Blocks an action whose reference to a precheck does not name the finding that is stored here. A
/// client's claim about a precheck is only a reference.
fn refuted(state: &Steward, name: &str, given: &Value, told: &str) -> Option<ActionEnd> {
    let held = state.evidence.about(action::PRECHECK, given);
    if held.map(action::reference).as_deref() == Some(told) {
        return None;
    }
    Some(ActionEnd::Blocked {
        at: name.to_owned(),
        why: say!(
            "the precheck that is referred to is not one of this content; run it again",
            "所引用的检查不是针对这份内容的；请重新检查"
        ),
    })
}
