//! Two ways between the schedule and a collection of a `CalDAV` server.
//!
//! Events of others in the collection are busy time. Items that were kept here are written there as events
//! with ids of ours, each under the condition that it is as it was last seen; what is not ours is
//! never touched. What somebody changed there of what is ours is told, and taken over when the
//! person says so.
//!
//! There is no queue: each time both sides are compared with what they had in common last, which
//! is a document beside the log. A process that dies between the commit here and the write there
//! makes the write anew, because it belongs to the effect that stores the change, and finds its own
//! event if that was written already.
mod client;
mod event;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex as Lock, PoisonError},
};

use async_trait::async_trait;
use fugato::{
    graph::{BoxError, digest},
    state::say,
    store::{DocKey, DocStore, DocStoreExt as _, Namespace},
};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

pub use client::CalDavError;
use client::{Collection, Resource, WriteOutcome};
use event::{Event, events, id_of, is_ours, place, shown, uid};

use crate::{
    calendar::{Lang, Sections},
    remote::{CalendarSyncReport, RemoteCalendar, RemoteChange},
    results::ResultFiles,
    schedule::{EventType, PlacementStatus, ScheduleState, ScheduleTask},
    store::{Calendar, ScheduleStore, ScheduleStoreError, StoreReceipt, StoreWrite, WriteResult},
    transfer::{ImportOutcome, Transfer, TransferInput},
};

/// A calendar of nothing.
const EMPTY: &str =
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//scheduler//EN\r\nEND:VCALENDAR\r\n";

/// The parts of the schedule that a collection is compared with.
#[derive(derive_more::Debug, Clone)]
pub struct Local {
    /// The store of the schedule.
    #[debug(skip)]
    pub store: Arc<dyn ScheduleStore>,
    /// The name of the calendar.
    pub calendar: String,
    /// The files of its results, which know how it is written.
    pub files: ResultFiles,
    /// The import of busy time.
    pub transfer: Transfer,
    /// The times of the sections.
    pub sections: Sections,
    /// The zone of the schedule.
    pub zone: TimeZone,
    /// The language of remarks.
    pub lang: Lang,
}

/// A collection that is kept in step with a calendar.
#[derive(derive_more::Debug)]
pub struct CalDav {
    collection: Collection,
    local: Local,
    #[debug(skip)]
    docs: Arc<dyn DocStore>,
    alone: Mutex<()>,
    late: Lock<Option<String>>,
}

/// The events that both sides had in common last.
///
/// - 1: the first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Base {
    v: u32,
    /// The collection; with another one nothing is in common.
    url: String,
    /// The token of the collection when nothing was left to do.
    token: Option<String>,
    /// The digest of the events of others.
    busy: String,
    /// Our events, by their ids.
    events: BTreeMap<String, Common>,
}

/// An event of ours that both sides have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Common {
    href: String,
    etag: String,
    /// Its times here.
    here: String,
    /// Its times there.
    there: String,
}

impl CalDav {
    /// Creates the connection to a collection, with a user and a password if it needs them.
    pub fn new(
        url: &str,
        login: Option<(String, String)>,
        local: Local,
        docs: Arc<dyn DocStore>,
    ) -> Result<Self, CalDavError> {
        Ok(Self {
            collection: Collection::new(url, login)?,
            local,
            docs,
            alone: Mutex::default(),
            late: Lock::default(),
        })
    }

    /// Reads the user from `CALDAV_USER` and the password from `CALDAV_PASSWORD`, or from the file
    /// that `CALDAV_PASSWORD_FILE` names; none without a user.
    pub fn login() -> Result<Option<(String, String)>, CalDavError> {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let Some(user) = set("CALDAV_USER") else {
            return Ok(None);
        };
        let password = match (set("CALDAV_PASSWORD"), set("CALDAV_PASSWORD_FILE")) {
            (Some(password), _) => password,
            (None, Some(file)) => {
                let text = std::fs::read_to_string(file).map_err(CalDavError::Password)?;
                text.trim_end_matches(['\r', '\n']).to_owned()
            }
            (None, None) => String::new(),
        };
        Ok(Some((user, password)))
    }

