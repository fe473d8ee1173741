//! The faults and the points at which they occur.
use std::{fmt, str::FromStr};

use fugato_state::EffectClass;

use crate::log::Failure;

/// The operation of a process at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Activity {
    /// An append.
    Append,
    /// A request for a lease.
    Acquire,
    /// A renewal of a lease.
    Renew,
    /// Giving a lease back.
    Release,
    /// Reading records, or the end of the log.
    Read,
    /// An action that may be repeated.
    Act,
    /// An action that must not be done twice.
    ActOnce,
}

impl Activity {
    pub(super) fn acting(class: EffectClass) -> Self {
        match class {
            EffectClass::Once => Self::ActOnce,
            _ => Self::Act,
        }
    }

    /// Returns the faults that can occur there. `torn` is true if the store has a file whose end
    /// can be torn off.
    pub(super) fn faults(self, torn: bool) -> Vec<Fault> {
        use Fault::{
            AnswerLost, AnsweredLate, ArrivesLate, DiesAfter, DiesBefore, Down, Full, Hangs,
            Overtaken, Refused, StallsAfter, StallsBefore, Taken, Torn,
        };
        match self {
            Self::Append => {
                let torn = torn.then_some(Torn);
                let always = [
                    DiesBefore,
                    DiesAfter,
                    Refused,
                    AnswerLost,
                    Down,
                    Full,
                    Taken,
                    ArrivesLate,
                    AnsweredLate,
                    Overtaken,
                    StallsBefore,
                    StallsAfter,
                ];
                always.into_iter().chain(torn).collect()
            }
            Self::Acquire => vec![
                DiesBefore,
                DiesAfter,
                Refused,
                AnswerLost,
                Down,
                AnsweredLate,
                StallsAfter,
            ],
            Self::Renew => vec![
                DiesBefore,
                DiesAfter,
                Refused,
                AnswerLost,
                Down,
                ArrivesLate,
                AnsweredLate,
                StallsBefore,
            ],
            Self::Release => vec![DiesBefore, DiesAfter, Refused, AnsweredLate],
            Self::Read => vec![DiesBefore, Refused, Down, AnsweredLate, StallsAfter],
            Self::Act => vec![DiesBefore, DiesAfter],
            Self::ActOnce => vec![DiesBefore, DiesAfter, AnswerLost, Hangs],
        }
    }
}

macro_rules! faults {
    ($($(#[$doc:meta])* $fault:ident = $name:literal,)*) => {
        /// A fault at a point.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Fault {
            $($(#[$doc])* $fault,)*
        }

        impl Fault {
            /// Returns its name, as replay lines write it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$fault => $name,)*
                }
            }
        }

        impl FromStr for Fault {
            type Err = Failure;

            fn from_str(name: &str) -> Result<Self, Failure> {
                match name {
                    $($name => Ok(Self::$fault),)*
                    _ => Err(Failure::new(format!("there is no fault {name:?}"))),
                }
            }
        }
    };
}

faults! {
    /// The process dies before the operation.
    DiesBefore = "dies-before",
    /// The process dies after the operation, and before it gets the result.
    DiesAfter = "dies-after",
    /// The process dies while the store writes: the end of its file is torn.
    Torn = "torn",
    /// The store does not answer, and the operation is not done.
    Refused = "refused",
    /// The operation is done, and the answer is lost.
    AnswerLost = "answer-lost",
    /// The store fails every request for half a minute.
    Down = "down",
    /// The store is full.
    Full = "full",
    /// Another owner has taken the thread.
    Taken = "taken",
    /// The request arrives after a minute.
    ArrivesLate = "arrives-late",
    /// The answer comes after a minute, and after the answers to later requests.
    AnsweredLate = "answered-late",
    /// The process dies, and its request arrives after another has taken the thread over.
    Overtaken = "overtaken",
    /// The whole process is suspended before the operation. Another brings the thread to its end,
    /// and then the first goes on unaware.
    StallsBefore = "stalls-before",
    /// The same, after the operation.
    StallsAfter = "stalls-after",
    /// The operation is done, and the call never returns.
    Hangs = "hangs",
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The faults of a case: the number of the point, counted from 1 over all processes, and the fault
/// there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Plan(pub(super) Vec<(usize, PlannedFault)>);

/// The choice of the fault at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlannedFault {
    This(Fault),
    /// The n-th of the possible faults there.
    Any(usize),
}

impl Plan {
    pub(super) fn one(point: usize, fault: Fault) -> Self {
        Self(vec![(point, PlannedFault::This(fault))])
    }

    pub(super) fn at(&self, point: usize, doing: Activity, torn: bool) -> Option<Fault> {
        let (_, wish) = self.0.iter().find(|(at, _)| *at == point)?;
        match *wish {
            PlannedFault::This(fault) => Some(fault),
            PlannedFault::Any(n) => {
                let possible = doing.faults(torn);
                let n = n.checked_rem(possible.len())?;
                possible.get(n).copied()
            }
        }
    }
}

impl FromStr for Plan {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let wrong = || Failure::new(format!("{text:?} is not like 17=dies-after"));
        let each = text.split('+').filter(|part| !part.is_empty()).map(|part| {
            let (point, fault) = part.split_once('=').ok_or_else(wrong)?;
            let point = point.parse().map_err(|_| wrong())?;
            Ok((point, PlannedFault::This(fault.parse()?)))
        });
        each.collect::<Result<_, _>>().map(Self)
    }
}
