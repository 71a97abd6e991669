//! Rules that can never fit a call, as far as one can know: what names nothing that there is, and what stands behind a rule that
//! fits all the same. Also parts of rules that fit otherwise. What depends on servers that are not compiled is not judged.

use std::collections::BTreeSet;
use std::fmt;

use mce_catalog::catalog::{Callable, Catalog};
use mce_catalog::function::{Function, Location, Target, Types};
use mce_catalog::lookup::{LookupError, closest};
use mce_catalog::pointer::unescape;
use mce_catalog::schema;
use mce_config::{Comparison, Condition, PolicyRule, Settings};
use serde::Serialize;
use serde_json::Value;

use super::decide::ALLOWED_TOOLS;
use super::known::Known;

/// Functions whose arguments are looked at for one condition.
const MAX_READ: usize = 2_000;

/// A part of a rule that fits nothing, or hardly what was meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleFault {
    /// The rule's name; `allowed_tools` for an entry of that.
    pub rule: String,
    /// The key in the configuration, such as `policies.0.function`.
    pub place: String,
    /// Whether the whole rule, or entry, fits nothing because of it.
    pub never_fits: bool,
    /// What is wrong.
    pub message: String,
    /// What was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rule != self.place {
            let never = if self.never_fits { " never fits as it is written" } else { "" };
            write!(f, "the rule `{}`{never}: ", self.rule)?;
        }
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// All parts of rules, and of the list of allowed tools, that fit nothing or hardly what was meant.
///
/// # Errors
///
/// The catalog's.
pub fn rule_faults(settings: &Settings, catalog: &Catalog) -> Result<Vec<RuleFault>, LookupError> {
    let policy = &settings.policy;
    if policy.rules.is_empty() && policy.allowed_tools.is_empty() {
        return Ok(Vec::new());
    }
    let recipes = settings.recipe_server.iter().filter(|server| catalog.view(&server.name).is_ok());
    let servers: Vec<_> = settings.servers.iter().chain(recipes).cloned().collect();
    let mut judge = Judge {
        known: Known::of(&servers, catalog)?,
        catalog,
        faults: Vec::new(),
    };
    let everywhere = PolicyRule::default();
    for pattern in &policy.allowed_tools {
        if let Some((message, hint)) = judge.function_fault(&everywhere, pattern) {
            judge.add((ALLOWED_TOOLS, ALLOWED_TOOLS.to_owned()), true, message, hint);
        }
    }
    let mut before: Vec<(&PolicyRule, Vec<bool>)> = Vec::new();
    for rule in &policy.rules {
        let told = judge.faults.len();
        judge.check_rule(rule)?;
        if judge.faults.iter().skip(told).any(|fault| fault.never_fits) {
            continue;
        }
        let fitting = judge.known.fitting(rule, true);
        judge.check_order(rule, &fitting, &before);
        if rule.conditions.is_empty() {
            before.push((rule, fitting));
        }
    }
    Ok(judge.faults)
}

struct Judge<'a> {
    known: Known,
    catalog: &'a Catalog,
    faults: Vec<RuleFault>,
}