    /// Compares both sides, and carries out what each lacks.
    async fn compared(&self) -> Result<CalendarSyncReport, BoxError> {
        let _alone = self.alone.lock().await;
        let mut base = self.base().await?;
        let token = self.collection.token().await?;
        let ours = self.ours(&self.schedule().await?)?;
        let is_same = |event: &Event| {
            let common = base.events.get(&event.uid);
            common.is_some_and(|common| common.here == event.shown)
        };
        if token.is_some()
            && token == base.token
            && ours.len() == base.events.len()
            && ours.values().all(is_same)
        {
            return Ok(CalendarSyncReport::default());
        }
        let (mut there, mut others) = (BTreeMap::new(), BTreeMap::new());
        for resource in self.collection.all().await? {
            match uid(&resource.text).filter(|uid| is_ours(uid, &self.local.calendar)) {
                Some(uid) => {
                    there.insert(uid, resource);
                }
                None => {
                    others.insert(resource.href, resource.text);
                }
            }
        }
        let mut report = CalendarSyncReport::default();
        self.busy(&others, &mut base, &mut report).await?;
        let mut sync = Sync {
            remote: self,
            schedule: self.schedule().await?,
            report,
            wrote: false,
        };
        let done = sync.events(&mut base, &there).await;
        let (report, wrote) = (sync.report, sync.wrote);
        // A write changes the token; the next time all is read once more.
        let settled = done.is_ok() && !wrote && report.elsewhere.is_empty();
        base.token = token.filter(|_| settled);
        self.keep(&base).await?;
        done?;
        Ok(report)
    }

    /// Takes the events of others over as busy time, if they changed.
    async fn busy(
        &self,
        others: &BTreeMap<String, String>,
        base: &mut Base,
        report: &mut CalendarSyncReport,
    ) -> Result<(), BoxError> {
        let mut courses = EMPTY.to_owned();
        for text in others.values() {
            courses.push_str(text.trim_end());
            courses.push_str("\r\n");
        }
        let busy = digest(courses.as_bytes());
        if busy == base.busy {
            return Ok(());
        }
        let input = TransferInput {
            courses: Some(courses),
            replace: true,
            ..TransferInput::default()
        };
        if let ImportOutcome::Done { remarks, .. } = self.local.transfer.bring(input).await? {
            report.remarks.extend(remarks);
        }
        base.busy = busy;
        Ok(())
    }

    async fn schedule(&self) -> Result<ScheduleState, BoxError> {
        let stored = self.local.store.read(&self.local.calendar).await?;
        Ok(stored.map(|stored| stored.schedule).unwrap_or_default())
    }

    /// Returns the events of what was agreed to, by their ids.
    fn ours(&self, schedule: &ScheduleState) -> Result<BTreeMap<String, Event>, BoxError> {
        let mut kept = schedule.clone();
        kept.tasks.retain(|task| {
            task.event_type == EventType::Course || task.status == PlacementStatus::Existing
        });
        let found = events(&self.local.files.calendar(&kept)?);
        Ok(found
            .into_iter()
            .map(|event| (event.uid.clone(), event))
            .collect())
    }

    async fn base(&self) -> Result<Base, BoxError> {
        let (space, key) = self.place()?;
        let found = self.docs.get(&space, &key).await?;
        let base: Option<Base> = match found {
            Some(doc) => Some(serde_json::from_value(doc.value)?),
            None => None,
        };
        let url = self.collection.href("");
        let base = base.filter(|base| base.url == url && base.v == 1);
        let new = || Base {
            v: 1,
            url,
            ..Base::default()
        };
        Ok(base.unwrap_or_else(new))
    }

    async fn keep(&self, base: &Base) -> Result<(), BoxError> {
        let (space, key) = self.place()?;
        self.docs
            .put(&space, &key, serde_json::to_value(base)?)
            .await?;
        Ok(())
    }

    fn place(&self) -> Result<(Namespace, DocKey), BoxError> {
        let name = digest(self.local.calendar.as_bytes());
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        Ok((Namespace::new(["caldav"])?, DocKey::new(name)?))
    }

    fn remember(&self, late: Option<String>) {
        *self.late.lock().unwrap_or_else(PoisonError::into_inner) = late;
    }

    /// Returns an error in words of a person.
    fn words(&self, error: &BoxError) -> String {
        let lang = self.local.lang;
        let known = error.downcast_ref::<CalDavError>();
        known.map_or_else(|| error.to_string(), |error| error.say(lang))
    }
}

#[async_trait]
impl RemoteCalendar for CalDav {
    async fn sync(&self) -> CalendarSyncReport {
        let report = async {
            let compared = self.compared().await;
            let late = compared.as_ref().err().map(|error| self.words(error));
            self.remember(late.clone());
            compared.unwrap_or_else(|error| {
                tracing::warn!(%error, "calendar server");
                let why = late.unwrap_or_default();
                CalendarSyncReport {
                    remarks: vec![say!(
                        "Your calendar could not be read: {why}. I go by what I read last.",
                        "没能读取你的日历：{why}。以下以上次读到的为准。"
                    )],
                    elsewhere: vec![],
                }
            })
        };
        self.local.lang.scope_future(report).await
    }

