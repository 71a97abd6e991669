//! Lines that are no JSON. The transport passes over them, and whoever sent one would wait for ever; here they are answered by the
//! transport's own writer, so that nothing gets between its messages.

use std::future::Future;

use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::ErrorData;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::{AsyncRwTransport, DEFAULT_MAX_LINE_LENGTH};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::changed_reader::{Change, ChangedReader};

/// A transport by lines that answers those that are no JSON.
pub(crate) fn answering<R, W>(reader: R, writer: W) -> impl Transport<RoleServer, Error = std::io::Error>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (sender, unreadable) = unbounded_channel();
    let looking = Looking { line: Vec::new(), sender };
    Answering {
        inner: AsyncRwTransport::new_server(ChangedReader::with(reader, looking), writer),
        unreadable,
        answer: None,
    }
}

/// Looks at lines, and lets all pass.
struct Looking {
    /// What has come of the line, up to the length at which the transport gives up.
    line: Vec<u8>,
    sender: UnboundedSender<()>,
}

impl Change for Looking {
    fn change(&mut self, bytes: &[u8], _: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(bytes);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() <= DEFAULT_MAX_LINE_LENGTH {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                if is_unreadable(&self.line) {
                    // Who would answer is gone with the connection.
                    let _ = self.sender.send(());
                }
                self.line.clear();
            }
        }
    }
}

/// Read by the same rules as the transport does, which passes over empty lines and over those that are too long.
fn is_unreadable(line: &[u8]) -> bool {
    let text = line.trim_ascii_end();
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    line.len() <= DEFAULT_MAX_LINE_LENGTH && !text.is_empty() && serde_json::from_slice::<Value>(text).is_err()
}

struct Answering<T: Transport<RoleServer>> {
    inner: T,
    /// One for each line that waits for an answer.
    unreadable: UnboundedReceiver<()>,
    /// The answer that is being sent. It stays here, since `receive` is dropped whenever something else is to be done.
    answer: Option<BoxFuture<'static, Result<(), T::Error>>>,
}

impl<T: Transport<RoleServer>> Answering<T> {
    /// An answer to what cannot be read. It has no id, as MCP wants it where none is known.
    fn begin_answer(&mut self) {
        let error = ErrorData::parse_error("the line is no JSON", None);
        self.answer = Some(Box::pin(self.inner.send(TxJsonRpcMessage::<RoleServer>::error(error, None))));
    }

    async fn finish_answer(&mut self) {
        if let Some(answer) = &mut self.answer {
            // A connection that cannot be written to ends by itself.
            let _ = answer.await;
        }
        self.answer = None;
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Answering<T> {
    type Error = T::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            self.finish_answer().await;
            tokio::select! {
                biased;
                Some(()) = self.unreadable.recv() => self.begin_answer(),
                message = self.inner.receive() => {
                    if message.is_some() {
                        return message;
                    }
                    // The last lines came with the end.
                    while self.unreadable.try_recv().is_ok() {
                        self.begin_answer();
                        self.finish_answer().await;
                    }
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex};

    use super::*;

    #[tokio::test]
    async fn what_is_no_json_is_answered_and_the_messages_around_it_come_through() {
        let (client, server) = duplex(1 << 16);
        let (reader, writer) = tokio::io::split(server);
        let mut transport = answering(reader, writer);
        let (client_reader, mut client_writer) = tokio::io::split(client);
        let deep = "[".repeat(1_000);
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let sent = format!("no json\r\n\n  \n{ping}\n{{\"a\": \n\u{feff}{ping}\n{deep}\n");
        client_writer.write_all(sent.as_bytes()).await.unwrap();
        client_writer.shutdown().await.unwrap();
        let mut received = 0;
        while transport.receive().await.is_some() {
            received += 1;
        }
        assert_eq!(received, 2);
        drop(transport);
        let mut lines = BufReader::new(client_reader).lines();
        let mut answers = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            answers.push(line);
        }
        let expected = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"the line is no JSON"}}"#;
        assert_eq!(answers, [expected; 3]);
    }
}
