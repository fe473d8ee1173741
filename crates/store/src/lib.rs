#![doc = include_str!("../README.md")]

mod commit;
mod doc;
mod error;
mod intercept;
mod lease;
mod log;
mod memory;
mod relocate;
mod rows;
mod statement;

pub use commit::{AppendResult, Commit, Expect, Head, Record, Snapshot, Status};
pub use doc::{
    Doc, DocEntry, DocFilter, DocHit, DocKey, DocQuery, DocSearch, DocStore, DocStoreExt, DocWrite,
    InvalidName, MemoryDocs, Namespace, Precondition, Version,
};
pub use error::{StoreError, StoreErrorKind};
pub use intercept::{Intercept, InterceptedLog, StoreCall};
pub use lease::{Claim, Fence, Lease, LeaseOutcome, LeaseRequest, Signal};
pub use log::{
    Snapshots, ThreadAdmin, ThreadAdminExt, ThreadFilter, ThreadLog, ThreadStore, ThreadSummary,
    check_page,
};
pub use memory::{MemoryLog, system_clock};
pub use relocate::{
    Absence, Route, busy_text, is_away, is_departure, is_move,
    mover::{MoveReport, absence, move_thread},
};
pub use rows::{KeyReusedError, RowTable, WriteTable, row_changes};
pub use statement::{Cell, QueryRows, Statement};
