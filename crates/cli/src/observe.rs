//! What happens inside, for an operator who watches.
use tracing_subscriber::{
    Layer as _, filter::Targets, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::{Flags, Told, told::Tell as _};

/// Writes to standard error what the flags ask for, for as long as the process lives. A server has
/// nobody before it who is told what goes wrong, so it writes that without being asked.
pub(crate) fn begin(flags: &Flags, serves: bool) -> Result<(), Told> {
    let Some(filter) = wanted(flags.trace.as_deref(), serves) else {
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

fn wanted(said: Option<&str>, serves: bool) -> Option<&str> {
    said.or(serves.then_some("warn"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_tells_what_goes_wrong_unless_told_otherwise() {
        assert_eq!(wanted(None, true), Some("warn"));
        assert_eq!(wanted(Some("off"), true), Some("off"));
        assert_eq!(wanted(None, false), None);
    }
}
