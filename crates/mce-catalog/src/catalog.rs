//! The catalog as one configuration sees it: the documents of the store under the names of servers, filtered.
//!
//! Every question about functions goes through here. What a server's settings hide is invisible in lists and searches,
//! and refused by name.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

pub use crate::view::ServerView;
use crate::{
    function::{Function, SecurityScheme, Target, Types},
    lookup::{LookupError, Reference, closest},
    observed, schema,
    search::{Found, Hit, Place, Ranking, rank, variants::spread, words::name_words},
    store::{FunctionRow, Store, StoreError},
    view::FilledArgument,
    visibility::{Misfit, Ruled, Visibilities, Visibility, add_assumed, hiding, show_assumed},
};

/// What a list shows of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSummary {
    /// Its name.
    pub name: String,
    /// The document's title; empty if it has none, or is not compiled.
    pub title: String,
    /// One line, at most [`MAX_DESCRIPTION_CHARS`]; may be empty.
    pub description: String,
    /// Functions that can be called.
    pub functions: u32,
    /// Hides all functions that do not only read.
    pub is_read_only: bool,
    /// Whether its document is in the store.
    pub is_compiled: bool,
    /// It is there only as long as it has functions.
    pub is_optional: bool,
}

/// What a list shows of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionSummary {
    /// The server's name.
    pub server: String,
    /// The rest.
    pub function: FunctionRow,
}

/// A function, and its `operationId`, if it has one.
pub type NamedFunction = (FunctionRow, Option<String>);

/// A function as a call of it needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct Callable {
    /// The function with all its arguments, hidden ones too.
    pub function: Function,
    /// What is filled in where a call does not give it.
    pub filled: Vec<FilledArgument>,
}

/// A query in words.
#[derive(Debug, Clone, Copy)]
pub struct SearchQuery<'a> {
    /// What is wanted; only the first 400 characters and 24 words count.
    pub text: &'a str,
    /// Only functions of this server.
    pub server: Option<&'a str>,
    /// How many hits to give at most.
    pub limit: usize,
}

/// Longest description in a [`ServerSummary`], in characters.
pub const MAX_DESCRIPTION_CHARS: usize = 160;

/// Functions with less than this part of the best score do not count as found.
const LEAST_SCORE: f32 = 0.4;

/// Functions among which variants of one thing stand back, for each that is shown, and at most.
const POOL: usize = 3;
const MAX_POOL: usize = 100;

/// About how many types are read for a text.
pub const MAX_SHOWN_TYPES: usize = 300;

/// The functions of all configured servers.
#[derive(Debug)]
pub struct Catalog {
    store: Arc<Store>,
    servers: Vec<ServerView>,
    /// A cache behind a lock: built by the first search after a compile, then only read.
    ranking: Mutex<Option<Ranking>>,
    visibilities: Visibilities,
}

impl Catalog {
    /// A view of `store` by these servers. Of two with the same name the first counts.
    pub fn new(store: Arc<Store>, mut servers: Vec<ServerView>) -> Self {
        let mut seen = BTreeSet::new();
        servers.retain(|server| seen.insert(server.name.clone()));
        Self {
            store,
            servers,
            ranking: Mutex::new(None),
            visibilities: Visibilities::default(),
        }
    }

    /// The store behind it.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The servers that there are, in order of configuration.
    pub fn views(&self) -> impl Iterator<Item = &ServerView> {
        self.servers.iter().filter(|view| self.is_there(view))
    }

    fn is_there(&self, view: &ServerView) -> bool {
        !view.is_optional || self.visible_rows(view).is_ok_and(|rows| !rows.is_empty())
    }

    /// Who is called by name is there with hidden functions only, too: these are told as hidden.
    fn is_known(&self, view: &ServerView) -> bool {
        !view.is_optional || self.store.functions(&view.location).is_ok_and(|rows| !rows.is_empty())
    }

    /// A server by name.
    ///
    /// # Errors
    ///
    /// [`LookupError::UnknownServer`].
    pub fn view(&self, name: &str) -> Result<&ServerView, LookupError> {
        let by_name = self.servers.iter().find(|server| server.name == name);
        by_name
            .or_else(|| self.servers.iter().find(|server| server.title == name))
            .filter(|view| self.is_known(view))
            .ok_or_else(|| self.unknown_server(name))
    }

    /// All servers, in order of configuration.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the file cannot be read.
    pub fn servers(&self) -> Result<Vec<ServerSummary>, StoreError> {
        self.views().map(|view| self.server_summary(view)).collect()
    }