impl Judge<'_> {
    fn add(&mut self, (rule, place): (&str, String), never_fits: bool, message: String, hint: Option<String>) {
        self.faults.push(RuleFault {
            rule: rule.to_owned(),
            place,
            never_fits,
            message,
            hint,
        });
    }

    fn check_rule(&mut self, rule: &PolicyRule) -> Result<(), LookupError> {
        let wrong: Vec<_> = rule.servers.iter().filter(|pattern| !self.known.is_server(pattern)).collect();
        let mut never_fits = !wrong.is_empty() && wrong.len() == rule.servers.len();
        for pattern in wrong {
            let names = self.known.servers.iter().flat_map(|(names, _)| names).map(String::as_str);
            let (message, hint) = (format!("no server is called `{pattern}`"), did_you_mean(pattern, names));
            self.add((&rule.name, format!("{}.server", rule.key)), never_fits, message, hint);
        }
        let wrong: Vec<_> = rule
            .functions
            .iter()
            .filter_map(|pattern| self.function_fault(rule, pattern))
            .collect();
        let fits_none = !wrong.is_empty() && wrong.len() == rule.functions.len();
        for (message, hint) in wrong {
            self.add((&rule.name, format!("{}.function", rule.key)), fits_none, message, hint);
        }
        never_fits |= fits_none;
        if never_fits || !self.known.knows_all(&rule.servers) {
            return Ok(());
        }
        let fitting = self.known.fitting(rule, true);
        if !fitting.contains(&true) {
            let all = self.known.fitting(rule, false);
            let effects: BTreeSet<&str> = self
                .those(&all)
                .filter(|function| function.is_offered)
                .map(|function| function.effect.as_str())
                .collect();
            let effects: Vec<_> = effects.into_iter().map(|effect| format!("`{effect}`")).collect();
            let message = "no function that the rule is for has this effect".to_owned();
            let hint = (!effects.is_empty()).then(|| format!("they have {}", effects.join(" and ")));
            self.add((&rule.name, format!("{}.effect", rule.key)), true, message, hint);
            return Ok(());
        }
        for condition in &rule.conditions {
            self.check_pointer(rule, condition, &fitting)?;
        }
        Ok(())
    }

    fn those<'k>(&'k self, fitting: &'k [bool]) -> impl Iterator<Item = &'k super::known::KnownFunction> {
        self.known
            .functions
            .iter()
            .zip(fitting)
            .filter(|(_, fits)| **fits)
            .map(|(function, _)| function)
    }

    /// Why a name of a function fits nothing, if so, and what was probably meant.
    fn function_fault(&self, rule: &PolicyRule, pattern: &str) -> Option<(String, Option<String>)> {
        let alone = PolicyRule {
            functions: vec![pattern.to_owned()],
            servers: rule.servers.clone(),
            ..PolicyRule::default()
        };
        let is_judged = self.known.knows_all(&rule.servers) || self.known.names_known_server(pattern);
        if !is_judged || self.known.fitting(&alone, false).contains(&true) {
            return None;
        }
        let elsewhere = self.known.functions.iter().find(|function| function.is_called(pattern));
        Some(if let Some(function) = elsewhere {
            let message = format!("`{pattern}` is no function of the servers that the rule is for");
            (message, Some(format!("it is `{}`", function.reference())))
        } else {
            let names = self.known.functions.iter().flat_map(|function| &function.names).map(String::as_str);
            (format!("no function is called `{pattern}`"), did_you_mean(pattern, names))
        })
    }

    /// A rule is never reached if one before it fits whatever it fits.
    fn check_order(&mut self, rule: &PolicyRule, fitting: &[bool], before: &[(&PolicyRule, Vec<bool>)]) {
        let is_whole = self.known.knows_all(&rule.servers);
        let covers = |(earlier, theirs): &&(&PolicyRule, Vec<bool>)| {
            let clients = &earlier.clients;
            let has_all_clients = clients.is_empty() || clients.iter().any(|client| client == "*") && !rule.clients.is_empty();
            let has_clients = has_all_clients || !rule.clients.is_empty() && rule.clients.iter().all(|client| clients.contains(client));
            let has_askers =
                earlier.askers.is_empty() || !rule.askers.is_empty() && rule.askers.iter().all(|asker| earlier.askers.contains(asker));
            // Names of what is not known, and addresses, are compared as they are written.
            let has_names = (earlier.servers.is_empty() || earlier.servers == rule.servers)
                && (earlier.functions.is_empty() || earlier.functions == rule.functions)
                && (earlier.effects.is_empty() || earlier.effects == rule.effects);
            let fetches = self.those(fitting).any(|function| function.is_fetch);
            let has_functions = || fitting.iter().zip(theirs).all(|(ours, theirs)| !ours || *theirs);
            has_clients && has_askers && (has_names || is_whole && !fetches && has_functions())
        };
        let Some((earlier, _)) = before.iter().find(covers) else { return };
        let message = format!("`{}` stands before it and fits all that it fits", earlier.name);
        let hint = Some(format!("put it before `{}`, or take one of both away", earlier.name));
        self.add((&rule.name, rule.key.clone()), true, message, hint);
    }

    fn check_pointer(&mut self, rule: &PolicyRule, condition: &Condition, fitting: &[bool]) -> Result<(), LookupError> {
        let mut steps = condition.pointer.split('/').skip(1).map(unescape);
        let name = steps.next().unwrap_or_default();
        let next = steps.next();
        let mut names = BTreeSet::new();
        let mut is_open = false;
        for function in self.those(fitting).take(MAX_READ) {
            let found = if function.is_fetch {
                names.extend(["url", "method", "body"].map(str::to_owned));
                if names.contains(&name) { Place::Declared } else { Place::None }
            } else {
                match self.catalog.callable(function.reference()) {
                    Ok(Callable { function, .. }) => {
                        let types = self.catalog.types_for(&function)?;
                        place_of((&function, &types), (&name, next.as_deref()), &mut names)
                    }
                    // Who hides it does not need to be told of it.
                    Err(LookupError::Hidden { .. } | LookupError::Misfit { .. }) => Place::Declared,
                    Err(error) => return Err(error),
                }
            };
            match found {
                Place::Declared => return Ok(()),
                Place::Open => is_open = true,
                Place::None => {}
            }
        }
        if fitting.iter().filter(|fits| **fits).count() > MAX_READ {
            return Ok(());
        }
        let wanted = match (&next, names.iter().any(|known| known.starts_with("body/"))) {
            (Some(next), true) => format!("{name}/{next}"),
            (Some(_) | None, _) => name,
        };
        let known = names.iter().map(String::as_str);
        let hint = if is_open {
            // What may be sent besides is only doubted if it looks like something else.
            let begin = if wanted.starts_with("body/") { "body/" } else { "" };
            let members = known.filter_map(|name| name.strip_prefix(begin));
            let near = closest(wanted.strip_prefix(begin).unwrap_or(&wanted), members);
            near.first().map(|near| format!("{begin}{near}"))
        } else {
            closest(&wanted, known).into_iter().next()
        };
        if is_open && hint.is_none() {
            return Ok(());
        }
        let always_holds = condition
            .comparisons
            .iter()
            .all(|comparison| *comparison == Comparison::Exists(false));
        let message = match (is_open, always_holds) {
            (true, _) => format!("no function that the rule is for names the argument `/{wanted}`, though it may be sent"),
            (false, true) => format!("no function that the rule is for has the argument `/{wanted}`, so that this always holds"),
            (false, false) => format!("no function that the rule is for has the argument `/{wanted}`"),
        };
        let hint = hint.map(|name| format!("did you mean `/{name}`?"));
        let place = format!("{}.when.{}", rule.key, condition.pointer);
        self.add((&rule.name, place), !is_open && !always_holds, message, hint);
        Ok(())
    }
}

