//! One call of the client while it is carried out: what is asked of the client for it, and what the client is told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mce_broker::{
    ClientAbilities, ClientAnswer, ClientRefusal, ClientRequest, ClientRequestKind, ClientRequests, LogLevel, LogMessage, Progress,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::standing_client::StandingClient;
use crate::waiting_clock::WaitingClock;

/// Questions that one call may lead to.
const MAX_QUESTIONS: u32 = 100;
/// Questions that wait to be asked. Further ones wait to wait.
const MAX_TOGETHER: usize = 16;
/// Log messages that wait to be sent. Further ones are dropped.
const MAX_LOGS: usize = 64;
/// How far a sign of life counts as progress.
const SIGN_OF_LIFE: f64 = 0.01;

/// A question to the client, and who waits for its answer.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) request: ClientRequest,
    pub(super) reply: oneshot::Sender<Result<Value, ClientRefusal>>,
}

/// How far a call of the client is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    pub(super) progress: f64,
    pub(super) total: Option<f64>,
    pub(super) message: Option<String>,
}

/// What the side that speaks with the client has of a [`ClientCall`].
#[derive(Debug)]
pub(super) struct Inbox {
    pub(super) questions: mpsc::Receiver<Question>,
    pub(super) logs: mpsc::Receiver<LogMessage>,
    pub(super) progress: watch::Receiver<Option<Told>>,
}

/// A call of the client. It may take several requests: a client without server requests answers by a new one.
#[derive(Debug)]
pub(crate) struct ClientCall {
    abilities: ClientAbilities,
    standing: Arc<StandingClient>,
    wait: Duration,
    questions: mpsc::Sender<Question>,
    logs: mpsc::Sender<LogMessage>,
    progress: watch::Sender<Option<Told>>,
    // Each held for one look or one sum.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Log messages that the open request asks for.
    log_level: Option<LogLevel>,
    asked: u32,
    clock: WaitingClock,
    /// What was told last.
    last: f64,
    /// Where the progress of each call begins in ours.
    starts: HashMap<u64, f64>,
}

/// A question that waits.
struct Waiting<'a>(&'a ClientCall);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state().clock.stop();
    }
}

impl ClientCall {
    pub(super) fn new(abilities: ClientAbilities, standing: Arc<StandingClient>, wait: Duration) -> (Arc<Self>, Inbox) {
        let (questions, asked) = mpsc::channel(MAX_TOGETHER);
        let (logs, logged) = mpsc::channel(MAX_LOGS);
        let (progress, told) = watch::channel(None);
        let call = Self {
            abilities,
            standing,
            wait,
            questions,
            logs,
            progress,
            state: Mutex::default(),
        };
        let inbox = Inbox {
            questions: asked,
            logs: logged,
            progress: told,
        };
        (Arc::new(call), inbox)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Log messages that the request asks for which is open now.
    pub(super) fn set_log_level(&self, level: Option<LogLevel>) {
        self.state().log_level = level;
    }

    /// Tells that the call goes on.
    pub(super) fn tell_alive(&self, elapsed: Duration) {
        let last = {
            let mut state = self.state();
            state.last += SIGN_OF_LIFE;
            state.last
        };
        self.progress.send_replace(Some(Told {
            progress: last,
            total: None,
            message: Some(format!("running for {} s", elapsed.as_secs())),
        }));
    }

    fn can(&self, request: &ClientRequest) -> bool {
        match request.kind {
            ClientRequestKind::Roots => self.abilities.roots,
            ClientRequestKind::Sampling => self.abilities.sampling,
            ClientRequestKind::Elicitation if request.params.get("mode").and_then(Value::as_str) == Some("url") => {
                self.abilities.elicitation_url
            }
            ClientRequestKind::Elicitation => self.abilities.elicitation_form,
        }
    }

    async fn ask(&self, request: ClientRequest) -> Result<Value, ClientRefusal> {
        let kind = request.kind;
        if !self.can(&request) {
            return match kind {
                ClientRequestKind::Roots => self.standing.answer(request).await,
                ClientRequestKind::Sampling | ClientRequestKind::Elicitation => Err(ClientRefusal::unable(kind)),
            };
        }
        let is_too_much = {
            let mut state = self.state();
            state.asked += 1;
            state.asked > MAX_QUESTIONS
        };
        if is_too_much {
            return refusal(format!("the client was asked {MAX_QUESTIONS} times for one call"));
        }
        self.state().clock.start();
        let waiting = Waiting(self);
        let (reply, answer) = oneshot::channel();
        let asking = async {
            // Fails if the call has ended, and then nobody waits for the answer either.
            let _ = self.questions.send(Question { request, reply }).await;
            answer.await
        };
        let answered = timeout(self.wait, asking).await;
        drop(waiting);
        match answered {
            Ok(Ok(answer)) => {
                let answer = answer?;
                if kind == ClientRequestKind::Roots {
                    self.standing.keep_roots(answer.clone());
                }
                Ok(answer)
            }
            Ok(Err(_)) => refusal("the client has gone".to_owned()),
            Err(_) => refusal(format!("the client did not answer within {} s", self.wait.as_secs_f64())),
        }
    }
}

fn refusal<T>(message: String) -> Result<T, ClientRefusal> {
    Err(ClientRefusal { message })
}

impl ClientRequests for ClientCall {
    fn abilities(&self) -> ClientAbilities {
        self.abilities
    }

