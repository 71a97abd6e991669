//! A person decides: through the client, at the terminal, or later with `mce approve`.

use std::sync::Arc;
use std::time::SystemTime;

use mce_config::Verdict;
use serde_json::{Value, json};

use super::decision::{DEFAULT, Decision};
use super::facts::Facts;
use super::ledger::{ApprovalError, Question, Standing};
use super::text::{arguments_text, question_text};
use crate::call::Broker;
use crate::call_error::{CallError, CallErrorKind};
use crate::hex::sha256_hex;
use crate::run_context::Asker;
use crate::upstream::{ClientRequest, ClientRequestKind, ClientRequests};

/// What a person can choose.
const ONCE: &str = "allow once";
const ALWAYS: &str = "allow this function always";
const DENY: &str = "deny";

impl Broker {
    /// Whether a call may be made: what the policy decides, and then a person, where it says so.
    ///
    /// # Errors
    ///
    /// `Policy` or `Approval` if it may not. No secret is in them.
    pub(crate) async fn permit(&self, facts: &Facts<'_>, client: Option<&Arc<dyn ClientRequests>>) -> Result<Decision, CallError> {
        let permitted = async {
            let decision = self.policy.decide(facts)?;
            let asked = self.approve(decision.clone(), facts, client).await;
            asked.map_err(|error| error.with_decision(decision))
        };
        permitted.await.map_err(|error| self.without_secrets(error))
    }

    /// Asks a person where the decision is to ask. Nobody is asked twice about the same call, and a yes is good for it alone.
    ///
    /// # Errors
    ///
    /// `Policy` if the person says no, or nobody can be asked; `Approval` if the call has to be made again after a yes.
    async fn approve(
        &self,
        decision: Decision,
        facts: &Facts<'_>,
        client: Option<&Arc<dyn ClientRequests>>,
    ) -> Result<Decision, CallError> {
        if decision.verdict != Verdict::Ask {
            return Ok(decision);
        }
        let shown = arguments_text(&facts.shown(), |text| self.redactor.json(text).into_owned());
        let run = facts.run;
        let who = json!([run.asker.as_str(), run.client, decision.rule]).to_string();
        let digest = sha256_hex(who + &facts.canonical());
        let question = Question {
            digest: &digest,
            arguments: shown.as_deref().unwrap_or_default(),
            ..Question::of(facts, &decision.rule)
        };
        let approval = if self.policy.approvals.is_kept(question).map_err(|error| unusable(&error))? {
            "always".to_owned()
        } else if let Err(too_long) = &shown {
            let hint = format!("send less in one call, or {}", rule_to_add(facts, question.rule));
            return Err(refused(facts, question.rule, &too_long.to_string()).with_hint(hint));
        } else if let Some(client) = client.filter(|client| client.can_approve()) {
            self.ask_now(client, facts, question).await?
        } else {
            self.ask_later(facts, question)?
        };
        Ok(Decision {
            approval: Some(approval),
            ..decision
        })
    }

    /// Waits for the person behind the client. No answer is a no.
    async fn ask_now(&self, client: &Arc<dyn ClientRequests>, facts: &Facts<'_>, question: Question<'_>) -> Result<String, CallError> {
        let request = ClientRequest {
            key: Some("approval".to_owned()),
            server: String::new(),
            kind: ClientRequestKind::Elicitation,
            params: json!({
                "message": question_text(facts, question.arguments, question.rule),
                "requestedSchema": {
                    "type": "object",
                    "properties": {"decision": {"type": "string", "title": "Decision", "enum": [ONCE, ALWAYS, DENY]}},
                    "required": ["decision"],
                },
            }),
        };
        let time = self.policy.settings.approval;
        let answer = if time.is_zero() {
            client.answer(request).await
        } else {
            let answered = tokio::time::timeout(time, client.answer(request)).await;
            answered.map_err(|_| refused(facts, question.rule, &format!("nobody answered within {} s", time.as_secs())))?
        };
        let answer = answer.map_err(|refusal| refused(facts, question.rule, &refusal.message))?;
        match chosen(&answer) {
            Some(ONCE) => {}
            Some(ALWAYS) => self.policy.approvals.keep(question).map_err(|error| unusable(&error))?,
            Some(_) => return Err(refused(facts, question.rule, "the person said no")),
            None => return Err(refused(facts, question.rule, "the person did not answer")),
        }
        Ok(if facts.run.asker == Asker::Person { "terminal" } else { "client" }.to_owned())
    }

