//! A calendar elsewhere, on a real server: what changes on one side is seen on the other, and what
//! is not ours stays as it is.
use std::sync::Arc;

use expect_test::expect;
use fugato::{
    axum::{Caller, ServedAgent as _, UserMessage},
    graph::{Answers, RunnerOptions},
    state::ThreadId,
    store::{MemoryDocs, MemoryLog},
};
use fugato_testkit::{FaultyServer, ServerFault, assert_contains};
use jiff::tz::TimeZone;
use reqwest::{Client, Method, StatusCode};
use scheduler::{
    agent::CardReply,
    caldav::{CalDav, CalDavError, Local, SyncedStore},
    calendar::{Lang, Sections},
    deps::Deps,
    remote::{CalendarSyncReport, RemoteCalendar},
    results::{COURSES, MirroredStore, ResultFiles, TASKS},
    schedule::{ScheduleState, Slot},
    served::ServedScheduler,
    service::Service,
    store::{self, Calendars, ScheduleStore, StoreWrite},
    transfer::Transfer,
};
use serde_json::json;
use servers::{Radicale, Server};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

use crate::cli::work::Work;

const HOME: &str = "home";
const CLASSES: &str = "zone = \"UTC\"\n[window]\nstart = 2054-03-02\nweeks = 2\n\
    [[classes]]\nname = \"Reading\"\nitems = [\"One\", \"Two\"]\n";
const NOTHING: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\nEND:VCALENDAR\r\n";
/// An event of somebody else, in a style of their own.
const LOGIC: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//other//EN\r\nBEGIN:VEVENT\r\nUID:logic\r\n\
    DTSTAMP:20260101T000000Z\r\nDTSTART:20540302T080000Z\r\nDTEND:20540302T094000Z\r\n\
    SUMMARY:Logic\r\nX-THEIRS:1\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

/// The actions of somebody else on the collection, by a client of their own.
struct Elsewhere {
    http: Client,
    url: String,
}

impl Elsewhere {
    /// Starts a server; none if this machine has no such program.
    async fn start() -> Option<(Server, Self)> {
        let server = Radicale::start()?;
        // An error means that another test was first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let elsewhere = Self {
            http: Client::new(),
            url: server.url().to_owned(),
        };
        let made = elsewhere.ask("MKCALENDAR", "", String::new()).await;
        assert_eq!(made.0, StatusCode::CREATED, "{}", made.1);
        Some((server, elsewhere))
    }

    async fn ask(&self, method: &str, name: &str, body: String) -> (StatusCode, String) {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.http.request(method, format!("{}{name}", self.url));
        let request = request.basic_auth("ada", Some("secret")).body(body);
        let request = request.header("content-type", "text/calendar; charset=utf-8");
        let response = request.send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    }

    async fn put(&self, name: &str, text: &str) {
        let (status, told) = self.ask("PUT", name, text.to_owned()).await;
        assert!(status.is_success(), "{status} {told}");
    }

    async fn get(&self, name: &str) -> String {
        let (status, text) = self.ask("GET", name, String::new()).await;
        assert_eq!(status, StatusCode::OK);
        text
    }

    /// Moves an event to 10:00 on another date.
    async fn moves(&self, name: &str, date: &str) {
        let mut event = self.get(name).await;
        for (key, time) in [("DTSTART", "100000"), ("DTEND", "114000")] {
            let line = event.lines().find(|line| line.starts_with(key));
            let line = line.unwrap().trim().to_owned();
            event = event.replace(&line, &format!("{key}:{date}T{time}Z"));
        }
        self.put(name, &event).await;
    }

    /// Returns the names of all resources.
    async fn names(&self) -> Vec<String> {
        let query = r#"<d:propfind xmlns:d="DAV:"><d:prop><d:getetag/></d:prop></d:propfind>"#;
        let method = Method::from_bytes(b"PROPFIND").unwrap();
        let request = self.http.request(method, &self.url).header("depth", "1");
        let request = request.basic_auth("ada", Some("secret")).body(query);
        let text = request.send().await.unwrap().text().await.unwrap();
        let document = roxmltree::Document::parse(&text).unwrap();
        let hrefs = document
            .descendants()
            .filter(|node| node.has_tag_name(("DAV:", "href")));
        let names = hrefs.filter_map(|node| Some(node.text()?.rsplit('/').next()?.to_owned()));
        let mut names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
        names.sort();
        names
    }

    /// Returns the names of the events that the scheduler wrote, with their names and times.
    async fn ours(&self) -> Vec<(String, String)> {
        let mut found = vec![];
        for name in self.names().await {
            let text = self.get(&name).await;
            if text.contains("@fugato-scheduler") {
                let line = |key: &str| text.lines().find(|line| line.starts_with(key));
                let shown = ["SUMMARY", "DTSTART"].map(|key| line(key).unwrap_or_default().trim());
                found.push((shown.join(" "), name));
            }
        }
        found.sort();
        found
    }
}

