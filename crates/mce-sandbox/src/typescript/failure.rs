//! What ended a program, in words for the model: its kind, its line of the program's own text, a hint.

use std::fmt::Write as _;

use rquickjs::{Ctx, FromJs, Object, Value};
use serde::Serialize;
use serde_json::value::RawValue;

use super::check::Refusals;
use super::compile::{FILE, Positions, Refusal};
use crate::ErrorKind;
use crate::program::{Finding, MAX_ALSO, shortened};

const MESSAGE_BYTES: usize = 2000;
const HINT_BYTES: usize = 500;
const SOURCE_BYTES: usize = 300;
const TRACE_BYTES: usize = 8000;

/// How alike two names must be to be taken for each other, from 0 to 1.
const LIKENESS: f64 = 0.75;

/// The error object of a frame.
#[derive(Debug, Serialize)]
pub(super) struct Failure {
    #[serde(rename = "type")]
    pub(super) kind: ErrorKind,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) traceback: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) also: Vec<Finding>,
}

impl Failure {
    /// An error without a position.
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: shortened(message.into(), MESSAGE_BYTES),
            line: None,
            source: None,
            hint: None,
            status: None,
            body: None,
            function: None,
            traceback: None,
            also: Vec::new(),
        }
    }

    /// The same with advice.
    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(shortened(hint.into(), HINT_BYTES));
        self
    }

    /// The same at a line of the program's text, from 1.
    pub(super) fn at(mut self, line: Option<u32>, source: &str) -> Self {
        if line.is_some() {
            self.line = line;
            self.source = text_of(line, source);
        }
        self
    }

    /// A program that is refused before it starts.
    pub(super) fn refused(refusal: Refusal, source: &str) -> Self {
        let Refusal {
            kind,
            message,
            line,
            hint,
            function,
        } = refusal;
        let mut failure = Self::new(kind, message).at(line, source);
        failure.hint = hint.map(|hint| shortened(hint, HINT_BYTES));
        failure.function = function;
        failure
    }

    /// A program in which these faults were found, the first by line and the others after it.
    pub(super) fn of_all(refusals: Refusals, source: &str) -> Self {
        let mut failure = Self::refused(refusals.first, source);
        let mut told = failure.line;
        for refusal in refusals.others.into_iter().take(MAX_ALSO) {
            let line = refusal.line;
            failure.also.push(refusal.finding(source, told));
            told = line;
        }
        failure
    }
}

impl Refusal {
    /// `told` is the line whose text was told just before.
    fn finding(self, source: &str, told: Option<u32>) -> Finding {
        Finding {
            message: shortened(self.message, MESSAGE_BYTES),
            line: self.line,
            source: text_of(self.line.filter(|_| self.line != told), source),
            hint: self.hint.map(|hint| shortened(hint, HINT_BYTES)),
        }
    }
}

/// A line of a text, from 1, trimmed.
fn text_of(line: Option<u32>, source: &str) -> Option<String> {
    let index = line?.checked_sub(1)?;
    let text = source.split('\n').nth(index as usize).unwrap_or_default().trim();
    (!text.is_empty()).then(|| shortened(text.to_owned(), SOURCE_BYTES))
}

/// What `describe` in `errors.js` says about a thrown value.
struct Described {
    is_call: bool,
    is_error: bool,
    name: String,
    message: String,
    stack: String,
    hint: Option<String>,
    kind: Option<String>,
    function: Option<String>,
    status: Option<u16>,
}

impl<'js> FromJs<'js> for Described {
    fn from_js(_: &Ctx<'js>, value: Value<'js>) -> rquickjs::Result<Self> {
        let facts = Object::from_value(value)?;
        // Members that a hostile object has filled with something else are left out.
        let text = |name: &str| facts.get::<_, String>(name).ok();
        Ok(Self {
            is_call: facts.get("isCall")?,
            is_error: facts.get("isError")?,
            name: text("name").unwrap_or_default(),
            message: text("message").unwrap_or_else(|| "(its text cannot be read)".to_owned()),
            stack: text("stack").unwrap_or_default(),
            hint: text("hint"),
            kind: text("type"),
            function: text("function"),
            status: facts.get::<_, f64>("status").ok().and_then(whole_status),
        })
    }
}

fn whole_status(status: f64) -> Option<u16> {
    (100..1000).find(|&whole| (f64::from(whole) - status).abs() < 0.5)
}

/// What is needed to describe an error of a program.
pub(super) struct Reporter<'r> {
    pub(super) source: &'r str,
    pub(super) positions: &'r Positions,
    /// The names of the module `mce`.
    pub(super) exports: &'r [String],
    /// Names that the program could have meant.
    pub(super) names: &'r [String],
    pub(super) has_traceback: bool,
}