    /// Uses an answer that was given to the same call, or lets the call wait for one.
    fn ask_later(&self, facts: &Facts<'_>, question: Question<'_>) -> Result<String, CallError> {
        let time = self.policy.settings.approval;
        if facts.run.asker == Asker::Person || time.is_zero() {
            let message = format!("a person has to allow `{}`, and nobody can be asked here", facts.function);
            return Err(CallError::policy(message).with_hint(format!("to allow it, {}", rule_to_add(facts, question.rule))));
        }
        let standing = self.policy.approvals.claim(question, SystemTime::now(), time);
        match standing.map_err(|error| unusable(&error))? {
            Standing::Approved(id) => Ok(id),
            Standing::Denied(_) => Err(refused(facts, question.rule, "the person said no")),
            Standing::Waiting(id) => {
                let message = format!("`{}` was not called: it waits for a person's approval, `{id}`", facts.function);
                Err(CallError::new(CallErrorKind::Approval, message).with_hint(format!(
                    "ask the person to run `mce approve {id}` in a terminal, and make exactly this call again after that; the approval is \
                     good for one call, within {} s. Calls before this one were made: do not repeat those that write. \
                     To allow it always, {}",
                    time.as_secs(),
                    rule_to_add(facts, question.rule)
                )))
            }
        }
    }
}

/// What the person chose: one of ours, or anything else, which is a no; none without an answer.
fn chosen(answer: &Value) -> Option<&'static str> {
    let word = |key: &str| answer.get(key).and_then(Value::as_str);
    if word("action") != Some("accept") {
        return (word("action") == Some("decline")).then_some(DENY);
    }
    let decision = answer.pointer("/content/decision").and_then(Value::as_str);
    [ONCE, ALWAYS, DENY]
        .into_iter()
        .find(|choice| decision == Some(choice))
        .or(Some(DENY))
}

fn refused(facts: &Facts<'_>, rule: &str, why: &str) -> CallError {
    let message = format!("`{}` was not called: {why}", facts.function);
    let asked = if rule == DEFAULT {
        format!("functions with the effect `{}` are asked about", facts.effect.as_str())
    } else {
        format!("the rule `{rule}` asks")
    };
    CallError::policy(message).with_hint(format!("{asked}; do not try it again without the person's wish"))
}

/// The rule that would allow a call of this function, and where it has to stand.
pub(crate) fn rule_to_add(facts: &Facts<'_>, rule: &str) -> String {
    let (server, function) = facts.function.split_once('.').unwrap_or_default();
    let place = if rule == DEFAULT {
        "to `policies` in `mce.yaml`".to_owned()
    } else {
        format!("to `policies` in `mce.yaml`, before `{rule}`")
    };
    format!("a person can add {place}: `- {{server: {server}, function: {function}, decide: allow}}`")
}

fn unusable(error: &ApprovalError) -> CallError {
    if let ApprovalError::TooMany = error {
        return CallError::policy(format!("the call was not made: {error}")).with_hint(
            "ask the person to run `mce approve`, which shows what waits, before you make further calls that have to be approved",
        );
    }
    let cause = std::error::Error::source(error).map_or_else(String::new, |cause| format!(": {cause}"));
    CallError::policy("nobody can be asked, so that the call was not made: approvals cannot be kept")
        .with_internal(format!("approvals: {error}{cause}"))
}
