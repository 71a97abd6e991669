//! `llm` of a program: questions to the language model of the client that started the run, within the run's limits.

use std::sync::{Arc, Mutex, PoisonError};

use mce_broker::{ClientRequest, ClientRequestKind, ClientRequests};
use mce_config::ClientSettings;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::tokens;

/// Leave to ask the client's model, given with the request that starts a run. It can lower the limits of the settings.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ModelLeave {
    pub(crate) rounds: Option<u32>,
    pub(crate) tokens: Option<u32>,
}

/// The client's language model, for one run.
#[derive(Debug)]
pub(super) struct Model {
    client: Arc<dyn ClientRequests>,
    is_enabled: bool,
    rounds: u32,
    tokens: u32,
    // Held to count.
    used: Mutex<Used>,
}

/// How much of the model a run has used, and what it could still have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ModelUse {
    pub(crate) rounds: u32,
    /// Of the answers.
    pub(crate) tokens: u32,
    pub(crate) rounds_left: u32,
    pub(crate) tokens_left: u32,
}

#[derive(Debug, Default)]
struct Used {
    rounds: u32,
    tokens: u32,
}

/// What a program asks.
#[derive(Debug, Deserialize)]
struct Question {
    messages: Vec<Message>,
    max_tokens: u32,
    model: Option<String>,
    system_prompt: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Message {
    role: String,
    content: String,
}

impl Model {
    pub(super) fn new(client: Arc<dyn ClientRequests>, settings: &ClientSettings, leave: Option<ModelLeave>) -> Self {
        let wanted = leave.unwrap_or_default();
        Self {
            client,
            is_enabled: settings.sampling.unwrap_or(leave.is_some()),
            rounds: wanted.rounds.unwrap_or(u32::MAX).min(settings.sampling_rounds),
            tokens: wanted.tokens.unwrap_or(u32::MAX).min(settings.sampling_tokens),
            used: Mutex::default(),
        }
    }

    pub(super) fn used(&self) -> ModelUse {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        ModelUse {
            rounds: used.rounds,
            tokens: used.tokens,
            rounds_left: self.rounds.saturating_sub(used.rounds),
            tokens_left: self.tokens.saturating_sub(used.tokens),
        }
    }

    /// Asks, and gives the text of the answer.
    pub(super) async fn ask(&self, request: &RawValue) -> Result<String, Failure> {
        if !self.is_enabled {
            return Err(Failure::new("policy", "programs may not ask a language model")
                .with_hint("a person allows it by `sampling_enabled: true` in `mce.yaml`, or by `CODE_EXECUTOR_SAMPLING_ENABLED=true`"));
        }
        if !self.client.abilities().sampling {
            return Err(Failure::new(
                "policy",
                "the client of this server has no language model that programs can ask: it does not offer MCP sampling",
            )
            .with_hint("give back the data and judge it yourself"));
        }
        let question: Question = serde_json::from_str(request.get()).map_err(|error| Failure::argument(error.to_string()))?;
        let most = self.reserve(question.max_tokens)?;
        let asked = ClientRequest {
            key: None,
            server: String::new(),
            kind: ClientRequestKind::Sampling,
            params: parameters(question, most),
        };
        let answered = self.client.answer(asked).await;
        let text = answered.as_ref().ok().and_then(text_of);
        let cost = text
            .as_deref()
            .map_or(0, |text| u32::try_from(tokens::count(text)).unwrap_or(u32::MAX));
        self.give_back(most.saturating_sub(cost));
        match answered {
            Ok(_) => text.ok_or_else(|| Failure::new("tool", "the client's language model did not answer with a text")),
            Err(refusal) => Err(Failure::new(
                "tool",
                format!("the language model was not asked: {}", refusal.message),
            )),
        }
    }

    /// Takes one round and as many of the wanted tokens as are left, before anything is sent.
    fn reserve(&self, wanted: u32) -> Result<u32, Failure> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = |what: &str, limit: u32| {
            let message = format!("the limit of {limit} {what} of a language model in one run is reached");
            Err(Failure::new("policy", message).with_hint("put several questions into one"))
        };
        if used.rounds >= self.rounds {
            return refused("answers", self.rounds);
        }
        let most = wanted.min(self.tokens.saturating_sub(used.tokens));
        if most == 0 {
            return refused("tokens", self.tokens);
        }
        used.rounds += 1;
        used.tokens += most;
        Ok(most)
    }

    fn give_back(&self, tokens: u32) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.tokens = used.tokens.saturating_sub(tokens);
    }
}

