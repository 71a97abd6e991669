//! Arguments by name: which parameter each belongs to, which are missing, which exist nowhere.

use std::borrow::Cow;

use mce_catalog::function::{Function, Location, Parameter, Target};
use mce_catalog::schema;
use mce_catalog::view::{ArgumentPlace, FilledArgument};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::call::{Caller, Naming};
use crate::call_error::CallError;
use crate::function_source::FoundFunction;
use crate::json_text::{Members, find_big_integer, parse_strict};
use crate::nearest::nearest;

/// More arguments than this are refused.
const MAX_ARGUMENTS: usize = 2_000;
/// Names listed in a hint.
const MAX_LISTED: usize = 20;

/// The arguments of one call, in the order of the function's parameters.
#[derive(Debug)]
pub(crate) struct Arguments<'a> {
    pub(crate) parameters: Vec<Argument<'a>>,
    pub(crate) body: Option<BodyArgument<'a>>,
    /// What a tool takes beyond its parameters, by name.
    pub(crate) more: Vec<(String, Value)>,
}

/// A parameter and its value, which is not null.
#[derive(Debug)]
pub(crate) struct Argument<'a> {
    pub(crate) parameter: &'a Parameter,
    /// The place of the parameter in the function.
    pub(crate) index: usize,
    /// As the caller calls it.
    pub(crate) name: String,
    pub(crate) value: Value,
    /// The configuration gave it, not the call.
    pub(crate) is_filled: bool,
}

/// What null is as the value of a parameter that does not take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Null {
    /// A value that does not fit.
    Misfit,
    /// No value.
    Missing,
}

/// The request body's value, and its text, in which numbers are exact.
#[derive(Debug)]
pub(crate) struct BodyArgument<'a> {
    pub(crate) value: Value,
    pub(crate) text: &'a RawValue,
    /// The configuration gave it, not the call.
    pub(crate) is_filled: bool,
}

/// Reads the arguments of a call.
///
/// What the call does not give is filled in as configured. Null counts as not given: nothing can be sent for it but in a JSON body. (OpenAPI 3.2, Appendix C, Undefined Values.)
/// A tool gets it where its schema has null; of a recipe it is a [`Null::Misfit`] elsewhere, since a default in its place would be another value.
pub(crate) fn read_arguments<'a>(
    found: &'a FoundFunction,
    caller: Caller,
    naming: Naming,
    arguments: &'a RawValue,
    null: Null,
) -> Result<Arguments<'a>, CallError> {
    let (function, filled) = (&found.function, found.filled.as_slice());
    let names = Names {
        function,
        filled,
        caller,
        naming,
    };
    let members = serde_json::from_str::<Members<'_>>(arguments.get())
        .map_err(|e| CallError::argument(format!("the arguments are no object: {e}")))?
        .0;
    if members.len() > MAX_ARGUMENTS {
        return Err(CallError::argument(format!("more than {MAX_ARGUMENTS} arguments were given")));
    }
    let mut slots: Vec<Option<Argument<'_>>> = function.parameters.iter().map(|_| None).collect();
    let mut body = None;
    let mut more = Vec::new();
    for (name, text) in members {
        let value = parse_strict(text.get()).map_err(|e| CallError::argument(format!("argument `{name}` cannot be read: {e}")))?;
        let is_second = match names.find(&name) {
            None if accepts_more(function, &name) => {
                refuse_big_integer(&name, text)?;
                let is_known = more.iter().any(|(known, _)| *known == name);
                more.push((name.clone().into_owned(), value));
                is_known
            }
            None => return Err(names.unknown(&name)),
            Some(ArgumentPlace::Body) => body
                .replace(BodyArgument {
                    value,
                    text,
                    is_filled: false,
                })
                .is_some(),
            Some(ArgumentPlace::Parameter(index)) => {
                refuse_big_integer(&name, text)?;
                let argument = names.argument(index, name.clone(), value)?;
                slots.get_mut(index).is_some_and(|slot| slot.replace(argument).is_some())
            }
        };
        if is_second {
            return Err(CallError::argument(format!("argument `{name}` was given twice")));
        }
    }
    for slot in &mut slots {
        slot.take_if(|argument| null == Null::Missing && argument.value.is_null() && !takes_null(argument.parameter, found));
    }
    fill(function, filled, &mut slots, &mut body)?;
    let parameters: Vec<_> = slots.into_iter().flatten().collect();
    let body = body.filter(|given| !given.value.is_null() || function.body.as_ref().is_some_and(|body| body.is_required));
    names.refuse_missing(&parameters, body.is_some())?;
    Ok(Arguments { parameters, body, more })
}

