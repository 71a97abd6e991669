//! `mce serve` and `mce run`.

use std::process::ExitCode;
use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::transport::stdio_pipes;

use crate::app::App;
use crate::cli::{CompileArgs, ServeArgs, Transport};
use crate::failure::Failure;
use crate::server::Handler;
use crate::setup::Setup;

/// Serves until the client closes stdin, then ends all children.
pub(crate) async fn serve(setup: &Setup, args: &ServeArgs) -> Result<ExitCode, Failure> {
    let Transport::Stdio = args.transport;
    let app = Arc::new(App::open(setup, setup.settings()?)?);
    app.start_in_background();
    let result = serve_stdio(&app).await;
    app.close().await;
    result.map(|()| ExitCode::SUCCESS)
}

/// Compiles, then serves what could be compiled.
pub(crate) async fn run(setup: &Setup, args: &ServeArgs) -> Result<ExitCode, Failure> {
    let compile = CompileArgs {
        dry_run: false,
        server: None,
        json: false,
        llm_enhance: false,
    };
    // Standard output belongs to JSON-RPC, so that the report goes to standard error.
    super::compile::compile_for_serving(setup, &compile).await?;
    serve(setup, args).await
}

async fn serve_stdio(app: &Arc<App>) -> Result<(), Failure> {
    let served = Handler::new(Arc::clone(app)).serve(stdio_pipes()).await;
    match served {
        Ok(running) => {
            running.waiting().await.map_err(Failure::internal)?;
            Ok(())
        }
        // The client left before it said anything.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Failure::internal(error)),
    }
}
