//! One call of a function, from its arguments to its answer.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mce_catalog::function::{Function, HttpTarget, Target};
use mce_config::{ServerSettings, Settings};
use reqwest::Request;
use serde_json::value::RawValue;

use crate::allowed_hosts::AllowedHosts;
use crate::answer::{Answer, Reading, read_value, telling_headers};
use crate::api_login::{ApiLogins, LoginWith};
use crate::arguments::{Arguments, Null, misfit, read_arguments};
use crate::audit::Audit;
use crate::base_url::BaseUrl;
use crate::call_error::{BrokerError, CallError};
use crate::connection::Clients;
use crate::credential::{Credentials, credentials_for, is_withheld};
use crate::digest::Digests;
use crate::function_source::{FoundFunction, FunctionSource};
use crate::http::{Http, assemble};
use crate::pace::{Pace, wait_hint};
use crate::page;
use crate::pinned_resolver::PinnedResolver;
use crate::policy::{self, Approvals, Facts, Policy};
use crate::reach::{self, PrivateNames};
use crate::recipe_runs::RecipeRuns;
use crate::redact::Redactor;
use crate::request::{RequestParts, build_request};
use crate::run_context::RunContext;
use crate::upstream::{ClientRequests, Upstreams};
use crate::validate::{FunctionValidators, Validators};

/// What a broker is made of.
pub struct BrokerOptions {
    /// Servers with their credentials, and the hosts that functions may reach.
    pub settings: Arc<Settings>,
    /// Where functions are looked up.
    pub functions: Arc<dyn FunctionSource>,
    /// Limits of each call.
    pub limits: CallLimits,
    /// Who answers what MCP servers ask outside of calls.
    pub client: Arc<dyn ClientRequests>,
}

/// Limits of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLimits {
    /// Until a connection stands. Default 10 s.
    pub connect: Duration,
    /// From sending to the last byte of the answer. Default 30 s.
    pub total: Duration,
    /// Bytes of an answer, decompressed. Default 16 MiB.
    pub answer_bytes: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            total: Duration::from_secs(30),
            answer_bytes: 16 << 20,
        }
    }
}

/// Whose names apply to arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// Identifiers of Python.
    Python,
    /// Identifiers of TypeScript.
    TypeScript,
}

/// Which names of arguments win where two meet. All names are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// The caller's language's, then those of the document.
    Language,
    /// Those of the document, then the language's.
    Original,
}

/// A call to make.
#[derive(Debug, Clone, Copy)]
pub struct CallRequest<'a> {
    /// What it belongs to.
    pub run: &'a RunContext,
    /// Whose names apply.
    pub caller: Caller,
    /// Which names of arguments win.
    pub naming: Naming,
    /// `server.function`, `server:METHOD /path` or `mcp__server__function`.
    pub function: &'a str,
    /// An object of arguments by name; the request body is `body`.
    pub arguments: &'a RawValue,
    /// The whole result of a tool is wanted, not its value alone.
    pub with_content: bool,
    /// The address of a further page, as an answer of the same function gave it: what the arguments ask for is asked for there.
    pub page: Option<&'a str>,
    /// The client's request for which it is made; none for one that can do nothing.
    pub client: Option<&'a Arc<dyn ClientRequests>>,
    /// What runs saved recipes that are called; none where none can be.
    pub recipes: Option<&'a dyn RecipeRuns>,
}

/// Performs calls. One for the process; shared by reference.
#[derive(Debug)]
pub struct Broker {
    pub(crate) options: BrokerOptions,
    pub(crate) audit: Arc<Audit>,
    pub(crate) policy: Policy,
    /// For calls, by the ways of their servers.
    clients: Clients,
    pub(crate) digests: Digests,
    /// For requests of programs' own. Apart from `http`, so that they share no connection with a call's credentials.
    pub(crate) fetch_http: Http,
    pub(crate) allowed_hosts: Arc<AllowedHosts>,
    private_names: Arc<PrivateNames>,
    /// For what programs fetch and for errors.
    pub(crate) redactor: Redactor,
    /// For answers of APIs and tools.
    pub(crate) answer_redactor: Arc<Redactor>,
    pub(crate) upstreams: Arc<Upstreams>,
    pub(crate) validators: Validators,
    pub(crate) pace: Pace,
    logins: ApiLogins,
}