/// Whether a function has an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It has, or may have.
    Declared,
    /// It is not named, but may be sent.
    Open,
    /// It cannot be sent.
    None,
}

/// Whether a function has the argument, and that a member of this name; where it has not, its names are collected.
fn place_of((function, types): (&Function, &Types), (name, next): (&str, Option<&str>), names: &mut BTreeSet<String>) -> Place {
    let accepts_more = matches!(&function.target, Target::Tool(tool) if tool.accepts_more);
    let is_bare = matches!(&function.target, Target::Tool(tool) if tool.input.get("properties").is_none());
    let is_object = |schema: &Value| schema::resolve(schema, types).is_none_or(|schema| schema.get("properties").is_some());
    // The members of an object in the query are arguments of their own, when they are sent.
    let has_members = |parameter: &&mce_catalog::function::Parameter| parameter.location == Location::Query && is_object(&parameter.schema);
    if accepts_more && is_bare
        || function.parameters.iter().any(|parameter| parameter.key == name)
        || function.parameters.iter().any(|it| has_members(&it))
    {
        return Place::Declared;
    }
    names.extend(function.parameters.iter().map(|parameter| parameter.key.clone()));
    let otherwise = if accepts_more { Place::Open } else { Place::None };
    let Some(body) = &function.body else { return otherwise };
    names.insert("body".to_owned());
    if name != "body" {
        return otherwise;
    }
    let Some(next) = next else { return Place::Declared };
    let places: Vec<Place> = body
        .variants
        .iter()
        .map(|variant| member_place(&variant.schema, types, next, names))
        .collect();
    let first = [Place::Declared, Place::Open].into_iter().find(|place| places.contains(place));
    first.unwrap_or(Place::None)
}

/// Whether a body has a member of this name; where it has not, the names of its members are collected.
fn member_place(schema: &Value, types: &Types, name: &str, names: &mut BTreeSet<String>) -> Place {
    let Some(schema) = schema::resolve(schema, types) else {
        return Place::Declared;
    };
    let more = schema.get("additionalProperties");
    let is_plain = schema.get("type").is_some_and(|kind| kind == "object")
        && more.is_none_or(|more| *more == Value::Bool(false))
        && ["allOf", "anyOf", "oneOf", "patternProperties"]
            .iter()
            .all(|key| schema.get(key).is_none());
    let Some(properties) = schema.get("properties").and_then(Value::as_object).filter(|_| is_plain) else {
        return Place::Declared;
    };
    names.extend(properties.keys().map(|name| format!("body/{name}")));
    match (properties.contains_key(name), more) {
        (true, _) => Place::Declared,
        (false, Some(Value::Bool(false))) => Place::None,
        (false, _) => Place::Open,
    }
}

fn did_you_mean<'a>(pattern: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let found = closest(pattern, names);
    found.first().map(|name| format!("did you mean `{name}`?"))
}
