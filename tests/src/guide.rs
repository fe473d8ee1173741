//! The guides, whose examples are tests.

macro_rules! guides {
    ($($name:ident: $path:literal),+ $(,)?) => {$(
        #[doc = include_str!(concat!("../../docs/guides/", $path))]
        #[derive(Debug)]
        pub struct $name;
    )+};
}

guides! {
    FirstAgent: "first-agent.md",
    AddATool: "add-a-tool.md",
    CompileErrors: "compile-errors.md",
    AskAPerson: "ask-a-person.md",
    ChooseAStore: "choose-a-store.md",
    AddAProvider: "add-a-provider.md",
    TestAnAgent: "test-an-agent.md",
    RunManyWorkers: "run-many-workers.md",
    ServeManyPeople: "serve-many-people.md",
    Observe: "observe.md",
    MigrateAState: "migrate-a-state.md",
    FromALaptopToACluster: "from-a-laptop-to-a-cluster.md",
}
