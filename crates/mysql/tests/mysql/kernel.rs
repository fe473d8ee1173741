//! Runs the engine's tests on MariaDB.

use crate::common::{Databases, shared};

fugato_testkit::kernel_suite!(Databases::default(), if shared().is_some(), in shares);
