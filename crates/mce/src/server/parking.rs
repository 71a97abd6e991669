//! Calls that wait for a client which answers by calling again. The state that it is given names the call, is sealed with a
//! key of this process, bound to the request, valid for a time, and good for one use. (MCP 2026-07-28, Multi Round-Trip
//! Requests.)

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mce_broker::{ClientRefusal, ClientRequestKind};
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, InputRequiredResult, RequestStateCodec, RequestStateError, SealOptions};
use serde_json::{Map, Value};

use super::client_call::Question;
use super::conversation::{Conversation, checked, input_required};
use crate::failure::Failure;

/// Bytes of the name of a waiting call: nobody guesses it, though the seal alone would do.
const NAME_BYTES: usize = 16;

/// A call that waits for the client's answers.
#[derive(Debug)]
pub(super) struct Parked {
    conversation: Conversation,
    questions: Vec<Question>,
}

impl Parked {
    pub(super) const fn new(conversation: Conversation, questions: Vec<Question>) -> Self {
        Self { conversation, questions }
    }

    /// Its questions by the names under which they are answered: those that servers gave them, as far as these tell them apart.
    fn named(&self) -> impl Iterator<Item = (String, &Question)> {
        let names = names_of(&self.questions);
        names.into_iter().zip(&self.questions)
    }

    /// Lets it go on without an answer.
    pub(super) fn refuse(self, why: &str) -> Conversation {
        self.answer_each(|_, _| Err(ClientRefusal { message: why.to_owned() }))
    }

    fn answer(self, answers: Option<BTreeMap<String, Value>>) -> Conversation {
        let mut answers = answers.unwrap_or_default();
        let names = names_of(&self.questions);
        self.answer_each(|place, kind| match names.get(place).and_then(|name| answers.remove(name)) {
            Some(answer) => checked(kind, answer),
            None => Err(ClientRefusal {
                message: "the client called again without an answer".to_owned(),
            }),
        })
    }

    fn answer_each(self, mut answer: impl FnMut(usize, ClientRequestKind) -> Result<Value, ClientRefusal>) -> Conversation {
        for (place, question) in self.questions.into_iter().enumerate() {
            // Fails if nobody waits any more.
            let _ = question.reply.send(answer(place, question.request.kind));
        }
        self.conversation
    }
}

fn names_of(questions: &[Question]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let all = questions.iter().enumerate();
    all.map(|(place, question)| {
        let own = question.request.key.clone().into_iter();
        let mut names = own.chain((place + 1..).map(|number| format!("question_{number}")));
        let name = names.find(|name| !taken.contains(name)).unwrap_or_default();
        taken.insert(name.clone());
        name
    })
    .collect()
}

/// All calls that wait.
pub(super) struct Parking {
    codec: RequestStateCodec,
    most: usize,
    wait: Duration,
    // Held for one look.
    parked: Mutex<HashMap<Vec<u8>, Parked>>,
}