/// Whether a tool takes an argument of this name that is none of its parameters. A hidden parameter is not given by its name.
fn accepts_more(function: &Function, name: &str) -> bool {
    let is_parameter = function.parameters.iter().any(|parameter| parameter.original == name);
    matches!(&function.target, Target::Tool(tool) if tool.accepts_more) && !is_parameter
}

/// Whether null is a value of a tool's argument, as far as its type says so plainly.
fn takes_null(parameter: &Parameter, found: &FoundFunction) -> bool {
    parameter.location == Location::Argument && schema::admits_null(&parameter.schema, &found.types)
}

/// Puts configured values where the call gave none.
fn fill<'a>(
    function: &'a Function,
    filled: &'a [FilledArgument],
    slots: &mut [Option<Argument<'a>>],
    body: &mut Option<BodyArgument<'a>>,
) -> Result<(), CallError> {
    for default in filled {
        let text: &RawValue = serde_json::from_str(&default.json).map_err(|e| misfit(function, &e.to_string()))?;
        let value = parse_strict(text.get()).map_err(|e| misfit(function, &e.to_string()))?;
        match default.place {
            ArgumentPlace::Body => {
                body.get_or_insert(BodyArgument {
                    value,
                    text,
                    is_filled: true,
                });
            }
            ArgumentPlace::Parameter(index) => {
                let empty = slots.get_mut(index).filter(|slot| slot.is_none() && !value.is_null());
                if let (Some(slot), Some(parameter)) = (empty, function.parameters.get(index)) {
                    *slot = Some(Argument {
                        parameter,
                        index,
                        name: parameter.key.clone(),
                        value,
                        is_filled: true,
                    });
                }
            }
        }
    }
    Ok(())
}

/// A configured value is wrong. It may be one that the caller is not to see, so only the audit log says more.
pub(crate) fn misfit(function: &Function, reason: &str) -> CallError {
    let Function { server, python, .. } = function;
    CallError::policy(format!(
        "`{server}.{python}` cannot be called: a default argument in the settings of `{server}` does not fit"
    ))
    .with_hint("the person who runs mce has to change it; the audit log says what is wrong")
    .with_internal(format!("a default argument of `{server}.{python}` does not fit: {reason}"))
}

fn refuse_big_integer(name: &str, text: &RawValue) -> Result<(), CallError> {
    find_big_integer(text.get()).map_or(Ok(()), |number| {
        let number: String = number.chars().take(40).collect();
        Err(CallError::argument(format!(
            "argument `{name}`: the integer `{number}` has more than 64 bits"
        )))
    })
}

/// The names that a caller may use.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    pub(crate) function: &'a Function,
    pub(crate) filled: &'a [FilledArgument],
    pub(crate) caller: Caller,
    pub(crate) naming: Naming,
}

