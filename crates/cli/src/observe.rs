//! What happens inside, for an operator who watches.
use tracing_subscriber::{
    Layer as _, filter::Targets, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::{Flags, Told, told::Tell as _};

/// Writes to standard error what the flags ask for, for as long as the process lives.
pub(crate) fn begin(flags: &Flags) -> Result<(), Told> {
    let Some(filter) = &flags.trace else {
        return Ok(());
    };
    let wanted: Targets = filter.parse().tell(|| {
        format!("--trace {filter:?} is no filter; such are info, or warn,fugato_graph=debug")
    })?;
    let lines = fmt::layer().with_ansi(false).with_writer(std::io::stderr);
    let lines = tracing_subscriber::registry().with(lines.with_filter(wanted));
    lines
        .try_init()
        .tell(|| "--trace: this process is watched already".to_owned())
}
