//! Answers over HTTP: the messages in them leave as they were written. A message is a whole JSON body, or the data of an event.

use axum::body::{Body, BodyDataStream, Bytes, to_bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::Response;
use futures_util::StreamExt;

use super::as_written::lift_text;

/// What goes before a message in a stream of events.
const DATA: &str = "data:";

/// Lifts the results that messages of an answer carry.
pub(super) async fn lift_messages(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let kind = parts
        .headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    if kind.starts_with("text/event-stream") {
        parts.headers.remove(CONTENT_LENGTH);
        let lines = Lines {
            body: body.into_data_stream(),
            held: Vec::new(),
        };
        return Response::from_parts(parts, Body::from_stream(futures_util::stream::unfold(lines, Lines::next)));
    }
    if !kind.starts_with("application/json") {
        return Response::from_parts(parts, body);
    }
    // It was made here, and is whole already.
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return Response::from_parts(parts, Body::empty());
    };
    let lifted = std::str::from_utf8(&bytes).ok().and_then(lift_text);
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, lifted.map_or_else(|| Body::from(bytes), Body::from))
}

/// A stream of events, of which whole lines are given away.
struct Lines {
    body: BodyDataStream,
    held: Vec<u8>,
}

impl Lines {
    async fn next(mut self) -> Option<(Result<Bytes, axum::Error>, Self)> {
        loop {
            match self.body.next().await {
                Some(Ok(chunk)) => {
                    self.held.extend_from_slice(&chunk);
                    let Some(end) = self.held.iter().rposition(|byte| *byte == b'\n') else {
                        continue;
                    };
                    let rest = self.held.split_off(end + 1);
                    let lines = std::mem::replace(&mut self.held, rest);
                    return Some((Ok(lift_lines(lines)), self));
                }
                Some(Err(error)) => return Some((Err(error), self)),
                None if self.held.is_empty() => return None,
                None => {
                    let lines = std::mem::take(&mut self.held);
                    return Some((Ok(lift_lines(lines)), self));
                }
            }
        }
    }
}

fn lift_lines(lines: Vec<u8>) -> Bytes {
    let Ok(text) = std::str::from_utf8(&lines) else {
        return lines.into();
    };
    let lifted = text.split_inclusive('\n').map(|line| {
        let message = line.strip_prefix(DATA).and_then(|message| lift_text(message.trim()));
        message.map_or_else(|| line.to_owned(), |message| format!("{DATA} {message}\n"))
    });
    lifted.collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lifted(kind: &str, chunks: &[&str]) -> String {
        let chunks: Vec<Result<Bytes, axum::Error>> = chunks.iter().map(|chunk| Ok(Bytes::from((*chunk).to_owned()))).collect();
        let body = Body::from_stream(futures_util::stream::iter(chunks));
        let response = Response::builder().header(CONTENT_TYPE, kind).body(body).unwrap();
        let bytes = to_bytes(lift_messages(response).await.into_body(), usize::MAX).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn messages_are_lifted_wherever_a_stream_is_cut() {
        let carried = r#"{"id":1,"result":{"content":[],"_meta":{"mce/as-written":{"content":[{"x":1}]}}}}"#;
        let expected = r#"{"id":1,"result":{"content":[{"x":1}]}}"#;
        assert_eq!(lifted("application/json", &[carried]).await, expected);
        let stream = format!("id: 0\nretry: 3\n\ndata: {carried}\nid: 1\n\n: ping\n");
        for at in [0, 5, 20, 60, stream.len() - 1] {
            let (start, end) = stream.split_at(at);
            let found = lifted("text/event-stream", &[start, end]).await;
            assert_eq!(found, format!("id: 0\nretry: 3\n\ndata: {expected}\nid: 1\n\n: ping\n"), "{at}");
        }
        assert_eq!(lifted("text/plain", &[carried]).await, carried);
    }
}
