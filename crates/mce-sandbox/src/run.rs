//! One run on one worker: the program goes in, host calls are carried out, and the first thing that ends it is its outcome.
//!
//! Everything of a run lives in one future. Dropping it kills the worker and drops the host calls.

use std::collections::HashSet;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use serde::Serialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{ReadHalf, WriteHalf};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;

use crate::frames::{self, FrameBuffer, FrameProblem, WorkerFrame};
use crate::run_end::{self, RunEnd};
use crate::watch::{self, Watch};
use crate::worker::Worker;
use crate::{BoxFuture, CallFailure, HostCall, HostCalls, HostValue, Inputs, Limits, Outcome, Program};

/// Calls that may wait for their turn. Beyond them the host stops reading until some are answered.
const WAITING_CALLS: usize = 64;

/// Calls over the limit that are answered with an error. After them the run is ended.
const REFUSED_CALLS: u32 = 1000;

/// So many names of servers go with each program, which saves it a question.
const TOLD_SERVERS: usize = 100;

const READ_BYTES: usize = 64 << 10;

/// Runs the program and tells how it ended. Faults of the worker are part of the outcome.
pub(crate) async fn run(mut worker: Worker, program: &Program, calls: &dyn HostCalls, limits: &Limits, manner: Manner) -> Outcome {
    let started = Instant::now();
    let limits = &Limits {
        wall: program.wall.map_or(limits.wall, |wall| wall.min(limits.wall)),
        ..limits.clone()
    };
    let first = run_frame(program, calls.servers(), limits, manner);
    let watch = worker.watch(limits);
    let has_own_folder = worker.has_own_folder();
    let buffer = std::mem::replace(&mut worker.buffer, FrameBuffer::new(0));
    let (end, logs) = {
        let (reader, writer) = worker.stream.split();
        let places = Semaphore::new(limits.parallel_calls.max(1) as usize);
        let desk = Desk {
            calls,
            writer: Mutex::new(writer),
            places,
        };
        let mut state = State {
            limits,
            buffer,
            logs: String::new(),
            ids: HashSet::new(),
            watch,
            calls_made: 0,
            descriptions: 0,
        };
        let end = to_end(&desk, reader, &mut state, first, started).await;
        (end, state.logs)
    };
    let elapsed = started.elapsed();
    let (result, contents) = match end {
        RunEnd::Value { value, contents } => (Ok(value), contents),
        RunEnd::Error(error) => (Err(run_end::told(*error, limits, has_own_folder)), Vec::new()),
        RunEnd::Closed { in_frame } => (Err(run_end::closed(worker.ending().await, in_frame, limits)), Vec::new()),
        RunEnd::Timeout => (Err(run_end::timeout(limits.wall, program.language)), Vec::new()),
        RunEnd::Output => (Err(run_end::output(limits.output_bytes)), Vec::new()),
        RunEnd::Excess(excess) => (Err(run_end::excess(excess, limits)), Vec::new()),
        RunEnd::Calls => (Err(run_end::calls(limits.host_calls)), Vec::new()),
        RunEnd::Protocol(problem) => (Err(run_end::protocol(&problem)), Vec::new()),
    };
    Outcome {
        result,
        logs,
        contents,
        elapsed,
    }
}

/// What all answers under way share.
struct Desk<'a> {
    calls: &'a dyn HostCalls,
    /// Answers are written whole, one after the other.
    writer: Mutex<WriteHalf<'a>>,
    /// Held from the start of a call until its answer is written, so that answers cannot pile up here.
    places: Semaphore,
}

struct State<'a> {
    limits: &'a Limits,
    buffer: FrameBuffer,
    logs: String,
    /// Only where the kernel does not hold the limits.
    watch: Option<Watch>,
    /// Calls under way.
    ids: HashSet<u64>,
    calls_made: u32,
    descriptions: u32,
}

/// The id of a call that was answered; none for a frame that answers nothing.
type Answered = Option<u64>;

impl Desk<'_> {
    async fn answer(&self, id: u64, call: HostCall) -> Answered {
        // The semaphore is never closed.
        let _place = self.places.acquire().await;
        let answer = self.calls.call(call).await;
        self.send(answer_frame(id, answer)).await;
        Some(id)
    }

    async fn send(&self, frame: Vec<u8>) -> Answered {
        // If the worker does not listen any more, the reader learns so too.
        let _ = self.writer.lock().await.write_all(&frame).await;
        None
    }
}

async fn to_end<'a>(desk: &'a Desk<'a>, mut reader: ReadHalf<'a>, state: &mut State<'_>, first: Vec<u8>, started: Instant) -> RunEnd {
    let mut under_way: FuturesUnordered<BoxFuture<'a, Answered>> = FuturesUnordered::new();
    under_way.push(Box::pin(desk.send(first)));
    let most = desk.places.available_permits() + WAITING_CALLS;
    let mut bytes = vec![0; READ_BYTES];
    let mut waited = Duration::ZERO;
    let mut look = tokio::time::interval(watch::INTERVAL);
    loop {
        while under_way.len() < most {
            match state.next_step() {
                Step::Read => break,
                Step::Continue => {}
                Step::Answer(id, call) => under_way.push(Box::pin(desk.answer(id, call))),
                Step::Refuse(frame) => under_way.push(Box::pin(desk.send(frame))),
                Step::End(end) => return end,
            }
        }
        tokio::select! {
            count = reader.read(&mut bytes), if under_way.len() < most => match count {
                Ok(count @ 1..) => state.buffer.extend(bytes.get(..count).unwrap_or_default()),
                Ok(0) | Err(_) => return RunEnd::Closed { in_frame: state.buffer.has_rest() },
            },
            Some(answered) = under_way.next() => {
                if let Some(id) = answered {
                    state.ids.remove(&id);
                    if let Step::End(end) = state.log(&desk.calls.printed()) {
                        return end;
                    }
                }
            }
            _ = look.tick(), if state.watch.is_some() => {
                if let Some(excess) = state.watch.as_ref().and_then(Watch::excess) {
                    return RunEnd::Excess(excess);
                }
            }
            () = tokio::time::sleep_until(started + state.limits.wall + waited) => {
                let waited_now = desk.calls.waited();
                if waited_now <= waited {
                    return RunEnd::Timeout;
                }
                waited = waited_now;
            }
        }
    }
}

