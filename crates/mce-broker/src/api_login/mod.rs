//! Logins at APIs: what `auth` of type `oauth2`, `keycloak` and `session` stands for. A token or session is asked for when
//! it is first needed, by one call for all, and kept until it expires.

mod client_credentials;
mod session;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mce_config::{Auth, Secret, ServerSettings};

use crate::audit::Audit;
use crate::call_error::{CallError, CallErrorKind};
use crate::http::{Http, RawAnswer};
use crate::oauth::{LoginNeed, Session};
use crate::redact::{Learned, Redactor};
use crate::run_context::RunContext;
pub(crate) use client_credentials::{ClientLogin, TokenAt};

/// What expires sooner is not used any more.
const MARGIN: Duration = Duration::from_secs(30);
/// After the first login that fails none is tried for this long; doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait between two logins that fail.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// Characters shown of what a login endpoint says.
const MAX_SAID_CHARS: usize = 300;

/// What a login gave.
#[derive(Debug, Clone)]
pub(crate) enum Granted {
    /// The value of `Authorization`.
    Authorization(Secret),
    /// Pairs of `Cookie`.
    Cookies(Vec<Secret>),
}

/// A login and how long it holds.
#[derive(Debug, Clone)]
struct Login {
    granted: Granted,
    until: Instant,
}

/// The login of one server.
#[derive(Debug, Default)]
struct Slot {
    login: Option<Login>,
    failure: Option<Failure>,
}

#[derive(Debug)]
struct Failure {
    error: CallError,
    count: u32,
    retry_at: Instant,
}

/// The logins of all servers. One for the process.
#[derive(Debug)]
pub(crate) struct ApiLogins {
    learned: Arc<Learned>,
    // The outer lock is held to find a server's slot; the inner one while it logs in, so that the others wait for that.
    slots: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<Slot>>>>,
}

/// What a login is made with.
#[derive(Clone, Copy)]
pub(crate) struct LoginWith<'a> {
    pub(crate) http: &'a Http,
    pub(crate) redactor: &'a Redactor,
    pub(crate) audit: &'a Audit,
    /// Hosts that may lead to private addresses.
    pub(crate) allowed_domains: &'a [String],
    /// The run whose call needs it.
    pub(crate) run: &'a RunContext,
}

/// A login that a call needs.
#[derive(Debug, Clone)]
pub(crate) enum NeededLogin {
    /// The one of the server's `auth`.
    Auth,
    /// Of a client, for the security scheme of this name.
    Client(String, ClientLogin),
    /// The one that a person made.
    Person(Arc<Session>),
}

impl NeededLogin {
    /// What its outcome is kept under.
    fn key(&self, server: &str) -> String {
        match self {
            Self::Auth | Self::Person(_) => server.to_owned(),
            Self::Client(scheme, _) => format!("{server}/{scheme}"),
        }
    }
}

/// Whether calls of a server need a login by its `auth`.
pub(crate) const fn is_needed(auth: &Auth) -> bool {
    match auth {
        Auth::OAuth2 { .. } | Auth::Keycloak { .. } | Auth::Session(_) => true,
        Auth::None | Auth::Static { .. } | Auth::Jwt { .. } | Auth::Basic { .. } => false,
    }
}

impl ApiLogins {
    pub(crate) fn new(learned: Arc<Learned>) -> Self {
        Self {
            learned,
            slots: Mutex::default(),
        }
    }

    /// What proves to a server who calls.
    ///
    /// # Errors
    ///
    /// `Api` with what the endpoint said, the same for all calls until it may be asked again; `Timeout`.
    pub(crate) async fn of(&self, server: &ServerSettings, needed: &NeededLogin, with: LoginWith<'_>) -> Result<Granted, CallError> {
        if let NeededLogin::Person(session) = needed {
            return of_person(&server.name, session).await;
        }
        let slot = self.slot(needed.key(&server.name));
        let mut slot = slot.lock().await;
        let now = Instant::now();
        if let Some(login) = slot.login.as_ref().filter(|login| login.until > now) {
            return Ok(login.granted.clone());
        }
        if let Some(failure) = slot.failure.as_ref().filter(|failure| failure.retry_at > now) {
            return Err(failure.error.clone());
        }
        let intent = with.audit.begin_other(with.run, &server.name, "login", None);
        // The endpoint may say again what it was sent.
        let outcome = log_in(server, needed, with)
            .await
            .map_err(|error| error.map_text(|text| with.redactor.text(text).into_owned()));
        intent.end(outcome.as_ref().map(|_| (None, 0)));
        match outcome {
            Ok(login) => {
                self.learned.add(&login.granted.secrets());
                let granted = login.granted.clone();
                *slot = Slot {
                    login: Some(login),
                    failure: None,
                };
                Ok(granted)
            }
            Err(error) => {
                let count = slot.failure.as_ref().map_or(0, |failure| failure.count);
                let wait = FIRST_WAIT.saturating_mul(1 << count.min(6)).min(LONGEST_WAIT);
                slot.failure = Some(Failure {
                    error: error.clone(),
                    count: count.saturating_add(1),
                    retry_at: Instant::now() + wait,
                });
                Err(error)
            }
        }
    }

