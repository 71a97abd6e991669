//! The one place that decides what a server's settings make of its document's functions: what is hidden, what things are
//! called, what is filled in.

mod assumed;
mod kept;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization as _;

pub(crate) use self::{
    assumed::{add_assumed, show_assumed},
    kept::Visibilities,
};
use crate::{
    function::{Effect, Function, Pagination, Parameter},
    names,
    pagination::{fits, settled},
    search::words::{indexed_words, name_words},
    store::{Column, FunctionKey, FunctionRow, Posting, RuledRow},
    text::one_line,
    view::{ArgumentPlace, FilledArgument, FunctionRule, ServerView, same_operation},
};

/// Longest summary of a function whose settings add a description, in characters.
const MAX_SUMMARY_CHARS: usize = 300;

/// Why a function may not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hiding {
    /// Its server is read-only, and it does more.
    ReadOnly,
    /// Nothing in `include` of its server's settings selects it.
    NotIncluded,
    /// The entry of this number, from 0, in `exclude` of its server's settings selects it.
    Excluded(usize),
}

/// Something in a server's settings that does not fit its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The setting, such as `rename.getItem`.
    pub setting: String,
    /// What is wrong.
    pub message: String,
    /// Functions cannot be called because of it.
    pub is_error: bool,
}

/// Whether a function may be used by its effect alone.
pub(crate) fn hiding(view: &ServerView, effect: Effect) -> Option<Hiding> {
    (view.is_read_only && effect != Effect::Read).then_some(Hiding::ReadOnly)
}

/// The functions of a document as a server with rules shows them.
#[derive(Debug, Default)]
pub(crate) struct Visibility {
    /// In the document's order, hidden ones too.
    functions: Vec<Ruled>,
    by_key: BTreeMap<FunctionKey, usize>,
    by_name: BTreeMap<String, usize>,
    /// Words that the rules add to what search finds.
    words: BTreeMap<String, Vec<Posting>>,
    misfits: Vec<Misfit>,
}

/// A function and what the rules say about it.
#[derive(Debug)]
pub(crate) struct Ruled {
    pub(crate) key: FunctionKey,
    /// Names, effect and summary as they are shown.
    pub(crate) row: FunctionRow,
    operation_id: Option<String>,
    pub(crate) hiding: Option<Hiding>,
    /// Why it cannot be called as configured.
    pub(crate) fault: Option<String>,
    rule: FunctionRule,
}

impl Ruled {
    fn is_visible(&self) -> bool {
        self.hiding.is_none() && self.fault.is_none()
    }

    fn names(&self) -> Vec<&str> {
        let names = [self.row.python.as_str(), self.row.typescript.as_str()];
        names.into_iter().chain(self.operation_id.as_deref()).collect()
    }

    fn is_meant_by(&self, name: &str) -> bool {
        same_operation(name, &self.row.operation) || self.names().contains(&name)
    }
}

impl Visibility {
    /// What the rules of `view` make of these functions. `read` gives a whole function; it is asked for the few that have
    /// default arguments.
    pub(crate) fn new<E>(
        view: &ServerView,
        rows: Vec<RuledRow>,
        read: impl Fn(FunctionKey) -> Result<Option<Function>, E>,
    ) -> Result<Self, E> {
        let mut tags = Vec::with_capacity(rows.len());
        let mut this = Self::default();
        for ruled in rows {
            tags.push(ruled.tags);
            this.functions.push(Ruled {
                key: ruled.key,
                row: ruled.row,
                operation_id: ruled.operation_id,
                hiding: None,
                fault: None,
                rule: FunctionRule::default(),
            });
        }
        this.rename(view);
        this.set_rules(view);
        this.hide(view, &tags);
        this.refuse_collisions();
        this.check_arguments(read)?;
        this.index();
        Ok(this)
    }

