//! One run: compiles and checks the program, runs it, keeps its loop going until it has a value, and writes its last frame.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use rquickjs::function::IntoArgs;
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, FromJs, Function, Module, Object, Promise, Value};
use serde::Deserialize;
use serde_json::Map;
use serde_json::value::RawValue;

use super::channel::Channel;
use super::check::{self, Catalog, Described};
use super::compile::{self, Compiled, FILE};
use super::failure::{Failure, Reporter};
use super::natives::Link;
use super::values::{self, Problem};
use crate::ErrorKind;

/// Bytes of an API's body in an error.
const BODY_BYTES: usize = 1 << 20;

/// What is sent if an error cannot be written.
const LAST_RESORT: &[u8] =
    br#"{"op":"error","error":{"type":"exception","message":"the program ended, and its error cannot be described"}}"#;

/// Longer calls are not looked at before a program starts.
const CHECKED_BYTES: usize = 1 << 20;

/// Where a program runs.
pub(super) struct Stage<'s, 'js> {
    pub(super) ctx: Ctx<'js>,
    pub(super) link: &'s Rc<Link>,
    /// What the guest's scripts have defined for each other and for this file.
    pub(super) shared: Object<'js>,
    pub(super) globals: &'s BTreeSet<String>,
    pub(super) exports: &'s [String],
}

/// The frame that starts a run.
#[derive(Deserialize)]
struct Request {
    source: String,
    params: Box<RawValue>,
    output_bytes: usize,
    has_traceback: bool,
    has_guard: bool,
    /// The text is read only,
    #[serde(default)]
    has_outline: bool,
    /// and checked against the catalog.
    #[serde(default)]
    has_check: bool,
    /// Values are given for all variables that have none.
    #[serde(default)]
    has_all: bool,
    servers: Option<Vec<String>>,
}

/// Why a program has no value.
enum Stop<'js> {
    /// It threw.
    Thrown(Value<'js>),
    /// All its promises wait for each other.
    Deadlock,
    /// The host has closed the run: nobody is there to be told.
    Closed,
}

