//! Runs the conformance tests of a log on objects.
use crate::{
    common::Objects,
    s3::{Prefixes, moto},
};

mod in_memory {
    use super::*;

    fugato_testkit::thread_log_suite!(Objects::in_memory());
}

mod swept_at_once {
    use super::*;

    fugato_testkit::thread_log_suite!(Objects::in_memory().swept_at_once());
}

mod in_a_folder {
    use super::*;

    fugato_testkit::thread_log_suite!(Objects::in_a_folder());
}

mod in_a_bucket {
    use super::*;

    fugato_testkit::thread_log_suite!(Prefixes::default(), if moto().is_some());
}