    /// The function of this name, operation or `operationId`; a visible one before others.
    pub(crate) fn find(&self, name: &str) -> Option<&Ruled> {
        let name: String = name.nfkc().collect();
        self.functions.get(*self.by_name.get(&name)?)
    }

    /// A function of the store, if it is visible.
    pub(crate) fn visible(&self, key: FunctionKey) -> Option<&Ruled> {
        self.functions.get(*self.by_key.get(&key)?).filter(|ruled| ruled.is_visible())
    }

    /// All that is visible, in the document's order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &FunctionRow> {
        self.functions.iter().filter(|ruled| ruled.is_visible()).map(|ruled| &ruled.row)
    }

    /// All functions, hidden ones too, and their `operationId`s.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&FunctionRow, Option<&String>)> {
        self.functions.iter().map(|ruled| (&ruled.row, ruled.operation_id.as_ref()))
    }

    /// Where words occur that the rules add.
    pub(crate) fn words(&self) -> &BTreeMap<String, Vec<Posting>> {
        &self.words
    }

    /// Settings that do not fit the document.
    pub(crate) fn misfits(&self) -> &[Misfit] {
        &self.misfits
    }

    fn note(&mut self, setting: String, message: &str) {
        self.misfits.push(Misfit {
            setting,
            message: message.to_owned(),
            is_error: false,
        });
    }

    /// The functions that a key of the settings means.
    fn meant_by(&self, name: &str) -> Vec<usize> {
        let all = self.functions.iter().enumerate();
        all.filter(|(_, ruled)| ruled.is_meant_by(name)).map(|(index, _)| index).collect()
    }

    fn rename(&mut self, view: &ServerView) {
        let mut new_names = Vec::new();
        for (operation, name) in &view.rules.rename {
            let meant = self.meant_by(operation);
            if meant.is_empty() {
                self.note(format!("rename.{operation}"), "no function has this name");
            }
            new_names.extend(meant.into_iter().map(|index| (index, names::function_named(name))));
        }
        // Only now, so that two functions can exchange their names.
        for (index, name) in new_names {
            if let Some(ruled) = self.functions.get_mut(index) {
                for word in name_words(&name.typescript) {
                    add_word(&mut self.words, word, ruled.key, Column::Name);
                }
                ruled.row.python = name.python;
                ruled.row.typescript = name.typescript;
            }
        }
    }

    fn set_rules(&mut self, view: &ServerView) {
        for (operation, rule) in &view.rules.functions {
            let meant = self.meant_by(operation);
            if meant.is_empty() {
                self.note(format!("functions.{operation}"), "no function has this name");
            }
            for index in meant {
                let Some(ruled) = self.functions.get_mut(index) else { continue };
                ruled.row.effect = rule.effect.unwrap_or(ruled.row.effect);
                if !rule.description.is_empty() {
                    ruled.row.summary = joined(&ruled.row.summary, &rule.description);
                }
                for word in indexed_words(&rule.description) {
                    add_word(&mut self.words, word, ruled.key, Column::Summary);
                }
                ruled.rule = rule.clone();
            }
        }
    }

    fn hide(&mut self, view: &ServerView, tags: &[Vec<String>]) {
        let lists = [("include", &view.rules.include), ("exclude", &view.rules.exclude)];
        // Which entry of each list selects a function first.
        let mut selected: [Vec<Option<usize>>; 2] = [vec![None; tags.len()], vec![None; tags.len()]];
        for ((list, selectors), selected) in lists.into_iter().zip(&mut selected) {
            for (index, selector) in selectors.iter().enumerate() {
                let mut has_effect = false;
                for ((ruled, tags), selected) in self.functions.iter().zip(tags).zip(selected.iter_mut()) {
                    if selector.selects(&ruled.row.operation, tags, &ruled.names()) {
                        selected.get_or_insert(index);
                        has_effect = true;
                    }
                }
                if !has_effect {
                    self.note(format!("{list}.{index}"), "it selects no function");
                }
            }
        }
        let includes_all = view.rules.include.is_empty();
        let [included, excluded] = selected;
        for ((ruled, included), excluded) in self.functions.iter_mut().zip(included).zip(excluded) {
            ruled.hiding = match (included, excluded) {
                (_, Some(entry)) => Some(Hiding::Excluded(entry)),
                (None, None) if !includes_all => Some(Hiding::NotIncluded),
                (_, None) => hiding(view, ruled.row.effect),
            };
        }
    }

    /// Two visible functions of one name cannot be told apart by a program: neither can be called.
    fn refuse_collisions(&mut self) {
        let mut by_name: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for (index, ruled) in self.functions.iter().enumerate().filter(|(_, ruled)| ruled.hiding.is_none()) {
            for name in [&ruled.row.python, &ruled.row.typescript] {
                by_name.entry(name.nfkc().collect()).or_default().insert(index);
            }
        }
        for (name, indices) in by_name.into_iter().filter(|(_, indices)| indices.len() > 1) {
            let operations: Vec<String> = indices
                .iter()
                .filter_map(|index| Some(format!("`{}`", self.functions.get(*index)?.row.operation)))
                .collect();
            let message = format!("{} would both be called `{name}`", operations.join(" and "));
            if indices
                .iter()
                .all(|index| self.functions.get(*index).is_some_and(|ruled| ruled.fault.is_none()))
            {
                self.misfits.push(Misfit {
                    setting: "rename".to_owned(),
                    message: message.clone(),
                    is_error: true,
                });
            }
            for index in indices {
                if let Some(ruled) = self.functions.get_mut(index) {
                    ruled.fault.get_or_insert_with(|| message.clone());
                }
            }
        }
    }

    /// A default for an argument that is not there may be there to keep a call from doing harm: without it, no call.
    fn check_arguments<E>(&mut self, read: impl Fn(FunctionKey) -> Result<Option<Function>, E>) -> Result<(), E> {
        let has_arguments = |ruled: &&mut Ruled| !ruled.rule.defaults.is_empty() || ruled.rule.pagination.is_some();
        for ruled in self.functions.iter_mut().filter(has_arguments) {
            let Some(function) = read(ruled.key)? else { continue };
            if ruled
                .rule
                .pagination
                .as_ref()
                .is_some_and(|pagination| !fits(pagination, &function))
            {
                self.misfits.push(Misfit {
                    setting: format!("functions.{}.pagination", ruled.row.operation),
                    message: format!("`{}` has no such argument", ruled.row.operation),
                    is_error: false,
                });
            }
            for (argument, default) in &ruled.rule.defaults {
                let place = place_of(&function, argument);
                let message = match &place {
                    None => Some(format!("`{}` has no argument `{argument}`", ruled.row.operation)),
                    Some(place) => misfit(&function, place, &default.value),
                };
                let Some(message) = message else { continue };
                self.misfits.push(Misfit {
                    setting: format!("functions.{}.defaults.{argument}", ruled.row.operation),
                    message: message.clone(),
                    is_error: place.is_none(),
                });
                if place.is_none() {
                    ruled.fault.get_or_insert(message);
                }
            }
        }
        Ok(())
    }

    fn index(&mut self) {
        let columns: [fn(&Ruled) -> Option<&str>; 4] = [
            |ruled| Some(&ruled.row.python),
            |ruled| Some(&ruled.row.typescript),
            |ruled| Some(&ruled.row.operation),
            |ruled| ruled.operation_id.as_deref(),
        ];
        for is_visible in [true, false] {
            for name_in in columns {
                let functions = self.functions.iter().enumerate();
                for (index, ruled) in functions.filter(|(_, ruled)| ruled.is_visible() == is_visible) {
                    if let Some(name) = name_in(ruled) {
                        self.by_name.entry(name.nfkc().collect()).or_insert(index);
                    }
                }
            }
        }
        self.by_key = self.functions.iter().enumerate().map(|(index, ruled)| (ruled.key, index)).collect();
    }
}

