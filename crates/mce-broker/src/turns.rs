//! When a call is sent, and how often: it waits for its turn, and what only reads is sent again to an API that is overloaded.

use mce_catalog::function::{Effect, Function};
use mce_config::Origin;
use reqwest::Request;
use tokio::time::sleep;

use crate::arguments::Arguments;
use crate::audit::Begun;
use crate::call::{Broker, CallRequest};
use crate::call_error::{CallError, CallErrorKind};
use crate::credential::Credentials;
use crate::function_source::FoundFunction;
use crate::http::{Http, RawAnswer};
use crate::pace::{Health, Turn};
use crate::policy::Facts;
use crate::tool::upstream_failure;
use crate::upstream::CallPlace;

impl Broker {
    /// What comes before a call is sent: that it may be made, what makes it `ready`, its turn, and its intent. What a person said, and a budget, are used
    /// up only after the turn: a call that is refused as busy has used nothing.
    pub(crate) async fn admit<'a, T>(
        &'a self,
        request: CallRequest<'_>,
        (function, arguments): (&Function, &Arguments<'_>),
        facts: &Facts<'_>,
        ready: impl Future<Output = Result<T, CallError>>,
    ) -> Result<(T, (Turn, Option<CallPlace>), Begun<'a>), CallError> {
        let mut permit = self.permit(facts, request.client).await?;
        let begun = async {
            let ready = ready.await?;
            let turn = self.turn(request, function).await?;
            let decision = self.use_up(&mut permit, facts)?;
            let intent = self.audit.begin(request, function, arguments, &decision).await?;
            Ok((ready, turn, intent))
        };
        let begun = begun.await;
        if begun.is_err() {
            self.give_back(permit, facts);
        }
        begun
    }

    /// Waits for the turn of a call; one that is refused it is on record, as it has no intent.
    async fn turn(&self, request: CallRequest<'_>, function: &Function) -> Result<(Turn, Option<CallPlace>), CallError> {
        let turn = async {
            let turn = self.pace.turn(request.run, function).await?;
            let place = match self.server(&function.server)?.origin {
                Origin::OpenApi(_) | Origin::Recipes(_) => None,
                Origin::McpStdio(_) | Origin::McpHttp(_) => Some(
                    self.upstreams
                        .place(&function.server)
                        .await
                        .map_err(|error| upstream_failure(&error))?,
                ),
            };
            Ok((turn, place))
        };
        let turn = turn.await.map_err(|error: CallError| self.without_secrets(error));
        turn.map_err(|error| {
            self.audit.refuse_call(request, function, &error);
            error.on_record()
        })
    }

    /// Sends a request; once more, if it only reads and the API is overloaded.
    pub(crate) async fn send_in_turn(
        &self,
        found: &FoundFunction,
        (http, credentials): (&Http, &Credentials),
        request: Request,
    ) -> Result<(RawAnswer, u32), CallError> {
        let function = &found.function;
        let mut again = self.pace.again(&function.server, function.effect == Effect::Read);
        let mut next = Some(request);
        while let Some(request) = next.take() {
            let copy = request.try_clone();
            let outcome = match &credentials.digest {
                Some(user) => self.digests.send((http, credentials), &function.server, request, user).await,
                None => http.send(request, credentials).await,
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
pub(crate) fn health(outcome: &Result<RawAnswer, CallError>) -> Health {
    match outcome {
        Ok(answer) if answer.status < 500 => Health::Good,
        Ok(_) => Health::Bad,
        Err(error) => match error.kind {
            CallErrorKind::Api { .. } | CallErrorKind::Timeout => Health::Bad,
            _ => Health::Good,
        },
    }
}
