//! The conversion of addresses in facts: numbers in memory, text at rest.
use super::{Fact, NextTask, Routes};

impl<P> Fact<P> {
    /// Returns the fact with converted addresses.
    pub(crate) fn map<Q, E>(self, f: &mut impl FnMut(P) -> Result<Q, E>) -> Result<Fact<Q>, E> {
        Ok(match self {
            Self::Started {
                run,
                under,
                key,
                updates,
                next,
            } => Fact::Started {
                run,
                under,
                key,
                updates,
                next: map_next(next, f)?,
            },
            Self::Entered {
                version,
                state,
                next,
            } => Fact::Entered {
                version,
                state,
                next: map_next(next, f)?,
            },
            Self::Stepped {
                task,
                attempt,
                updates,
                notes,
                routes,
            } => Fact::Stepped {
                task: f(task)?,
                attempt,
                updates,
                notes,
                routes: routes.map(f)?,
            },
            Self::Closed { routes } => Fact::Closed {
                routes: routes.map(f)?,
            },
            Self::Resumed { under, tasks } => {
                let tasks = tasks.into_iter().map(|(task, n)| Ok((f(task)?, n)));
                Fact::Resumed {
                    under,
                    tasks: tasks.collect::<Result<_, E>>()?,
                }
            }
            other => return other.map_task(f),
        })
    }

    /// Converts the facts of one task.
    fn map_task<Q, E>(self, f: &mut impl FnMut(P) -> Result<Q, E>) -> Result<Fact<Q>, E> {
        Ok(match self {
            Self::Finished {
                task,
                attempt,
                updates,
                notes,
            } => Fact::Finished {
                task: f(task)?,
                attempt,
                updates,
                notes,
            },
            Self::Failed {
                task,
                attempt,
                error,
                retry_at,
            } => Fact::Failed {
                task: f(task)?,
                attempt,
                error,
                retry_at,
            },
            Self::Asked {
                task,
                attempt,
                memo,
                questions,
            } => Fact::Asked {
                task: f(task)?,
                attempt,
                memo,
                questions,
            },
            Self::Amended {
                updates,
                task,
                by,
                why,
            } => Fact::Amended {
                updates,
                task: task.map(f).transpose()?,
                by,
                why,
            },
            other => return other.map_effect(f),
        })
    }

    /// Converts the facts of an effect of a task.
    fn map_effect<Q, E>(self, f: &mut impl FnMut(P) -> Result<Q, E>) -> Result<Fact<Q>, E> {
        Ok(match self {
            Self::Intended {
                task,
                key,
                digest,
                input,
                not_after,
            } => Fact::Intended {
                task: task.map(f).transpose()?,
                key,
                digest,
                input,
                not_after,
            },
            Self::Receipt {
                task,
                key,
                digest,
                value,
            } => Fact::Receipt {
                task: task.map(f).transpose()?,
                key,
                digest,
                value,
            },
            Self::Undone { task, key, why } => Fact::Undone {
                task: task.map(f).transpose()?,
                key,
                why,
            },
            other => other.unaddressed(),
        })
    }

    /// Converts the facts without an address. All others were converted before.
    fn unaddressed<Q>(self) -> Fact<Q> {
        match self {
            Self::Created {
                version,
                state,
                incarnation,
            } => Fact::Created {
                version,
                state,
                incarnation,
            },
            Self::Spent { amounts } => Fact::Spent { amounts },
            Self::Answered { answers, by } => Fact::Answered { answers, by },
            Self::Withdrawn { id } => Fact::Withdrawn { id },
            Self::Expired { id } => Fact::Expired { id },
            Self::RunEnded { output } => Fact::RunEnded { output },
            Self::RunFailed { error } => Fact::RunFailed { error },
            Self::Cancelled {
                by,
                why,
                dropped,
                in_doubt,
            } => Fact::Cancelled {
                by,
                why,
                dropped,
                in_doubt,
            },
            Self::Migrated { under } => Fact::Migrated { under },
            Self::Forked {
                from,
                seq,
                incarnation,
            } => Fact::Forked {
                from,
                seq,
                incarnation,
            },
            Self::HandedOver {} => Fact::HandedOver {},
            Self::Started { .. }
            | Self::Entered { .. }
            | Self::Stepped { .. }
            | Self::Closed { .. }
            | Self::Resumed { .. }
            | Self::Finished { .. }
            | Self::Failed { .. }
            | Self::Asked { .. }
            | Self::Amended { .. }
            | Self::Intended { .. }
            | Self::Receipt { .. }
            | Self::Undone { .. } => unreachable!("what has an address was mapped before"),
        }
    }
}

impl<P> Routes<P> {
    fn map<Q, E>(self, f: &mut impl FnMut(P) -> Result<Q, E>) -> Result<Routes<Q>, E> {
        let Self {
            next,
            arrived,
            joined,
        } = self;
        Ok(Routes {
            next: map_next(next, f)?,
            arrived,
            joined,
        })
    }
}

fn map_next<P, Q, E>(
    next: Vec<NextTask<P>>,
    f: &mut impl FnMut(P) -> Result<Q, E>,
) -> Result<Vec<NextTask<Q>>, E> {
    next.into_iter()
        .map(|n| {
            Ok(NextTask {
                task: f(n.task)?,
                items: n.items,
            })
        })
        .collect()
}
