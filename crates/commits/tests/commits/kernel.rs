//! Runs the engine's tests on objects.
use crate::{
    common::Objects,
    s3::{Prefixes, moto},
};

mod in_memory {
    use super::*;

    fugato_testkit::kernel_suite!(Objects::in_memory(), if true, in shares);
}

mod in_a_folder {
    use super::*;

    fugato_testkit::kernel_suite!(Objects::in_a_folder(), if true, in shares);
}

mod in_a_bucket {
    use super::*;

    fugato_testkit::kernel_suite!(Prefixes::default(), if moto().is_some(), in shares);
}