impl Ruled {
    /// A function with the names, the effect and the description that the rules give it, and with all its arguments.
    pub(crate) fn named(&self, mut function: Function) -> Function {
        function.python.clone_from(&self.row.python);
        function.typescript.clone_from(&self.row.typescript);
        function.effect = self.row.effect;
        if !self.rule.description.is_empty() {
            let said = format!("{}\n\n{}", self.rule.description.trim(), function.description);
            said.trim_end().clone_into(&mut function.description);
        }
        function
    }

    /// The function as it is shown: without hidden arguments; those that are filled in may be left out. `pagination` is what
    /// the settings say of all functions.
    pub(crate) fn shown(&self, function: Function, pagination: Option<&Pagination>) -> Function {
        let mut function = self.named(function);
        function.pagination = settled(&function, self.rule.pagination.as_ref(), pagination);
        let mut hidden = BTreeSet::new();
        for filled in self.filled(&function) {
            let is_shown = !filled.is_hidden;
            match filled.place {
                ArgumentPlace::Parameter(index) if is_shown => {
                    if let Some(parameter) = function.parameters.get_mut(index) {
                        set_default(parameter, &filled.json);
                    }
                }
                ArgumentPlace::Parameter(index) => {
                    hidden.insert(index);
                }
                ArgumentPlace::Body if is_shown => {
                    if let Some(body) = &mut function.body {
                        body.is_required = false;
                    }
                }
                ArgumentPlace::Body => function.body = None,
            }
        }
        let mut index = 0..;
        function
            .parameters
            .retain(|_| index.next().is_none_or(|index: usize| !hidden.contains(&index)));
        // Required ones stay first.
        function.parameters.sort_by_key(|parameter| !parameter.is_required);
        function
    }

