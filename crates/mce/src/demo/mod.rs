//! `mce demo`: the conversation that a model would have, played against a shop that is part of this program.
//! Nothing is faked: a real HTTP API, the real compiler, an MCP client and server, and real jailed workers.

mod api;
mod conversation;
mod programs;

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use self::api::Shop;
use self::conversation::Conversation;
use crate::app::{App, Behalf, ServerReport};
use crate::failure::Failure;
use crate::server::tool_of;
use crate::setup::Setup;
use crate::terminal::Terminal;
use crate::tokens;

const TOKEN: &str = "demonstration-token-71f3";

/// Plays all steps. Exit code 0 only if each gave the right value.
pub(crate) async fn play(setup: &Setup) -> Result<ExitCode, Failure> {
    let terminal = setup.terminal;
    let shop = Shop::start(TOKEN).await.map_err(Failure::internal)?;
    let folder = tempfile::tempdir().map_err(Failure::internal)?;
    write_configuration(folder.path(), &shop)?;
    let own = Setup {
        global: crate::cli::GlobalArgs::default(),
        working_dir: folder.path().to_owned(),
        environment: demo_environment(setup, folder.path()),
        terminal,
        is_json: false,
        arguments: std::collections::BTreeMap::new(),
    };
    terminal.line(format!("A shop's API listens on {} and wants a bearer token.", shop.base_url()));
    let settings = own.settings()?;
    let app = Arc::new(App::open(&own, settings)?);
    let result = converse(terminal, &shop, &app).await;
    app.close().await;
    result
}

async fn converse(terminal: Terminal, shop: &Shop, app: &Arc<App>) -> Result<ExitCode, Failure> {
    let report = app.compile_documents().await;
    let compiled = report.first().map_or(0, ServerReport::compiled);
    terminal.line(format!("Its OpenAPI 3.1 document is compiled: {compiled} functions."));
    let mut talk = Conversation::start(terminal, app).await?;
    programs::discover(&mut talk).await?;
    let recipe = programs::execute(&mut talk, shop).await?;
    programs::run_again(&mut talk, shop, recipe).await?;
    programs::make_a_mistake(&mut talk).await?;
    let direct = direct_cost(app).await?;
    table(terminal, &talk, &direct);
    let is_right = talk.is_right();
    talk.end().await;
    terminal.line(terminal.verdict(
        is_right,
        if is_right {
            "\nEvery step gave the right value."
        } else {
            "\nA step gave a wrong value."
        },
    ));
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// What a person would write: a document and five lines of `mce.yaml`.
fn write_configuration(folder: &std::path::Path, shop: &Shop) -> Result<(), Failure> {
    let config = format!(
        "servers:\n  shop:\n    openapi: ./shop.json\n    base_url: {}\n    auth: {{type: static, value: \"Bearer ${{SHOP_TOKEN}}\"}}\n",
        shop.base_url()
    );
    let document = serde_json::to_vec(&api::document()).map_err(Failure::internal)?;
    fs_err::write(folder.join("shop.json"), document).map_err(Failure::internal)?;
    fs_err::write(folder.join("mce.yaml"), config).map_err(Failure::internal)
}

/// The environment without settings of ours, so that the demonstration is the same everywhere. Which interpreter and
/// which layers of the jail are used stays as configured.
fn demo_environment(setup: &Setup, folder: &std::path::Path) -> mce_config::env::Environment {
    let is_kept = |name: &str| !name.starts_with("MCE_") || name == "MCE_PYTHON" || name == "MCE_JAIL_WITHOUT";
    let mut environment: mce_config::env::Environment = setup
        .environment
        .iter()
        .filter(|(name, _)| is_kept(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    environment.insert("SHOP_TOKEN".into(), TOKEN.into());
    environment.insert("MCE_DATA_DIR".into(), folder.join("data").to_string_lossy().into_owned());
    environment.insert("MCE_LOG_LEVEL".into(), "warn".into());
    environment.insert("MCE_DISCOVER".into(), "false".into());
    environment
}

/// The same work with every function as a tool and every raw answer in the context.
struct DirectCost {
    tools: usize,
    definitions: usize,
    answers: usize,
}

async fn direct_cost(app: &Arc<App>) -> Result<DirectCost, Failure> {
    let functions = app.discovery().all_functions("shop")?;
    let tools: Vec<Value> = functions
        .iter()
        .map(|function| {
            let tool = tool_of(&function.python, function, &app.discovery().types_for(function));
            json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema})
        })
        .collect();
    let mut answers = 0;
    for (reference, arguments) in programs::calls_made() {
        let raw = app
            .call(reference, &to_raw_value(&arguments).map_err(Failure::internal)?, &Behalf::person())
            .await?;
        answers += tokens::count(raw.get()) + tokens::count(&json!({"name": reference, "arguments": arguments}).to_string());
    }
    Ok(DirectCost {
        tools: tools.len(),
        definitions: tokens::count(&Value::from(tools).to_string()),
        answers,
    })
}

fn table(terminal: Terminal, talk: &Conversation, direct: &DirectCost) {
    terminal.heading("What the model paid, in tokens (o200k)");
    terminal.line(format!("{:42}{:>12}{:>28}", "", "through mce", "every function as a tool"));
    let row = |name: &str, here: usize, there: usize| terminal.line(format!("{name:42}{here:>12}{there:>28}"));
    row(
        &format!("tool definitions and instructions ({} / {})", talk.tool_count(), direct.tools),
        talk.definitions(),
        direct.definitions,
    );
    row("calls and answers", talk.messages(), direct.answers);
    row(
        "together",
        talk.definitions() + talk.messages(),
        direct.definitions + direct.answers,
    );
    terminal.line(terminal.faint(
        "The right column counts only the API calls that the two programs made, without a model's mistakes; definitions are\nsent with every turn, and grow with each API that is added. The left one stays as it is.",
    ));
    terminal.heading("Milliseconds of each run");
    for (name, whole, inside) in talk.runs() {
        terminal.line(format!("{name:42}{whole:>9.1} ms, of which the program {inside} ms"));
    }
}
