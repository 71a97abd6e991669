//! The client, as those see it who ask it something for a run: each question is on record before it is asked.

use std::sync::Arc;
use std::time::Duration;

use super::Audit;
use crate::call_error::{CallError, CallErrorKind};
use crate::run_context::RunContext;
use crate::upstream::{
    ClientAbilities, ClientAnswer, ClientRefusal, ClientRequest, ClientRequestKind, ClientRequests, LogLevel, LogMessage, Progress,
};

/// A client whose questions are recorded.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) audit: Arc<Audit>,
    pub(crate) run: RunContext,
    pub(crate) client: Arc<dyn ClientRequests>,
}

impl ClientRequests for Recorded {
    fn abilities(&self) -> ClientAbilities {
        self.client.abilities()
    }

    fn answer(&self, request: ClientRequest) -> ClientAnswer<'_> {
        // Folders are no secret of the client, and are asked for whenever a server starts.
        if request.kind == ClientRequestKind::Roots {
            return self.client.answer(request);
        }
        Box::pin(async move {
            let asker = if request.server.is_empty() { "program" } else { &request.server };
            let asked = request.params.to_string();
            let begun = self.audit.begin_other(&self.run, asker, request.kind.method(), Some(&asked));
            let answered = self.client.answer(request).await;
            match &answered {
                Ok(answer) => begun.end(Ok((None, answer.to_string().len()))),
                Err(ClientRefusal { message }) => {
                    let kind = CallErrorKind::Tool { may_have_effects: true };
                    begun.end(Err(&CallError::new(kind, message.clone())));
                }
            }
            answered
        })
    }

    fn waited(&self) -> Duration {
        self.client.waited()
    }

    fn progress(&self, progress: Progress) {
        self.client.progress(progress);
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.client.log_level()
    }

    fn log(&self, message: &LogMessage) -> bool {
        self.client.log(message)
    }
}
