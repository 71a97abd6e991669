//! `mce auth`: logins at MCP servers and APIs, made and ended by a person.

use std::io::IsTerminal as _;
use std::process::{ExitCode, Stdio};
use std::time::SystemTime;

use mce_broker::{
    BrowserLogin, DeviceLogin, LoggedIn, Login, LoginError, LoginNeed, LoginScheme, LoginState, LoginWay, UpstreamError, person_scheme,
};
use mce_config::{Origin, normalise_server_name};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use url::Url;

use crate::app::App;
use crate::cli::{AuthArgs, AuthCommand, LoginArgs, LogoutArgs, StatusArgs};
use crate::failure::Failure;
use crate::setup::Setup;

/// Logins in a row, if the server wants more rights each time.
const MAX_STEPS: usize = 3;
/// Characters of a line that is pasted.
const MAX_PASTED: usize = 16 << 10;

pub(crate) async fn auth(setup: &Setup, args: &AuthArgs) -> Result<ExitCode, Failure> {
    // What servers say before and while one logs in is told by the commands themselves.
    crate::logging::start("error");
    let app = App::open(setup, setup.settings()?)?;
    let done = match &args.command {
        AuthCommand::Login(args) => login(setup, &app, args).await,
        AuthCommand::Logout(args) => logout(setup, &app, args).await,
        AuthCommand::Status(args) => status(setup, &app, args),
    };
    app.close().await;
    done.map(|()| ExitCode::SUCCESS)
}

async fn login(setup: &Setup, app: &App, args: &LoginArgs) -> Result<(), Failure> {
    let server = name_of(app, &args.server);
    if is_api(app, &server) {
        return log_in_to_api(setup, app, args, &server).await;
    }
    let mut step = 1;
    let logged_in = loop {
        let login = app.upstreams().begin_login(&server, way(args)).await.map_err(failure)?;
        let logged_in = log_in(setup, login, args).await?;
        let connected = app.upstreams().connect(&server).await;
        let lacking = match &connected {
            Err(UpstreamError::Unauthorized {
                need: LoginNeed::Scopes(scopes),
                ..
            }) if step < MAX_STEPS => scopes,
            Ok(()) | Err(_) => break connected.map(|()| logged_in),
        };
        step += 1;
        if !setup.is_json {
            setup
                .terminal
                .note(format!("`{server}` wants more rights than it named: {lacking}"));
        }
    };
    let not_taken = |message: String, hint: Option<String>| {
        Failure::new("tool", format!("the login worked, but {message}")).with_hint(hint.unwrap_or_default())
    };
    let logged_in = logged_in.map_err(|error| not_taken(error.to_string(), error.hint()))?;
    let functions = app.list_server(&server).await;
    let functions = functions.map_err(|failure| not_taken(failure.message, failure.hint))?;
    show_login(setup, &server, &logged_in, functions)
}

fn is_api(app: &App, server: &str) -> bool {
    let settings = app.settings().server(server);
    settings.is_some_and(|server| matches!(server.origin, Origin::OpenApi(_)))
}

async fn log_in_to_api(setup: &Setup, app: &App, args: &LoginArgs, server: &str) -> Result<(), Failure> {
    app.upstreams().check_login(server).map_err(failure)?;
    let summaries = app.discovery().summaries()?;
    let functions = summaries
        .iter()
        .find(|summary| summary.name == server)
        .map_or(0, |summary| summary.functions);
    let functions = usize::try_from(functions).unwrap_or(usize::MAX);
    let settings = app.settings().server(server);
    let schemes = settings
        .map(|settings| app.compiler().security_schemes(settings))
        .unwrap_or_default();
    let scheme = settings.and_then(|settings| person_scheme(settings, &schemes));
    let (name, scheme) = scheme.ok_or_else(|| {
        Failure::argument(format!("the document of `{server}` has no security scheme that people log in for")).with_hint(
            "`mce compile` reads the document; `oauth2` with `authorizationCode` or `deviceAuthorization`, and `openIdConnect` are such",
        )
    })?;
    let scopes = app.discovery().needed_scopes(server, name)?;
    let scheme = LoginScheme {
        name,
        scheme,
        scopes: &scopes,
    };
    let login = app.upstreams().begin_api_login(server, scheme, way(args)).await.map_err(failure)?;
    let logged_in = log_in(setup, login, args).await?;
    show_login(setup, server, &logged_in, functions)
}

fn way(args: &LoginArgs) -> LoginWay {
    if args.device { LoginWay::Device } else { LoginWay::Any }
}