/// Runs a program and gives the frame that ends the run.
pub(super) fn run(stage: &Stage<'_, '_>, request: &str) -> Vec<u8> {
    let outcome = match serde_json::from_str::<Request>(request) {
        Ok(request) => stage.outcome(&request),
        Err(error) => Err(Box::new(Failure::new(ErrorKind::Internal, error.to_string()))),
    };
    match outcome {
        Ok(value) => format!(r#"{{"op":"result","value":{value},"contents":[]}}"#).into_bytes(),
        Err(failure) => {
            serde_json::to_vec(&serde_json::json!({ "op": "error", "error": failure })).unwrap_or_else(|_| LAST_RESORT.to_vec())
        }
    }
}

impl<'js> Stage<'_, 'js> {
    fn outcome(&self, request: &Request) -> Result<String, Box<Failure>> {
        let source = request.source.strip_prefix('\u{feff}').unwrap_or(&request.source);
        let refused = |refusal| Box::new(Failure::refused(refusal, source));
        let unreadable = |error: serde_json::Error| Box::new(Failure::new(ErrorKind::Internal, error.to_string()));
        if request.has_outline {
            let outline = compile::outline(source).map_err(refused)?;
            if request.has_check {
                let compiled = compile::compile(source, &Map::new()).map_err(refused)?;
                self.check(&compiled.facts, request)?;
            }
            return serde_json::to_string(&outline).map_err(unreadable);
        }
        let params: Map<String, serde_json::Value> = serde_json::from_str(request.params.get()).map_err(unreadable)?;
        if !params.is_empty() || request.has_all {
            let faults = compile::faults_of_inputs(source, &params, request.has_all).map_err(refused)?;
            if let Some(refusals) = check::Refusals::of(faults) {
                return Err(Box::new(Failure::of_all(refusals, source)));
            }
        }
        let compiled = compile::compile(source, &params).map_err(refused)?;
        let servers = self.check(&compiled.facts, request)?;
        let Compiled {
            javascript,
            positions,
            facts,
        } = compiled;
        let positions = Rc::new(positions);
        *self.link.positions.borrow_mut() = Rc::clone(&positions);
        let names: Vec<String> = facts.defined.iter().chain(self.globals).chain(&servers).cloned().collect();
        let report = Reporter {
            source,
            positions: &positions,
            exports: self.exports,
            names: &names,
            has_traceback: request.has_traceback,
        };
        let value = self.value(&javascript, &facts, request.params.get(), &servers);
        let value = value.map_err(|stop| Box::new(self.stopped(stop, &report)))?;
        self.encode(value, request.output_bytes, &report).map_err(Box::new)
    }

    /// Checks a program against the catalog. Returns the servers that the text names without an import.
    fn check(&self, facts: &compile::Facts, request: &Request) -> Result<Vec<String>, Box<Failure>> {
        if let Some(servers) = &request.servers {
            let told = self.call::<_, ()>("tellServers", (servers.clone(),));
            told.map_err(|_| {
                Box::new(Failure::new(
                    ErrorKind::Memory,
                    "the program needs more memory than its limit allows",
                ))
            })?;
        }
        let context = check::Context {
            globals: self.globals,
            exports: self.exports,
            has_guard: request.has_guard,
        };
        let source = request.source.strip_prefix('\u{feff}').unwrap_or(&request.source);
        check::check(facts, context, &mut Host { stage: self }).map_err(|refusals| Box::new(Failure::of_all(refusals, source)))
    }

    /// Runs the compiled program to its value.
    fn value(&self, javascript: &str, facts: &compile::Facts, params: &str, servers: &[String]) -> Result<Value<'js>, Stop<'js>> {
        let params: Value<'js> = self.call("parse", (params,))?;
        self.call::<_, ()>("prepare", (params, facts.written.clone(), facts.has_own_default))?;
        for server in servers {
            self.call::<_, ()>("addGlobal", (server.as_str(),))?;
        }
        let module = Module::declare(self.ctx.clone(), FILE, javascript);
        let (module, evaluation) = self.caught(module.and_then(Module::eval))?;
        self.settle(&evaluation)?;
        let exports = self.caught(module.namespace())?;
        let value: Promise<'js> = self.call("valueOf", (exports, facts.has_main, facts.has_result))?;
        let value = self.settle(&value)?;
        self.finish_calls()?;
        let unhandled: Vec<Value<'js>> = self.call("unhandled", ())?;
        unhandled.into_iter().next().map_or(Ok(value), |reason| Err(Stop::Thrown(reason)))
    }

    /// Waits for calls that the program has not waited for, and says so.
    fn finish_calls(&self) -> Result<(), Stop<'js>> {
        self.turn_until(|| Ok(true))?;
        if self.calls_under_way()? == 0 {
            return Ok(());
        }
        self.call::<_, ()>("noteLeft", ())?;
        self.turn_until(|| Ok(self.calls_under_way()? == 0))
    }

    fn calls_under_way(&self) -> Result<usize, Stop<'js>> {
        self.call("underWay", ())
    }

    /// Keeps the loop going until a promise is settled, and gives its value.
    fn settle(&self, promise: &Promise<'js>) -> Result<Value<'js>, Stop<'js>> {
        self.turn_until(|| Ok(promise.state() != PromiseState::Pending))?;
        self.caught(
            promise
                .result::<Value<'js>>()
                .unwrap_or_else(|| Ok(Value::new_undefined(self.ctx.clone()))),
        )
    }

    /// Runs what is ready and waits for what is not, until `is_done` after all that is ready has run.
    fn turn_until(&self, is_done: impl Fn() -> Result<bool, Stop<'js>>) -> Result<(), Stop<'js>> {
        loop {
            while self.ctx.execute_pending_job() {}
            if self.link.is_closed.get() {
                return Err(Stop::Closed);
            }
            if is_done()? {
                return Ok(());
            }
            if let Some(frame) = self.link.with_channel(Channel::arrived).map_err(|_| Stop::Closed)? {
                self.call::<_, ()>("deliver", (frame,))?;
                continue;
            }
            let next_ms: f64 = self.call("nextTimer", ())?;
            if next_ms == 0.0 {
                self.call::<_, bool>("runTimer", ())?;
                continue;
            }
            let has_timer = next_ms > 0.0;
            if !has_timer && self.calls_under_way()? == 0 {
                return Err(Stop::Deadlock);
            }
            let patience = has_timer.then(|| Duration::from_secs_f64((next_ms / 1000.0).min(3600.0)));
            self.link.with_channel(|channel| channel.wait(patience)).map_err(|_| Stop::Closed)?;
        }
    }

    fn encode(&self, value: Value<'js>, limit: usize, report: &Reporter<'_>) -> Result<String, Failure> {
        values::encode(&self.shared, value, limit, "result").map_err(|problem| match problem {
            Problem::TooLarge => Failure::new(ErrorKind::Output, format!("the program's value is larger than {limit} bytes"))
                .with_hint("return a summary, or only the fields that are needed; `await save(value)` keeps up to 16 MiB for a later run"),
            Problem::NoJson { message, hint } => Failure::new(ErrorKind::Exception, message).with_hint(hint),
            Problem::Thrown(error) => self.stopped(self.stop_for(&error), report),
        })
    }

    fn stopped(&self, stop: Stop<'js>, report: &Reporter<'_>) -> Failure {
        let thrown = match stop {
            Stop::Thrown(thrown) => thrown,
            Stop::Closed => return Failure::new(ErrorKind::Internal, "the host has closed the run"),
            Stop::Deadlock => match self
                .call::<_, Vec<Value<'js>>>("unhandled", ())
                .ok()
                .and_then(|list| list.into_iter().next())
            {
                Some(reason) => reason,
                None => {
                    return Failure::new(ErrorKind::Exception, "the program waits for a promise that nothing will settle")
                        .with_hint("look for a promise whose `resolve` is never called");
                }
            },
        };
        let Ok(facts) = self.call::<_, Value<'js>>("describe", (thrown,)) else {
            return Failure::new(ErrorKind::Memory, "the program needs more memory than its limit allows");
        };
        let body = facts.as_object().and_then(|facts| facts.get::<_, Value<'js>>("body").ok());
        let body = body.filter(|body| !body.is_undefined()).and_then(|body| {
            let text = values::encode(&self.shared, body, BODY_BYTES, "body").ok()?;
            RawValue::from_string(text).ok()
        });
        report.thrown(&self.ctx, facts, body)
    }

    /// Calls a function of the guest's scripts.
    fn call<A: IntoArgs<'js>, T: FromJs<'js>>(&self, name: &str, arguments: A) -> Result<T, Stop<'js>> {
        let function = self.shared.get::<_, Function<'js>>(name);
        self.caught(function.and_then(|function| function.call(arguments)))
    }

    fn caught<T>(&self, result: rquickjs::Result<T>) -> Result<T, Stop<'js>> {
        result.map_err(|error| self.stop_for(&error))
    }

    fn stop_for(&self, error: &rquickjs::Error) -> Stop<'js> {
        if self.link.is_closed.get() {
            return Stop::Closed;
        }
        if matches!(error, rquickjs::Error::Exception) {
            return Stop::Thrown(self.ctx.catch());
        }
        let text = rquickjs::String::from_str(self.ctx.clone(), &error.to_string()).map(rquickjs::String::into_value);
        Stop::Thrown(text.unwrap_or_else(|_| Value::new_null(self.ctx.clone())))
    }
}

/// The catalog, asked through the guest's scripts, which keep what they learn.
struct Host<'h, 's, 'js> {
    stage: &'h Stage<'s, 'js>,
}

impl Catalog for Host<'_, '_, '_> {
    fn servers(&mut self) -> Option<Vec<String>> {
        self.stage.call("servers", ()).ok()
    }

    fn describe(&mut self, server: &str, names: &[&str]) -> Option<Described> {
        let text: String = self.stage.call("describeAhead", (server, names.to_vec())).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn faults(&mut self, calls: &[serde_json::Value]) -> Option<Vec<Vec<String>>> {
        let calls = serde_json::to_string(calls).ok().filter(|calls| calls.len() <= CHECKED_BYTES)?;
        let text: String = self.stage.call("checkAhead", (calls,)).ok()?;
        serde_json::from_str(&text).ok()
    }
}
