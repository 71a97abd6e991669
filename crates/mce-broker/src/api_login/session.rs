//! A login with name and password that gives cookies, or a token in its answer.

#![expect(clippy::disallowed_methods, reason = "the password is sent here")]

use mce_config::{Secret, SessionAuth};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, SET_COOKIE};
use reqwest::{Body, Method, Request, Url};
use serde_json::{Value, json};

use super::{Granted, Login, failed, refused, unreachable};
use crate::call_error::CallError;
use crate::http::{Http, RawAnswer};
use crate::request::encode;

/// Cookies that are kept of a login.
const MAX_COOKIES: usize = 50;

pub(super) async fn log_in(server: &str, session: &SessionAuth, http: &Http) -> Result<Login, CallError> {
    let url = &session.login_url;
    let answer = http
        .send_once(message(server, session)?)
        .await
        .map_err(|error| unreachable(server, url, &error))?;
    // A form that was sent well often leads elsewhere, and one that was not to a page with `error` in its address.
    let is_elsewhere = (300..400).contains(&answer.status) && !leads_to_error(&answer.headers);
    if !(200..300).contains(&answer.status) && !is_elsewhere {
        return Err(refused(server, url, &answer));
    }
    let granted = if session.token_field.is_empty() {
        cookies(server, session, &answer.headers)?
    } else {
        token(server, session, &answer)?
    };
    Ok(Login::new(granted, session.expires))
}

fn message(server: &str, session: &SessionAuth) -> Result<Request, CallError> {
    let url =
        Url::parse(&session.login_url).map_err(|_| failed(server, &session.login_url, format!("the login URL of `{server}` is no URL")))?;
    let (name, password) = (session.username.as_str(), session.password.expose());
    let (kind, body) = if session.is_form {
        let pair = |field: &str, value: &str| format!("{}={}", encode(field), encode(value));
        let form = format!(
            "{}&{}",
            pair(&session.username_field, name),
            pair(&session.password_field, password)
        );
        ("application/x-www-form-urlencoded", form)
    } else {
        let members = json!({session.username_field.as_str(): name, session.password_field.as_str(): password});
        ("application/json", members.to_string())
    };
    let mut message = Request::new(Method::POST, url);
    message.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    message
        .headers_mut()
        .insert(ACCEPT, HeaderValue::from_static("application/json, */*"));
    *message.body_mut() = Some(Body::from(body));
    Ok(message)
}

/// Whether a redirect is how the form says that it did not work, as Spring's does with `/login?error`.
fn leads_to_error(headers: &HeaderMap) -> bool {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let query = location.split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|pair| pair.split('=').next() == Some("error"))
}

/// The pairs of `Set-Cookie`. (RFC 6265, section 4.1.1) Those that end a cookie give none.
fn cookies(server: &str, session: &SessionAuth, headers: &HeaderMap) -> Result<Granted, CallError> {
    let pairs = headers.get_all(SET_COOKIE).iter().filter_map(|value| {
        let text = value.to_str().ok()?;
        let pair = text.split(';').next()?.trim();
        let (name, value) = pair.split_once('=')?;
        let is_wanted = session.cookie_name.is_empty() || name == session.cookie_name;
        let is_ended = text
            .split(';')
            .skip(1)
            .any(|attribute| attribute.trim().eq_ignore_ascii_case("max-age=0"));
        (is_wanted && !is_ended && !name.is_empty() && !value.is_empty())
            .then(|| Secret::with_parts(pair, vec![value.trim_matches('"').to_owned()]))
    });
    let pairs: Vec<Secret> = pairs.take(MAX_COOKIES).collect();
    if pairs.is_empty() {
        let wanted = match session.cookie_name.as_str() {
            "" => "no cookie".to_owned(),
            name => format!("no cookie `{name}`"),
        };
        return Err(failed(
            server,
            &session.login_url,
            format!("the login of `{server}` was answered, but with {wanted}"),
        ));
    }
    Ok(Granted::Cookies(pairs))
}

/// The token in the answer; its field may lie deeper, as `data.token`.
fn token(server: &str, session: &SessionAuth, answer: &RawAnswer) -> Result<Granted, CallError> {
    let field = &session.token_field;
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let found = body
        .get(field)
        .or_else(|| field.split('.').try_fold(&body, |inner, name| inner.get(name)))
        .and_then(Value::as_str)
        .filter(|token| !token.is_empty());
    let value = found.map(|token| {
        let has_scheme = token
            .split_once(' ')
            .is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let text = if has_scheme { token.to_owned() } else { format!("Bearer {token}") };
        Secret::with_parts(text, vec![token.to_owned()])
    });
    value.filter(Secret::is_header_value).map(Granted::Authorization).ok_or_else(|| {
        let message = format!("the login of `{server}` was answered, but without a text in `{field}`");
        failed(server, &session.login_url, message)
    })
}
