#![doc = include_str!("../README.md")]

mod ingress;
mod object;

use std::{sync::Arc, time::Duration};

use fugato_graph::{Drive, Runner};
use fugato_state::{State, ThreadId};
use restate_sdk::prelude::{Endpoint, HttpServer};
use socket2::SockRef;
use tokio::net::TcpListener;

use ingress::Ingress;
pub use ingress::RestateError;
use object::FugatoThread;

/// The port of the administration, unless a server's settings name another one.
const ADMIN: u16 = 9070;

/// The place of a Restate server, and the way in which it drives threads.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RestateOptions {
    /// The address of its ingress, such as `http://127.0.0.1:8080`.
    pub ingress: String,
    /// The name of the service under which the threads are known to it: `FugatoThread` by default.
    /// Programs with stores of their own need names of their own.
    pub service: String,
    /// The time after which a drive stops at its next step, so that the engine sees progress: 30 s
    /// by default. It must be shorter than the engine's timeout of inactivity.
    pub limit: Duration,
    /// The interval at which threads whose word was lost, or whose process died, are looked for:
    /// 500 ms by default.
    pub sweep: Duration,
    /// The largest number of threads that one sweep wakes: 1000 by default.
    pub swept: usize,
}

impl RestateOptions {
    /// Creates the options of a server with this ingress.
    pub fn new(ingress: impl Into<String>) -> Self {
        Self {
            ingress: ingress.into(),
            service: "FugatoThread".to_owned(),
            limit: Duration::from_secs(30),
            sweep: Duration::from_millis(500),
            swept: 1000,
        }
    }

    fugato_state::setters! {
        /// Sets the name of the service under which the threads are known to the server.
        pub fn service(name: impl Into<String>) { service = name.into() }

        /// Sets the time after which a drive stops at its next step.
        pub fn limit(limit: Duration) { limit = limit }

        /// Sets the interval at which threads whose word was lost are looked for.
        pub fn sweep(every: Duration) { sweep = every }

        /// Sets the largest number of threads that one sweep wakes.
        pub fn swept(threads: usize) { swept = threads }
    }
}

/// A Restate server as the engine that places the threads of agents. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Restate {
    options: Arc<RestateOptions>,
    ingress: Ingress,
}

impl Restate {
    /// Creates an engine. Nothing is sent before a thread is woken.
    ///
    /// # Errors
    /// The address of the ingress must be one of `http`, and the name of the service one that the
    /// server allows.
    pub fn new(options: RestateOptions) -> Result<Self, RestateError> {
        object::allowed(&options.service)?;
        let ingress = Ingress::new(&options.ingress, &options.service)?;
        let options = Arc::new(options);
        Ok(Self { options, ingress })
    }

    /// Returns a runner that leaves what it does not run itself to this engine.
    #[must_use]
    pub fn placing<S: State>(&self, runner: Runner<S>) -> Runner<S> {
        let engine = self.clone();
        runner.woken_by(move |thread| engine.wake(thread))
    }

    /// Serves the threads of these agents to the engine until `stop` is ready: their drives, and
    /// the sweep for lost words. The prefixes of their threads say which thread is whose.
    ///
    /// The endpoint speaks HTTP/2 without TLS, and must be [registered](Self::register) once.
    ///
    /// # Errors
    /// No agent, or two agents that share threads because the prefix of one begins with that of the
    /// other.
    pub async fn serve(
        &self,
        listener: TcpListener,
        agents: Vec<Arc<dyn Drive>>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), RestateError> {
        distinct(&agents)?;
        // What is accepted inherits it. Otherwise the system keeps an answer back, for 40 ms, until
        // the engine has confirmed the one before.
        if let Err(error) = SockRef::from(&listener).set_tcp_nodelay(true) {
            tracing::warn!(%error, "answers to restate may wait for one another");
        }
        let (limit, service) = (self.options.limit, self.options.service.clone());
        let threads = FugatoThread::new(agents.clone(), limit, service);
        let endpoint = Endpoint::builder().bind(threads.named()?).build();
        let server = HttpServer::new(endpoint).serve_with_cancel(listener, stop);
        tokio::select! {
            () = server => Ok(()),
            () = self.sweeping(&agents) => Ok(()),
        }
    }

    /// Tells the server with this administration, such as `http://127.0.0.1:9070`, that the threads
    /// are served at `endpoint`. Repeating it changes nothing. Answers only while the endpoint is
    /// served.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the endpoint.
    pub async fn register(&self, admin: &str, endpoint: &str) -> Result<(), RestateError> {
        self.ingress.register(admin, endpoint).await
    }

    /// Returns the address of the administration of a server whose settings do not move it: port 9070
    /// of the host of the ingress.
    pub fn usual_admin(&self) -> String {
        self.ingress.beside(ADMIN)
    }

    /// Wakes what the claim index says can go on, again and again.
    async fn sweeping(&self, agents: &[Arc<dyn Drive>]) {
        loop {
            tokio::time::sleep(self.options.sweep).await;
            for agent in agents {
                match agent.due(self.options.swept).await {
                    Ok(due) => {
                        for thread in due {
                            if let Err(error) = self.ingress.wake(&thread).await {
                                // The next sweep finds it, and all others.
                                tracing::warn!(%error, "restate cannot be reached");
                                break;
                            }
                        }
                    }
                    Err(error) => tracing::warn!(%error, "due threads could not be looked for"),
                }
            }
        }
    }
}

impl Restate {
    /// Tells the engine that a thread goes on, without waiting for it. A word that is lost is
    /// repeated by the sweep.
    pub fn wake(&self, thread: &ThreadId) {
        let (ingress, thread) = (self.ingress.clone(), thread.clone());
        tokio::spawn(async move {
            if let Err(error) = ingress.wake(&thread).await {
                tracing::warn!(%thread, %error, "restate could not be woken; the sweep repeats it");
            }
        });
    }
}

/// Checks that every thread has one agent at most.
fn distinct(agents: &[Arc<dyn Drive>]) -> Result<(), RestateError> {
    if agents.is_empty() {
        return Err(RestateError::NoAgent);
    }
    for (place, agent) in agents.iter().enumerate() {
        for other in agents.iter().skip(place + 1) {
            let (one, two) = (agent.prefix(), other.prefix());
            if one.starts_with(two) || two.starts_with(one) {
                let (one, two) = (one.to_owned(), two.to_owned());
                return Err(RestateError::Shared { one, two });
            }
        }
    }
    Ok(())
}
