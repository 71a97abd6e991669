//! Messages over HTTP with SSE, as MCP 2024-11-05 has it: one stream of events with all messages of the server, whose first names
//! the place where ours are posted to. rmcp has no such transport.

use std::collections::VecDeque;

use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;

use super::http_client::{HttpClient, HttpFault};
use super::sse::{SseEvent, SseReader};

/// The connection, which ends with its stream.
#[derive(Debug)]
pub(super) struct SseTransport {
    client: HttpClient,
    events: SseReader,
    endpoint: Url,
    ready: VecDeque<ServerJsonRpcMessage>,
}

impl SseTransport {
    /// Opens the stream and waits for its first event.
    ///
    /// # Errors
    ///
    /// If there is no such stream, or it names a place at another origin.
    pub(super) async fn open(client: HttpClient, url: &str) -> Result<Self, HttpFault> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let response = client.send(Method::GET, url, headers, None).await?;
        if !response.status().is_success() {
            return Err(HttpFault::Status(response.status().as_u16()));
        }
        let from = response.url().clone();
        let mut events = SseReader::new(response, client.message_bytes);
        let broken = || HttpFault::Broken("the stream names no endpoint".to_owned());
        let endpoint = loop {
            let event = events.next().await.map_err(|_| broken())?.ok_or_else(broken)?;
            if let SseEvent::Whole(event) = event
                && event.event.as_deref() == Some("endpoint")
            {
                break from.join(event.data.unwrap_or_default().trim()).map_err(|_| broken())?;
            }
        };
        if endpoint.origin() != from.origin() {
            return Err(HttpFault::Redirected);
        }
        Ok(Self {
            client,
            events,
            endpoint,
            ready: VecDeque::new(),
        })
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = HttpFault;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = Result<(), HttpFault>> + Send + 'static {
        self.client.answers.note_sent(&message);
        let (client, endpoint) = (self.client.clone(), self.endpoint.clone());
        async move {
            let body = serde_json::to_vec(&message).map_err(|error| HttpFault::Broken(error.to_string()))?;
            let sent = client.send(Method::POST, endpoint.as_str(), HeaderMap::new(), Some(body)).await;
            let status = |status: u16| {
                if (200..300).contains(&status) {
                    Ok(())
                } else {
                    Err(HttpFault::Status(status))
                }
            };
            let sent = sent.and_then(|response| status(response.status().as_u16()));
            if let Err(fault) = &sent {
                client.answers.note_fault(&message, fault.clone());
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            match self.events.next().await.ok()?? {
                SseEvent::Whole(event) => {
                    let data = event.data.unwrap_or_default();
                    if let Ok(message) = self.client.read(data.as_bytes()) {
                        return Some(message);
                    }
                }
                SseEvent::TooLarge { head, tail } => self.ready.extend(self.client.answers.too_large(&head, &tail)),
            }
        }
    }

    async fn close(&mut self) -> Result<(), HttpFault> {
        // The stream ends when it is dropped.
        Ok(())
    }
}