/// `params` of `sampling/createMessage`, which knows two roles only.
fn parameters(question: Question, max_tokens: u32) -> Value {
    let (system, spoken): (Vec<Message>, Vec<Message>) = question.messages.into_iter().partition(|message| message.role == "system");
    let instructions: Vec<String> = question
        .system_prompt
        .into_iter()
        .chain(system.into_iter().map(|message| message.content))
        .collect();
    let said = |message: Message| json!({"role": message.role, "content": {"type": "text", "text": message.content}});
    let messages: Vec<Value> = spoken.into_iter().map(said).collect();
    let mut params = json!({"messages": messages, "maxTokens": max_tokens});
    if !instructions.is_empty() {
        params["systemPrompt"] = instructions.join("\n\n").into();
    }
    if let Some(model) = question.model {
        params["modelPreferences"] = json!({"hints": [{"name": model}]});
    }
    params
}

/// The text of an answer: one block, or several.
fn text_of(answer: &Value) -> Option<String> {
    let text = |block: &Value| block.get("text").and_then(Value::as_str).map(str::to_owned);
    match answer.get("content")? {
        Value::Array(blocks) => {
            let texts: Vec<String> = blocks.iter().filter_map(text).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        block => text(block),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mce_broker::{ClientAbilities, ClientAnswer};

    use super::*;

    #[derive(Debug, Default)]
    struct Client(Mutex<Vec<Value>>);

    impl ClientRequests for Client {
        fn abilities(&self) -> ClientAbilities {
            ClientAbilities::ALL
        }

        fn answer(&self, request: ClientRequest) -> ClientAnswer<'_> {
            self.0.lock().unwrap().push(request.params);
            let answer = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "four words of answer"}});
            Box::pin(std::future::ready(Ok(answer)))
        }
    }

    fn settings(sampling: Option<bool>) -> ClientSettings {
        ClientSettings {
            wait: Duration::from_secs(1),
            waiting_calls: 1,
            sampling,
            sampling_rounds: 3,
            sampling_tokens: 1000,
        }
    }

    async fn ask(model: &Model, question: &Value) -> Result<String, Failure> {
        model.ask(&RawValue::from_string(question.to_string()).unwrap()).await
    }

    #[tokio::test]
    async fn the_limits_of_a_run_hold() {
        let client = Arc::new(Client::default());
        let model = Model::new(Arc::<Client>::clone(&client), &settings(Some(true)), None);
        let question = json!({"messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}],
            "max_tokens": 5000, "model": "x", "system_prompt": "c"});
        for _ in 0..3 {
            assert_eq!(ask(&model, &question).await.unwrap(), "four words of answer");
        }
        let refused = ask(&model, &question).await.unwrap_err();
        assert_eq!((refused.kind, refused.message.contains("3 answers")), ("policy", true), "{refused}");
        let asked = client.0.lock().unwrap().clone();
        let first = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "b"}}], "maxTokens": 1000,
            "systemPrompt": "c\n\na", "modelPreferences": {"hints": [{"name": "x"}]}});
        assert_eq!(asked[0], first);
        // Answers cost what they are long, not what they might have been.
        assert!(asked[2]["maxTokens"].as_u64().unwrap() > 980, "{}", asked[2]);
    }

    #[tokio::test]
    async fn leave_is_given_by_a_person_or_with_the_run_and_lowers_limits_only() {
        let question = json!({"messages": [{"role": "user", "content": "b"}], "max_tokens": 10});
        let leave = |rounds| ModelLeave {
            rounds: Some(rounds),
            tokens: None,
        };
        for (said, leave, rounds) in [
            (None, None, 0),
            (None, Some(leave(2)), 2),
            (None, Some(leave(50)), 3),
            (Some(false), Some(leave(2)), 0),
            (Some(true), None, 3),
        ] {
            let model = Model::new(Arc::new(Client::default()), &settings(said), leave);
            let mut answered = 0;
            while ask(&model, &question).await.is_ok() {
                answered += 1;
            }
            assert_eq!(answered, rounds, "{said:?}");
        }
    }

    #[tokio::test]
    async fn a_client_without_a_model_is_named_as_the_reason() {
        let model = Model::new(Arc::new(mce_broker::NoClient), &settings(Some(true)), None);
        let refused = ask(&model, &json!({"messages": [], "max_tokens": 1})).await.unwrap_err();
        assert!(refused.message.contains("does not offer MCP sampling"), "{refused}");
    }
}
