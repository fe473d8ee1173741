//! Previews: what opening a thread with this program would come to.
use std::panic::AssertUnwindSafe;

use fugato_state::{Interrupt, InterruptId, Seq, State, ThreadId};
use fugato_store::{Head, StoreErrorKind};
use futures::FutureExt;

use crate::{
    RunError, RunErrorKind, Runner,
    admission::{ready, void_approvals},
    answer::interrupts,
    driver::unfinished,
    machine::{ProgramVersion, ThreadPhase},
    open::{OpenedThread, open},
    route::panic_text,
    runner::carried_on,
    scope::DynScope,
};

/// The result of opening a thread read-only with this program, from [`Runner::preview`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Preview {
    /// The last position that was seen. The preview holds for this head and this program.
    pub head: Seq,
    /// The error of every request, if the thread does not go on.
    /// [`GraphChanged`](RunErrorKind::GraphChanged) has the nodes, subgraphs and joins that the graph
    /// no longer has: a cancellation is not refused, nor a new run of a failed thread, because it
    /// refers to nothing of the old one. With any other error, the log cannot be folded.
    pub error: Option<RunError>,
    /// The states that an older version wrote, and that are migrated, each with both versions.
    pub migrated: Vec<String>,
    /// The open questions.
    pub interrupts: Vec<Interrupt>,
    /// The open approvals that are asked anew under another id, because this program asks about
    /// another value, or because they are not bound to what they show.
    pub asked_anew: Vec<InterruptId>,
    /// The open questions that a pause of this program asks with another schema. An answer that
    /// fits both schemas is taken; for any other the question is asked anew.
    pub changed: Vec<InterruptId>,
    /// The effects in doubt: the task, and the key.
    pub in_doubt: Vec<String>,
}

impl<S: State> Runner<S> {
    /// Opens a thread with this program as a request would, without a lease and without writing,
    /// and returns what comes of it; none if the thread does not exist.
    ///
    /// # Errors
    /// An error means that the store could not be read, and says nothing about the thread.
    pub async fn preview(&self, thread: &ThreadId) -> Result<Option<Preview>, RunError> {
        let inner = &self.inner;
        let Some(head) = inner.log.head(thread).await? else {
            return Ok(None);
        };
        let snapshots = inner.snapshots.as_deref();
        let opening = open(&inner.graph, &*inner.log, snapshots, thread, head.seq);
        let opened = AssertUnwindSafe(opening).catch_unwind().await;
        let looked = match opened.map_err(|panic| panicked(&*panic)) {
            Ok(Ok(opened)) => {
                let looked = || look(opened, &head, &inner.program());
                std::panic::catch_unwind(AssertUnwindSafe(looked))
                    .unwrap_or_else(|panic| Err(panicked(&*panic)))
            }
            Ok(Err(error)) | Err(error) => Err(error),
        };
        let preview = match looked {
            Err(error) if !is_about_the_log(&error.kind) => return Err(error),
            other => other.unwrap_or_else(|error| Preview::at(head.seq, Some(error))),
        };
        Ok(Some(preview))
    }
}

/// Readies an opened thread as a request does, and looks at its questions and effects.
fn look<S: State>(
    opened: OpenedThread<S>,
    head: &Head,
    under: &ProgramVersion,
) -> Result<Preview, RunError> {
    let (seq, now) = (opened.head, carried_on(head.now, opened.last));
    let mut scope = opened.scope;
    ready(&mut scope, seq, under, true)?;
    let mut preview = Preview::at(seq, None);
    older(&scope, &mut preview.migrated);
    unfinished(&scope, &mut vec![], &mut preview.in_doubt);
    if *scope.machine.phase() == ThreadPhase::Running {
        preview.interrupts = interrupts(&scope);
        preview.asked_anew = void_approvals(&scope, false, scope.machine.incarnation(), now);
        changed(&scope, &mut preview.changed);
    }
    Ok(preview)
}

/// Collects the states that an older version wrote.
fn older(scope: &dyn DynScope, states: &mut Vec<String>) {
    let (from, to) = scope.versions();
    if from < to {
        let place = scope.at().as_ref();
        let place = place.map_or_else(String::new, |place| format!(" of {}", place.text));
        states.push(format!("the state{place} from version {from} to {to}"));
    }
    scope.children().for_each(|(_, child)| older(child, states));
}

fn changed(scope: &dyn DynScope, ids: &mut Vec<InterruptId>) {
    ids.extend(scope.changed_questions());
    scope.children().for_each(|(_, child)| changed(child, ids));
}

/// Returns true if an error of opening belongs to the log itself, and not to the way to it.
fn is_about_the_log(kind: &RunErrorKind) -> bool {
    match kind {
        RunErrorKind::Store(kind) => {
            matches!(
                kind,
                StoreErrorKind::Compacted { .. } | StoreErrorKind::Corrupt(_)
            )
        }
        _ => true,
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> RunError {
    RunError::new(RunErrorKind::Unfinished).because(panic_text(panic))
}

impl Preview {
    /// Returns true if the thread goes on, possibly after a migration.
    pub fn goes_on(&self) -> bool {
        self.error.is_none()
    }

    fn at(head: Seq, error: Option<RunError>) -> Self {
        Self {
            head,
            error,
            migrated: vec![],
            interrupts: vec![],
            asked_anew: vec![],
            changed: vec![],
            in_doubt: vec![],
        }
    }
}
