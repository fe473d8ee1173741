mod stores;

use std::{path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use fugato_axum::{Caller, Page, ServedAgent as _};
use fugato_graph::BoxError;
use fugato_state::{ThreadId, say};
use fugato_store::{ThreadLog, absence};
use futures::future::OptionFuture;

use crate::{
    ChatSession, CliCommand, CliError, Flags, IntoService, Lang, Resources, Terminal,
    ThreadResources, WithRoutes,
    archive::{self, Archive},
    background::BackgroundTasks,
    backup::Backup,
    check,
    copy::Copies,
    engine::Engine,
    error::check_folder,
    flags::PEOPLE,
    inspect, observe, people, relocate,
    retention::{keep_retiring, retire},
    serve::ServeOptions,
    ship::{self, RestoreRequest},
    signals,
    store::Store,
    terminal::ToolWords,
    thread_name, threads, trace,
};

/// An agent program: its name, its flags, and its own parts.
#[derive(derive_more::Debug, Clone)]
#[debug("App {{ name: {name:?}, flags: {flags:?}, .. }}")]
pub struct App {
    name: String,
    flags: Flags,
    page: Page,
    also: String,
    tools: Arc<[ToolWords]>,
    belongings: ResourcesOf,
    /// Copies of databases that are read, removed with the program.
    copies: Copies,
    background: BackgroundTasks,
}

/// A function that returns what belongs to the threads of the person whom the flags name.
type ResourcesOf = Arc<dyn Fn(&Flags) -> Arc<dyn ThreadResources> + Send + Sync>;

/// The longest time that work which cannot be stopped, such as looking up the name of a server,
/// holds back the end of an interrupted program.
const LAST_WORK: Duration = Duration::from_secs(2);

impl App {
    /// Creates a program of this name. By default nothing belongs to a thread but its log, and the
    /// served page is [`Page::chat`].
    pub fn new(name: impl Into<String>, flags: Flags) -> Self {
        let name = name.into();
        Self {
            name,
            flags,
            page: Page::chat(),
            also: String::new(),
            tools: Arc::default(),
            belongings: Arc::new(|_| Arc::new(())),
            copies: Copies::default(),
            background: BackgroundTasks::default(),
        }
    }

    fugato_state::setters! {
        /// Sets the page that is served.
        pub fn page(page: Page) { page = page }

        /// Adds a flag of the program's own to the command lines that are shown for going on with a
        /// thread.
        pub fn also(flag: &str, value: &str) { also.extend([" ", flag, " '", value, "'"]) }

        /// Sets what a terminal and the page call tools while they work: each with its name, in
        /// English and in Chinese. A tool without words is called by its name.
        pub fn tool_words(
            words: impl IntoIterator<Item = (&'static str, &'static str, &'static str)>,
        ) {
            tools = words.into_iter().collect::<Vec<_>>().into()
        }
    }

    /// Sets the owner of the files and rows that belong to threads, such as
    /// [`Folders`](crate::Folders), in the folder that these flags name: that of a person, or that of
    /// nobody in particular.
    #[must_use]
    pub fn belongings<R: ThreadResources + 'static>(
        mut self,
        belongings: impl Fn(&Flags) -> R + Send + Sync + 'static,
    ) -> Self {
        self.belongings = Arc::new(move |flags| Arc::new(belongings(flags)));
        self
    }

    /// Carries out a command, [`CliCommand::Chat`] if none is given, with the agent that `build` wires
    /// to the opened store and model. Errors are printed with their causes.
    pub async fn run<W: IntoService>(
        self,
        command: Option<CliCommand>,
        build: impl AsyncFn(Resources) -> Result<W, BoxError>,
    ) -> ExitCode {
        let command = command.unwrap_or(CliCommand::Chat);
        let rest = match command {
            CliCommand::Chat => " chat",
            CliCommand::Say(_) => " say",
            _ => "",
        };
        // A server shuts down in order instead: it hands its threads over first.
        let at_once = !matches!(command, CliCommand::Serve { .. });
        let work = async |terminal: &mut Terminal| self.execute(command, build, terminal).await;
        self.to_its_end(rest, at_once, work).await
    }

    /// Carries out a command of the program's own in the same manner: Ctrl-C prints the command
    /// line that goes on, and errors are printed with their causes.
    pub async fn job(
        &self,
        work: impl AsyncFnOnce(&mut Terminal) -> Result<(), BoxError>,
    ) -> ExitCode {
        self.to_its_end("", true, work).await
    }

    async fn to_its_end(
        &self,
        rest: &str,
        at_once: bool,
        work: impl AsyncFnOnce(&mut Terminal) -> Result<(), BoxError>,
    ) -> ExitCode {
        let mut terminal = self.terminal();
        let folder = self.flags.common_folder(&self.name);
        if let Err(error) = terminal.lang.scope(|| check_folder(&folder)) {
            terminal.error(&error);
            return ExitCode::FAILURE;
        }
        let watched = match observe::begin(&self.name, &self.flags, !at_once) {
            Ok(watched) => watched,
            Err(error) => {
                terminal.error(&error);
                return ExitCode::FAILURE;
            }
        };
        let lang = terminal.lang;
        let ended = OptionFuture::from(at_once.then(signals::ended));
        // On the heap, for it may be larger than a stack should hold.
        let work = Box::pin(work(&mut terminal));
        let done = tokio::select! {
            done = lang.scope_future(work) => Ok(done),
            Some(code) = ended => Err(code),
        };
        self.background.end(matches!(done, Ok(Ok(())))).await;
        // The work is done, even if its last spans cannot be sent.
        if let Err(error) = watched.end() {
            self.terminal().error(&error);
        }
        match done {
            Ok(Ok(())) => ExitCode::SUCCESS,
            Err(code) => {
                self.terminal().interrupted(&self.again(rest));
                last_work(code, &terminal)
            }
            Ok(Err(error)) => {
                terminal.error(&*error);
                let known = error.downcast_ref::<CliError>();
                ExitCode::from(known.map_or(1, |error| error.code))
            }
        }
    }

    async fn execute<W: IntoService>(
        &self,
        command: CliCommand,
        build: impl AsyncFn(Resources) -> Result<W, BoxError>,
        terminal: &mut Terminal,
    ) -> Result<(), BoxError> {
        let thread = self.thread()?;
        match command {
            CliCommand::Chat => {
                let (agent, _) = build(self.open().await?).await?.parts();
                let lang = self.speak_as_before(&agent, "", terminal).await?;
                let here = must_be_here(&**agent.runner().log(), &thread);
                lang.scope_future(here).await?;
                let again = self.again(" chat");
                ChatSession::new(&agent, thread, again)
                    .caller(self.caller())
                    .chat(terminal)
                    .await?;
                self.finish(&agent).await
            }
            CliCommand::Say(say) => {
                let (agent, _) = build(self.open().await?).await?.parts();
                self.say(&agent, thread, say, terminal).await?;
                self.finish(&agent).await
            }
            CliCommand::Serve {
                listen,
                client_key_env,
                person_header,
                engine,
            } => {
                let people = self.people();
                let door = ServeOptions::new(listen, client_key_env.as_deref(), people)?;
                let engine = Engine::of(&engine, &self.name)?;
                let door = door.person_header(person_header)?.lang(terminal.lang);
                let door = door.placed(engine.is_some())?;
                self.serve(door, engine, build, terminal).await
            }
            CliCommand::People { command } => {
                Ok(people::execute(command, &self.people(), terminal)?)
            }
            CliCommand::Graph { format } => {
                let (agent, _) = build(self.opened(Store::in_memory(), true)?).await?.parts();
                inspect::graph(agent.runner().graph(), format, terminal);
                Ok(())
            }
            CliCommand::Backup { to, overwrite } => {
                let (address, folder) = self.places()?;
                let backup = Backup::new(&address, &folder, &to, overwrite)?;
                backup.write(terminal).await
            }
            CliCommand::Restore { name, lost, at } => {
                let name = name.map(ThreadId::new).transpose()?;
                let request = RestoreRequest { name, lost, at };
                ship::restore(&self.flags, self.local().await?, request, terminal).await
            }
            CliCommand::Move { to, all, prefix } => {
                let threads = if all {
                    self.own_threads(prefix, build, terminal).await?
                } else {
                    vec![thread]
                };
                self.relocate(&to, (threads, all), terminal).await
            }
            CliCommand::Delete { name, agreed } => {
                let (store, thread) = (self.stored().await?, ThreadId::new(name)?);
                threads::delete(
                    store,
                    &*(self.belongings)(&self.flags),
                    &thread,
                    agreed,
                    terminal,
                )
                .await
            }
            CliCommand::Threads => {
                let opened = self.open_to_read().await?;
                let store = opened.store.clone();
                let (agent, _) = build(opened).await?.parts();
                threads::list(&agent, &*store, terminal).await
            }
            CliCommand::Check { prefix } => {
                let opened = self.open_to_read().await?;
                let store = opened.store.clone();
                let (agent, _) = build(opened).await?.parts();
                check::check(agent.runner(), &*store, prefix, terminal).await
            }
            looks => {
                // A fork writes, and in a copy it would be lost.
                let opened = match looks {
                    CliCommand::Fork { .. } => self.open_existing().await?,
                    _ => self.open_to_read().await?,
                };
                archive::known(&*opened.store, &thread).await?;
                let (agent, _) = build(opened).await?.parts();
                let lang = self.speak_as_before(&agent, "", terminal).await?;
                let archive = Archive {
                    agent: &agent,
                    thread,
                };
                let looked = self.look(looks, &archive, terminal);
                lang.scope_future(looked).await
            }
        }
    }

    /// Returns the conversations of this program in its store.
    async fn own_threads<W: IntoService>(
        &self,
        prefix: String,
        build: impl AsyncFn(Resources) -> Result<W, BoxError>,
        terminal: &mut Terminal,
    ) -> Result<Vec<ThreadId>, BoxError> {
        let opened = self.open_existing().await?;
        let store = opened.store.clone();
        let (agent, _) = build(opened).await?.parts();
        relocate::own(agent.runner(), &*store, prefix, terminal).await
    }

    /// Serves the agents that `build` wires, whose threads the engine places, if there is one.
    async fn serve<W: IntoService>(
        &self,
        door: ServeOptions,
        engine: Option<Engine>,
        build: impl AsyncFn(Resources) -> Result<W, BoxError>,
        terminal: &mut Terminal,
    ) -> Result<(), BoxError> {
        let open = async |person: Option<&str>| {
            let of = person.map_or_else(|| self.clone(), |person| self.of(person));
            let mut opened = of.open().await?;
            // Whoever sits at the terminal of a server is not the person whom it serves.
            opened.at_terminal = person.is_none();
            opened.engine = engine.clone();
            let usage = opened.usage.clone();
            let (agent, paths) = build(opened).await?.parts();
            if let Some(engine) = &engine {
                engine.place(Arc::new(agent.runner().clone())).await?;
            }
            let retiring = keep_retiring(agent.runner().clone(), self.flags.keep_finished);
            self.background.spawn(retiring);
            Ok((WithRoutes::new(agent, paths), usage))
        };
        let page = self.page.clone().tools(self.tools.iter().copied());
        door.serve(open, page, terminal).await
    }

    /// Moves conversations into the log at an address.
    async fn relocate(
        &self,
        to: &str,
        threads: (Vec<ThreadId>, bool),
        terminal: &mut Terminal,
    ) -> Result<(), BoxError> {
        let (from, folder) = self.places()?;
        let Some(source) = self.stored().await? else {
            return Err(self.nothing_stored());
        };
        if self.flags.ship.is_none() && ship::was_shipped(&*source.docs).await? {
            let text = "this store was shipped, and its copy still has what moves: with --ship it is told, so that nobody restores it from there";
            let text = terminal.lang.pick(
                text,
                "这个存储写过副本，副本里仍有要移走的会话：加上 --ship 会告知副本，以免有人再从那里恢复",
            );
            terminal.progress(text);
        }
        relocate::relocate((&from, source), (to, &folder), threads, terminal).await
    }

    async fn say<A: fugato_axum::ServedAgent>(
        &self,
        agent: &A,
        thread: ThreadId,
        say: crate::SayArgs,
        terminal: &mut Terminal,
    ) -> Result<(), BoxError> {
        let words = say.text.clone().unwrap_or_default();
        let lang = self.speak_as_before(agent, &words, terminal).await?;
        let session = ChatSession::new(agent, thread.clone(), self.again(" say"));
        let session = session.caller(self.caller());
        let said = async {
            must_be_here(&**agent.runner().log(), &thread).await?;
            session.refuse_silence(&say).await?;
            session.say(say, terminal).await
        };
        if let Some(state) = lang.scope_future(said).await? {
            session.conclude(&state, terminal);
        }
        Ok(())
    }

    /// Removes the finished threads of an agent whose time is over, as `--keep-finished` says, with
    /// all that belongs to them.
    pub async fn retire<A: fugato_axum::ServedAgent>(&self, agent: &A) -> Result<(), BoxError> {
        retire(agent.runner()).await
    }

    /// Retires, and closes the runner: what works in the background ends.
    async fn finish<A: fugato_axum::ServedAgent>(&self, agent: &A) -> Result<(), BoxError> {
        self.retire(agent).await?;
        agent.runner().close();
        Ok(())
    }

    async fn look<A: fugato_axum::ServedAgent>(
        &self,
        command: CliCommand,
        archive: &Archive<'_, A>,
        terminal: &mut Terminal,
    ) -> Result<(), BoxError> {
        if let Some(away) = absence(archive.runner().log(), &archive.thread).await? {
            terminal.progress(&away.to_string());
        }
        match command {
            CliCommand::Trace { full } => trace::trace(archive, full, terminal).await,
            CliCommand::Card => inspect::cards(archive, terminal).await,
            CliCommand::Show { seq, full } => inspect::show(archive, seq, full, terminal).await,
            CliCommand::Fork { seq, new } => {
                let new = ThreadId::new(new)?;
                inspect::fork(archive, seq, &new).await?;
                let belongings = (self.belongings)(&self.flags);
                belongings.copy(&archive.thread, &new).await?;
                let again = self.again_in(&new, "");
                let text = terminal.lang.pick("go on with", "继续");
                terminal.line(format!("{text}: {again}"));
                Ok(())
            }
            CliCommand::Export { to } => {
                let name = thread_name(archive.thread.as_str());
                let own = name.map_or("export".to_owned(), |name| format!("{name}-export"));
                let folder = to.unwrap_or_else(|| PathBuf::from(own));
                threads::export(archive, &*(self.belongings)(&self.flags), &folder, terminal).await
            }
            history => {
                let full = matches!(history, CliCommand::History { full: true });
                inspect::history(archive, full, terminal).await
            }
        }
    }

    /// Returns the file of the people whom the program serves.
    fn people(&self) -> PathBuf {
        let folder = self.flags.common_folder(&self.name);
        folder.join(format!("{PEOPLE}.json"))
    }

    /// Returns the same program for a person.
    fn of(&self, person: &str) -> Self {
        Self {
            flags: self.flags.of(person),
            ..self.clone()
        }
    }

    /// Returns the person of the flags as the caller of the agent.
    pub fn caller(&self) -> Caller {
        match &self.flags.person {
            Some(person) => Caller::default().user(person),
            None => Caller::default(),
        }
    }

    fn thread(&self) -> Result<ThreadId, BoxError> {
        Ok(ThreadId::new(self.flags.thread.clone())?)
    }

    /// Sets the language, and returns it: the flag's, that which `words` show, or that of the thread.
    async fn speak_as_before<A: fugato_axum::ServedAgent>(
        &self,
        agent: &A,
        words: &str,
        terminal: &mut Terminal,
    ) -> Result<Lang, BoxError> {
        terminal.lang = if let Some(lang) = self.flags.lang.or_else(|| Lang::evident(words)) {
            lang
        } else {
            // A code, a figure or a "yes" is said in the language of what it answers.
            let thread = self.thread()?;
            let before = Archive { agent, thread }.lang().await?;
            before.unwrap_or(if words.is_empty() {
                terminal.lang
            } else {
                Lang::of(words)
            })
        };
        Ok(terminal.lang)
    }

    /// Returns the command line that goes on with the thread: the program, the flags that lead
    /// there, and `rest`.
    pub fn again(&self, rest: &str) -> String {
        let flags = self.flags.again(&self.flags.thread);
        format!("{}{flags}{}{rest}", self.name, self.also)
    }

    fn again_in(&self, thread: &ThreadId, rest: &str) -> String {
        let flags = self.flags.again(thread.as_str());
        format!("{}{flags}{}{rest}", self.name, self.also)
    }

    fn terminal(&self) -> Terminal {
        let lang = self.flags.spoken();
        let mut terminal = Terminal::new(lang, self.tools.clone(), self.again(" card"));
        terminal.keeps_lang = self.flags.lang.is_some();
        terminal.typing = self.flags.typing;
        terminal
    }
}

/// Refuses to go on with a thread that is in another store: an open card would be answered in vain.
async fn must_be_here(log: &dyn ThreadLog, thread: &ThreadId) -> Result<(), BoxError> {
    let Some(away) = absence(log, thread).await? else {
        return Ok(());
    };
    let name = thread.as_str();
    Err(CliError::new(say!(
        "the conversation {name:?} cannot go on in this store: {away}",
        "会话 {name:?} 不能在这个存储里继续：{away}"
    ))
    .into())
}

/// Returns the exit code of an interrupted program. What still runs is dropped with the runtime, and
/// closes its files. A thread that waits for a line of the terminal would hold that back for ever,
/// so the process ends at once then: with nothing else to do, everything is closed already.
fn last_work(code: u8, terminal: &Terminal) -> ExitCode {
    if terminal.waits_for_a_line() {
        std::process::exit(code.into());
    }
    std::thread::spawn(move || {
        std::thread::sleep(LAST_WORK);
        std::process::exit(code.into());
    });
    ExitCode::from(code)
}
