//! A fork server seen from the host: one task owns its jail and its control socket; all others send it requests.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::Duration;

use mce_jail::{Jailed, Layers, WorkerLimits};
use tokio::io::{AsyncReadExt as _, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::EngineError;
use crate::frames::{FrameBuffer, WorkerFrame, parse};
use crate::worker::{Exit, Spent, Worker};

/// How long a fork server may take to import and to answer.
const START_PATIENCE: Duration = Duration::from_secs(30);

/// How long a worker may take to lock itself in.
const WORKER_PATIENCE: Duration = Duration::from_secs(10);

/// What is kept of what a fork server writes to its standard error.
const STDERR_BYTES: usize = 4096;

/// What a fork server is started from.
pub(crate) struct ForkServerSpec {
    /// Its jail and program.
    pub(crate) jail: mce_jail::JailSpec,
    /// What puts it into the jail.
    pub(crate) launcher: mce_jail::Launcher,
    /// The first message to it, JSON.
    pub(crate) configuration: Vec<u8>,
    /// Limits of each of its workers.
    pub(crate) limits: WorkerLimits,
    /// For the frames of its workers.
    pub(crate) output_bytes: usize,
}

/// A running fork server. Dropping all handles ends it and its workers.
#[derive(Debug)]
pub(crate) struct ForkServer {
    requests: mpsc::Sender<Request>,
    output_bytes: usize,
    layers: Layers,
    notes: Vec<String>,
    pid: u32,
}

enum Request {
    /// A worker for the other end of this socket.
    Fork {
        frames: OwnedFd,
        answer: oneshot::Sender<Result<Forked, EngineError>>,
    },
    /// The end; the sender is dropped when all is gone.
    Stop { gone: oneshot::Sender<()> },
}

struct Forked {
    pidfd: OwnedFd,
    /// Sent once the worker has ended.
    exit: oneshot::Receiver<Exit>,
}

/// One answer of a fork server.
struct Record {
    kind: u8,
    status: i32,
    id: u64,
    fd: Option<OwnedFd>,
}

impl ForkServer {
    /// Starts one and waits until it has imported and knows how its workers lock themselves in.
    ///
    /// # Errors
    ///
    /// [`EngineError::Jail`] or [`EngineError::ForkServer`].
    pub(crate) async fn start(spec: ForkServerSpec) -> Result<Arc<Self>, EngineError> {
        let (ours, theirs) = StdUnixStream::pair().map_err(ended)?;
        ours.set_nonblocking(true).map_err(ended)?;
        let control = UnixStream::from_std(ours).map_err(ended)?;
        let ForkServerSpec {
            jail,
            launcher,
            configuration,
            limits,
            output_bytes,
        } = spec;
        let mut jailed = blocking(move || mce_jail::spawn(&jail, &launcher, theirs.into()))
            .await?
            .map_err(|error| jail_error(&error))?;
        let errors = drain(jailed.take_stderr());
        let started = tokio::time::timeout(START_PATIENCE, introduce(&control, &jailed, &configuration, &limits)).await;
        let failure = match started {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => Some(ended("it did not start within 30 s")),
        };
        if let Some(failure) = failure {
            end(jailed).await;
            return Err(with_last_words(failure, errors).await);
        }
        let (requests, inbox) = mpsc::channel(64);
        let (layers, notes, pid) = (jailed.layers(), jailed.notes().to_vec(), jailed.pid());
        tokio::spawn(serve(jailed, control, inbox));
        Ok(Arc::new(Self {
            requests,
            output_bytes,
            layers,
            notes,
            pid,
        }))
    }

    /// A fresh worker that is locked in and waits for its program.
    ///
    /// # Errors
    ///
    /// [`EngineError::ForkServer`] or [`EngineError::Jail`].
    pub(crate) async fn fork(self: &Arc<Self>) -> Result<Worker, EngineError> {
        let (ours, theirs) = StdUnixStream::pair().map_err(ended)?;
        ours.set_nonblocking(true).map_err(ended)?;
        let mut stream = UnixStream::from_std(ours).map_err(ended)?;
        let (answer, forked) = oneshot::channel();
        let gone = |_| ended("it is gone");
        self.requests
            .send(Request::Fork {
                frames: theirs.into(),
                answer,
            })
            .await
            .map_err(|_| ended("it is gone"))?;
        let Forked { pidfd, exit } = tokio::time::timeout(WORKER_PATIENCE, forked)
            .await
            .map_err(|_| ended("it gave no worker within 10 s"))?
            .map_err(gone)??;
        let mut buffer = FrameBuffer::new(self.output_bytes);
        tokio::time::timeout(WORKER_PATIENCE, await_ready(&mut stream, &mut buffer))
            .await
            .map_err(|_| unsealed("a worker did not lock itself in within 10 s"))??;
        Ok(Worker::new(stream, buffer, pidfd, exit, Arc::clone(self)))
    }

    /// It has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        !self.requests.is_closed()
    }

    /// The layers that are on.
    pub(crate) const fn layers(&self) -> Layers {
        self.layers
    }

    /// Its process id on the host.
    pub(crate) const fn pid(&self) -> u32 {
        self.pid
    }

    /// Why layers are off.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Writes to the log which layers this machine lacks.
    pub(crate) fn warn(&self) {
        for note in &self.notes {
            tracing::warn!(target: "mce_sandbox", %note, "a layer of the jail is off");
        }
    }

    /// Ends it and all its workers, also those that run, and waits until they are gone.
    pub(crate) async fn stop(&self) {
        let (gone, wait) = oneshot::channel();
        if self.requests.send(Request::Stop { gone }).await.is_ok() {
            // Nothing is ever sent; the sender is dropped at the end.
            let _ = wait.await;
        }
    }
}