impl Broker {
    /// Makes a broker.
    ///
    /// # Errors
    ///
    /// [`BrokerError::AuditLog`] if the audit log cannot be opened.
    pub fn new(options: BrokerOptions) -> Result<Self, BrokerError> {
        let servers = &options.settings.servers;
        let of_calls = PinnedResolver::of(servers, &options.settings.allowed_domains);
        let (allowed_hosts, private_names) = (Arc::clone(&of_calls.allowed), Arc::clone(&of_calls.private));
        allowed_hosts.warn_of_unusable();
        let of_programs = PinnedResolver {
            allowed: Arc::clone(&allowed_hosts),
            private: Arc::default(),
        };
        let upstreams = Upstreams::with_client(&options.settings, &options.client);
        let answer_redactor = Arc::clone(upstreams.redactor());
        Ok(Self {
            audit: Arc::new(Audit::open(
                &options.settings.audit,
                &options.settings.data_dir,
                Arc::clone(&answer_redactor),
            )?),
            policy: Policy::new(&options.settings),
            clients: Clients::new(Http::for_apis(options.limits.clone(), of_calls)),
            digests: Digests::default(),
            fetch_http: Http::for_programs(options.limits.clone(), of_programs),
            private_names,
            allowed_hosts,
            redactor: Redactor::new(servers).learning(upstreams.learned()),
            answer_redactor,
            validators: Validators::default(),
            pace: Pace::new(&options.settings, options.limits.total),
            logins: ApiLogins::new(Arc::clone(upstreams.learned())),
            upstreams: Arc::new(upstreams),
            options,
        })
    }

    /// The MCP servers of the settings.
    pub const fn upstreams(&self) -> &Arc<Upstreams> {
        &self.upstreams
    }

    /// Calls that wait for a person, and what people allowed always.
    pub const fn approvals(&self) -> &Approvals {
        &self.policy.approvals
    }

    /// Calls a function. Dropping the future cancels the call; the audit log then says so.
    ///
    /// # Errors
    ///
    /// [`CallError`]; for the kinds `Argument`, `Policy` and `Approval` nothing was sent, but what a recipe read.
    pub async fn call(&self, request: CallRequest<'_>) -> Result<Answer, CallError> {
        let found = match self.options.functions.find(request.function) {
            Ok(found) => found,
            Err(error) => {
                let error = self.without_secrets(error);
                if error.is_refusal() {
                    self.audit.refuse(request.run, request.function, &error, error.decision());
                }
                return Err(error);
            }
        };
        let outcome = self.call_found(request, &found).await;
        outcome.map_err(|error| error.in_function(&qualified(&found))).inspect_err(|error| {
            if error.is_refusal() && !error.is_on_record() {
                self.audit.refuse_call(request, &found.function, error);
            }
        })
    }

    async fn call_found(&self, request: CallRequest<'_>, found: &Arc<FoundFunction>) -> Result<Answer, CallError> {
        match &found.function.target {
            Target::Http(target) => self.call_api(request, found, target).await,
            Target::Tool(_) if request.page.is_some() => Err(CallError::argument("a tool has no further pages at an address")),
            Target::Tool(tool) => Box::pin(self.call_tool(request, found, tool)).await,
        }
    }