async fn log_in(setup: &Setup, login: Login, args: &LoginArgs) -> Result<LoggedIn, Failure> {
    match login {
        Login::Browser(login) => log_in_by_browser(setup, *login, args.no_browser).await,
        Login::Device(login) => {
            show_code(setup, &login);
            // Who asks for a device has no browser here.
            if !(args.no_browser || args.device) {
                open_browser(setup, login.url_with_code().unwrap_or_else(|| login.url()).as_str());
            }
            login.finish().await.map_err(failure)
        }
    }
}

fn show_code(setup: &Setup, login: &DeviceLogin) {
    let terminal = setup.terminal;
    let (url, with_code) = (login.url(), login.url_with_code());
    if setup.is_json {
        let told = json!({"url": url.as_str(), "user_code": login.user_code(), "url_with_code": with_code.map(Url::as_str)});
        return terminal.note(told.to_string());
    }
    terminal.note(format!(
        "Open this in a browser, here or on any other device, and type the code:\n\n  {url}\n  {}\n",
        login.user_code()
    ));
    if let Some(url) = with_code {
        terminal.note(format!("The same with the code in it:\n\n  {url}\n"));
    }
    terminal.note(format!("Waiting for the login at {} …", login.issuer()));
}

async fn log_in_by_browser(setup: &Setup, mut login: BrowserLogin, no_browser: bool) -> Result<LoggedIn, Failure> {
    let is_opened = !no_browser && open_browser(setup, login.url().as_str());
    let can_paste = no_browser || std::io::stdin().is_terminal();
    show_url(setup, &login, is_opened, can_paste);
    let mut pasted = BufReader::new(tokio::io::stdin()).lines();
    let mut can_paste = can_paste;
    loop {
        let (answer, is_pasted) = tokio::select! {
            answer = login.answer() => (answer.map_err(failure)?, false),
            line = pasted.next_line(), if can_paste => match line {
                Ok(Some(line)) if line.trim().is_empty() => continue,
                Ok(Some(line)) => (line.chars().take(MAX_PASTED).collect(), true),
                Ok(None) | Err(_) => {
                    can_paste = false;
                    continue;
                }
            },
        };
        match login.finish(&answer).await {
            // Another paste may be the right one, and others may call this port, too.
            Err(error @ LoginError::NoAnswer { .. }) if !(is_pasted && setup.is_json) => {
                setup.terminal.failure(&failure(error), setup.is_json);
            }
            finished => return finished.map_err(failure),
        }
    }
}

fn show_url(setup: &Setup, login: &BrowserLogin, is_opened: bool, can_paste: bool) {
    let terminal = setup.terminal;
    if setup.is_json {
        return terminal.note(json!({"url": login.url().as_str()}).to_string());
    }
    let where_to = if is_opened {
        "A browser was opened. If it was not, open this:"
    } else {
        "Open this in a browser:"
    };
    terminal.note(format!("{where_to}\n\n  {}\n", login.url()));
    terminal.note(format!("Waiting for the login at {} …", login.issuer()));
    if can_paste {
        terminal.note("If the browser is on another machine, it ends at a page that it cannot load: paste the URL of that page here.");
    }
}

fn show_login(setup: &Setup, server: &str, login: &LoggedIn, functions: usize) -> Result<(), Failure> {
    if setup.is_json {
        return setup.terminal.json(&json!({
            "server": server,
            "logged_in": true,
            "issuer": login.issuer,
            "scopes": login.scopes,
            "expires_in_seconds": login.expires_at.map(seconds_left),
            "renewable": login.can_be_renewed,
            "functions": functions,
        }));
    }
    setup.terminal.line(format!(
        "logged in to `{server}` by {}{}{}; {functions} functions",
        login.issuer,
        with_scopes(&login.scopes),
        validity(login.expires_at, login.can_be_renewed)
    ));
    Ok(())
}

async fn logout(setup: &Setup, app: &App, args: &LogoutArgs) -> Result<(), Failure> {
    let server = name_of(app, &args.server);
    let was_there = app.upstreams().log_out(&server).await.map_err(failure)?;
    if args.json {
        return setup
            .terminal
            .json(&json!({"server": server, "logged_in": false, "was_logged_in": was_there}));
    }
    setup.terminal.line(if was_there {
        format!("logged out of `{server}`")
    } else {
        format!("nobody was logged in to `{server}`")
    });
    Ok(())
}

