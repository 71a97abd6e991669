//! A person decides: through the client, at the terminal, or later with `mce approve`.

use std::sync::Arc;
use std::time::SystemTime;

use mce_config::{PolicyRule, Verdict};
use serde_json::{Value, json};

use super::decision::{DEFAULT, Decision};
use super::facts::Facts;
use super::ledger::{ApprovalError, OneYes, Question, Standing};
use super::text::{ArgumentTexts, TooLong, argument_texts, question_text};
use crate::call::Broker;
use crate::call_error::{CallError, CallErrorKind};
use crate::hex::sha256_hex;
use crate::run_context::Asker;
use crate::upstream::{ClientRequest, ClientRequestKind, ClientRequests};

/// What a person can choose.
const ONCE: &str = "allow once";
const ALWAYS: &str = "allow this function always";
const DENY: &str = "deny";

/// That a call may be made. Its yes and its budget are used up only when it is going to be sent: [`Broker::use_up`].
#[derive(Debug)]
pub(crate) struct Permit<'p> {
    decision: Decision,
    /// The rule of whose budget it is one.
    rule: Option<&'p PolicyRule>,
    /// Whether it was used up.
    has_spent: bool,
    yes: Option<Yes>,
}

/// A person's yes to one call.
#[derive(Debug)]
struct Yes {
    digest: String,
    arguments: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// In the ledger, where one of all processes may use it.
    Ledger,
    /// It was taken from the ledger.
    Taken(OneYes),
    /// It was just given, to us alone.
    Here,
}

impl Yes {
    fn question<'a>(&'a self, facts: &'a Facts<'_>, rule: &'a str) -> Question<'a> {
        Question {
            digest: &self.digest,
            arguments: &self.arguments,
            ..Question::of(facts, rule)
        }
    }
}

