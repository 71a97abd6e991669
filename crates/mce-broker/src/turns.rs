//! When a call is sent, and how often: it waits for its turn, and what only reads is sent again to an API that is overloaded.

use mce_catalog::function::{Effect, Function};
use reqwest::Request;
use tokio::time::sleep;

use crate::call::{Broker, CallRequest};
use crate::call_error::{CallError, CallErrorKind};
use crate::credential::Credentials;
use crate::function_source::FoundFunction;
use crate::http::{Http, RawAnswer};
use crate::pace::{Health, Turn};

impl Broker {
    /// Waits for the turn of a call; one that is refused it is on record, as it has no intent.
    pub(crate) async fn turn(&self, request: CallRequest<'_>, function: &Function) -> Result<Turn, CallError> {
        let turn = self.pace.turn(request.run, function).await;
        turn.inspect_err(|error| self.audit.refuse(request.run, request.function, error, None))
    }

    /// Sends a request; once more, if it only reads and the API is overloaded.
    pub(crate) async fn send_in_turn(
        &self,
        found: &FoundFunction,
        (http, credentials): (&Http, &Credentials),
        request: Request,
    ) -> Result<(RawAnswer, u32), CallError> {
        let function = &found.function;
        let mut again = self.pace.again(function.effect == Effect::Read);
        let mut next = Some(request);
        while let Some(request) = next.take() {
            let copy = request.try_clone();
            let outcome = match &credentials.digest {
                Some(user) => self.digests.send(http, &function.server, request, user).await,
                None => http.send(request).await,
            };
            self.pace.note(&function.server, health(&outcome));
            let answer = outcome.map_err(|error| error.after_attempts(again.attempts()))?;
            match (copy, again.after(answer.status, &answer.headers)) {
                (Some(copy), Some(wait)) => {
                    sleep(wait).await;
                    next = Some(copy);
                }
                _ => return Ok((answer, again.attempts())),
            }
        }
        Err(CallError::new(CallErrorKind::Internal, "there is nothing to send"))
    }
}

/// Whether an API works, which is another thing than whether a request was good.
fn health(outcome: &Result<RawAnswer, CallError>) -> Health {
    match outcome {
        Ok(answer) if answer.status < 500 => Health::Good,
        Ok(_) => Health::Bad,
        Err(error) => match error.kind {
            CallErrorKind::Api { .. } | CallErrorKind::Timeout => Health::Bad,
            _ => Health::Good,
        },
    }
}
