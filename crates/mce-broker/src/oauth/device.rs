//! A login at another device: the person types a code there, and this client asks until they did. (RFC 8628)

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oauth2::TokenResponse as _;
use reqwest::Request;
use rmcp::transport::auth::{AuthorizationManager, OAuthTokenResponse, StoredCredentials};
use serde::Deserialize;
use tokio::time::{Instant, sleep};
use url::Url;
use url::form_urlencoded::Serializer;

use super::client::{Client, GrantKind, client, signed_form};
use super::discovery::device_endpoint;
use super::guarded_client::Trouble;
use super::login::{Found, LoggedIn, issuer, keep, resource, scopes_for};
use super::login_error::LoginError;
use super::session::Session;
use crate::policy::escaped;

pub(super) const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Characters of the code that a person types.
const MAX_CODE_CHARS: usize = 64;
/// Between two questions, if the server does not say. (RFC 8628, 3.2)
const INTERVAL: Duration = Duration::from_secs(5);
/// A server that says less or more is not believed.
const INTERVALS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));
/// How long the code is good at most, whatever the server says.
const MAX_TIME: Duration = Duration::from_mins(30);
/// If it does not say.
const TIME: Duration = Duration::from_mins(5);

/// A login that was begun. Dropping it ends it.
pub struct DeviceLogin {
    session: Arc<Session>,
    found: Found,
    client: Client,
    scopes: Vec<String>,
    resource: Option<String>,
    device_code: String,
    user_code: String,
    url: Url,
    url_with_code: Option<Url>,
    interval: Duration,
    until: Instant,
    lifetime: Duration,
}

/// RFC 8628, section 3.2.
#[derive(Deserialize)]
struct DeviceAnswer {
    device_code: String,
    user_code: String,
    // Older servers have the second.
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: Option<u64>,
    interval: Option<u64>,
}

/// What an answer to the question for tokens means.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Wait,
    Denied,
    Expired,
    Failed,
}

impl DeviceLogin {
    /// Makes this client known, and asks for a code.
    pub(super) async fn begin(session: &Arc<Session>, mut manager: AuthorizationManager, mut found: Found) -> Result<Self, LoginError> {
        let issuer = issuer(&found.metadata);
        let endpoint = device_endpoint(&found.metadata).map(str::to_owned);
        let endpoint = endpoint.ok_or_else(|| LoginError::NoDevice { issuer: issuer.clone() })?;
        let failed = |reason: String| LoginError::Registration {
            issuer: issuer.clone(),
            reason,
        };
        let scopes = scopes_for(session, &manager, &found).await;
        let asker = (GrantKind::Device, scopes.as_slice(), &found.metadata);
        let client = client(&found.oauth, &mut manager, asker, &session.http).await;
        let client = client.map_err(|reason| failed(session.http.trouble().map_or(reason, |trouble| trouble.words)))?;
        if found.metadata.authorization_endpoint.is_empty() {
            // rmcp wants a URL there to renew tokens, and sends nobody to it.
            found.metadata.authorization_endpoint.clone_from(&endpoint);
        }
        let resource = resource(session, &mut manager, &client).await;
        let mut form = Serializer::new(String::new());
        if !scopes.is_empty() {
            form.append_pair("scope", &scopes.join(" "));
        }
        if let Some(resource) = &resource {
            form.append_pair("resource", resource);
        }
        let asked = |reason: String| LoginError::Exchange {
            issuer: issuer.clone(),
            reason,
        };
        let request = signed_form(&endpoint, form, (&client.id, client.secret.as_deref()), &found.metadata);
        let request = request.ok_or_else(|| asked("its device endpoint cannot be used".to_owned()))?;
        let answer = session.http.send(request).await.map_err(|trouble| asked(trouble.words))?;
        let said: Result<DeviceAnswer, _> = serde_json::from_slice(&answer.body);
        let said = said.map_err(|_| {
            let status = format!("it answers with status {} and no code", answer.status);
            asked(session.http.trouble().map_or(status, |trouble| trouble.words))
        })?;
        let url = web_url(&said.verification_uri).ok_or_else(|| asked("the page that it names is no http or https URL".to_owned()))?;
        let lifetime = said.expires_in.map_or(TIME, Duration::from_secs).min(MAX_TIME);
        Ok(Self {
            session: Arc::clone(session),
            client,
            scopes,
            resource,
            user_code: escaped(said.user_code.trim()).chars().take(MAX_CODE_CHARS).collect(),
            device_code: said.device_code,
            url_with_code: said.verification_uri_complete.as_deref().and_then(web_url),
            url,
            interval: said.interval.map_or(INTERVAL, Duration::from_secs).clamp(INTERVALS.0, INTERVALS.1),
            until: Instant::now() + lifetime,
            lifetime,
            found,
        })
    }

    /// What the person types; nothing in it can be meant for the terminal.
    pub fn user_code(&self) -> &str {
        &self.user_code
    }

    /// Where they type it: http or https.
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// The same with the code in it, if the server has such.
    pub const fn url_with_code(&self) -> Option<&Url> {
        self.url_with_code.as_ref()
    }

