//! Streamable HTTP by rmcp's rules, with our HTTP: results are kept as written, what is too large is told.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use serde_json::Value;
use sse_stream::Sse;
use tokio::time::timeout;

use super::http_client::{HttpClient, HttpFault, JSON, fault};
use super::sse::{SseEvent, SseReader};

const EVENTS: &str = "text/event-stream";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Bytes of an answer with an error status that are read.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// The first call waits so long for the stream of what the server says unasked: a server that asks something during a call may
/// say it there, and nobody hears what it said before.
const LISTEN_TIME: Duration = Duration::from_secs(1);

type Fault = StreamableHttpError<HttpFault>;

impl HttpClient {
    async fn post(
        &self,
        url: &str,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        mut headers: HeaderMap,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        insert(&mut headers, SESSION, session);
        let body = serde_json::to_vec(message)?;
        let sent = self.send(Method::POST, url, headers, Some(body)).await;
        let response = sent.map_err(|fault| {
            self.answers.note_fault(message, fault.clone());
            as_fault(fault)
        })?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !status.is_success() {
            return self.refused(response, message, session.is_some()).await;
        }
        let new_session = response.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let kind = media_type(&response);
        let JsonRpcMessage::Request(request) = message else {
            // Nothing is awaited, so that whatever came does not matter.
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        match kind.as_str() {
            EVENTS => Ok(StreamableHttpPostResponse::Sse(self.events(response), new_session)),
            JSON => {
                let Some(body) = self.body(response, self.message_bytes).await.map_err(StreamableHttpError::Client)? else {
                    return Ok(StreamableHttpPostResponse::Json(self.too_large(&request.id), new_session));
                };
                Ok(StreamableHttpPostResponse::Json(self.read(&body)?, new_session))
            }
            _ => Err(StreamableHttpError::UnexpectedContentType(None)),
        }
    }

    fn too_large(&self, id: &RequestId) -> ServerJsonRpcMessage {
        self.answers.note_too_large(id);
        ServerJsonRpcMessage::error(ErrorData::internal_error("the answer is too large", None), Some(id.clone()))
    }

    /// An error of the protocol if the body is one, else the status.
    async fn refused(
        &self,
        response: Response,
        message: &ClientJsonRpcMessage,
        has_session: bool,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let status = response.status();
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let body = self.body(response, MAX_ERROR_BYTES).await.ok().flatten().unwrap_or_default();
        let mut error = serde_json::from_slice::<Value>(&body).ok().and_then(|body| {
            let error = serde_json::from_value::<ErrorData>(body.get("error")?.clone()).ok()?;
            Some((error, body.get("id").is_none_or(Value::is_null)))
        });
        let JsonRpcMessage::Request(request) = message else {
            return Err(StreamableHttpError::Client(HttpFault::Status(status.as_u16())));
        };
        if let Some((error, true)) = &error
            && has_session
            && status == StatusCode::BAD_REQUEST
            && error.message.to_ascii_lowercase().contains("session")
        {
            // Many servers say so instead of 404.
            return Err(StreamableHttpError::SessionExpired);
        }
        if error.is_none() && status.is_client_error() && matches!(request.request, ClientRequest::DiscoverRequest(_)) {
            // A server that does not know of it may say so in any way.
            error = Some((ErrorData::invalid_request(format!("status {}", status.as_u16()), None), true));
        }
        match error {
            Some((error, _)) => {
                let error = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
                Ok(StreamableHttpPostResponse::Json(error, None))
            }
            None => Err(StreamableHttpError::Client(HttpFault::Status(status.as_u16()))),
        }
    }

    /// The events of an answer, of which the service gets those that it needs to read.
    fn events(&self, response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
        let reader = SseReader::new(response, self.message_bytes);
        unfold((self.clone(), reader, Vec::new()), next_event).boxed()
    }

    async fn stream(&self, url: &str, session: Option<&str>, last_event: Option<&str>, mut headers: HeaderMap) -> Result<Response, Fault> {
        headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
        insert(&mut headers, SESSION, session);
        insert(&mut headers, LAST_EVENT, last_event);
        let response = self.send(Method::GET, url, headers, None).await.map_err(as_fault)?;
        match response.status() {
            status if status.is_success() && media_type(&response) == EVENTS => Ok(response),
            StatusCode::NOT_FOUND if session.is_some() => Err(StreamableHttpError::SessionExpired),
            // It has none, or does not say that it has none.
            _ => Err(StreamableHttpError::ServerDoesNotSupportSse),
        }
    }
}

type Events = (HttpClient, SseReader, Vec<Sse>);

async fn next_event((client, mut reader, mut ready): Events) -> Option<(Result<Sse, SseError>, Events)> {
    loop {
        if let Some(sse) = ready.pop() {
            return Some((Ok(sse), (client, reader, ready)));
        }
        match reader.next().await {
            Ok(Some(SseEvent::Whole(event))) => {
                // What is no message goes on as it is, and is refused there.
                let data = event.data.map(|data| match client.read(data.as_bytes()) {
                    Ok(message) => serde_json::to_string(&message).unwrap_or(data),
                    Err(_) => data,
                });
                let sse = Sse {
                    event: event.event,
                    data,
                    id: event.id,
                    retry: event.retry,
                };
                ready.push(sse);
            }
            Ok(Some(SseEvent::TooLarge { head, tail })) => {
                let told = client.answers.too_large(&head, &tail);
                ready.extend(
                    told.iter()
                        .filter_map(|message| Some(Sse::default().data(serde_json::to_string(message).ok()?))),
                );
            }
            Ok(None) => return None,
            Err(error) => return Some((Err(SseError::Body(Box::new(fault(&error, &client.way)))), (client, reader, ready))),
        }
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpFault;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        self.answers.note_sent(&message);
        if let JsonRpcMessage::Request(request) = &message
            && matches!(request.request, ClientRequest::CallToolRequest(_))
            && session_id.is_some()
        {
            let mut is_listening = self.is_listening.subscribe();
            // A server that never answers is waited for once.
            if timeout(LISTEN_TIME, is_listening.wait_for(|is| *is)).await.is_err() {
                self.is_listening.send_replace(true);
            }
        }
        let posted = self
            .post(&uri, &message, session_id.as_deref(), custom_headers.into_iter().collect())
            .await;
        if let Some(fault) = posted.as_ref().err().and_then(seen_as) {
            self.answers.note_fault(&message, fault);
        }
        posted
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        _limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        self.post_message(uri, message, session_id, auth_header, custom_headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Fault> {
        let mut headers: HeaderMap = custom_headers.into_iter().collect();
        insert(&mut headers, SESSION, Some(&session_id));
        // A server need not know how to end a session, and it ends by itself.
        self.send(Method::DELETE, &uri, headers, None).await.map(|_| ()).map_err(as_fault)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        let headers = custom_headers.into_iter().collect();
        let response = self.stream(&uri, session_id.as_deref(), last_event_id.as_deref(), headers).await;
        self.is_listening.send_replace(true);
        let response = response?;
        Ok(self.events(response))
    }
}

fn as_fault(fault: HttpFault) -> Fault {
    match fault {
        // It is no use to try again.
        HttpFault::Unauthorized(_) => StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new())),
        HttpFault::Unreachable(_)
        | HttpFault::Proxy(..)
        | HttpFault::Private(_)
        | HttpFault::Broken(_)
        | HttpFault::Status(_)
        | HttpFault::Redirected => StreamableHttpError::Client(fault),
    }
}

/// What becomes of a fault; `None` if that is noted already.
fn seen_as(error: &Fault) -> Option<HttpFault> {
    match error {
        StreamableHttpError::Client(fault) => Some(fault.clone()),
        StreamableHttpError::AuthRequired(_) => None,
        other => Some(HttpFault::Broken(other.to_string())),
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: Option<&str>) {
    // A server that makes an id that cannot be sent back will say what it misses.
    if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
        headers.insert(name, value);
    }
}

/// Without parameters, in lower case.
fn media_type(response: &Response) -> String {
    let value = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
