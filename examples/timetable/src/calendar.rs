//! Real input and output: calendars, task classes, tables and pictures.
mod classes;
mod export;
mod file;
mod ics;
mod import;
mod svg;
mod table;

pub use crate::lang::{Lang, weekday};
pub use crate::schedule::{Sections, SectionsError};
pub use classes::{Class, Classes, ClassesError, Item};
pub use export::{Export, ExportError, export};
pub use file::{FileError, read_file, write_file};
pub use ics::{IcsCalendar, IcsError, IcsProblem, Loss, Occurrence};
pub use import::{EntryRemark, ImportError, Intake, Remark, import, open};
pub use svg::Picture;
pub use table::WeekTable;