impl Parking {
    /// At most `most` calls, each for `wait`.
    ///
    /// # Errors
    ///
    /// If the system gives no random numbers.
    pub(super) fn new(most: usize, wait: Duration) -> Result<Self, Failure> {
        let key = random(RequestStateCodec::MIN_KEY_LENGTH)?;
        Ok(Self {
            codec: RequestStateCodec::try_new(key).map_err(Failure::internal)?,
            most,
            wait,
            parked: Mutex::default(),
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<Vec<u8>, Parked>) -> T) -> T {
        work(&mut self.parked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps a call until the client calls again, and gives what asks it to.
    ///
    /// # Errors
    ///
    /// The call, if it cannot be kept.
    pub(super) fn park(self: &Arc<Self>, parked: Parked, binding: &[u8]) -> Result<InputRequiredResult, Box<Parked>> {
        let Ok(name) = random(NAME_BYTES) else {
            return Err(Box::new(parked));
        };
        let sealed = self
            .codec
            .seal_with(&name, &SealOptions::new().associated_data(binding).ttl(self.wait));
        let Some(required) = input_required(parked.named(), sealed) else {
            return Err(Box::new(parked));
        };
        self.with(|calls| {
            if calls.len() >= self.most {
                return Err(Box::new(parked));
            }
            calls.insert(name.clone(), parked);
            Ok(())
        })?;
        let (parking, wait) = (Arc::downgrade(self), self.wait);
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            if let Some(parking) = parking.upgrade() {
                // Dropping the call ends it.
                parking.with(|calls| calls.remove(&name));
            }
        });
        Ok(required)
    }

    /// The call that a request goes on with; none if it begins a new one.
    ///
    /// # Errors
    ///
    /// If its state was not made here for this request, is too old, or was used.
    pub(super) fn take(&self, request: &mut CallToolRequestParams, binding: &[u8]) -> Result<Option<Conversation>, ErrorData> {
        let answers = request.input_responses.take();
        let Some(state) = request.request_state.take() else {
            return match answers {
                Some(_) => Err(refused("`inputResponses` come without their `requestState`")),
                None => Ok(None),
            };
        };
        let name = self.codec.open_with(&state, binding).map_err(|error| match error {
            RequestStateError::Expired => refused("the `requestState` has expired, and its call was ended: call again without it"),
            _ => refused("the `requestState` was not made by this server for this request"),
        })?;
        match self.with(|calls| calls.remove(&name)) {
            Some(parked) => Ok(Some(parked.answer(answers))),
            None => Err(refused("the `requestState` was used before, or its call was ended")),
        }
    }
}

fn refused(message: &'static str) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

fn random(bytes: usize) -> Result<Vec<u8>, Failure> {
    let mut random = vec![0; bytes];
    let mut filled = 0;
    while let Some(rest) = random.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty()).map_err(Failure::internal)?;
    }
    Ok(random)
}

/// What a request is: the tool and its arguments, whose order says nothing.
pub(super) fn binding(request: &CallToolRequestParams) -> Vec<u8> {
    let arguments = request
        .arguments
        .clone()
        .map(|members| sorted(Value::Object(members)))
        .unwrap_or_default();
    serde_json::to_vec(&("tools/call", &request.name, arguments)).unwrap_or_default()
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<String, Value> = members.into_iter().collect();
            Value::Object(
                members
                    .into_iter()
                    .map(|(name, value)| (name, sorted(value)))
                    .collect::<Map<_, _>>(),
            )
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => scalar,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn questions_keep_the_names_that_tell_them_apart() {
        let question = |key: Option<&str>| Question {
            request: mce_broker::ClientRequest {
                key: key.map(str::to_owned),
                server: "s".to_owned(),
                kind: ClientRequestKind::Roots,
                params: Value::Null,
            },
            reply: tokio::sync::oneshot::channel().0,
        };
        let names = |keys: &[Option<&str>]| names_of(&keys.iter().map(|key| question(*key)).collect::<Vec<_>>());
        assert_eq!(names(&[Some("user"), None, Some("user")]), ["user", "question_2", "question_3"]);
        assert_eq!(names(&[Some("question_2"), None]), ["question_2", "question_3"]);
    }

    #[test]
    fn a_request_is_its_tool_and_its_arguments() {
        let of = |name: &'static str, arguments: Value| {
            let arguments = arguments.as_object().cloned().unwrap();
            binding(&CallToolRequestParams::new(name).with_arguments(arguments))
        };
        let one = of("a", json!({"x": {"p": 1, "q": [2]}, "y": null}));
        assert_eq!(one, of("a", json!({"y": null, "x": {"q": [2], "p": 1}})));
        for other in [
            of("b", json!({"x": {"p": 1, "q": [2]}, "y": null})),
            of("a", json!({"x": {"p": 1, "q": [3]}, "y": null})),
            of("a", json!({})),
        ] {
            assert_ne!(one, other);
        }
    }
}