    /// The authorization server.
    pub fn issuer(&self) -> String {
        issuer(&self.found.metadata)
    }

    /// Asks for the tokens until the person has decided, and keeps them.
    ///
    /// # Errors
    ///
    /// [`LoginError::Denied`]; [`LoginError::NotInTime`] when the code has expired; else what went wrong.
    pub async fn finish(&self) -> Result<LoggedIn, LoginError> {
        let mut interval = self.interval;
        let issuer = self.issuer();
        let failed = |reason: String| LoginError::Exchange {
            issuer: issuer.clone(),
            reason,
        };
        while Instant::now() + interval < self.until {
            sleep(interval).await;
            let request = self
                .question()
                .ok_or_else(|| failed("its token endpoint cannot be used".to_owned()))?;
            let sent = self.session.http.send(request).await;
            let trouble = match (sent, self.session.http.trouble()) {
                (Ok(answer), None) => return self.keep(&answer.body).await,
                (Ok(_), Some(trouble)) | (Err(trouble), _) => trouble,
            };
            match step(&trouble, &mut interval) {
                Step::Wait => {}
                Step::Denied => {
                    let reason = trouble.words;
                    return Err(LoginError::Denied { issuer, reason });
                }
                Step::Expired => break,
                Step::Failed => return Err(failed(trouble.words)),
            }
        }
        Err(LoginError::NotInTime {
            minutes: self.lifetime.as_secs().div_ceil(60),
        })
    }

    /// RFC 8628, section 3.4.
    fn question(&self) -> Option<Request> {
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", GRANT_TYPE);
        form.append_pair("device_code", &self.device_code);
        if let Some(resource) = &self.resource {
            form.append_pair("resource", resource);
        }
        let metadata = &self.found.metadata;
        signed_form(
            &metadata.token_endpoint,
            form,
            (&self.client.id, self.client.secret.as_deref()),
            metadata,
        )
    }

    async fn keep(&self, answer: &[u8]) -> Result<LoggedIn, LoginError> {
        let token: OAuthTokenResponse = serde_json::from_slice(answer).map_err(|_| LoginError::Exchange {
            issuer: self.issuer(),
            reason: "what it answers with is no token".to_owned(),
        })?;
        // Without a word of it, what was asked for was granted. (RFC 6749, 5.1)
        let granted = match token.scopes() {
            Some(scopes) => scopes.iter().map(|scope| scope.to_string()).collect(),
            None => self.scopes.clone(),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|time| time.as_secs());
        let credentials = StoredCredentials::new(self.client.id.clone(), Some(token), granted, now);
        keep(&self.session, &self.found, &self.client, (self.resource.clone(), Some(credentials))).await
    }
}

impl fmt::Debug for DeviceLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeviceLogin(***)")
    }
}

/// A page for a browser; its form as a URL has no character that a terminal could take for an order.
fn web_url(text: &str) -> Option<Url> {
    let url: Url = text.parse().ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

/// What to do after a refusal, or without an answer. (RFC 8628, 3.5)
fn step(trouble: &Trouble, interval: &mut Duration) -> Step {
    match trouble.code.as_deref() {
        Some("authorization_pending") => Step::Wait,
        Some("slow_down") => {
            *interval += INTERVAL;
            Step::Wait
        }
        Some("access_denied") => Step::Denied,
        Some("expired_token") => Step::Expired,
        None if trouble.may_pass => {
            *interval = interval.saturating_mul(2).min(INTERVALS.1);
            Step::Wait
        }
        Some(_) | None => Step::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_says_whether_and_how_fast_it_is_asked_again() {
        let trouble = |code: Option<&str>, may_pass| Trouble {
            code: code.map(str::to_owned),
            words: String::new(),
            may_pass,
        };
        for (code, may_pass, expected, seconds) in [
            (Some("authorization_pending"), false, Step::Wait, 5),
            (Some("slow_down"), false, Step::Wait, 10),
            (Some("access_denied"), false, Step::Denied, 5),
            (Some("expired_token"), false, Step::Expired, 5),
            (Some("invalid_client"), false, Step::Failed, 5),
            (None, false, Step::Failed, 5),
            (None, true, Step::Wait, 10),
        ] {
            let mut interval = INTERVAL;
            assert_eq!(step(&trouble(code, may_pass), &mut interval), expected, "{code:?} {may_pass}");
            assert_eq!(interval.as_secs(), seconds, "{code:?} {may_pass}");
        }
        let mut interval = Duration::from_secs(50);
        step(&trouble(None, true), &mut interval);
        assert_eq!(interval, INTERVALS.1);
    }

    #[test]
    fn a_page_is_one_for_browsers() {
        for (text, expected) in [
            ("https://auth.example.com/device", Some("https://auth.example.com/device")),
            (
                "http://127.0.0.1:8/device?user_code=A B\u{1b}[2J",
                Some("http://127.0.0.1:8/device?user_code=A%20B%1B[2J"),
            ),
            ("javascript:alert(1)", None),
            ("file:///etc/passwd", None),
            ("/device", None),
        ] {
            assert_eq!(web_url(text).as_ref().map(Url::as_str), expected, "{text}");
        }
    }
}
