//! Runs the engine's tests on objects.
use crate::common::Objects;

mod in_memory {
    use super::*;

    fugato_testkit::kernel_suite!(Objects::in_memory());
}

mod in_a_folder {
    use super::*;

    fugato_testkit::kernel_suite!(Objects::in_a_folder());
}
