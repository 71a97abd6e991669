//! Server-sent events of a stream that nobody trusts: each is bounded, and a larger one spoils no other.
//! (HTML, 9.2.6, Interpreting an event stream; lines that end with a lone carriage return, which nobody writes, are not read.)

use std::collections::VecDeque;

use reqwest::Response;

/// Bytes kept from each end of an event that is too large.
const END_BYTES: usize = 256;

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SseEvent {
    /// All of it.
    Whole(WholeEvent),
    /// Its data is too large; these are its first and last bytes.
    TooLarge { head: Vec<u8>, tail: Vec<u8> },
}

/// The fields of an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WholeEvent {
    pub(super) event: Option<String>,
    pub(super) data: Option<String>,
    pub(super) id: Option<String>,
    pub(super) retry: Option<u64>,
}

/// Reads the events of an answer.
#[derive(Debug)]
pub(super) struct SseReader {
    response: Response,
    parser: SseParser,
    ready: VecDeque<SseEvent>,
}

impl SseReader {
    /// `limit` is the largest event, in bytes.
    pub(super) fn new(response: Response, limit: usize) -> Self {
        Self {
            response,
            parser: SseParser::new(limit),
            ready: VecDeque::new(),
        }
    }

    /// The next event; `None` at the end. May be dropped and called again at any time.
    ///
    /// # Errors
    ///
    /// Those of the connection.
    pub(super) async fn next(&mut self) -> reqwest::Result<Option<SseEvent>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            match self.response.chunk().await? {
                Some(chunk) => self.parser.push(&chunk, &mut self.ready),
                None => return Ok(None),
            }
        }
    }
}

#[derive(Debug)]
struct SseParser {
    limit: usize,
    line: Vec<u8>,
    event: WholeEvent,
    data: Vec<u8>,
    has_data: bool,
    /// The end of an event that is too large.
    tail: Option<Vec<u8>>,
    is_start: bool,
}

impl SseParser {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            event: WholeEvent::default(),
            data: Vec::new(),
            has_data: false,
            tail: None,
            is_start: true,
        }
    }

    fn push(&mut self, mut bytes: &[u8], events: &mut VecDeque<SseEvent>) {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            self.extend_line(line);
            self.end_line(events);
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.extend_line(bytes);
    }

    fn extend_line(&mut self, part: &[u8]) {
        let room = self.limit.saturating_sub(self.line.len() + self.data.len());
        let (kept, rest) = part.split_at(room.min(part.len()));
        self.line.extend_from_slice(kept);
        if rest.is_empty() {
            return;
        }
        let tail = self.tail.get_or_insert_default();
        tail.extend_from_slice(rest.get(rest.len().saturating_sub(END_BYTES)..).unwrap_or_default());
        tail.drain(..tail.len().saturating_sub(END_BYTES));
    }

    fn end_line(&mut self, events: &mut VecDeque<SseEvent>) {
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if std::mem::take(&mut self.is_start) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() && !(self.tail.is_some() && self.data.len() >= self.limit) {
            return self.end_event(events);
        }
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.event.event = Some(text(value)),
            b"id" if !value.contains(&0) => self.event.id = Some(text(value)),
            b"retry" => self.event.retry = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok()),
            // A comment, or what is not known.
            _ => {}
        }
    }

    fn end_event(&mut self, events: &mut VecDeque<SseEvent>) {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        let has_data = std::mem::take(&mut self.has_data);
        if let Some(tail) = self.tail.take() {
            let head = data.get(..data.len().min(END_BYTES)).unwrap_or_default().to_vec();
            events.push_back(SseEvent::TooLarge { head, tail });
        } else if has_data || event != WholeEvent::default() {
            let data = has_data.then(|| text(&data));
            events.push_back(SseEvent::Whole(WholeEvent { data, ..event }));
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a stream that comes in pieces of each length.
    fn events(text: &str, limit: usize) -> Vec<SseEvent> {
        let in_pieces = |length: usize| {
            let mut parser = SseParser::new(limit);
            let mut events = VecDeque::new();
            for piece in text.as_bytes().chunks(length) {
                parser.push(piece, &mut events);
            }
            Vec::from(events)
        };
        let whole = in_pieces(usize::MAX);
        assert!((1..9).all(|length| in_pieces(length) == whole));
        whole
    }

    fn data(text: &str) -> SseEvent {
        SseEvent::Whole(WholeEvent {
            data: Some(text.to_owned()),
            ..WholeEvent::default()
        })
    }

    #[test]
    fn fields_make_events() {
        let stream = "\u{feff}: hello\n\ndata: a\ndata:b\r\n\r\nevent: endpoint\nid: 7\nretry: 50\ndata: /x?y\nunknown: z\n\nid: 8\n\ndata\n\ndata: cut";
        let endpoint = SseEvent::Whole(WholeEvent {
            event: Some("endpoint".to_owned()),
            data: Some("/x?y".to_owned()),
            id: Some("7".to_owned()),
            retry: Some(50),
        });
        let id = SseEvent::Whole(WholeEvent {
            id: Some("8".to_owned()),
            ..WholeEvent::default()
        });
        assert_eq!(events(stream, 100), [data("a\nb"), endpoint, id, data("")]);
    }

    #[test]
    fn an_event_that_is_too_large_spoils_no_other() {
        let stream = format!("data: {{\"id\":1,{}}}END\n\ndata: b\n\n", "x".repeat(5000));
        let found = events(&stream, 100);
        let [SseEvent::TooLarge { head, tail }, rest] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert!(head.starts_with(b"{\"id\":1,x") && tail.ends_with(b"x}END"));
        assert_eq!(*rest, data("b"));
        let lines = format!("{}\ndata: b\n\n", "data: xxxxxxxx\n".repeat(50));
        assert!(matches!(events(&lines, 100).as_slice(), [SseEvent::TooLarge { .. }, rest] if *rest == data("b")));
    }
}