    /// The functions of a server, in the document's order.
    ///
    /// # Errors
    ///
    /// [`LookupError::UnknownServer`], [`LookupError::Store`].
    pub fn functions(&self, server: &str) -> Result<Vec<FunctionSummary>, LookupError> {
        let view = self.view(server)?;
        let visible = self.visible_rows(view)?.into_iter();
        Ok(visible
            .map(|function| FunctionSummary {
                server: view.name.clone(),
                function,
            })
            .collect())
    }

    /// The functions of a server, hidden ones too, with their `operationId`s; none if it is not compiled.
    ///
    /// # Errors
    ///
    /// [`LookupError::UnknownServer`], [`LookupError::Store`].
    pub fn named_functions(&self, server: &str) -> Result<Option<Vec<NamedFunction>>, LookupError> {
        let view = self.view(server)?;
        if self.store.document_key(&view.location)?.is_none() {
            return Ok(None);
        }
        if let Some(visibility) = self.visibility(view)? {
            let all = visibility.all().map(|(row, id)| (row.clone(), id.cloned()));
            return Ok(Some(all.collect()));
        }
        let rows = self.store.ruled_rows(&view.location)?;
        Ok(Some(rows.into_iter().map(|ruled| (ruled.row, ruled.operation_id)).collect()))
    }

    /// A function by its name in Python or TypeScript, its `METHOD /path` or its `operationId`, as the server shows it.
    ///
    /// # Errors
    ///
    /// [`LookupError`]; one that exists but is hidden is [`LookupError::Hidden`].
    pub fn function(&self, server: &str, name: &str) -> Result<Function, LookupError> {
        let view = self.view(server)?;
        let mut function = match self.visibility(view)? {
            None => self.plain_function(view, name)?,
            Some(visibility) => {
                let (ruled, function) = self.ruled_function(view, &visibility, name)?;
                ruled.shown(function, view.rules.pagination.as_ref())
            }
        };
        if is_untyped(&function) {
            let seen = self.store.observed(&view.location, &function.operation)?;
            function.result = seen.map(observed::as_result);
        }
        Ok(show_assumed(function))
    }

    /// Keeps the shape of an answer, where the function's author does not say what it answers with. Gives what is known with
    /// it.
    ///
    /// # Errors
    ///
    /// [`LookupError`]
    pub fn observe(&self, server: &str, function: &str, shape: &Value) -> Result<Value, LookupError> {
        let view = self.view(server)?;
        let operation = self.function(server, function)?.operation;
        let known = self.store.observed(&view.location, &operation)?;
        let all = known.as_ref().map_or_else(|| shape.clone(), |known| observed::merged(known, shape));
        if known.as_ref() != Some(&all) {
            self.store.observe(&view.location, &operation, &all)?;
        }
        Ok(all)
    }

    /// A function by `server.function`, `server:METHOD /path` or `mcp__server__function`, as the server shows it.
    ///
    /// # Errors
    ///
    /// [`LookupError`]
    pub fn resolve(&self, reference: &str) -> Result<Function, LookupError> {
        let names = self.server_names();
        let reference = Reference::parse(reference, &names)?;
        self.function(reference.server, reference.function)
    }

    /// As [`Self::resolve`], with all that a call needs: hidden arguments, and values for those that are not given.
    ///
    /// # Errors
    ///
    /// [`LookupError`]
    pub fn callable(&self, reference: &str) -> Result<Callable, LookupError> {
        let names = self.server_names();
        let reference = Reference::parse(reference, &names)?;
        let view = self.view(reference.server)?;
        let Some(visibility) = self.visibility(view)? else {
            let function = self.plain_function(view, reference.function)?;
            let mut filled = Vec::new();
            add_assumed(&function, &mut filled);
            return Ok(Callable { function, filled });
        };
        let (ruled, function) = self.ruled_function(view, &visibility, reference.function)?;
        let mut filled = ruled.filled(&function);
        add_assumed(&function, &mut filled);
        Ok(Callable {
            filled,
            function: ruled.named(function),
        })
    }

    /// Settings of a server that do not fit its document; empty if that is not compiled.
    ///
    /// # Errors
    ///
    /// [`LookupError::UnknownServer`], [`LookupError::Store`].
    pub fn misfits(&self, server: &str) -> Result<Vec<Misfit>, LookupError> {
        let view = self.view(server)?;
        if self.store.document_key(&view.location)?.is_none() {
            return Ok(Vec::new());
        }
        Ok(self
            .visibility(view)?
            .map_or_else(Vec::new, |visibility| visibility.misfits().to_vec()))
    }

    /// All named types that a function's parameters, body and result need.
    ///
    /// # Errors
    ///
    /// [`LookupError::UnknownServer`], [`LookupError::Store`].
    pub fn types_for(&self, function: &Function) -> Result<Types, LookupError> {
        self.types_near(function, usize::MAX)
    }