    async fn call_api(&self, request: CallRequest<'_>, found: &Arc<FoundFunction>, target: &HttpTarget) -> Result<Answer, CallError> {
        let function = &found.function;
        let server = self.server(&function.server)?;
        let arguments = read_arguments(found, request.caller, request.naming, request.arguments, Null::Missing)?;
        let mut parts = self.checked_request(found, target, &arguments)?;
        policy::check_function(server, function)?;
        let base = BaseUrl::of(server, target)?;
        reach::check_host(&self.allowed_hosts, &self.private_names, server, &base)?;
        let person = self.upstreams.api_session(&server.name);
        let scheme = |name: &str| found.security_schemes.get(name).cloned();
        let credentials_of = |server: &ServerSettings| {
            let credentials = if is_withheld(server, target, &self.allowed_hosts) {
                Credentials::withheld(server)
            } else {
                credentials_for(server, target, scheme, person.as_ref())?
            };
            let base_path = base.path.clone();
            Ok::<_, CallError>(Credentials { base_path, ..credentials })
        };
        let credentials = credentials_of(server)?;
        if let Some(address) = request.page {
            let own_pairs = credentials.query_names(&base);
            (parts.path, parts.query) = page::follow((&parts.method, &parts.path), address, &base, &own_pairs)?;
        } else {
            credentials.stand_alone_in(&mut parts, function, &base)?;
        }
        // What cannot be sent is refused before anybody is asked.
        let assembled = assemble(&base, parts.clone(), &credentials).map_err(|error| self.without_secrets(error))?;
        let facts = Facts::of_call(request, server, found, &arguments);
        // Secrets are read for what is allowed only. A login, which must be asked for, comes after the intent.
        let ready = async {
            let filled = self.upstreams.vault().filled(server).await?;
            let Cow::Owned(whole) = &filled else { return Ok((filled, None)) };
            let credentials = credentials_of(whole)?;
            let assembled = assemble(&base, parts.clone(), &credentials).map_err(|error| self.without_secrets(error))?;
            Ok((filled, Some((credentials, assembled))))
        };
        let ((filled, whole), _turn, intent) = self.admit(request, (function, &arguments), &facts, ready).await?;
        let (credentials, assembled) = whole.unwrap_or((credentials, assembled));
        let server = filled.as_ref();
        let http = self.clients.of(server);
        let logging_in = (!credentials.logins.is_empty()).then_some(parts);
        let outcome = match logging_in {
            None => self.send((found, target), &http, assembled, &credentials).await,
            Some(parts) => {
                let prepared = (&base, parts, credentials);
                self.send_logged_in((found, target), (server, &http), prepared, request.run).await
            }
        };
        if outcome.as_ref().is_err_and(|error| error.status() == Some(401)) {
            self.upstreams.vault().drop_refused(&server.name).await;
        }
        let outcome = outcome.map_err(|error| self.without_secrets(error).on_record());
        intent.end_call(outcome.as_ref());
        outcome
    }

