//! Runs the engine's tests on MariaDB.
mod common;

use common::{Databases, shared};

fugato_testkit::kernel_suite!(Databases::default(), if shared().is_some());