/// The agent of a program, whose folder outlives it.
struct SyncFixture {
    served: ServedScheduler,
    store: Arc<dyn ScheduleStore>,
    remote: Arc<dyn RemoteCalendar>,
}

#[derive(Clone)]
struct Home {
    folder: Arc<tempfile::TempDir>,
    docs: Arc<MemoryDocs>,
    log: Arc<MemoryLog>,
}

impl Home {
    fn new() -> Self {
        let folder = fugato_testkit::tempdir().unwrap();
        std::fs::write(folder.path().join(COURSES), NOTHING).unwrap();
        std::fs::write(folder.path().join(TASKS), CLASSES).unwrap();
        Self {
            folder: Arc::new(folder),
            docs: Arc::default(),
            log: Arc::default(),
        }
    }

    fn remote(&self, url: &str, store: Arc<dyn ScheduleStore>) -> Result<CalDav, CalDavError> {
        let folder = self.folder.path();
        let local = Local {
            store: store.clone(),
            calendar: HOME.into(),
            files: ResultFiles::new(folder, HOME, Lang::En),
            transfer: Transfer::new(store, HOME, folder, Lang::En),
            sections: Sections::default(),
            zone: TimeZone::UTC,
            lang: Lang::En,
        };
        let login = ("ada".into(), "secret".into());
        CalDav::new(url, Some(login), local, self.docs.clone())
    }

    async fn desk(&self, url: &str) -> SyncFixture {
        let folder = self.folder.path();
        let path = folder.join("schedule.db").display().to_string();
        let files = ResultFiles::new(folder, HOME, Lang::En);
        let plain = store::open(&path).await.unwrap();
        let plain: Arc<dyn ScheduleStore> = Arc::new(MirroredStore::new(plain, files));
        let intake = scheduler::calendar::open(
            &folder.join(COURSES),
            &folder.join(TASKS),
            &TimeZone::UTC,
            scheduler::calendar::language(Lang::En),
        );
        let schedule = intake.unwrap().state;
        if plain.read(HOME).await.unwrap().is_none() {
            let import = StoreWrite::Import { schedule };
            plain.write(HOME, "import", &import).await.unwrap();
        }
        let remote = self.remote(url, plain.clone()).unwrap();
        let remote: Arc<dyn RemoteCalendar> = Arc::new(remote);
        let store: Arc<dyn ScheduleStore> = Arc::new(SyncedStore::new(plain, remote.clone()));
        let deps = Deps::new().unwrap();
        let deps = deps.calendars(Calendars::shared(store.clone(), HOME));
        let deps = deps.existing_may_move(true);
        let service = Service::new(&deps, self.log.clone(), RunnerOptions::default(), 30);
        let served = ServedScheduler::new(service.unwrap(), store.clone(), HOME);
        SyncFixture {
            served: served.remote(remote.clone()),
            store,
            remote,
        }
    }
}

impl SyncFixture {
    /// Says something, agrees to every card, and returns what the agent said of it.
    async fn say(&self, text: &str) -> String {
        self.hear(UserMessage::new(Caller::default(), text)).await
    }

    /// Takes an item out by hand.
    async fn takes_out(&self, name: &str) {
        let schedule = self.schedule().await;
        let task = schedule.tasks.iter().find(|task| task.name == name);
        let arguments = json!({ "task_id": task.unwrap().state_id });
        let mut said = UserMessage::new(Caller::default(), "take it out");
        let change = json!({ "name": "unplace", "arguments": arguments });
        said.extra.insert("change".into(), change);
        self.hear(said).await;
    }

    async fn hear(&self, said: UserMessage) -> String {
        let thread = ThreadId::new("desk").unwrap();
        let input = self.served.input(said).await.unwrap();
        let before = self.history(&thread).await.len();
        let runner = self.served.runner();
        let mut run = runner.start(&thread, input).await.unwrap();
        while let [asked, ..] = run.interrupts() {
            let reply = serde_json::to_value(CardReply::approve()).unwrap();
            let answers = Answers::to(asked.id.clone(), reply).unwrap();
            run = runner.resume(&thread, answers).await.unwrap();
        }
        self.history(&thread).await.split_off(before).join("\n")
    }

    async fn history(&self, thread: &ThreadId) -> Vec<String> {
        let state = self.served.runner().state(thread).await.unwrap();
        let said = state.map(|state| state.conversation.history.clone());
        let said = said.unwrap_or_default().into_iter();
        said.map(|message| message.content.clone()).collect()
    }

