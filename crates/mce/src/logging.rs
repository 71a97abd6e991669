//! Logs go to stderr, in one format; stdout belongs to JSON-RPC and to answers.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts the log. `level` is a word such as `info`; a second start is ignored.
pub(crate) fn start(level: &str) {
    // Libraries speak only when something is wrong, whatever our own level is; rmcp would repeat what servers say, and what we say
    // of a connection that ended.
    let filter = EnvFilter::builder().parse_lossy(format!(
        "warn,rmcp=error,rmcp::transport::worker=off,mce={level},mce_broker={level},mce_sandbox={level},mce_jail={level}"
    ));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    let _ = if std::io::stderr().is_terminal() {
        log.try_init()
    } else {
        log.json().try_init()
    };
}
