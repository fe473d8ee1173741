//! What a reader of the stream sees of a fact.
use std::sync::Arc;

use fugato_state::{RunId, Seq, ThreadId};
use fugato_stream::{Event, EventKind, Origin};

use crate::machine::{Fact, Names, Path};

/// The events of one durable fact. All bear its position.
pub(crate) fn events(
    fact: &Fact<Path>,
    names: &Names,
    thread: &ThreadId,
    run: RunId,
    seq: Option<Seq>,
) -> Vec<Event> {
    let event = |origin: Option<&Arc<Origin>>, kind| Event {
        thread: thread.clone(),
        run,
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
            let origin = origin(*task, *attempt, names);
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
            vec![event(Some(&origin(*task, *attempt, names)), kind)]
        }
        Fact::Asked {
            task,
            attempt,
            questions,
            ..
        } => {
            let origin = origin(*task, *attempt, names);
            let raised = questions.iter().cloned().map(EventKind::InterruptRaised);
            raised.map(|kind| event(Some(&origin), kind)).collect()
        }
        Fact::Answered { answers } => {
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
        Fact::Cancelled { by, why } => whole(EventKind::RunCancelled {
            by: by.clone(),
            why: why.clone(),
        }),
        Fact::Created { .. }
        | Fact::Closed { .. }
        | Fact::Expired { .. }
        | Fact::Migrated { .. }
        | Fact::Forked { .. } => vec![],
    }
}

fn origin(task: Path, attempt: u32, names: &Names) -> Arc<Origin> {
    Arc::new(Origin {
        scope: "".into(),
        node: names.name(task.node),
        visit: task.visit,
        index: task.index,
        attempt,
    })
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
        let events = events(&fact, &names, &thread, RunId(1), Some(7));
        let attempts: Vec<_> = events
            .iter()
            .filter_map(|event| Some(event.origin.as_ref()?.attempt))
            .collect();
        assert_eq!(attempts, [2]);
    }
}