    fn late(&self) -> Option<String> {
        let late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        let told = |why| {
            say!(
                "not written to your calendar yet: {why}; the next request tries again",
                "还没有写入你的日历：{why}；下次请求会再试"
            )
        };
        self.local.lang.scope(|| late.as_ref().map(told))
    }
}

/// A comparison under way.
struct Sync<'a> {
    remote: &'a CalDav,
    schedule: ScheduleState,
    report: CalendarSyncReport,
    wrote: bool,
}

impl Sync<'_> {
    /// Compares our events.
    async fn events(
        &mut self,
        base: &mut Base,
        there: &BTreeMap<String, Resource>,
    ) -> Result<(), BoxError> {
        let mine = self.remote.ours(&self.schedule)?;
        let known = base.events.keys().chain(mine.keys()).chain(there.keys());
        let ids: BTreeSet<String> = known.cloned().collect();
        for id in ids {
            let common = base.events.remove(&id);
            let left = common.clone();
            match self.event(&id, mine.get(&id), there.get(&id), common).await {
                Ok(Some(common)) => {
                    base.events.insert(id, common);
                }
                Ok(None) => {}
                Err(error) => {
                    base.events.extend(left.map(|left| (id, left)));
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Compares one event of ours. Returns what both sides have in common then.
    async fn event(
        &mut self,
        id: &str,
        mine: Option<&Event>,
        there: Option<&Resource>,
        common: Option<Common>,
    ) -> Result<Option<Common>, BoxError> {
        let changed = |resource: &Resource, common: &Common| {
            resource.etag != common.etag && shown(&resource.text) != common.there
        };
        match (mine, there, common) {
            (Some(event), None, None) => self.first(event).await,
            (Some(event), None, Some(common)) => {
                self.elsewhere(id, event, None);
                Ok(Some(common))
            }
            (Some(event), Some(resource), common) => {
                let is_theirs = common
                    .as_ref()
                    .is_none_or(|common| changed(resource, common));
                if is_theirs && !self.agree(event, resource) {
                    self.elsewhere(id, event, Some(resource));
                    return Ok(common);
                }
                let stands = common
                    .as_ref()
                    .is_some_and(|common| common.here == event.shown);
                if is_theirs || stands {
                    return Ok(Some(seen(event, resource)));
                }
                self.again(id, event, resource, common).await
            }
            (None, Some(resource), Some(common)) if !changed(resource, &common) => {
                let client = &self.remote.collection;
                match client.delete(&resource.href, &resource.etag).await? {
                    WriteOutcome::Done(_) => self.wrote = true,
                    WriteOutcome::Changed => self.left(resource),
                }
                Ok(None)
            }
            (None, Some(resource), Some(_)) => {
                self.left(resource);
                Ok(None)
            }
            (None, _, _) => Ok(None),
        }
    }

    /// Writes an event that is not there yet.
    async fn first(&mut self, event: &Event) -> Result<Option<Common>, BoxError> {
        let client = &self.remote.collection;
        let name = digest(event.uid.as_bytes());
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let href = client.href(&format!("{name}.ics"));
        if let WriteOutcome::Done(etag) = client.put(&href, None, &event.text).await? {
            self.wrote = true;
            return self.written(href, etag, event).await.map(Some);
        }
        // It may have been written by a process that died before it could note that.
        match client.get(&href).await? {
            Some(resource) if self.agree(event, &resource) => Ok(Some(seen(event, &resource))),
            Some(resource) => {
                self.elsewhere(&event.uid, event, Some(&resource));
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// Writes an event that moved here, unless it is no longer as it was seen.
    async fn again(
        &mut self,
        id: &str,
        event: &Event,
        resource: &Resource,
        common: Option<Common>,
    ) -> Result<Option<Common>, BoxError> {
        let client = &self.remote.collection;
        let (href, etag) = (&resource.href, Some(resource.etag.as_str()));
        match client.put(href, etag, &event.text).await? {
            WriteOutcome::Done(etag) => {
                self.wrote = true;
                self.written(href.clone(), etag, event).await.map(Some)
            }
            WriteOutcome::Changed => {
                let now = client.get(href).await?;
                self.elsewhere(id, event, now.as_ref());
                Ok(common)
            }
        }
    }

    /// Returns what both sides have after a write; a server that tells no version may have written
    /// something else, which is read then.
    async fn written(
        &self,
        href: String,
        etag: Option<String>,
        event: &Event,
    ) -> Result<Common, BoxError> {
        let Some(etag) = etag else {
            let resource = self.remote.collection.get(&href).await?;
            let resource = resource.ok_or("what was written is gone")?;
            return Ok(seen(event, &resource));
        };
        Ok(Common {
            href,
            etag,
            here: event.shown.clone(),
            there: event.shown.clone(),
        })
    }

    /// Returns true if both sides have an event in the same place.
    fn agree(&self, event: &Event, resource: &Resource) -> bool {
        let start = |text| {
            let local = &self.remote.local;
            let slot = place(text, &self.schedule, &local.sections, &local.zone)?;
            Some((slot.day, slot.slot_start))
        };
        event.shown == shown(&resource.text)
            || start(&event.text).is_some_and(|mine| start(&resource.text) == Some(mine))
    }

    fn task(&self, id: &str) -> Option<&ScheduleTask> {
        let calendar = &self.remote.local.calendar;
        let mut tasks = self.schedule.tasks.iter();
        tasks.find(|task| id_of(calendar, &task.source_id) == id)
    }

    /// Notes that an event of ours was moved or deleted there.
    fn elsewhere(&mut self, id: &str, event: &Event, there: Option<&Resource>) {
        let local = &self.remote.local;
        let place = |resource: &Resource| {
            place(&resource.text, &self.schedule, &local.sections, &local.zone)
        };
        let to = there.map(place);
        let task = self.task(id).map(|task| (task.state_id, task.name.clone()));
        let (number, name) = task.unzip();
        let name = name.unwrap_or_else(|| event.uid.clone());
        let words = crate::understand::Words {
            schedule: &self.schedule,
            sections: Some(&local.sections),
            lang: local.lang,
        };
        let told = match to {
            None => say!(
                "“{name}” was deleted in your calendar; here it still is.",
                "《{name}》在你的日历里被删除了，这里还保留着。"
            ),
            Some(slot) => {
                let at = slot.and_then(|slot| words.place(&slot)).unwrap_or_default();
                say!(
                    "“{name}” was moved in your calendar: {at}. Nothing of it is overwritten.",
                    "《{name}》在你的日历里被改到 {at}，不会被覆盖。"
                )
            }
        };
        let change = match (number, to) {
            (Some(task), None) => Some(RemoteChange { task, to: None }),
            (Some(task), Some(Some(to))) => Some(RemoteChange { task, to: Some(to) }),
            _ => None,
        };
        let how = change.as_ref().map_or_else(String::new, |_| {
            say!(
                " Say “take over” to have it here, too.",
                "说“采用”即可让这里也一样。"
            )
        });
        self.report.remarks.push(format!("{told}{how}"));
        self.report.elsewhere.extend(change);
    }

    /// Notes that an event which is no longer kept here was changed there, and stays.
    fn left(&mut self, resource: &Resource) {
        let id = uid(&resource.text).unwrap_or_default();
        let name = self.task(&id).map_or(id.clone(), |task| task.name.clone());
        self.report.remarks.push(say!(
            "“{name}” was changed in your calendar, so it was left there.",
            "《{name}》在你的日历里有改动，因此保留在那里。"
        ));
    }
}

fn seen(event: &Event, resource: &Resource) -> Common {
    Common {
        href: resource.href.clone(),
        etag: resource.etag.clone(),
        here: event.shown.clone(),
        there: shown(&resource.text),
    }
}

/// A store whose stored changes are written to a calendar elsewhere, too.
///
/// A calendar that cannot be reached fails no write: the change is stored, and the next request
/// writes it there.
#[derive(derive_more::Debug, Clone)]
#[debug("SyncedStore {{ .. }}")]
pub struct SyncedStore {
    store: Arc<dyn ScheduleStore>,
    remote: Arc<dyn RemoteCalendar>,
}

impl SyncedStore {
    /// Creates a store over this one.
    pub fn new(store: Arc<dyn ScheduleStore>, remote: Arc<dyn RemoteCalendar>) -> Self {
        Self { store, remote }
    }
}

#[async_trait]
impl ScheduleStore for SyncedStore {
    async fn read(&self, calendar: &str) -> Result<Option<Calendar>, ScheduleStoreError> {
        self.store.read(calendar).await
    }

    async fn write(&self, calendar: &str, key: &str, write: &StoreWrite) -> WriteResult {
        let receipt = self.store.write(calendar, key, write).await?;
        if receipt == StoreReceipt::Stored && matches!(write, StoreWrite::Changes { .. }) {
            // What it reports is told with the next request.
            self.remote.sync().await;
        }
        Ok(receipt)
    }

    async fn delete(&self, calendar: &str) -> Result<(), ScheduleStoreError> {
        self.store.delete(calendar).await
    }
}
