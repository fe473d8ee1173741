//! Threads that a Restate server places, while services, engine and store are killed.
use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use fastrand::Rng;
use fugato_restate::{Restate, RestateOptions};
use tokio::{
    net::{TcpListener, TcpSocket},
    task::{block_in_place, spawn_blocking},
    time::{Instant, sleep},
};

use crate::{
    TrialResult,
    child::{Child, Start},
    evidence::Evidence,
    judge::Verdict,
    kill::Parent,
    serve::Mode,
    share::Queue,
    store::Place,
};

/// The interval at which threads are looked for whose word was lost.
const SWEEP: Duration = Duration::from_millis(200);

/// The time that a job may take to its end when nothing is killed any more.
const PATIENCE: Duration = Duration::from_mins(2);

/// The time that anything may take to answer again.
const LOST: Duration = Duration::from_secs(30);

/// The interval at which the parent looks.
const LOOK: Duration = Duration::from_millis(15);

/// The engine, as a process reaches it.
pub fn engine(ingress: &str) -> TrialResult<Restate> {
    let options = RestateOptions::new(ingress).service("reliability");
    Ok(Restate::new(options.sweep(SWEEP))?)
}

/// A listener at a port that several processes have: the system gives each connection to one that
/// lives.
pub fn shared_port(port: u16) -> TrialResult<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseport(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    Ok(socket.listen(1024)?)
}