impl<'a> Names<'a> {
    /// The caller's preferred names are tried first, then all others, so that a name has one meaning.
    pub(crate) fn find(&self, name: &str) -> Option<ArgumentPlace> {
        let language: fn(&Parameter) -> &str = match self.caller {
            Caller::Python => |parameter| &parameter.python,
            Caller::TypeScript => |parameter| &parameter.typescript,
        };
        let other: fn(&Parameter) -> &str = match self.caller {
            Caller::Python => |parameter| &parameter.typescript,
            Caller::TypeScript => |parameter| &parameter.python,
        };
        let original: fn(&Parameter) -> &str = |parameter| &parameter.key;
        let (first, second) = match self.naming {
            Naming::Language => (language, original),
            Naming::Original => (original, language),
        };
        let position = |of: fn(&Parameter) -> &str| {
            let all = self.function.parameters.iter().enumerate();
            let places = all
                .filter(|(_, parameter)| of(parameter) == name)
                .map(|(index, _)| ArgumentPlace::Parameter(index));
            places.into_iter().find(|place| !self.is_hidden(*place))
        };
        let body = || (name == "body" && self.has_body()).then_some(ArgumentPlace::Body);
        position(first)
            .or_else(body)
            .or_else(|| position(second))
            .or_else(|| position(other))
    }

    fn has_body(&self) -> bool {
        self.function.body.is_some() && !self.is_hidden(ArgumentPlace::Body)
    }

    fn is_hidden(&self, place: ArgumentPlace) -> bool {
        self.filled.iter().any(|filled| filled.is_hidden && filled.place == place)
    }

    fn argument(&self, index: usize, name: Cow<'_, str>, value: Value) -> Result<Argument<'a>, CallError> {
        let parameter = self.function.parameters.get(index).ok_or_else(|| self.unknown(&name))?;
        Ok(Argument {
            parameter,
            index,
            name: name.into_owned(),
            value,
            is_filled: false,
        })
    }

    fn refuse_missing(&self, given: &[Argument<'_>], has_body: bool) -> Result<(), CallError> {
        let is_given = |index| given.iter().any(|argument| argument.index == index);
        let mut missing: Vec<_> = self
            .function
            .parameters
            .iter()
            .enumerate()
            .filter(|(index, parameter)| parameter.is_required && !is_given(*index))
            .map(|(_, parameter)| format!("`{}`", self.preferred(parameter)))
            .collect();
        if self.function.body.as_ref().is_some_and(|body| body.is_required) && !has_body {
            missing.push("`body`".to_owned());
        }
        match missing.as_slice() {
            [] => Ok(()),
            [one] => Err(CallError::argument(format!("argument {one} is missing"))),
            several => Err(CallError::argument(format!("arguments {} are missing", several.join(", ")))),
        }
    }

    fn unknown(&self, name: &str) -> CallError {
        let shown: String = name.chars().take(100).collect();
        let known = self.known();
        let message = format!("`{}` has no argument `{shown}`", self.function.python);
        let error = match nearest(name, known.iter().copied()) {
            Some(near) => {
                return CallError::argument(format!("{message}; did you mean `{near}`?")).with_hint(format!("did you mean `{near}`?"));
            }
            None => CallError::argument(message),
        };
        match known.as_slice() {
            [] => error.with_hint("it takes no arguments"),
            known => {
                let listed: Vec<_> = known.iter().take(MAX_LISTED).map(|name| format!("`{name}`")).collect();
                let more = if known.len() > MAX_LISTED {
                    format!(" and {} more", known.len() - MAX_LISTED)
                } else {
                    String::new()
                };
                error.with_hint(format!("its arguments are {}{more}", listed.join(", ")))
            }
        }
    }

    fn known(&self) -> Vec<&str> {
        let visible = self.function.parameters.iter().enumerate();
        visible
            .filter(|(index, _)| !self.is_hidden(ArgumentPlace::Parameter(*index)))
            .map(|(_, parameter)| self.preferred(parameter))
            .chain(self.has_body().then_some("body"))
            .collect()
    }

    fn preferred<'p>(&self, parameter: &'p Parameter) -> &'p str {
        preferred(parameter, self.naming, self.caller)
    }
}

/// The name by which a caller should call a parameter.
pub(crate) fn preferred(parameter: &Parameter, naming: Naming, caller: Caller) -> &str {
    match (naming, caller) {
        (Naming::Original, _) => &parameter.key,
        (Naming::Language, Caller::Python) => &parameter.python,
        (Naming::Language, Caller::TypeScript) => &parameter.typescript,
    }
}
