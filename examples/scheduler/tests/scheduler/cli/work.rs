//! A folder, and the program run in it.
use std::ops::Deref;

use fugato_testkit::TestProgram;
use scheduler::{
    schedule::ScheduleState,
    store::{self, ScheduleStore, StoreWrite},
};
use servers::Moto;

const TASKS: &str = "zone = \"UTC\"\n[window]\nstart = 2026-01-01\nweeks = 1\n";
const COURSES: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//EN\r\nEND:VCALENDAR\r\n";

pub(crate) struct Work(TestProgram);

impl Deref for Work {
    type Target = TestProgram;

    fn deref(&self) -> &TestProgram {
        &self.0
    }
}

impl Work {
    pub(crate) fn new() -> Self {
        Self(TestProgram::new(env!("CARGO_BIN_EXE_scheduler")))
    }

    /// Creates a folder whose conversations are kept in a bucket, below a name.
    pub(crate) fn in_bucket(server: &str, name: &str) -> Self {
        let Self(program) = Self::new();
        let env = Moto::env(server).into_iter();
        let program = env.fold(program, |program, (name, value)| program.env(name, value));
        Self(program).flag("--store", &format!("s3://{}/{name}", Moto::BUCKET))
    }

    /// Sets a flag for every run.
    pub(crate) fn flag(self, name: &str, value: &str) -> Self {
        Self(self.0.flag(name, value))
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    async fn store(&self) -> std::sync::Arc<dyn ScheduleStore> {
        let path = self.path("scheduler-data/schedule.db");
        store::open(path.to_str().unwrap()).await.unwrap()
    }

    /// Begins with a schedule in a calendar, in place of the sample.
    pub(crate) async fn begin_with(&self, calendar: &str, schedule: ScheduleState) {
        std::fs::create_dir_all(self.path("scheduler-data/default")).unwrap();
        self.write("scheduler-data/default/tasks.toml", TASKS);
        self.write("scheduler-data/default/courses.ics", COURSES);
        let write = StoreWrite::Import { schedule };
        let store = self.store().await;
        store.write(calendar, "mine", &write).await.unwrap();
    }

    /// Returns the schedule of a calendar.
    pub(crate) async fn stored(&self, calendar: &str) -> ScheduleState {
        let stored = self.store().await.read(calendar).await;
        stored.unwrap().unwrap().schedule
    }

    /// Returns the number of events in the calendar file.
    pub(crate) fn events(&self) -> usize {
        let ics = self.read("scheduler-data/default/schedule.ics");
        ics.matches("BEGIN:VEVENT").count()
    }

    /// Returns the events of the calendar file without the time at which it was made.
    pub(crate) fn placed(&self) -> Vec<String> {
        let ics = self.read("scheduler-data/default/schedule.ics");
        let lines = ics.lines().filter(|line| !line.starts_with("DTSTAMP"));
        lines.map(str::to_owned).collect()
    }

    /// Returns the position of the last line of the history.
    pub(crate) fn last(&self) -> String {
        let history = self.ok(&["history", "--full"]);
        let line = history.lines().last().unwrap().trim();
        line.split(['*', ' ']).next().unwrap().to_owned()
    }

    /// Returns the schedule in the log.
    pub(crate) fn schedule(&self) -> serde_json::Value {
        let state: serde_json::Value =
            serde_json::from_str(&self.ok(&["show", &self.last(), "--full"])).unwrap();
        state["schedule"].clone()
    }

    /// Returns the stored calendar, which is separate from the conversation.
    pub(crate) fn calendar(&self) -> serde_json::Value {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        serde_json::to_value(runtime.block_on(self.stored("default"))).unwrap()
    }

    /// Returns true for each of these calendars that is stored.
    pub(crate) fn calendars(&self, names: &[&str]) -> Vec<bool> {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let store = self.store().await;
            let mut stored = vec![];
            for name in names {
                stored.push(store.read(name).await.unwrap().is_some());
            }
            stored
        })
    }
}