    async fn schedule(&self) -> ScheduleState {
        self.store.read(HOME).await.unwrap().unwrap().schedule
    }

    async fn place(&self, name: &str) -> Vec<Slot> {
        let schedule = self.schedule().await;
        let task = schedule.tasks.iter().find(|task| task.name == name);
        task.unwrap().slots.clone()
    }
}

#[tokio::test]
async fn a_first_request_takes_what_is_busy_and_what_is_kept_is_written() {
    let Some((server, there)) = Elsewhere::start().await else {
        return;
    };
    there.put("logic.ics", LOGIC).await;
    let before = there.get("logic.ics").await;
    let home = Home::new();
    let desk = home.desk(server.url()).await;
    desk.say("plan my weeks").await;
    assert_eq!(desk.place("Logic").await, [Slot::new(1, 1, 2)]);
    let ours = there.ours().await;
    assert_eq!(ours.len(), 2, "{ours:?}");
    assert_eq!(there.get("logic.ics").await, before, "byte for byte");
    // Nothing to do is nothing written.
    let again = desk.remote.sync().await;
    assert_eq!(again, CalendarSyncReport::default());
    assert_eq!(there.ours().await, ours);
    // Their new event comes in, with the next request.
    let choir = LOGIC
        .replace("UID:logic", "UID:choir")
        .replace("SUMMARY:Logic", "SUMMARY:Choir");
    let choir = choir.replace("20540302T", "20540304T");
    there.put("choir.ics", &choir).await;
    desk.say("what do I have on Monday?").await;
    assert_eq!(desk.place("Choir").await, [Slot::new(3, 1, 2)]);
    // And goes.
    there.ask("DELETE", "choir.ics", String::new()).await;
    desk.say("what do I have on Monday?").await;
    let names: Vec<_> = desk
        .schedule()
        .await
        .tasks
        .into_iter()
        .map(|task| task.name)
        .collect();
    assert_eq!(names, ["Logic", "One", "Two"]);
}

#[tokio::test]
async fn a_change_on_either_side_reaches_the_other_and_is_taken_over_by_a_word() {
    let Some((server, there)) = Elsewhere::start().await else {
        return;
    };
    let home = Home::new();
    let desk = home.desk(server.url()).await;
    desk.say("plan my weeks").await;
    desk.say("move Two to March 13 at 8:00").await;
    let ours = there.ours().await;
    expect!["SUMMARY:Two DTSTART:20540313T080000Z"].assert_eq(&ours[1].0);
    // Somebody moves ours there: it is told, and not overwritten.
    let (_, name) = &ours[0];
    there.moves(name, "20540305").await;
    let told = desk.say("what do I have on Monday?").await;
    assert_contains(&told, ["“One” was moved in your calendar", "take over"]);
    assert_ne!(desk.place("One").await, [Slot::new(4, 3, 4)]);
    assert_contains(&there.get(name).await, "20540305T100000Z");
    desk.say("take over").await;
    assert_eq!(desk.place("One").await, [Slot::new(4, 3, 4)]);
    let told = desk.say("what do I have on Monday?").await;
    assert!(!told.contains("in your calendar"), "{told}");
    // Deletion there.
    there.ask("DELETE", name, String::new()).await;
    let told = desk.say("what do I have on Monday?").await;
    assert_contains(&told, "“One” was deleted in your calendar");
    assert_eq!(there.ours().await.len(), 1, "it is not written again");
    desk.say("take over").await;
    assert_eq!(desk.place("One").await, []);
    // Deletion here.
    desk.takes_out("Two").await;
    assert_eq!(there.ours().await, []);
}

#[tokio::test]
async fn what_both_sides_changed_is_told_and_never_overwritten() {
    let Some((server, there)) = Elsewhere::start().await else {
        return;
    };
    let home = Home::new();
    let desk = home.desk(server.url()).await;
    desk.say("plan my weeks").await;
    let ours = there.ours().await;
    let (_, name) = &ours[1];
    there.moves(name, "20540313").await;
    let stands = there.get(name).await;
    // The request reads their change first, and its own is stored all the same.
    let told = desk.say("move Two to March 12 at 8:00").await;
    assert_contains(&told, "“Two” was moved in your calendar");
    assert_eq!(desk.place("Two").await, [Slot::new(11, 1, 2)]);
    assert_eq!(there.get(name).await, stands, "it is not overwritten");
}

