//! The graph engine keeps its rules on MariaDB.
mod common;

use common::{Databases, shared};

fugato_testkit::kernel_suite!(Databases::default(), if shared().is_some());