    /// What is filled in where a call does not give it.
    pub(crate) fn filled(&self, function: &Function) -> Vec<FilledArgument> {
        let defaults = self.rule.defaults.iter();
        let filled = defaults.filter_map(|(argument, default)| {
            Some(FilledArgument {
                place: place_of(function, argument)?,
                json: default.value.to_string(),
                is_hidden: default.is_hidden,
            })
        });
        filled.collect()
    }
}

/// Where the argument of this original name belongs.
fn place_of(function: &Function, argument: &str) -> Option<ArgumentPlace> {
    let by_key = function.parameters.iter().position(|parameter| parameter.key == argument);
    let body = (argument == "body" && function.body.is_some()).then_some(ArgumentPlace::Body);
    by_key.map(ArgumentPlace::Parameter).or(body)
}

/// Why a parameter cannot have this value; calls will say it of each one. Schemas that refer to others are left to them.
fn misfit(function: &Function, place: &ArgumentPlace, value: &Value) -> Option<String> {
    let ArgumentPlace::Parameter(index) = place else { return None };
    let schema = &function.parameters.get(*index)?.schema;
    let validator = jsonschema::validator_for(schema).ok()?;
    validator.validate(value).err().map(|error| format!("the {}", error.masked()))
}

fn set_default(parameter: &mut Parameter, json: &str) {
    let default: Value = serde_json::from_str(json).unwrap_or_default();
    parameter.is_required = false;
    match &mut parameter.schema {
        Value::Object(schema) => {
            schema.insert("default".to_owned(), default);
        }
        other => *other = json!({"default": default}),
    }
}

fn add_word(words: &mut BTreeMap<String, Vec<Posting>>, word: String, function: FunctionKey, column: Column) {
    words.entry(word).or_default().push(Posting { function, column });
}

/// A summary, and what the settings say, in one line.
fn joined(summary: &str, description: &str) -> String {
    let text = match summary.trim_end_matches(['.', ' ']) {
        "" => description.to_owned(),
        summary => format!("{summary}. {description}"),
    };
    one_line(&text, MAX_SUMMARY_CHARS)
}