#[tokio::test]
async fn a_process_that_dies_between_the_commit_and_the_write_leaves_one_event() {
    for dies_after in [false, true] {
        let Some((server, there)) = Elsewhere::start().await else {
            return;
        };
        let home = Home::new();
        let desk = home.desk(server.url()).await;
        desk.say("plan my weeks").await;
        let (_, name) = there.ours().await.remove(0);
        assert_eq!(there.ours().await.len(), 2);
        // What was noted of the writes is lost with the process.
        let fresh = Home {
            docs: Arc::default(),
            ..home.clone()
        };
        if !dies_after {
            there.ask("DELETE", &name, String::new()).await;
        }
        let again = fresh.desk(server.url()).await;
        let report = again.remote.sync().await;
        assert_eq!(report.elsewhere, []);
        assert_eq!(there.ours().await.len(), 2, "each is there once");
        assert_eq!(again.remote.sync().await, CalendarSyncReport::default());
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_told_and_stops_nothing() {
    let home = Home::new();
    for fault in [
        ServerFault::Hangs,
        ServerFault::EndlessJson,
        ServerFault::EndlessHead,
    ] {
        let server = FaultyServer::start(fault);
        let desk = home.desk(&format!("{}/", server.url())).await;
        let told = desk.say("what do I have on Monday?").await;
        assert_contains(&told, "Your calendar could not be read");
    }
    let desk = home.desk("http://127.0.0.1:1/plans/").await;
    let told = desk.say("plan my weeks").await;
    assert_contains(&told, "the calendar server cannot be reached");
    assert_ne!(desk.place("One").await, []);
    assert_contains(
        &desk.remote.late().unwrap(),
        "not written to your calendar yet",
    );
    let Some((server, there)) = Elsewhere::start().await else {
        return;
    };
    let desk = home.desk(server.url()).await;
    desk.say("what do I have on Monday?").await;
    assert_eq!(there.ours().await.len(), 2, "the next request writes it");
}

#[tokio::test]
async fn addresses_with_a_password_or_without_a_lock_are_refused() {
    for url in [
        "http://example.com/",
        "https://ada:secret@example.com/",
        "file:///x",
        "plans",
    ] {
        let home = Home::new();
        let store = store::open(":memory:").await.unwrap();
        let refused = home.remote(url, store).unwrap_err().to_string();
        assert_contains(&refused, "allowed is https://host/path/");
        assert!(!refused.contains("secret"), "{refused}");
    }
}

/// A way to the server on which the first write is held for ever, before or after it was made.
async fn held(server: &Server, forwards: bool) -> (String, Arc<Notify>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = reqwest::Url::parse(server.url()).unwrap();
    let to = format!("127.0.0.1:{}", url.port().unwrap());
    let begun = Arc::new(Notify::new());
    let noted = begun.clone();
    let mut held: Vec<TcpStream> = vec![];
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let request = whole(&mut client).await;
            let is_write = request.starts_with(b"PUT ");
            if forwards || !is_write {
                let mut there = TcpStream::connect(&to).await.unwrap();
                there.write_all(&request).await.unwrap();
                let mut answer = vec![];
                there.read_to_end(&mut answer).await.unwrap();
                if !is_write {
                    // The client may be gone.
                    let _ = client.write_all(&answer).await;
                }
            }
            if is_write {
                held.push(client);
                noted.notify_one();
            }
        }
    });
    (format!("http://127.0.0.1:{port}{}", url.path()), begun)
}

/// Reads a whole request.
async fn whole(client: &mut TcpStream) -> Vec<u8> {
    let mut bytes = vec![];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
            if bytes.len() >= head.len() + 4 + length {
                return bytes;
            }
        }
        let mut piece = [0; 4096];
        let read = client.read(&mut piece).await.unwrap();
        if read == 0 {
            return bytes;
        }
        bytes.extend_from_slice(&piece[..read]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_killed_between_the_commit_and_the_write_writes_each_event_once() {
    for forwards in [false, true] {
        let Some((server, there)) = Elsewhere::start().await else {
            return;
        };
        there.put("logic.ics", LOGIC).await;
        let (way, begun) = held(&server, forwards).await;
        let work = Work::new();
        let command = |url: &str| {
            let mut command = work.command(&["--yes", "--caldav", url]);
            command
                .env("CALDAV_USER", "ada")
                .env("CALDAV_PASSWORD", "secret");
            command.stderr(std::process::Stdio::null());
            command
        };
        let mut child = command(&way).spawn().unwrap();
        begun.notified().await;
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(there.ours().await.len(), usize::from(forwards));
        let ran = command(server.url()).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        let ours = there.ours().await;
        assert_eq!(ours.len(), work.events());
        assert!(ours.len() > 10, "{ours:?}");
    }
}