impl Broker {
    /// Whether a call may be made: what the policy decides, and then a person, where it says so.
    ///
    /// # Errors
    ///
    /// `Policy` or `Approval` if it may not. No secret is in them.
    pub(crate) async fn permit(&self, facts: &Facts<'_>, client: Option<&Arc<dyn ClientRequests>>) -> Result<Permit<'_>, CallError> {
        let permitted = async {
            let (decision, rule) = self.policy.decide(facts)?;
            let asked = self.approve(decision.clone(), facts, client).await;
            let (decision, yes) = asked.map_err(|error| error.with_decision(decision))?;
            Ok(Permit {
                decision,
                rule,
                has_spent: false,
                yes,
            })
        };
        permitted.await.map_err(|error: CallError| self.without_secrets(error))
    }

    /// Uses up the yes and counts for the budget, right before the intent is written.
    ///
    /// # Errors
    ///
    /// `Policy` or `Approval` if somebody else has used it up meanwhile.
    pub(crate) fn use_up(&self, permit: &mut Permit<'_>, facts: &Facts<'_>) -> Result<Decision, CallError> {
        let used = self.used_up(permit, facts);
        used.map_err(|error| self.without_secrets(error.with_decision(permit.decision.clone())))
    }

    fn used_up(&self, permit: &mut Permit<'_>, facts: &Facts<'_>) -> Result<Decision, CallError> {
        if let Some(rule) = permit.rule {
            self.policy.check_budget(facts, rule, true)?;
            permit.has_spent = true;
        }
        if let Some(yes) = &mut permit.yes
            && matches!(yes.place, Place::Ledger)
        {
            let question = yes.question(facts, &permit.decision.rule);
            let claimed = self.policy.approvals.claim(question, SystemTime::now());
            let Some(claimed) = claimed.map_err(|error| unusable(&error))? else {
                self.ask_later(facts, question)?;
                return Err(refused(facts, question.rule, "its approval was used by another call"));
            };
            permit.decision.approval = Some(claimed.id.clone());
            yes.place = Place::Taken(claimed);
        }
        Ok(permit.decision.clone())
    }

    /// Keeps the yes for when the same call is made again, and takes back what was counted, since this one was not sent after all.
    pub(crate) fn give_back(&self, permit: Permit<'_>, facts: &Facts<'_>) {
        let time = self.policy.settings.approval;
        if let Some(rule) = permit.rule.filter(|_| permit.has_spent) {
            self.policy.unspend(&facts.run.id, rule);
        }
        let Some(mut yes) = permit.yes else { return };
        let claimed = match std::mem::replace(&mut yes.place, Place::Ledger) {
            Place::Ledger => return,
            Place::Taken(claimed) => Some(claimed),
            Place::Here if time.is_zero() => return,
            Place::Here => None,
        };
        let question = yes.question(facts, &permit.decision.rule);
        let kept = self.policy.approvals.give_back(question, claimed, (SystemTime::now(), time));
        if let Err(error) = kept {
            tracing::warn!("a person's yes is lost, and the same call is asked about again: {error}");
        }
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
    ) -> Result<(Decision, Option<Yes>), CallError> {
        if decision.verdict != Verdict::Ask {
            return Ok((decision, None));
        }
        let shown = argument_texts(&facts.shown(), |text| self.redactor.json(text).into_owned());
        let run = facts.run;
        let who = json!([run.asker.as_str(), run.client, decision.rule]).to_string();
        let digest = sha256_hex(who + &facts.canonical());
        let question = Question {
            digest: &digest,
            arguments: shown.as_ref().map_or("", |texts| &texts.whole),
            ..Question::of(facts, &decision.rule)
        };
        let approvals = &self.policy.approvals;
        let mut approval = None;
        let mut place = Place::Ledger;
        if approvals.is_kept(question).map_err(|error| unusable(&error))? {
            let approval = Some("always".to_owned());
            return Ok((Decision { approval, ..decision }, None));
        } else if let Err(too_long) = &shown {
            let hint = format!("send less in one call, or {}", rule_to_add(facts, question.rule));
            return Err(refused(facts, question.rule, &too_long.to_string()).with_hint(hint));
        } else if approvals
            .is_approved(question, SystemTime::now())
            .map_err(|error| unusable(&error))?
        {
            // A yes to the same call, which was not sent then.
        } else if let (Some(client), Some(arguments)) = (client.filter(|client| client.can_approve()), in_client(run.asker, &shown)) {
            approval = Some(self.ask_now(client, facts, (question, arguments)).await?);
            place = Place::Here;
        } else {
            self.ask_later(facts, question)?;
        }
        let yes = Yes {
            arguments: question.arguments.to_owned(),
            digest,
            place,
        };
        Ok((Decision { approval, ..decision }, Some(yes)))
    }

    /// Waits for the person behind the client. No answer is a no.
    async fn ask_now(
        &self,
        client: &Arc<dyn ClientRequests>,
        facts: &Facts<'_>,
        (question, arguments): (Question<'_>, &str),
    ) -> Result<String, CallError> {
        let request = ClientRequest {
            key: Some("approval".to_owned()),
            server: String::new(),
            kind: ClientRequestKind::Elicitation,
            params: json!({
                "message": question_text(facts, arguments, question.rule),
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

    /// Whether a yes was given to the same call; else it waits for one.
    fn ask_later(&self, facts: &Facts<'_>, question: Question<'_>) -> Result<(), CallError> {
        let time = self.policy.settings.approval;
        if facts.run.asker == Asker::Person || time.is_zero() {
            let message = format!("a person has to allow `{}`, and nobody can be asked here", facts.function);
            return Err(CallError::policy(message).with_hint(format!("to allow it, {}", rule_to_add(facts, question.rule))));
        }
        let standing = self.policy.approvals.ask(question, SystemTime::now(), time);
        match standing.map_err(|error| unusable(&error))? {
            Standing::Approved => Ok(()),
            Standing::Denied(_) => Err(refused(facts, question.rule, "the person said no")),
            Standing::Waiting(id) => {
                let message = format!("`{}` was not called: it waits for a person's approval, `{id}`", facts.function);
                Err(CallError::new(CallErrorKind::Approval, message).with_hint(format!(
                    "ask the person to run `mce approve {id}` in a terminal, and make exactly this call again after that; the approval is \
                     good for one call, within {} s. To allow it always, {}",
                    time.as_secs(),
                    rule_to_add(facts, question.rule)
                )))
            }
        }
    }
}

/// What of the arguments is shown where the call is made; none if the client cannot show what matters. A terminal can show all.
fn in_client(asker: Asker, shown: &Result<ArgumentTexts, TooLong>) -> Option<&str> {
    let texts = shown.as_ref().ok()?;
    let whole = (asker == Asker::Person).then_some(&texts.whole);
    texts.brief.as_ref().or(whole).map(String::as_str)
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