    /// The named types that a text about a function can show: those that it needs, nearest first, about
    /// [`MAX_SHOWN_TYPES`]. A text names the others without saying what they are.
    ///
    /// # Errors
    ///
    /// [`LookupError::UnknownServer`], [`LookupError::Store`].
    pub fn types_to_show(&self, function: &Function) -> Result<Types, LookupError> {
        self.types_near(function, MAX_SHOWN_TYPES)
    }

    fn types_near(&self, function: &Function, limit: usize) -> Result<Types, LookupError> {
        let named = function.schemas().flat_map(schema::references).collect();
        self.types_from(&function.server, named, limit)
    }

    /// The types of these names and those that they need, nearest first, about [`MAX_SHOWN_TYPES`]. Names that no type of
    /// the server's document has are left out.
    ///
    /// # Errors
    ///
    /// [`LookupError::UnknownServer`], [`LookupError::Store`].
    pub fn types_named(&self, server: &str, names: &[String]) -> Result<Types, LookupError> {
        self.types_from(server, names.iter().cloned().collect(), MAX_SHOWN_TYPES)
    }

    fn types_from(&self, server: &str, mut missing: BTreeSet<String>, limit: usize) -> Result<Types, LookupError> {
        let view = self.view(server)?;
        let mut asked = BTreeSet::new();
        let mut found = Types::new();
        while !missing.is_empty() && found.len() < limit {
            let new = self.store.types(&view.location, &missing)?;
            asked.append(&mut missing);
            missing = new
                .values()
                .flat_map(schema::references)
                .filter(|name| !asked.contains(name))
                .collect();
            found.extend(new);
        }
        Ok(found)
    }

    /// A security scheme of a server's document.
    ///
    /// # Errors
    ///
    /// [`LookupError::UnknownServer`], [`LookupError::Store`].
    pub fn security_scheme(&self, server: &str, name: &str) -> Result<Option<SecurityScheme>, LookupError> {
        let view = self.view(server)?;
        Ok(self.store.security_schemes(&view.location)?.remove(name))
    }

    /// The scopes of a security scheme that the functions of a server need, as far as they can be called; sorted.
    ///
    /// # Errors
    ///
    /// [`LookupError::UnknownServer`], [`LookupError::Store`].
    pub fn needed_scopes(&self, server: &str, scheme: &str) -> Result<Vec<String>, LookupError> {
        let mut needed = BTreeSet::new();
        for summary in self.functions(server)? {
            if let Target::Http(target) = self.function(server, &summary.function.python)?.target {
                needed.extend(target.scopes.get(scheme).into_iter().flatten().cloned());
            }
        }
        Ok(needed.into_iter().collect())
    }

    /// The functions that fit a query best.
    ///
    /// # Errors
    ///
    /// [`LookupError::UnknownServer`], [`LookupError::Store`].
    pub fn search(&self, query: SearchQuery<'_>) -> Result<Found, LookupError> {
        let views: Vec<&ServerView> = match query.server {
            Some(name) => vec![self.view(name)?],
            None => self.views().collect(),
        };
        let mut documents = Vec::new();
        for view in views {
            if let Some(key) = self.store.document_key(&view.location)? {
                documents.push((key, view, self.visibility(view)?));
            }
        }
        let places: Vec<Place> = documents
            .iter()
            .map(|(key, view, visibility)| Place {
                document: *key,
                name: name_words(&view.name),
                visibility: visibility.clone(),
            })
            .collect();
        let ranked = rank(&self.store, &self.ranking()?, &places, query.text)?;
        let mut least = 0.0_f32;
        let pool = query.limit.saturating_mul(POOL).min(MAX_POOL.max(query.limit));
        let (mut hits, mut total) = (Vec::new(), 0);
        for one in ranked {
            if hits.len() >= pool && one.score < least {
                break;
            }
            for (_, view, visibility) in documents.iter().filter(|(key, ..)| *key == one.function.document) {
                let ruled = visibility.as_ref().map(|visibility| visibility.visible(one.function.key));
                if matches!(ruled, Some(None)) || ruled.is_none() && hiding(view, one.function.effect).is_some() {
                    continue;
                }
                least = least.max(one.score * LEAST_SCORE);
                total += usize::from(one.score >= least || hits.len() < query.limit);
                if hits.len() < pool {
                    let row = match ruled.flatten() {
                        Some(ruled) => Some(ruled.row.clone()),
                        None => self.store.function_by_key(one.function.key)?,
                    };
                    hits.extend(row.map(|row| hit(view, row, one.score)));
                }
            }
        }
        Ok(spread(hits, query.limit, total))
    }

