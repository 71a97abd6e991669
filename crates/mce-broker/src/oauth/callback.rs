//! The end of a login in the browser: one request to this machine, at the URL that was registered. (RFC 8252, 7.3)

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use url::Url;

/// Bytes of a request's head.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// A browser sends its request at once; what opens a connection only to have one does not keep others waiting.
const HEAD_TIME: Duration = Duration::from_secs(10);
const PATH: &str = "/callback";

const PAGE: &str = "<!doctype html><meta charset=utf-8><title>mce</title><body style=\"font-family:sans-serif;margin:4em\">\
    <h1>That was it here</h1><p>You can close this window. The terminal says whether the login worked.</p>";

/// Waits for browsers that come back. Dropping it stops that.
#[derive(Debug)]
pub(super) struct CallbackListener {
    uri: Url,
    answers: mpsc::Receiver<Url>,
    // Ends with this.
    _tasks: JoinSet<()>,
}

impl CallbackListener {
    /// Listens at a configured URI of this machine, else at a port that is free.
    pub(super) async fn open(configured: Option<&str>) -> io::Result<Self> {
        let configured: Option<Url> = configured.map(|uri| uri.parse().map_err(io::Error::other)).transpose()?;
        let port = configured.as_ref().map_or(0, |uri| uri.port_or_known_default().unwrap_or_default());
        let mut listeners = vec![TcpListener::bind(("127.0.0.1", port)).await?];
        let uri = if let Some(uri) = configured {
            // A browser may take `localhost` for this one; a machine need not have it.
            if uri.host_str() != Some("127.0.0.1") {
                listeners.extend(TcpListener::bind(("::1", port)).await);
            }
            uri
        } else {
            let port = listeners
                .first()
                .map_or(Ok(0), |listener| listener.local_addr().map(|address| address.port()))?;
            format!("http://127.0.0.1:{port}{PATH}").parse().map_err(io::Error::other)?
        };
        let (sender, answers) = mpsc::channel(8);
        let mut tasks = JoinSet::new();
        for listener in listeners {
            tasks.spawn(serve(listener, uri.clone(), sender.clone()));
        }
        Ok(Self {
            uri,
            answers,
            _tasks: tasks,
        })
    }

    /// Where the browser is to be sent.
    pub(super) const fn uri(&self) -> &Url {
        &self.uri
    }

    /// The URL of the next request to it. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Option<Url> {
        self.answers.recv().await
    }
}

async fn serve(listener: TcpListener, uri: Url, sender: mpsc::Sender<Url>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        connections.spawn(answer(stream, uri.clone(), sender.clone()));
    }
}

async fn answer(mut stream: TcpStream, uri: Url, sender: mpsc::Sender<Url>) {
    let head = timeout(HEAD_TIME, head(&mut stream)).await.ok().flatten();
    let called = head.as_deref().and_then(|head| called(head, &uri));
    let (status, page) = if called.is_some() {
        ("200 OK", PAGE)
    } else {
        ("404 Not Found", "")
    };
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Referrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    // The browser may have gone.
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
    if let Some(called) = called {
        let _ = sender.send(called).await;
    }
}

async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut part = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut part).await.ok()?;
        head.extend_from_slice(part.get(..count)?);
        if count == 0 || head.len() > MAX_HEAD_BYTES {
            return None;
        }
    }
    String::from_utf8(head).ok()
}

/// The URL that was called, if it is a GET of the right path.
fn called(head: &str, uri: &Url) -> Option<Url> {
    let target = head
        .strip_prefix("GET ")?
        .split(' ')
        .next()
        .filter(|target| target.starts_with('/'))?;
    let mut called = uri.clone();
    let (path, query) = target.split_once('?')?;
    called.set_query(Some(query));
    (path == uri.path()).then_some(called)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(uri: &Url, target: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", uri.port().unwrap())).await.unwrap();
        let head = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn only_the_path_of_the_login_is_an_answer() {
        let mut listener = CallbackListener::open(None).await.unwrap();
        let uri = listener.uri().clone();
        // It says nothing, and keeps nobody waiting.
        let _silent = TcpStream::connect(("127.0.0.1", uri.port().unwrap())).await.unwrap();
        assert!(get(&uri, "/favicon.ico").await.starts_with("HTTP/1.1 404"));
        assert!(get(&uri, "/callback").await.starts_with("HTTP/1.1 404"));
        assert!(get(&uri, "/callback?code=a&state=b").await.starts_with("HTTP/1.1 200"));
        assert_eq!(listener.next().await.unwrap().as_str(), format!("{uri}?code=a&state=b"));
    }

    #[tokio::test]
    async fn a_configured_port_that_is_taken_is_an_error() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://localhost:{}/x", taken.local_addr().unwrap().port());
        assert!(CallbackListener::open(Some(&uri)).await.is_err());
    }
}