impl Reporter<'_> {
    /// Describes a thrown value. `body` is the API's body as JSON text.
    pub(super) fn thrown<'js>(&self, ctx: &Ctx<'js>, facts: Value<'js>, body: Option<Box<RawValue>>) -> Failure {
        let Ok(described) = Described::from_js(ctx, facts) else {
            return Failure::new(ErrorKind::Exception, "the program ended, and its error cannot be described");
        };
        let line = self.line_of(&described.stack);
        let mut failure = self.plain(&described).at(line, self.source);
        if described.is_call {
            failure.function = described.function.map(|function| shortened(function, 512));
            failure.status = described.status;
            failure.body = body;
        }
        if self.has_traceback {
            let trace = map_stack(&described.stack, self.positions);
            failure.traceback = (!trace.is_empty()).then(|| shortened(trace, TRACE_BYTES));
        }
        failure
    }

    fn plain(&self, described: &Described) -> Failure {
        let Described { name, message, .. } = described;
        let memory = message.starts_with("out of memory") && name == "InternalError";
        if memory {
            return Failure::new(ErrorKind::Memory, "the program needs more memory than its limit allows")
                .with_hint("work on smaller pieces, or keep less at once");
        }
        let kind = if described.is_call {
            kind_of(described)
        } else {
            ErrorKind::Exception
        };
        let text = match (described.is_call, described.is_error, message.is_empty()) {
            (true, ..) => message.clone(),
            (false, true, true) => name.clone(),
            (false, true, false) => format!("{name}: {message}"),
            (false, false, _) => format!("the program threw {message}"),
        };
        let failure = Failure::new(kind, text);
        match described.hint.clone().or_else(|| self.hint(name, message)) {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }

    fn hint(&self, name: &str, message: &str) -> Option<String> {
        if let Some(missing) = message.strip_suffix(" is not defined") {
            let missing = missing.trim_matches(['\'', '`', '"']);
            if missing == "require" {
                return Some("write `import { server } from \"mce:servers\"`; there are no other modules".to_owned());
            }
            if ["process", "Deno", "Bun", "__dirname", "__filename", "module", "exports"].contains(&missing) {
                return Some(
                    "programs have no environment, files or processes; `console`, `fetch` and the web's own globals are there".to_owned(),
                );
            }
            if self.exports.iter().any(|name| name == missing) {
                return Some(format!("write `import {{ {missing} }} from \"mce\"`"));
            }
            return did_you_mean(missing, self.names.iter().chain(self.exports).map(String::as_str));
        }
        match (name, message) {
            ("RangeError" | "InternalError", text) if text.contains("call stack") || text.contains("stack overflow") => {
                Some("use a loop, or check the case that ends the recursion".to_owned())
            }
            ("TypeError", text) if text.contains("is not iterable") || text.contains("not a function") => {
                Some("calls of functions give promises: put `await` before them; walk `paginate` with `for await`".to_owned())
            }
            _ => None,
        }
    }

    /// The innermost line of the program's own text.
    fn line_of(&self, stack: &str) -> Option<u32> {
        stack
            .lines()
            .find_map(place_in)
            .and_then(|(line, column)| Some(self.positions.own(line, column)?.0))
    }
}

fn kind_of(described: &Described) -> ErrorKind {
    let kind = described.kind.clone().unwrap_or_default();
    serde_json::from_value(kind.into()).unwrap_or(ErrorKind::Internal)
}

/// Line and column in a line of a stack trace, if it is one of the program.
fn place_in(line: &str) -> Option<(u32, u32)> {
    let (_, rest) = line.split_once(FILE)?;
    let rest = rest.strip_prefix(':')?;
    let mut numbers = rest.split(|letter: char| !letter.is_ascii_digit());
    let line = numbers.next()?.parse().ok()?;
    Some((line, numbers.next().and_then(|column| column.parse().ok()).unwrap_or(1)))
}

/// A stack trace with the places of the program's own text, without lines of the guest.
pub(super) fn map_stack(stack: &str, positions: &Positions) -> String {
    let mut mapped = String::new();
    for line in stack.lines().filter(|line| !line.contains("mce:guest")).take(50) {
        let place = place_in(line).and_then(|(line, column)| positions.own(line, column));
        match (place, line.split_once(FILE)) {
            (Some((own_line, own_column)), Some((before, after))) => {
                let end = after.find(')').map_or("", |_| ")");
                // Writing to a text cannot fail.
                let _ = writeln!(mapped, "{before}{FILE}:{own_line}:{own_column}{end}");
            }
            _ => mapped.extend([line, "\n"]),
        }
    }
    mapped
}

/// The name most like `name`.
pub(super) fn similar<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    const MOST: usize = 5000;
    let name: String = name.chars().take(100).collect();
    let scored = names.take(MOST).map(|other| (strsim::jaro_winkler(&name, other), other));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(score, _)| *score >= LIKENESS).map(|(_, other)| other)
}

/// A hint, unless nothing is alike.
pub(super) fn did_you_mean<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    similar(name, names)
        .filter(|found| *found != name)
        .map(|found| format!("did you mean `{found}`?"))
}