    fn ranking(&self) -> Result<Ranking, StoreError> {
        let generation = self.store.generation()?;
        let mut cached = self.ranking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ranking) = cached.as_ref().filter(|ranking| ranking.generation == generation) {
            return Ok(ranking.clone());
        }
        let ranking = Ranking::read(&self.store, generation)?;
        *cached = Some(ranking.clone());
        Ok(ranking)
    }

    fn visibility(&self, view: &ServerView) -> Result<Option<Arc<Visibility>>, StoreError> {
        self.visibilities.of(view, &self.store)
    }

    fn visible_rows(&self, view: &ServerView) -> Result<Vec<FunctionRow>, StoreError> {
        if let Some(visibility) = self.visibility(view)? {
            return Ok(visibility.rows().cloned().collect());
        }
        let mut rows = self.store.functions(&view.location)?;
        rows.retain(|row| hiding(view, row.effect).is_none());
        Ok(rows)
    }

    /// A function of a server without rules.
    fn plain_function(&self, view: &ServerView, name: &str) -> Result<Function, LookupError> {
        let Some(mut function) = self.store.function(&view.location, name)? else {
            return Err(self.unknown_function(view, name)?);
        };
        function.server.clone_from(&view.name);
        match hiding(view, function.effect) {
            None => Ok(function),
            Some(hiding) => Err(LookupError::Hidden {
                server: view.name.clone(),
                function: function.python,
                effect: function.effect,
                hiding,
            }),
        }
    }

    /// A function of a server with rules, whole and as the document has it.
    fn ruled_function<'v>(&self, view: &ServerView, visibility: &'v Visibility, name: &str) -> Result<(&'v Ruled, Function), LookupError> {
        let Some(ruled) = visibility.find(name) else {
            return Err(self.unknown_function(view, name)?);
        };
        let (server, function) = (view.name.clone(), ruled.row.python.clone());
        if let Some(hiding) = ruled.hiding {
            let effect = ruled.row.effect;
            return Err(LookupError::Hidden {
                server,
                function,
                effect,
                hiding,
            });
        }
        if let Some(message) = ruled.fault.clone() {
            return Err(LookupError::Misfit { server, function, message });
        }
        match self.store.whole_function(ruled.key)? {
            Some(mut function) => {
                function.server = server;
                Ok((ruled, function))
            }
            // It was compiled anew since then.
            None => Err(self.unknown_function(view, name)?),
        }
    }

    fn server_names(&self) -> Vec<&str> {
        let titles = self.servers.iter().map(|server| server.title.as_str());
        let names = self.servers.iter().map(|server| server.name.as_str());
        names.chain(titles.filter(|title| !title.is_empty())).collect()
    }

    fn server_summary(&self, view: &ServerView) -> Result<ServerSummary, StoreError> {
        let record = self.store.document(&view.location)?;
        let functions = if let Some(visibility) = self.visibility(view)? {
            u32::try_from(visibility.rows().count()).unwrap_or(u32::MAX)
        } else {
            let (all, reads) = self.store.count_functions(&view.location)?;
            if view.is_read_only { reads } else { all }
        };
        let (title, described) = record
            .as_ref()
            .map_or(("", ""), |record| (record.title.as_str(), record.description.as_str()));
        let description = view
            .description
            .as_deref()
            .filter(|text| !text.trim().is_empty())
            .unwrap_or(described);
        Ok(ServerSummary {
            name: view.name.clone(),
            title: title.to_owned(),
            description: crate::text::one_line(description, MAX_DESCRIPTION_CHARS),
            functions,
            is_read_only: view.is_read_only,
            is_compiled: record.is_some(),
            is_optional: view.is_optional,
        })
    }

    fn unknown_server(&self, name: &str) -> LookupError {
        let names = self.views().map(|server| server.name.as_str());
        LookupError::UnknownServer {
            server: name.to_owned(),
            closest: closest(name, names),
        }
    }

    fn unknown_function(&self, view: &ServerView, name: &str) -> Result<LookupError, StoreError> {
        let visible = self.visible_rows(view)?;
        let names = visible
            .iter()
            .flat_map(|row| [row.python.as_str(), row.typescript.as_str(), row.operation.as_str()]);
        let closest = closest(name, names);
        if self.store.document_key(&view.location)?.is_none() {
            return Ok(LookupError::NotCompiled { server: view.name.clone() });
        }
        Ok(LookupError::UnknownFunction {
            server: view.name.clone(),
            function: name.to_owned(),
            closest,
        })
    }
}

/// Whether it is a tool that does not say what it answers with.
pub fn is_untyped(function: &Function) -> bool {
    function.result.is_none() && matches!(function.target, Target::Tool(_))
}

fn hit(view: &ServerView, row: FunctionRow, score: f32) -> Hit {
    Hit {
        server: view.name.clone(),
        python: row.python,
        typescript: row.typescript,
        operation: row.operation,
        effect: row.effect,
        summary: row.summary,
        score,
    }
}