/// Tells the engine where the processes are.
pub async fn register(server: &servers::Restate, port: u16) -> TrialResult<()> {
    let engine = engine(server.server().url())?;
    let (admin, at) = (server.admin(), format!("http://127.0.0.1:{port}"));
    let begin = Instant::now();
    while let Err(error) = engine.register(&admin, &at).await {
        if begin.elapsed() > LOST {
            return Err(error.into());
        }
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// The plan of the kills.
#[derive(Debug, Clone)]
pub struct PlacedPlan {
    /// This crate's program.
    pub program: PathBuf,
    /// The number of kills of the service, the engine and the store together.
    pub kills: u32,
    /// The seed of the moments of the kills, which are the same again.
    pub seed: u64,
    /// The number of jobs that are open at once.
    pub open: usize,
    /// The number of services.
    pub services: usize,
}

impl PlacedPlan {
    /// So many kills.
    pub fn new(program: impl Into<PathBuf>, kills: u32, seed: u64) -> Self {
        Self {
            program: program.into(),
            kills,
            seed,
            open: 40,
            services: 3,
        }
    }
}

/// The victims of one round.
#[derive(Debug, Clone, Copy)]
struct Round {
    service: bool,
    engine: bool,
    store: bool,
}

/// Each alone, and each with each.
const ROUNDS: [Round; 6] = [
    Round::of(true, false, false),
    Round::of(false, true, false),
    Round::of(false, false, true),
    Round::of(true, true, false),
    Round::of(true, false, true),
    Round::of(false, true, true),
];

impl Round {
    const fn of(service: bool, engine: bool, store: bool) -> Self {
        Self {
            service,
            engine,
            store,
        }
    }
}

/// Services that share a port, and what they stand on.
struct Scene {
    parent: Parent,
    start: Start,
    children: Vec<Child>,
    random: Rng,
}

/// Carries the plan out on a store with a server, and judges. `tell` hears how it goes after each
/// round.
pub async fn placed(
    plan: &PlacedPlan,
    place: &Arc<Place>,
    restate: &Arc<servers::Restate>,
    mut tell: impl FnMut(u32, &Verdict),
) -> TrialResult<Verdict> {
    let mut scene = Scene::begin(plan, place, restate).await?;
    let mut kills = 0;
    for round in ROUNDS.iter().cycle() {
        if kills >= plan.kills {
            break;
        }
        let life = Duration::from_millis(scene.random.u64(0..600));
        scene.live(life).await?;
        kills += scene.die(*round, place, restate).await?;
        scene.parent.judge.verdict.kills = kills;
        tell(kills, &scene.parent.judge.verdict);
    }
    scene.finish().await
}

/// Lets a cluster of engines place jobs, one of which is killed and never comes back.
pub async fn bereft(
    plan: &PlacedPlan,
    place: &Arc<Place>,
    cluster: &[servers::Restate; 3],
) -> TrialResult<Verdict> {
    // The services know one that lives on; which of them leads is its own affair.
    let [dies, known, _] = cluster;
    let mut scene = Scene::begin(plan, place, known).await?;
    scene.live(Duration::from_secs(2)).await?;
    let before = scene.parent.judge.verdict.jobs;
    block_in_place(|| dies.server().kill9());
    scene.parent.judge.verdict.kills = 1;
    let begin = Instant::now();
    while scene.parent.judge.verdict.jobs < before + plan.open as u64 {
        scene.live(Duration::from_millis(200)).await?;
        if begin.elapsed() > PATIENCE {
            let what = "no job ends with two of three engines".to_owned();
            scene.parent.judge.verdict.wrong(what);
            break;
        }
    }
    scene.finish().await
}

impl Scene {
    async fn begin(
        plan: &PlacedPlan,
        place: &Place,
        restate: &servers::Restate,
    ) -> TrialResult<Self> {
        let evidence = Evidence::in_folder(&place.folder.path().join("evidence"))?;
        let mut start = Start::new(&plan.program, &place.spec, &evidence);
        let port = servers::free_port();
        start.engine = Some((restate.server().url().to_owned(), port));
        let store = place.open().await?;
        let mut parent = Parent::new(store, evidence, (Mode::Strict, plan.open)).await?;
        parent.repeats = true;
        let mut children = vec![];
        for _ in 0..plan.services {
            let mut child = start.spawn()?;
            child.ready().await?;
            children.push(child);
        }
        register(restate, port).await?;
        Ok(Self {
            parent,
            start,
            children,
            random: Rng::with_seed(plan.seed),
        })
    }

    /// Begins jobs and answers questions for a while.
    async fn live(&mut self, life: Duration) -> TrialResult<()> {
        let end = Instant::now() + life;
        let mut lost = None;
        loop {
            for child in &mut self.children {
                for said in child.heard() {
                    self.parent.receive(said);
                }
            }
            let one = self.random.usize(0..self.children.len());
            if let Some(child) = self.children.get_mut(one) {
                match self.parent.look(child).await {
                    Ok(()) => lost = None,
                    // The connections of the parent may be those of the store that died.
                    Err(error) => {
                        let since = lost.get_or_insert_with(Instant::now);
                        if since.elapsed() > LOST {
                            return Err(error);
                        }
                    }
                }
            }
            if Instant::now() >= end && lost.is_none() {
                return Ok(());
            }
            sleep(LOOK).await;
        }
    }

    /// Kills what a round says, and starts it again. Returns how many processes died.
    async fn die(
        &mut self,
        round: Round,
        place: &Arc<Place>,
        restate: &Arc<servers::Restate>,
    ) -> TrialResult<u32> {
        let mut died = 0;
        if round.service {
            let one = self.random.usize(0..self.children.len());
            for said in self.children.swap_remove(one).kill9().await? {
                self.parent.receive(said);
            }
            self.parent.tell_again();
            died += 1;
        }
        let mut restarts = vec![];
        if round.engine {
            block_in_place(|| restate.server().kill9());
            let restate = restate.clone();
            restarts.push(spawn_blocking(move || restate.server().restart()));
            died += 1;
        }
        if round.store {
            let place = place.clone();
            restarts.push(spawn_blocking(move || place.restart()));
            died += 1;
        }
        for restart in restarts {
            restart.await?;
        }
        if round.service {
            self.children.push(started(&self.start).await?);
        }
        Ok(died)
    }

    async fn finish(mut self) -> TrialResult<Verdict> {
        self.parent.wanted = 0;
        self.parent.tell_again();
        let (mut since, mut left) = (Instant::now(), self.parent.open.len());
        while !self.parent.open.is_empty() {
            self.live(Duration::from_millis(50)).await?;
            if self.parent.open.len() < left {
                (since, left) = (Instant::now(), self.parent.open.len());
            }
            if since.elapsed() > PATIENCE {
                let names: Vec<_> = self.parent.open.iter().take(5).cloned().collect();
                let what = format!("{left} jobs do not end: {names:?}");
                self.parent.judge.verdict.wrong(what);
                break;
            }
        }
        for child in self.children {
            for said in child.kill9().await? {
                self.parent.receive(said);
            }
        }
        Ok(self.parent.judge.verdict)
    }
}

/// A process that works. One that starts while the store is not there yet ends at once, and another
/// one is started.
async fn started(start: &Start) -> TrialResult<Child> {
    let begin = Instant::now();
    loop {
        let mut child = start.spawn()?;
        match child.ready().await {
            Ok(()) => return Ok(child),
            Err(error) if begin.elapsed() > LOST => return Err(error),
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

/// A queue whose threads an engine places, and the engine.
pub async fn queue(
    program: &Path,
    place: &Place,
    restate: &servers::Restate,
) -> TrialResult<Queue> {
    let mut queue = Queue::new(program, place).await?;
    let port = servers::free_port();
    queue.start.engine = Some((restate.server().url().to_owned(), port));
    let first = queue.worker().await?;
    register(restate, port).await?;
    first.kill9().await?;
    Ok(queue)
}