/// Configuration, imports, seal plan, in that order: the plan's memory limit starts from what is imported.
async fn introduce(control: &UnixStream, jailed: &Jailed, configuration: &[u8], limits: &WorkerLimits) -> Result<(), EngineError> {
    send_message(control, configuration).await?;
    match receive(control).await? {
        Some(Record { kind: b'R', .. }) => {}
        Some(_) => return Err(ended("it answered out of turn")),
        None => return Err(ended("it ended while it started")),
    }
    let plan = jailed.seal_plan(limits).map_err(|error| jail_error(&error))?;
    let plan = serde_json::to_vec(&plan).map_err(ended)?;
    send_message(control, &plan).await
}

async fn await_ready(stream: &mut UnixStream, buffer: &mut FrameBuffer) -> Result<(), EngineError> {
    let mut bytes = [0; 1024];
    loop {
        let count = stream.read(&mut bytes).await.map_err(ended)?;
        if count == 0 {
            return Err(unsealed("a worker could not lock itself in"));
        }
        buffer.extend(bytes.get(..count).unwrap_or_default());
        if let Some(frame) = buffer.next_frame().map_err(ended)? {
            return match parse(frame, 0).map_err(ended)? {
                WorkerFrame::Ready => Ok(()),
                WorkerFrame::Log(_) | WorkerFrame::Call { .. } | WorkerFrame::Result { .. } | WorkerFrame::Error(_) => {
                    Err(ended("a worker spoke out of turn"))
                }
            };
        }
    }
}

async fn serve(jailed: Jailed, control: UnixStream, mut requests: mpsc::Receiver<Request>) {
    let mut asked: HashMap<u64, oneshot::Sender<Result<Forked, EngineError>>> = HashMap::new();
    let mut exits: HashMap<u64, oneshot::Sender<Exit>> = HashMap::new();
    let mut last_id = 0_u64;
    let mut stopped = None;
    loop {
        tokio::select! {
            request = requests.recv() => {
                let (frames, answer) = match request {
                    Some(Request::Fork { frames, answer }) => (frames, answer),
                    Some(Request::Stop { gone }) => {
                        stopped = Some(gone);
                        break;
                    }
                    None => break,
                };
                last_id += 1;
                asked.insert(last_id, answer);
                if send(&control, &last_id.to_le_bytes(), Some(&frames)).await.is_err() {
                    break;
                }
            }
            record = receive(&control) => {
                let Ok(Some(record)) = record else { break };
                handle(record, &mut asked, &mut exits);
            }
        }
    }
    // From here on nobody may wait for an answer: the senders are dropped with the maps.
    requests.close();
    drop((asked, exits));
    end(jailed).await;
    drop(stopped);
}

fn handle(
    record: Record,
    asked: &mut HashMap<u64, oneshot::Sender<Result<Forked, EngineError>>>,
    exits: &mut HashMap<u64, oneshot::Sender<Exit>>,
) {
    let Record { kind, status, id, fd } = record;
    match (kind, fd) {
        (b'F', Some(pidfd)) => {
            let (sender, exit) = oneshot::channel();
            exits.insert(id, sender);
            if let Some(answer) = asked.remove(&id) {
                // Nobody waits any more: dropping the answer closes the worker's socket, which ends it.
                let _ = answer.send(Ok(Forked { pidfd, exit }));
            }
        }
        (b'X' | b'M' | b'C', _) => {
            let spent = match kind {
                b'M' => Some(Spent::Memory),
                b'C' => Some(Spent::Processor),
                _ => None,
            };
            if let Some(exit) = exits.remove(&id) {
                let _ = exit.send(Exit { status, spent });
            }
        }
        _ => {
            if let Some(answer) = asked.remove(&id) {
                let reason = io::Error::from_raw_os_error(status);
                let _ = answer.send(Err(ended(format!("it could not fork: {reason}"))));
            }
        }
    }
}

