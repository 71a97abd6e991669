//! What there is for rules to be about: functions of compiled servers by all their names, and what programs fetch.

use mce_catalog::catalog::Catalog;
use mce_catalog::function::Effect;
use mce_catalog::lookup::LookupError;
use mce_config::{EffectSetting, Origin, PolicyRule, ServerSettings};

use super::facts::{FETCH_SERVER, names_of};
use super::glob::is_glob_match;
use super::rules::is_effect;

/// All that can be called.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) functions: Vec<KnownFunction>,
    /// Servers by name and as they are written, `mce` among them, and whether their functions are known.
    pub(super) servers: Vec<([String; 2], bool)>,
}

/// A function, or requests of programs' own of one effect.
#[derive(Debug)]
pub(super) struct KnownFunction {
    /// The server's place in the list of servers.
    server: usize,
    /// `server.function` last.
    pub(super) names: Vec<String>,
    pub(super) effect: Effect,
    /// It is not one that writes at a server of which only reading is allowed.
    pub(super) is_offered: bool,
    pub(super) is_fetch: bool,
}

impl Known {
    pub(super) fn of(servers: &[ServerSettings], catalog: &Catalog) -> Result<Self, LookupError> {
        let mut known = Self {
            functions: Vec::new(),
            servers: vec![([FETCH_SERVER.to_owned(), FETCH_SERVER.to_owned()], true)],
        };
        for effect in [Effect::Read, Effect::Write, Effect::Destructive] {
            known.functions.push(KnownFunction {
                server: 0,
                names: vec!["fetch".to_owned(), format!("{FETCH_SERVER}.fetch")],
                effect,
                is_offered: true,
                is_fetch: true,
            });
        }
        for server in servers {
            let place = known.servers.len();
            let listed = catalog.named_functions(&server.name)?;
            known.servers.push(([server.name.clone(), server.title.clone()], listed.is_some()));
            let is_tool = !matches!(server.origin, Origin::OpenApi(_));
            let functions = listed.into_iter().flatten().map(|(row, operation_id)| {
                let tool = if is_tool { &row.operation } else { &row.typescript };
                let own = operation_id.iter().chain([&row.operation]);
                KnownFunction {
                    server: place,
                    names: names_of([&row.python, &row.typescript], own, tool, [&server.title, &server.name]),
                    effect: row.effect,
                    is_offered: !server.is_read_only || row.effect == Effect::Read,
                    is_fetch: false,
                }
            });
            known.functions.extend(functions);
        }
        Ok(known)
    }

    pub(super) fn is_server(&self, pattern: &str) -> bool {
        self.servers
            .iter()
            .any(|(names, _)| names.iter().any(|name| is_glob_match(pattern, name)))
    }

    /// Whether a rule's servers have all been compiled.
    pub(super) fn knows_all(&self, servers: &[String]) -> bool {
        let is_meant = |names: &[String; 2]| servers.is_empty() || servers.iter().any(|pattern| is_one(pattern, names));
        self.servers.iter().all(|(names, is_known)| *is_known || !is_meant(names))
    }

    /// Whether a pattern means a function of one server whose functions are known.
    pub(super) fn names_known_server(&self, pattern: &str) -> bool {
        let begins = |name: &String| pattern.starts_with(&format!("{name}.")) || pattern.starts_with(&format!("mcp__{name}__"));
        self.servers.iter().any(|(names, is_known)| *is_known && names.iter().any(begins))
    }

    /// Which functions a rule may fit, by their names and effects; each in its place.
    pub(super) fn fitting(&self, rule: &PolicyRule, with_effects: bool) -> Vec<bool> {
        let is_one_of = |effects: &[EffectSetting], own| effects.iter().any(|effect| is_effect(*effect, own));
        let fits = |function: &KnownFunction| {
            (rule.functions.is_empty() || rule.functions.iter().any(|pattern| function.is_called(pattern)))
                && (!with_effects || rule.effects.is_empty() || function.is_offered && is_one_of(&rule.effects, function.effect))
        };
        let is_at = |function: &KnownFunction| {
            let names = self.servers.get(function.server).map(|(names, _)| names);
            rule.servers.is_empty() || names.is_some_and(|names| rule.servers.iter().any(|pattern| is_one(pattern, names)))
        };
        self.functions.iter().map(|function| is_at(function) && fits(function)).collect()
    }
}

impl KnownFunction {
    /// Whether a pattern is a name of it. What is fetched is named by its address, which anybody may choose.
    pub(super) fn is_called(&self, pattern: &str) -> bool {
        let may_be_address = || {
            let (method, address) = pattern.split_once(' ').unwrap_or(("", pattern));
            address.starts_with("http") && !method.is_empty() || address.starts_with('*')
        };
        self.names.iter().any(|name| is_glob_match(pattern, name)) || self.is_fetch && may_be_address()
    }

    /// `server.function`.
    pub(super) fn reference(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }
}

fn is_one(pattern: &str, names: &[String; 2]) -> bool {
    names.iter().any(|name| is_glob_match(pattern, name))
}
