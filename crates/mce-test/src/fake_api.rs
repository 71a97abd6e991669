//! An HTTP/1.1 server on loopback. Written on plain sockets, because a library would tidy what tests must see:
//! the request target, the order of fields and the bytes of bodies.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A server that is running. It ends when dropped.
#[derive(Debug)]
pub struct FakeApi {
    address: SocketAddr,
    state: Arc<State>,
}

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedRequest {
    /// The method.
    pub method: String,
    /// The request target, not decoded.
    pub target: String,
    /// Fields in the order of the wire, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body without its framing.
    pub body: Vec<u8>,
}

/// An answer to give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeAnswer {
    /// The status.
    pub status: u16,
    /// Fields; `content-length` is added.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The connection stays open and nothing is answered.
    pub is_silent: bool,
}

type Handler = Arc<dyn Fn(&ReceivedRequest) -> FakeAnswer + Send + Sync>;

#[derive(Default)]
struct State {
    is_ended: AtomicBool,
    requests: Mutex<Vec<ReceivedRequest>>,
    queued: Mutex<VecDeque<FakeAnswer>>,
    handler: Mutex<Option<Handler>>,
}

impl FakeApi {
    /// Starts a server on a free port. It answers `200` with the JSON object `{}` until told otherwise.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.is_ended.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&shared);
                // A client that breaks off ends its own thread only.
                thread::spawn(move || stream.and_then(|stream| serve(&stream, &shared)));
            }
        });
        Self { address, state }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Queues the answer to the next request that has none yet.
    pub fn answer_next(&self, answer: FakeAnswer) {
        lock(&self.state.queued).push_back(answer);
    }

    /// Answers all requests without a queued answer by this function.
    pub fn answer_with(&self, handler: impl Fn(&ReceivedRequest) -> FakeAnswer + Send + Sync + 'static) {
        *lock(&self.state.handler) = Some(Arc::new(handler));
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        lock(&self.state.requests).clone()
    }

    /// All requests since the last time, which are forgotten.
    pub fn take_requests(&self) -> Vec<ReceivedRequest> {
        std::mem::take(&mut lock(&self.state.requests))
    }
}

impl Drop for FakeApi {
    fn drop(&mut self) {
        self.state.is_ended.store(true, Ordering::SeqCst);
        // The listener's thread wakes from `accept` and sees that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

impl ReceivedRequest {
    /// The value of a field, by its name in lower case; the first if there are several.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl FakeAnswer {
    /// JSON with this status.
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, "application/json", body)
    }

    /// A body with its media type.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::empty(status).with_header("content-type", content_type).with_body(body)
    }

    /// No body and no content type.
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            is_silent: false,
        }
    }

    /// Nothing at all: the client waits.
    pub fn silence() -> Self {
        Self {
            is_silent: true,
            ..Self::empty(200)
        }
    }

    /// Adds a field.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    fn bytes(&self, is_head: bool) -> Vec<u8> {
        let mut bytes = format!("HTTP/1.1 {} Fake\r\n", self.status).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend(format!("{name}: {value}\r\n").bytes());
        }
        if self.status != 204 && self.status != 304 {
            bytes.extend(format!("content-length: {}\r\n", self.body.len()).bytes());
        }
        bytes.extend(b"\r\n");
        if !is_head {
            bytes.extend(&self.body);
        }
        bytes
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: &TcpStream, state: &State) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader)? {
        lock(&state.requests).push(request.clone());
        let queued = lock(&state.queued).pop_front();
        let answer = queued.unwrap_or_else(|| {
            // Several requests may be answered at the same time.
            let handler = lock(&state.handler).clone();
            handler.map_or_else(|| FakeAnswer::json(200, "{}"), |handler| handler(&request))
        });
        if answer.is_silent {
            // Returns when the client leaves.
            reader.read_to_end(&mut Vec::new())?;
            return Ok(());
        }
        (&mut &*stream).write_all(&answer.bytes(request.method == "HEAD"))?;
    }
    Ok(())
}

fn read_request(reader: &mut impl BufRead) -> std::io::Result<Option<ReceivedRequest>> {
    let line = read_line(reader)?;
    let mut words = line.splitn(3, ' ');
    let (Some(method), Some(target), Some(_version)) = (words.next(), words.next(), words.next()) else {
        return Ok(None);
    };
    let (method, target) = (method.to_owned(), target.to_owned());
    let mut headers = Vec::new();
    loop {
        let line = read_line(reader)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let mut request = ReceivedRequest {
        method,
        target,
        headers,
        body: Vec::new(),
    };
    request.body = read_body(reader, &request)?;
    Ok(Some(request))
}

fn read_body(reader: &mut impl BufRead, request: &ReceivedRequest) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if request
        .header("transfer-encoding")
        .is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"))
    {
        loop {
            let size = u64::from_str_radix(&read_line(reader)?, 16).unwrap_or(0);
            reader.by_ref().take(size).read_to_end(&mut body)?;
            read_line(reader)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    reader.by_ref().take(length).read_to_end(&mut body)?;
    Ok(body)
}

/// A line without its end; bytes that are no UTF-8 are read as Latin-1 so that none is lost.
fn read_line(reader: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    while line.last().is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
        line.pop();
    }
    Ok(String::from_utf8(line).unwrap_or_else(|e| e.into_bytes().into_iter().map(char::from).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(api: &FakeApi, text: &str) -> String {
        let mut stream = TcpStream::connect(api.address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn requests_are_kept_as_they_came() {
        let api = FakeApi::start();
        let answer = exchange(&api, "POST /a%2fb?x='|' HTTP/1.1\r\nX-One: 1\r\nContent-Length: 2\r\n\r\nhi");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\n{}"), "{answer}");
        let [request] = api.take_requests().try_into().unwrap();
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/a%2fb?x='|'"));
        assert_eq!((request.header("x-one"), request.text().as_str()), (Some("1"), "hi"));
        assert!(api.requests().is_empty());
    }

    #[test]
    fn queued_answers_come_before_the_handler() {
        let api = FakeApi::start();
        api.answer_with(|request| FakeAnswer::json(404, request.target.clone()));
        api.answer_next(FakeAnswer::empty(204).with_header("x-a", "b"));
        let answer = exchange(&api, "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 204 Fake\r\nx-a: b\r\n\r\nHTTP/1.1 404"), "{answer}");
        assert!(answer.ends_with("/2"), "{answer}");
    }

    #[test]
    fn chunked_bodies_are_joined() {
        let api = FakeApi::start();
        exchange(
            &api,
            "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n",
        );
        assert_eq!(api.requests()[0].text(), "abcd");
    }
}
