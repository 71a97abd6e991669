//! `mce serve` and `mce run`.

use std::process::ExitCode;
use std::sync::Arc;

use mce_config::Settings;
use rmcp::ServiceExt;
use rmcp::transport::stdio_pipes;

use crate::app::App;
use crate::cli::{CompileArgs, ServeArgs, Transport};
use crate::failure::Failure;
use crate::server::{AsWritten, EndOfInput, Handler, LongIntegersAsTexts, StandingClient, WithoutLoneSurrogates, answering, serve_http};
use crate::setup::Setup;

/// Serves until the client closes stdin, or the process is asked to end; then ends all children.
pub(crate) async fn serve(setup: &Setup, args: &ServeArgs) -> Result<ExitCode, Failure> {
    let client = StandingClient::only();
    let standing = Arc::<StandingClient>::clone(&client);
    let app = Arc::new(App::open_for(setup, setup.settings()?, standing)?);
    warn_of_unverified(app.settings());
    app.start_in_background();
    let result = match args.transport {
        Transport::Stdio => serve_stdio(&app, client).await,
        Transport::Http => serve_http(&app, client, terminated()).await,
    };
    app.close().await;
    result.map(|()| ExitCode::SUCCESS)
}

/// Where the log is read and the warnings of the configuration are not, it has to stand there.
fn warn_of_unverified(settings: &Settings) {
    for server in settings.servers.iter().filter(|server| server.connection.is_unverified) {
        tracing::error!(
            "`servers.{}.tls.verify` is false: ANYBODY on the way to this server can read and change everything, credentials too",
            server.name
        );
    }
}

/// Compiles, then serves what could be compiled.
pub(crate) async fn run(setup: &Setup, args: &ServeArgs) -> Result<ExitCode, Failure> {
    let compile = CompileArgs {
        dry_run: false,
        server: None,
        lock: false,
        locked: false,
        accept: false,
        json: false,
        llm_enhance: false,
    };
    // Standard output belongs to JSON-RPC, so that the report goes to standard error.
    super::compile::compile_for_serving(setup, &compile).await?;
    serve(setup, args).await
}

/// Waits for SIGTERM or SIGINT, so that children are ended then as well.
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

async fn serve_stdio(app: &Arc<App>, client: Arc<StandingClient>) -> Result<(), Failure> {
    let (stdin, stdout) = stdio_pipes();
    let stdin = LongIntegersAsTexts::new(WithoutLoneSurrogates::new(EndOfInput::new(stdin, app.end())));
    let handler = AsWritten(Handler::new(Arc::clone(app), client)?);
    let served = handler.serve(answering(stdin, stdout)).await;
    match served {
        Ok(running) => tokio::select! {
            reason = running.waiting() => reason.map(drop).map_err(Failure::internal),
            () = terminated() => Ok(()),
        },
        // The client left before it said anything.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Failure::internal(error)),
    }
}