fn status(setup: &Setup, app: &App, args: &StatusArgs) -> Result<(), Failure> {
    let mut logins = app.upstreams().logins();
    let apis = app.settings().servers.iter().filter(|server| is_api(app, &server.name));
    let apis = apis.filter(|server| app.upstreams().check_login(&server.name).is_ok());
    let apis = apis.filter(|server| person_scheme(server, &app.compiler().security_schemes(server)).is_some());
    logins.extend(apis.map(|server| (server.name.clone(), app.upstreams().api_login(&server.name))));
    if let Some(server) = &args.server {
        let server = name_of(app, server);
        // Says why, if nobody logs in there.
        app.upstreams().check_login(&server).map_err(failure)?;
        logins.retain(|(name, _)| *name == server);
    }
    if args.json {
        let all: Vec<Value> = logins.iter().map(|(server, state)| state_json(server, state.as_ref())).collect();
        return setup.terminal.json(&all);
    }
    if logins.is_empty() {
        setup.terminal.line("no server is configured that one could log in to");
    }
    for (server, state) in &logins {
        setup.terminal.line(match state {
            Some(state) => format!(
                "`{server}`: logged in by {}{}{}{}",
                state.issuer,
                with_scopes(&state.scopes),
                validity(state.expires_at, state.can_be_renewed),
                if state.wanted.is_empty() {
                    String::new()
                } else {
                    format!("; calls also need {}: run `mce auth login {server}`", state.wanted.join(" "))
                }
            ),
            None => format!("`{server}`: nobody is logged in"),
        });
    }
    Ok(())
}

fn state_json(server: &str, state: Option<&LoginState>) -> Value {
    match state {
        Some(state) => json!({
            "server": server,
            "logged_in": true,
            "issuer": state.issuer,
            "client_id": state.client_id,
            "scopes": state.scopes,
            "expires_in_seconds": state.expires_at.map(seconds_left),
            "renewable": state.can_be_renewed,
            "wanted_scopes": state.wanted,
        }),
        None => json!({"server": server, "logged_in": false}),
    }
}

fn seconds_left(end: SystemTime) -> u64 {
    end.duration_since(SystemTime::now()).map_or(0, |left| left.as_secs())
}

fn with_scopes(scopes: &[String]) -> String {
    if scopes.is_empty() {
        String::new()
    } else {
        format!(", for {}", scopes.join(" "))
    }
}

fn validity(end: Option<SystemTime>, can_be_renewed: bool) -> String {
    match (end, can_be_renewed) {
        (_, true) => "; renewed by itself".to_owned(),
        (Some(end), false) => format!("; ends in {} minutes", seconds_left(end).div_ceil(60)),
        (None, false) => String::new(),
    }
}

/// The normalised name of a server; people may type it in any spelling that becomes it.
fn name_of(app: &App, typed: &str) -> String {
    let settings = app.settings();
    let server = settings.server(typed).or_else(|| settings.server(&normalise_server_name(typed)));
    server.map_or_else(|| typed.to_owned(), |server| server.name.clone())
}

#[expect(clippy::needless_pass_by_value, reason = "used as `map_err(failure)`")]
fn failure(error: LoginError) -> Failure {
    let kind = match error {
        LoginError::NotConfigured { .. } | LoginError::NoLogin { .. } | LoginError::NoAnswer { .. } => "argument",
        LoginError::NotInTime { .. } => "timeout",
        LoginError::Listen { .. } | LoginError::Keep { .. } => "internal",
        LoginError::NothingPublished { .. }
        | LoginError::Discovery { .. }
        | LoginError::NoDevice { .. }
        | LoginError::Registration { .. }
        | LoginError::Denied { .. }
        | LoginError::WrongIssuer { .. }
        | LoginError::Exchange { .. } => "tool",
    };
    Failure::new(kind, error.to_string()).with_hint(error.hint().unwrap_or_default())
}

/// Starts what opens URLs here: the program of `BROWSER`, else that of the desktop. Says whether it could be started.
fn open_browser(setup: &Setup, url: &str) -> bool {
    let set = |name: &str| setup.environment.get(name).filter(|value| !value.is_empty());
    let has_desktop = set("DISPLAY").or_else(|| set("WAYLAND_DISPLAY")).is_some();
    let program = match set("BROWSER").and_then(|list| list.split(':').next()) {
        Some(program) => program,
        None if cfg!(target_os = "macos") => "open",
        None if has_desktop => "xdg-open",
        None => return false,
    };
    let mut words = program.split_whitespace();
    let Some(first) = words.next() else { return false };
    let mut command = mce_jail::command(first, &setup.working_dir);
    let mut has_place = false;
    for word in words {
        has_place |= word.contains("%s");
        command.arg(word.replace("%s", url));
    }
    if !has_place {
        command.arg(url);
    }
    // It is the person's own program.
    command.envs(&setup.environment);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