    fn answer(&self, request: ClientRequest) -> ClientAnswer<'_> {
        Box::pin(self.ask(request))
    }

    fn waited(&self) -> Duration {
        self.state().clock.read()
    }

    /// Calls of one run come one after another: the progress of each is added to what was told before. Where several go on
    /// at once, what would be a step back is not told.
    fn progress(&self, progress: Progress) {
        let told = {
            let mut state = self.state();
            let last = state.last;
            let is_first = state.starts.is_empty();
            let start = *state.starts.entry(progress.call).or_insert(last);
            let now = start + progress.progress;
            // A number that is none is no progress either.
            if !now.is_finite() || now < last || now <= last && !is_first {
                return;
            }
            state.last = now;
            Told {
                progress: now,
                total: progress.total.map(|total| start + total),
                message: progress.message,
            }
        };
        self.progress.send_replace(Some(told));
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.state().log_level.or_else(|| self.standing.log_level())
    }

    fn log(&self, message: &LogMessage) -> bool {
        match self.state().log_level {
            // Fails if too many wait, or nobody listens any more.
            Some(least) => message.level >= least && self.logs.try_send(message.clone()).is_ok(),
            None => self.standing.log(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> (Arc<ClientCall>, Inbox) {
        ClientCall::new(ClientAbilities::ALL, Arc::default(), Duration::from_millis(200))
    }

    #[test]
    fn progress_of_calls_only_grows() {
        let (call, inbox) = call();
        let tell = |number: u64, progress: f64, total: Option<f64>| {
            call.progress(Progress {
                call: number,
                progress,
                total,
                message: None,
            });
            let told = inbox.progress.borrow().clone().unwrap();
            (told.progress, told.total)
        };
        assert_eq!(tell(1, 0.0, Some(2.0)), (0.0, Some(2.0)));
        assert_eq!(tell(1, 1.0, Some(2.0)), (1.0, Some(2.0)));
        assert_eq!(tell(1, 2.0, Some(2.0)), (2.0, Some(2.0)));
        assert_eq!(tell(2, 1.0, Some(4.0)), (3.0, Some(6.0)));
        assert_eq!(tell(1, 2.5, Some(2.0)), (3.0, Some(6.0)));
        assert_eq!(tell(2, f64::NAN, None), (3.0, Some(6.0)));
        assert_eq!(tell(2, -5.0, None), (3.0, Some(6.0)));
        assert_eq!(tell(3, f64::INFINITY, None), (3.0, Some(6.0)));
        call.tell_alive(Duration::from_secs(5));
        assert!(inbox.progress.borrow().clone().unwrap().progress > 3.0);
    }

    #[tokio::test]
    async fn a_client_that_does_not_answer_is_not_waited_for_for_ever() {
        let (call, _inbox) = call();
        let request = ClientRequest {
            key: None,
            server: "s".to_owned(),
            kind: ClientRequestKind::Sampling,
            params: Value::Null,
        };
        let (first, second) = tokio::join!(call.answer(request.clone()), call.answer(request));
        for refused in [first, second] {
            assert_eq!(refused.unwrap_err().message, "the client did not answer within 0.2 s");
        }
        // Both waited at the same time, which counts once.
        assert!(call.waited() >= Duration::from_millis(200) && call.waited() < Duration::from_millis(390));
    }
}
