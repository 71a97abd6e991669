//! Calls that an API refuses for want of rights: which scopes the operation needs, and how they are got.

use std::sync::Arc;

use mce_catalog::function::{HttpTarget, SecurityScheme};
use mce_config::{Auth, Credential, ServerSettings};
use reqwest::header::WWW_AUTHENTICATE;

use crate::http::RawAnswer;
use crate::oauth::{Session, insufficient_scope};

/// The scopes that an operation needs, and whose token has to have them.
#[derive(Debug, Clone)]
pub(crate) struct Needed {
    scopes: Vec<String>,
    holder: Holder,
}

/// Who got the token.
#[derive(Debug, Clone)]
enum Holder {
    /// A person, who logs in again.
    Person(Arc<Session>),
    /// A client, which asks for what this setting says.
    Client(String),
    /// Whoever wrote this setting.
    Setting(String),
}

impl Needed {
    /// What an operation needs of a scheme whose token is had in one of these ways; none if tokens have no scopes there.
    pub(crate) fn of(
        server: &ServerSettings,
        (name, scheme): (&str, &SecurityScheme),
        target: &HttpTarget,
        person: Option<&Arc<Session>>,
    ) -> Option<Self> {
        match scheme {
            SecurityScheme::Bearer | SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_) => {}
            _ => return None,
        }
        let at = |key: &str| format!("servers.{}.{key}", server.name);
        let holder = match (server.credentials.get(name), person, &server.auth) {
            (Some(Credential::Client { .. }), _, _) => Holder::Client(at(&format!("credentials.{name}.scope"))),
            (Some(_), _, _) => Holder::Setting(at(&format!("credentials.{name}"))),
            (None, Some(session), _) => Holder::Person(Arc::clone(session)),
            (None, None, Auth::OAuth2 { .. } | Auth::Keycloak { .. }) => Holder::Client(at("auth.scope")),
            (None, None, _) => Holder::Setting(at("auth")),
        };
        let scopes = target.scopes.get(name).cloned().unwrap_or_default();
        Some(Self { scopes, holder })
    }

    /// What to do about an answer, if it is a refusal for want of scopes: the API says so, or a login is known to lack some. What
    /// a person's login lacks is asked for by the next one.
    pub(crate) async fn hint(&self, server: &str, answer: &RawAnswer) -> Option<String> {
        if answer.status != 403 {
            return None;
        }
        let fields = answer.headers.get_all(WWW_AUTHENTICATE).iter();
        let said = fields.filter_map(|field| field.to_str().ok()).find_map(insufficient_scope);
        let mut scopes = self.scopes.clone();
        for scope in said.iter().flatten() {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        let all = scopes.join(" ");
        let what = match scopes.len() {
            0 => "more rights than its token has".to_owned(),
            1 => format!("the scope `{all}`"),
            _ => format!("the scopes `{all}`"),
        };
        match &self.holder {
            Holder::Person(session) if said.is_some() || session.lacks(&scopes) => {
                session.want(&all).await;
                Some(format!(
                    "the operation needs {what}: run `mce auth login {server}`, which asks for that"
                ))
            }
            Holder::Client(setting) if said.is_some() => Some(format!("the operation needs {what}: add that to `{setting}`")),
            Holder::Setting(setting) if said.is_some() => Some(format!(
                "the operation needs {what}, which the token of `{setting}` has to be made with"
            )),
            Holder::Person(_) | Holder::Client(_) | Holder::Setting(_) => None,
        }
    }
}
