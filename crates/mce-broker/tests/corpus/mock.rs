//! An HTTP server on the loopback that keeps the last requests and answers as told. It runs in the caller's runtime, so
//! that a call costs no change of threads.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) method: String,
    /// The target of the request line, raw.
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What is answered to each request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Vec<u8>,
}

#[derive(Default)]
struct State {
    reply: Reply,
    received: Vec<Received>,
}

#[derive(Clone, Default)]
pub(crate) struct Mock {
    // Held for a moment only; all users are in one thread.
    state: Arc<Mutex<State>>,
    pub(crate) port: u16,
}

impl Mock {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mock = Self {
            port: listener.local_addr().unwrap().port(),
            ..Self::default()
        };
        let state = Arc::clone(&mock.state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&state)));
            }
        });
        mock
    }

    /// Forgets earlier requests and sets the next answers.
    pub(crate) fn expect(&self, reply: Reply) {
        *self.state.lock().unwrap() = State {
            reply,
            received: Vec::new(),
        };
    }

    pub(crate) fn take(&self) -> Vec<Received> {
        std::mem::take(&mut self.state.lock().unwrap().received)
    }
}

async fn serve(mut stream: TcpStream, state: Arc<Mutex<State>>) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer).await {
        let is_head = request.method == "HEAD";
        let reply = {
            let mut state = state.lock().unwrap();
            state.received.push(request);
            state.reply.clone()
        };
        if stream.write_all(&written(&reply, is_head)).await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Received> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, length)| length.parse().unwrap());
    while buffer.len() < end + 4 + length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = buffer[end + 4..end + 4 + length].to_vec();
    buffer.drain(..end + 4 + length);
    Some(Received {
        method,
        target,
        headers,
        body,
    })
}

fn written(reply: &Reply, is_head: bool) -> Vec<u8> {
    let mut out = format!("HTTP/1.1 {} X\r\n", reply.status);
    if let Some(content_type) = &reply.content_type {
        let _ = write!(out, "content-type: {content_type}\r\n");
    }
    if !matches!(reply.status, 204 | 304) {
        let _ = write!(out, "content-length: {}\r\n", reply.body.len());
    }
    out.push_str("\r\n");
    let mut out = out.into_bytes();
    if !is_head {
        out.extend(&reply.body);
    }
    out
}