    /// Forgets a login that the API refused, unless another call did so already.
    pub(crate) async fn drop_refused(&self, server: &str, needed: &NeededLogin, refused: &Granted) {
        if let (NeededLogin::Person(session), Granted::Authorization(value)) = (needed, refused) {
            // Whether there is another token, the next look at it tells.
            let _ = session.renewed(&value.without_prefix("Bearer ")).await;
            return;
        }
        let slot = self.slot(needed.key(server));
        let mut slot = slot.lock().await;
        if slot.login.as_ref().is_some_and(|login| login.granted.is_same(refused)) {
            slot.login = None;
        }
    }

    fn slot(&self, key: String) -> Arc<tokio::sync::Mutex<Slot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(key).or_default())
    }
}

impl Granted {
    fn secrets(&self) -> Vec<Secret> {
        match self {
            Self::Authorization(value) => vec![value.clone()],
            Self::Cookies(pairs) => pairs.clone(),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.secrets() == other.secrets()
    }
}

impl Login {
    fn new(granted: Granted, lasts: Duration) -> Self {
        // One that lasts shorter than the margin is used for this call and its neighbours.
        let lasts = lasts.checked_sub(MARGIN).unwrap_or(lasts / 2);
        Self {
            granted,
            until: Instant::now() + lasts,
        }
    }
}

/// The token of a person's login.
async fn of_person(server: &str, session: &Session) -> Result<Granted, CallError> {
    let token = session.token().await.and_then(|token| token.ok_or(LoginNeed::Never));
    let token = token.map_err(|need| CallError::policy(format!("`{server}` {need}")).with_hint(need.hint(server)))?;
    Ok(Granted::Authorization(token.with_prefix("Bearer ")))
}

async fn log_in(server: &ServerSettings, needed: &NeededLogin, with: LoginWith<'_>) -> Result<Login, CallError> {
    let name = server.name.as_str();
    let client = match (needed, &server.auth) {
        (NeededLogin::Client(_, client), _) => client.clone(),
        (
            NeededLogin::Auth,
            Auth::OAuth2 {
                place,
                client_id,
                client_secret,
                scope,
            },
        ) => ClientLogin {
            at: TokenAt::of(place),
            client_id: client_id.clone(),
            client_secret: client_secret.clone(),
            scope: scope.clone(),
        },
        (
            NeededLogin::Auth,
            Auth::Keycloak {
                base_url,
                realm,
                client_id,
                client_secret,
                scope,
            },
        ) => ClientLogin {
            at: TokenAt::Url(format!(
                "{base_url}/realms/{}/protocol/openid-connect/token",
                crate::request::encode(realm)
            )),
            client_id: client_id.clone(),
            client_secret: client_secret.clone(),
            scope: scope.clone(),
        },
        (NeededLogin::Auth, Auth::Session(session)) => return session::log_in(name, session, with.http).await,
        (NeededLogin::Person(_), _) | (NeededLogin::Auth, Auth::None | Auth::Static { .. } | Auth::Jwt { .. } | Auth::Basic { .. }) => {
            return Err(CallError::policy(format!("`{name}` needs no login")));
        }
    };
    client_credentials::log_in(server, &client, with).await
}

/// What a login endpoint said when it refused.
fn refused(server: &str, url: &str, answer: &RawAnswer) -> CallError {
    let said: String = String::from_utf8_lossy(&answer.body).chars().take(MAX_SAID_CHARS).collect();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let status = answer.status;
    let message = if said.is_empty() {
        format!("the login of `{server}` was refused with status {status}")
    } else {
        format!("the login of `{server}` was refused with status {status}: {said}")
    };
    failed(server, url, message)
}

/// A login that did not work; where it was is for the audit log only.
fn failed(server: &str, url: &str, message: String) -> CallError {
    let internal = format!("{message} ({url})");
    CallError::new(CallErrorKind::Api { status: None, body: None }, message)
        .with_hint(format!(
            "the person who runs mce has to check `auth` of `{server}`, or its `credentials`"
        ))
        .with_internal(internal)
}

/// An error of the way to the endpoint, which is not the API.
fn unreachable(server: &str, url: &str, error: &CallError) -> CallError {
    let message = format!("the login of `{server}` failed: {error}");
    CallError::new(error.kind.clone(), message).with_internal(format!("{} ({url})", error.internal()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_ends_before_it_expires() {
        for (lasts, used) in [(3600, 3570), (60, 30), (20, 10), (0, 0)] {
            let login = Login::new(Granted::Cookies(Vec::new()), Duration::from_secs(lasts));
            let left = login.until.saturating_duration_since(Instant::now()).as_secs_f64();
            assert!((left - f64::from(used)).abs() < 5.0, "{lasts} s: {left} s");
        }
    }
}