    /// The arguments, if they fit.
    pub(crate) fn checked_arguments<'a>(
        &self,
        request: CallRequest<'a>,
        found: &'a Arc<FoundFunction>,
    ) -> Result<Arguments<'a>, CallError> {
        match &found.function.target {
            Target::Http(target) => {
                let arguments = read_arguments(found, request.caller, request.naming, request.arguments, Null::Missing)?;
                self.checked_request(found, target, &arguments)?;
                Ok(arguments)
            }
            Target::Tool(tool) => Ok(self.checked_members(request, found, tool)?.0),
        }
    }

    /// The request, after every argument was found to fit its schema.
    fn checked_request(
        &self,
        found: &Arc<FoundFunction>,
        target: &HttpTarget,
        arguments: &Arguments<'_>,
    ) -> Result<RequestParts, CallError> {
        let validators = self.checked_parameters(found, arguments)?;
        let chosen = arguments
            .body
            .as_ref()
            .map(|body| {
                validators
                    .choose_variant(&found.function, body)
                    .map_err(|error| blame(&found.function, body.is_filled, error))
            })
            .transpose()?;
        build_request(target, arguments, chosen.as_ref())
    }

    /// The validators, after every parameter was found to fit its schema.
    pub(crate) fn checked_parameters(
        &self,
        found: &Arc<FoundFunction>,
        arguments: &Arguments<'_>,
    ) -> Result<Arc<FunctionValidators>, CallError> {
        let validators = self.validators.of(found);
        for argument in &arguments.parameters {
            validators
                .check_parameter(argument)
                .map_err(|error| blame(&found.function, argument.is_filled, error))?;
        }
        Ok(validators)
    }

    /// Sends a request to a server whose calls need a login. If that is refused it is made anew, and what only reads is sent
    /// again.
    async fn send_logged_in(
        &self,
        function: (&FoundFunction, &HttpTarget),
        (server, http): (&ServerSettings, &Http),
        (base, parts, credentials): (&BaseUrl, RequestParts, Credentials),
        run: &RunContext,
    ) -> Result<Answer, CallError> {
        let may_repeat = matches!(parts.method.as_str(), "GET" | "HEAD");
        let mut is_first = true;
        loop {
            let with = LoginWith {
                http,
                redactor: &self.redactor,
                audit: &self.audit,
                allowed_domains: &self.options.settings.allowed_domains,
                run,
            };
            let mut credentials = credentials.clone();
            let mut all_granted = Vec::new();
            for needed in &credentials.logins.clone() {
                let granted = self.logins.of(server, needed, with).await?;
                credentials = credentials.with_login(&granted);
                all_granted.push((needed.clone(), granted));
            }
            let assembled = assemble(base, parts.clone(), &credentials)?;
            let outcome = self.send(function, http, assembled, &credentials).await;
            match outcome {
                Err(error) if error.status() == Some(401) => {
                    for (needed, granted) in &all_granted {
                        self.logins.drop_refused(&server.name, needed, granted).await;
                    }
                    if !(may_repeat && is_first) {
                        return Err(error.with_hint("the API refused the login; the next call will log in anew"));
                    }
                }
                outcome => return outcome,
            }
            is_first = false;
        }
    }

    async fn send(
        &self,
        (found, target): (&FoundFunction, &HttpTarget),
        http: &Http,
        request: Request,
        credentials: &Credentials,
    ) -> Result<Answer, CallError> {
        let started = Instant::now();
        let reading = Reading {
            target,
            redactor: &self.answer_redactor,
        };
        let (answer, attempts) = self.send_in_turn(found, (http, credentials), request).await?;
        let status = answer.status;
        let wait = wait_hint(status, &answer.headers);
        let headers = telling_headers(&answer.headers, reading);
        let lacking = match &credentials.needed {
            Some(needed) => needed.hint(&found.function.server, &answer).await,
            None => None,
        };
        let value = read_value(answer, reading).map_err(|error| {
            with_credential_hint(error, credentials, lacking.as_ref())
                .with_wait(wait)
                .after_attempts(attempts)
        })?;
        Ok(Answer {
            attempts,
            function: qualified(found),
            effect: found.function.effect,
            value,
            status: Some(status),
            headers,
            result: None,
            shape: None,
            elapsed: started.elapsed(),
        })
    }

    /// JSON text of a program without configured secrets, which is JSON still. The text must be valid.
    pub fn redacted<'a>(&self, json: &'a str) -> Cow<'a, str> {
        self.redactor.json(json)
    }

    pub(crate) fn without_secrets(&self, error: CallError) -> CallError {
        error.map_text(|text| self.redactor.text(text).into_owned())
    }

    pub(crate) fn server(&self, name: &str) -> Result<&ServerSettings, CallError> {
        let settings = &self.options.settings;
        let mut servers = settings.servers.iter().chain(&settings.recipe_server);
        let server = servers.find(|server| server.name == name);
        server.ok_or_else(|| CallError::policy(format!("`{name}` is not configured any more")))
    }
}

impl std::fmt::Debug for BrokerOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BrokerOptions")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// A value that the configuration filled in is not the caller's fault.
fn blame(function: &Function, is_filled: bool, error: CallError) -> CallError {
    if is_filled { misfit(function, &error.to_string()) } else { error }
}

pub(crate) fn qualified(found: &FoundFunction) -> String {
    format!("{}.{}", found.function.server, found.function.python)
}

/// An API that refuses the caller, where the document asks for a credential that nobody configured, or the credential lacks rights.
fn with_credential_hint(error: CallError, credentials: &Credentials, lacking: Option<&String>) -> CallError {
    match (error.status(), lacking.or(credentials.advice.as_ref())) {
        (Some(401 | 403), Some(advice)) => error.with_hint(advice.as_str()),
        _ => error,
    }
}