/// What the next frame asks for.
enum Step {
    Read,
    Continue,
    Answer(u64, HostCall),
    Refuse(Vec<u8>),
    End(RunEnd),
}

impl State<'_> {
    fn next_step(&mut self) -> Step {
        let frame = match self.buffer.next_frame() {
            Ok(Some(frame)) => frames::parse(frame, self.limits.output_bytes),
            Ok(None) => return Step::Read,
            Err(problem) => Err(problem),
        };
        match frame {
            Ok(WorkerFrame::Log(text)) => self.log(&text),
            Ok(WorkerFrame::Call { id, call }) => self.call(id, call),
            Ok(WorkerFrame::Result { value, contents }) => Step::End(RunEnd::Value { value, contents }),
            Ok(WorkerFrame::Error(error)) => Step::End(RunEnd::Error(error)),
            Ok(WorkerFrame::Ready) => Step::End(RunEnd::Protocol(FrameProblem::Shape {
                reason: "it came twice".to_owned(),
            })),
            Err(FrameProblem::Size { op: "result", .. }) => Step::End(RunEnd::Output),
            Err(problem) => Step::End(RunEnd::Protocol(problem)),
        }
    }

    fn log(&mut self, text: &str) -> Step {
        let left = self.limits.output_bytes.saturating_sub(self.logs.len());
        if text.len() <= left {
            self.logs.push_str(text);
            return Step::Continue;
        }
        self.logs.push_str(text.get(..text.floor_char_boundary(left)).unwrap_or_default());
        Step::End(RunEnd::Output)
    }

    fn call(&mut self, id: u64, call: HostCall) -> Step {
        if !self.ids.insert(id) {
            return Step::End(RunEnd::Protocol(FrameProblem::Shape {
                reason: "the id of a call under way came again".to_owned(),
            }));
        }
        let count = match &call {
            HostCall::Call { .. }
            | HostCall::Fetch { .. }
            | HostCall::Search { .. }
            | HostCall::Save { .. }
            | HostCall::Load { .. }
            | HostCall::Ask { .. } => &mut self.calls_made,
            HostCall::Describe { .. } | HostCall::Check { .. } | HostCall::Servers {} => &mut self.descriptions,
        };
        *count = count.saturating_add(1);
        if *count <= self.limits.host_calls {
            return Step::Answer(id, call);
        }
        if *count > self.limits.host_calls.saturating_add(REFUSED_CALLS) {
            return Step::End(RunEnd::Calls);
        }
        self.ids.remove(&id);
        let message = run_end::calls(self.limits.host_calls).message;
        let failure = CallFailure {
            kind: "policy",
            message,
            function: None,
            status: None,
            body: None,
            hint: None,
        };
        Step::Refuse(answer_frame(id, Err(failure)))
    }
}

/// How programs are read and how their errors are told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) has_tracebacks: bool,
    pub(crate) has_guard: bool,
    /// The program is read and not run; its value is its outline.
    pub(crate) has_outline: bool,
    /// What is only read is checked against the catalog as what is run.
    pub(crate) has_check: bool,
}

#[derive(Serialize)]
struct RunFrame<'a> {
    op: &'static str,
    source: &'a str,
    params: &'a Inputs,
    output_bytes: usize,
    has_traceback: bool,
    has_guard: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_outline: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_check: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_all: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    servers: Option<Vec<String>>,
}

fn run_frame(program: &Program, servers: Option<Vec<String>>, limits: &Limits, manner: Manner) -> Vec<u8> {
    let Program { source, params, .. } = program;
    framed(serde_json::to_vec(&RunFrame {
        op: "run",
        source,
        params,
        output_bytes: limits.output_bytes,
        has_traceback: manner.has_tracebacks,
        has_guard: manner.has_guard,
        has_outline: manner.has_outline,
        has_check: manner.has_check,
        has_all: program.has_all_params,
        // Where they are many, few programs need them.
        servers: servers.filter(|servers| servers.len() <= TOLD_SERVERS),
    }))
}

fn answer_frame(id: u64, answer: Result<HostValue, CallFailure>) -> Vec<u8> {
    let body = match answer {
        Ok(HostValue::Json(value)) => Ok(format!("{{\"id\":{id},\"value\":{}}}", value.get()).into_bytes()),
        Ok(HostValue::Bytes(bytes)) => Ok(format!("{{\"id\":{id},\"bytes\":\"{}\"}}", STANDARD.encode(bytes)).into_bytes()),
        Err(failure) => serde_json::to_vec(&FailureFrame { id, failure }),
    };
    framed(body)
}

#[derive(Serialize)]
struct FailureFrame {
    id: u64,
    failure: CallFailure,
}

/// A frame of the host. What cannot be written as JSON or is larger than 4 GiB cannot occur; it would be an empty frame,
/// which the guest refuses.
fn framed(body: serde_json::Result<Vec<u8>>) -> Vec<u8> {
    frames::frame(&body.unwrap_or_default()).unwrap_or_else(|_| vec![0; 4])
}
