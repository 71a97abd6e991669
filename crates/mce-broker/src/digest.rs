//! HTTP's digest: the API asks, and the answer proves that one knows a password without telling it. (RFC 7616)

#![expect(clippy::disallowed_methods, reason = "the proof is made of the password here")]

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http_auth::{DigestClient, PasswordClient, PasswordParams, parse_challenges};
use mce_config::Secret;
use reqwest::Request;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};

use crate::call_error::CallError;
use crate::credential::Credentials;
use crate::http::{Http, RawAnswer};

/// Who proves that they know a password.
#[derive(Debug, Clone)]
pub(crate) struct DigestUser {
    pub(crate) username: String,
    pub(crate) password: Secret,
}

/// The last challenge of each server, which is answered again until there is another. One for the process.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    // Held for one answer.
    challenges: Mutex<BTreeMap<String, DigestClient>>,
}

impl Digests {
    /// Sends a request, once more if the server asks for another proof: then it has not done anything yet. A proof is for one
    /// place, so that each redirect that is followed gets its own.
    ///
    /// # Errors
    ///
    /// As [`Http::send`].
    pub(crate) async fn send(
        &self,
        (http, credentials): (&Http, &Credentials),
        server: &str,
        request: Request,
        user: &DigestUser,
    ) -> Result<RawAnswer, CallError> {
        let again = request.try_clone();
        let with_proof = |request: &mut Request| {
            if let Some(known) = self.challenges().get_mut(server) {
                prove(request, known, user);
            }
        };
        let answer = http.send_proven(request, credentials, with_proof).await?;
        let new = || (answer.status == 401).then(|| challenge(&answer.headers)).flatten();
        let (Some(challenge), Some(mut trial), Some(again)) = (new(), new(), again) else {
            return Ok(answer);
        };
        // Without a proof it would be refused once more. The first one of a challenge is the one that is sent.
        if !again.try_clone().is_some_and(|mut again| prove(&mut again, &mut trial, user)) {
            return Ok(answer);
        }
        self.challenges().insert(server.to_owned(), challenge);
        http.send_proven(again, credentials, with_proof).await
    }

    fn challenges(&self) -> MutexGuard<'_, BTreeMap<String, DigestClient>> {
        self.challenges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The strongest challenge of digest among those of an answer.
fn challenge(headers: &HeaderMap) -> Option<DigestClient> {
    let fields = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let challenges = fields.filter_map(|field| parse_challenges(field).ok()).flatten();
    let digests = challenges.filter(|challenge| challenge.scheme.eq_ignore_ascii_case("digest"));
    let clients = digests.filter_map(|challenge| match PasswordClient::builder().challenge(&challenge).build() {
        Ok(PasswordClient::Digest(client)) => Some(client),
        Ok(_) | Err(_) => None,
    });
    clients.min_by_key(|client| match client.algorithm() {
        http_auth::digest::Algorithm::Sha256 => 0,
        http_auth::digest::Algorithm::Sha512Trunc256 => 1,
        _ => 2,
    })
}

/// Adds the proof; says whether there is one.
fn prove(request: &mut Request, challenge: &mut DigestClient, user: &DigestUser) -> bool {
    let url = request.url();
    let uri = url
        .query()
        .map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    let body = request.body().map_or(Some(&[][..]), |body| body.as_bytes());
    let proof = challenge.respond(&PasswordParams {
        username: &user.username,
        password: user.password.expose(),
        uri: &uri,
        method: request.method().as_str(),
        body,
    });
    let Some(value) = proof.ok().and_then(|proof| HeaderValue::from_str(&proof).ok()) else {
        return false;
    };
    request.headers_mut().insert(AUTHORIZATION, value);
    true
}
