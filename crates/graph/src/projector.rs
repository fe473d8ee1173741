//! The events of facts, for readers of the stream.
use std::sync::Arc;

use fugato_state::{RunId, Seq, ThreadId};
use fugato_stream::{Event, EventKind, Origin};

use crate::{
    context::RunInner,
    machine::{Fact, Names, TaskPath},
    scope::ScopeAddress,
};

/// The origin of a fact: its thread, run and scope.
pub(crate) struct EventProjector<'a> {
    pub(crate) thread: &'a ThreadId,
    pub(crate) run: RunId,
    pub(crate) scope: Arc<str>,
    pub(crate) names: &'a Names,
}

/// Returns the events of one fact of a run.
pub(crate) fn events(
    fact: &Fact<TaskPath>,
    at: &ScopeAddress,
    shared: &RunInner,
    seq: Option<Seq>,
) -> Vec<Event> {
    let sight = EventProjector {
        thread: &shared.thread,
        run: shared.run,
        scope: at
            .as_ref()
            .map_or_else(|| "".into(), |place| place.text.clone()),
        names: shared.names_of(at),
    };
    sight.events(fact, seq)
}

impl EventProjector<'_> {
    /// Returns the events of one fact. All events of a durable fact have its position.
    pub(crate) fn events(&self, fact: &Fact<TaskPath>, seq: Option<Seq>) -> Vec<Event> {
        let Self { thread, run, .. } = self;
        let origin = |task: TaskPath, attempt| self.origin(task, attempt);
        let event = |origin: Option<&Arc<Origin>>, kind| Event {
            thread: (*thread).clone(),
            run: *run,
            seq,
            origin: origin.cloned(),
            kind,
        };
        let whole = |kind| vec![event(None, kind)];
        match fact {
            Fact::Started { .. } => whole(EventKind::RunStarted { resumed: false }),
            Fact::Resumed { .. } => whole(EventKind::RunStarted { resumed: true }),
            Fact::Stepped {
                task,
                attempt,
                notes,
                ..
            }
            | Fact::Finished {
                task,
                attempt,
                notes,
                ..
            } => {
                let origin = origin(*task, *attempt);
                let notes = notes.iter().map(|note| event(Some(&origin), note.clone()));
                notes
                    .chain([event(Some(&origin), EventKind::NodeFinished)])
                    .collect()
            }
            Fact::Failed {
                task,
                attempt,
                error,
                retry_at,
            } => {
                let kind = EventKind::NodeFailed {
                    error: error.clone(),
                    retry_at: *retry_at,
                };
                vec![event(Some(&origin(*task, *attempt)), kind)]
            }
            Fact::Asked {
                task,
                attempt,
                questions,
                ..
            } => {
                let origin = origin(*task, *attempt);
                let raised = questions.iter().cloned().map(EventKind::InterruptRaised);
                raised.map(|kind| event(Some(&origin), kind)).collect()
            }
            Fact::Answered { answers, .. } => {
                let answered = answers
                    .iter()
                    .map(|(id, answer)| EventKind::InterruptAnswered {
                        id: id.clone(),
                        answer: answer.clone(),
                    });
                answered.map(|kind| event(None, kind)).collect()
            }
            Fact::RunEnded { output } => {
                let output = output
                    .as_ref()
                    .and_then(|json| serde_json::from_str(json.get()).ok());
                whole(EventKind::RunFinished { output })
            }
            Fact::RunFailed { error } => whole(EventKind::RunFailed {
                error: error.clone(),
            }),
            Fact::Cancelled { by, why, .. } => whole(EventKind::RunCancelled {
                by: by.clone(),
                why: why.clone(),
            }),
            Fact::Expired { id } | Fact::Withdrawn { id } => {
                whole(EventKind::InterruptExpired { id: id.clone() })
            }
            Fact::Intended { key, .. } => whole(EventKind::EffectIntended {
                key: key.to_string(),
            }),
            Fact::Receipt { key, .. } => whole(EventKind::EffectDone {
                key: key.to_string(),
            }),
            Fact::Amended { by, why, .. } => whole(EventKind::Amended {
                by: by.clone(),
                why: why.clone(),
            }),
            Fact::Created { .. }
            | Fact::Entered { .. }
            | Fact::Closed { .. }
            | Fact::Undone { .. }
            | Fact::Spent { .. }
            | Fact::HandedOver {}
            | Fact::Migrated { .. }
            | Fact::Forked { .. } => vec![],
        }
    }

    fn origin(&self, task: TaskPath, attempt: u32) -> Arc<Origin> {
        Arc::new(Origin {
            scope: self.scope.clone(),
            node: self.names.name(task.node),
            visit: task.visit,
            index: task.index,
            attempt,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k22_a_durable_event_names_the_attempt() {
        let written = r#"{"finished":{"task":"think#1","attempt":2}}"#;
        let fact: Fact<String> = serde_json::from_str(written).unwrap();
        assert_eq!(serde_json::to_string(&fact).unwrap(), written);
        let mut names = Arc::new(Names::default());
        let fact = fact.map(&mut |text| names.path(&text)).unwrap();
        let thread = ThreadId::new("t").unwrap();
        let sight = EventProjector {
            thread: &thread,
            run: RunId(1),
            scope: "".into(),
            names: &names,
        };
        let events = sight.events(&fact, Some(7));
        let attempts: Vec<_> = events
            .iter()
            .filter_map(|event| Some(event.origin.as_ref()?.attempt))
            .collect();
        assert_eq!(attempts, [2]);
    }
}