async fn end(jailed: Jailed) {
    // A process that is gone cannot be killed, and waiting for it cannot fail in another way.
    let _ = blocking(move || {
        let mut jailed = jailed;
        let _ = jailed.kill();
        let _ = jailed.wait();
    })
    .await;
}

async fn send_message(control: &UnixStream, body: &[u8]) -> Result<(), EngineError> {
    send(control, &(body.len() as u64).to_le_bytes(), None).await.map_err(ended)?;
    send(control, body, None).await.map_err(ended)
}

/// Sends all bytes; the descriptor goes with the first.
async fn send(control: &UnixStream, bytes: &[u8], fd: Option<&OwnedFd>) -> io::Result<()> {
    let mut rest = bytes;
    let mut fds: Vec<_> = fd.map(|fd| fd.as_fd()).into_iter().collect();
    while !rest.is_empty() {
        let count = control
            .async_io(Interest::WRITABLE, || mce_jail::send_with_fds(control, rest, &fds))
            .await?;
        fds.clear();
        rest = rest.get(count..).unwrap_or_default();
    }
    Ok(())
}

/// The next record, or `None` at the end. Nothing is lost if the future is dropped: a record is read at once or not at all.
async fn receive(control: &UnixStream) -> Result<Option<Record>, EngineError> {
    let mut bytes = [0; 16];
    let (count, fds) = control
        .async_io(Interest::READABLE, || mce_jail::recv_with_fds(control, &mut bytes))
        .await
        .map_err(ended)?;
    if count == 0 {
        return Ok(None);
    }
    if count != bytes.len() {
        return Err(ended("it sent half a record"));
    }
    let [kind, _, _, _, a, b, c, d, id @ ..] = bytes;
    let status = i32::from_le_bytes([a, b, c, d]);
    Ok(Some(Record {
        kind,
        status,
        id: u64::from_le_bytes(id),
        fd: fds.into_iter().next(),
    }))
}

/// Keeps the end of what the fork server writes to its standard error.
fn drain(stderr: Option<OwnedFd>) -> JoinHandle<String> {
    tokio::spawn(async move {
        let Some(mut stream) = stderr.and_then(|fd| pipe::Receiver::from_owned_fd(fd).ok()) else {
            return String::new();
        };
        let mut kept = Vec::new();
        let mut bytes = [0; 1024];
        while let Ok(count @ 1..) = stream.read(&mut bytes).await {
            kept.extend_from_slice(bytes.get(..count).unwrap_or_default());
            let surplus = kept.len().saturating_sub(STDERR_BYTES);
            kept.drain(..surplus);
        }
        let text = String::from_utf8_lossy(&kept).trim().to_owned();
        if !text.is_empty() {
            tracing::debug!(target: "mce_sandbox", %text, "standard error of a fork server");
        }
        text
    })
}

async fn with_last_words(failure: EngineError, errors: JoinHandle<String>) -> EngineError {
    let words = tokio::time::timeout(Duration::from_secs(1), errors).await;
    match (failure, words) {
        (EngineError::ForkServer { reason }, Ok(Ok(words))) if !words.is_empty() => {
            let last = words.lines().last().unwrap_or_default();
            ended(format!("{reason}: {}", crate::program::shortened(last.to_owned(), 300)))
        }
        (failure, _) => failure,
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, EngineError> {
    tokio::task::spawn_blocking(work).await.map_err(ended)
}

#[expect(clippy::needless_pass_by_value, reason = "by value it fits `map_err`")]
fn ended(reason: impl ToString) -> EngineError {
    EngineError::ForkServer {
        reason: reason.to_string(),
    }
}

fn unsealed(reason: &str) -> EngineError {
    EngineError::Jail {
        reason: reason.to_owned(),
        advice: String::new(),
    }
}

fn jail_error(error: &mce_jail::JailError) -> EngineError {
    EngineError::Jail {
        reason: error.to_string(),
        advice: error.hints().join("; "),
    }
}
