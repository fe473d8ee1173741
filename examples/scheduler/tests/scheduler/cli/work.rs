//! A folder, and the program run in it.
use std::ops::Deref;

use fugato_testkit::TestProgram;

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

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
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
        let path = self.path("scheduler-data/schedule.db");
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let calendar = runtime.block_on(async {
            let store = scheduler::store::open(path.to_str().unwrap()).await;
            store.unwrap().read("default").await.unwrap().unwrap()
        });
        serde_json::to_value(calendar.schedule).unwrap()
    }

    /// Returns true for each of these calendars that is stored.
    pub(crate) fn calendars(&self, names: &[&str]) -> Vec<bool> {
        let path = self.path("scheduler-data/schedule.db");
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let store = scheduler::store::open(path.to_str().unwrap())
                .await
                .unwrap();
            let mut stored = vec![];
            for name in names {
                stored.push(store.read(name).await.unwrap().is_some());
            }
            stored
        })
    }
}
