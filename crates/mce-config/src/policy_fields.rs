//! Reads rules about calls. What is wrong in one is an error: a part that is left out would make the rule fit more.

use std::path::PathBuf;

use crate::field::Field;
use crate::location::{Base, resolve_path};
use crate::nearest::{nearest, suggestion};
use crate::policy::with_upper_method;
use crate::reader::{Reader, found, one_of};
use crate::setting_fields::SettingFields;
use crate::yaml::Kind;
use crate::{
    AskerSetting, Budget, Comparison, Condition, ConfigError, Decimal, EffectSetting, ExactValue, PolicyRule, PolicySettings, Verdict,
};

/// The key of the rules.
pub(crate) const POLICIES: &str = "policies";
/// The keys of a rule.
const RULE_KEYS: [&str; 9] = [
    "asker", "budget", "client", "decide", "effect", "function", "name", "server", "when",
];
/// The keys of a budget.
const BUDGET_KEYS: [&str; 3] = ["per_run", "per_minute", "per_day"];
/// The keys of a condition.
const COMPARISON_KEYS: [&str; 10] = [
    "equals",
    "not_equals",
    "in",
    "not_in",
    "greater_than",
    "less_than",
    "at_least",
    "at_most",
    "matches",
    "exists",
];
/// More rules than anybody writes.
const MAX_RULES: usize = 1000;
/// The largest number of a budget.
const MAX_BUDGET: u64 = 1_000_000;

/// Reads what may be called. `rules` is the value of `policies`.
pub(crate) fn read_policy(fields: &mut SettingFields<'_, '_>, rules: Option<Field>) -> Result<PolicySettings, ConfigError> {
    Ok(PolicySettings {
        rules: match rules.filter(|field| !field.is_blank()) {
            Some(field) => read_rules(fields.reader, field)?,
            None => Vec::new(),
        },
        is_read_only: fields.flag("read_only", false)?,
        allowed_tools: fields.list("allowed_tools")?.into_iter().map(with_upper_method).collect(),
        allowed_projects: read_projects(fields)?,
        approval: fields.seconds("approval_seconds", 600, 0..=86_400)?,
    })
}

/// A key that was probably meant to be `policies`: rules that nobody reads must not go unnoticed.
pub(crate) fn refuse_misspelt<'a>(mut entries: impl Iterator<Item = (&'a String, &'a Field)>) -> Result<(), ConfigError> {
    let misspelt = entries.find(|(key, _)| nearest(key, [POLICIES, "policy"]).is_some());
    misspelt.map_or(Ok(()), |(key, field)| {
        Err(field.refuse("`policies`, a list of rules", format!("the key `{key}`")))
    })
}

fn read_rules(reader: &mut Reader<'_>, field: Field) -> Result<Vec<PolicyRule>, ConfigError> {
    let whole = field.clone();
    let items = field.into_items("a list of rules")?;
    if items.len() > MAX_RULES {
        return Err(whole.refuse(format!("at most {MAX_RULES} rules"), items.len().to_string()));
    }
    let mut rules: Vec<PolicyRule> = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        let whole = item.clone();
        let rule = read_rule(reader, index, item)?;
        if rules.iter().any(|known| known.name == rule.name) {
            return Err(whole.refuse("a name that no other rule has", found(&rule.name)));
        }
        rules.push(rule);
    }
    Ok(rules)
}

fn read_rule(reader: &mut Reader<'_>, index: usize, field: Field) -> Result<PolicyRule, ConfigError> {
    let at = format!("{POLICIES}.{index}");
    let mut rule = PolicyRule {
        name: format!("{POLICIES}[{index}]"),
        key: at.clone(),
        ..PolicyRule::default()
    };
    let whole = field.clone();
    let mut verdict = None;
    for (name, field) in field.into_entries("a rule, such as `{server: shop, effect: write, decide: deny}`")? {
        let key = format!("{at}.{name}");
        match name.as_str() {
            "name" => rule.name = text(reader, &key, &field)?,
            "server" => rule.servers = one_or_more(reader, &key, &field)?,
            "function" => rule.functions = one_or_more(reader, &key, &field)?.into_iter().map(with_upper_method).collect(),
            "client" => rule.clients = one_or_more(reader, &key, &field)?,
            "effect" => rule.effects = words(reader, &key, &field, &EFFECTS)?,
            "asker" => rule.askers = words(reader, &key, &field, &ASKERS)?,
            "decide" => verdict = Some(word(reader, &key, &field, &VERDICTS)?),
            "when" => rule.conditions = conditions(reader, &key, field)?,
            "budget" => rule.budget = budget(reader, &key, field)?,
            _ => return Err(unknown(&field, &name, &RULE_KEYS)),
        }
    }
    rule.verdict = verdict.ok_or_else(|| ConfigError::MissingKey {
        place: whole.place.clone(),
        key: "decide".to_owned(),
        advice: "write `decide: allow`, `decide: ask` or `decide: deny`".to_owned(),
    })?;
    if rule.budget != Budget::default() && rule.verdict != Verdict::Allow {
        return Err(whole.refuse(
            "a `budget` only beside `decide: allow`",
            format!("`decide: {}`", rule.verdict.as_str()),
        ));
    }
    Ok(rule)
}

const EFFECTS: [(&str, EffectSetting); 3] = [
    ("read", EffectSetting::Read),
    ("write", EffectSetting::Write),
    ("destructive", EffectSetting::Destructive),
];
const ASKERS: [(&str, AskerSetting); 2] = [("person", AskerSetting::Person), ("model", AskerSetting::Model)];
const VERDICTS: [(&str, Verdict); 3] = [("deny", Verdict::Deny), ("allow", Verdict::Allow), ("ask", Verdict::Ask)];

fn unknown(field: &Field, name: &str, known: &[&str]) -> ConfigError {
    let meant = suggestion(name, known.iter().copied()).map_or_else(String::new, |meant| format!("; {meant}"));
    field.refuse(one_of(known), format!("the key `{name}`{meant}"))
}

fn text(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<String, ConfigError> {
    let text = reader.text(key, field)?.trim().to_owned();
    if text.is_empty() {
        return Err(field.unexpected("a text that is not empty"));
    }
    Ok(text)
}

/// The item, or the items of a list that has some.
fn items(field: &Field, expected: &str) -> Result<Vec<Field>, ConfigError> {
    if !matches!(field.node.kind, Kind::List(_)) {
        return Ok(vec![field.clone()]);
    }
    let items = field.clone().into_items(expected)?;
    if items.is_empty() {
        return Err(field.refuse(expected, "an empty list"));
    }
    Ok(items)
}

/// A text may hold commas, as paths do.
fn one_or_more(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<Vec<String>, ConfigError> {
    let items = items(field, "a text or a list of texts")?;
    items.iter().map(|item| text(reader, key, item)).collect()
}

fn words<T: Copy>(reader: &mut Reader<'_>, key: &str, field: &Field, known: &[(&str, T)]) -> Result<Vec<T>, ConfigError> {
    let items = items(field, "a word or a list of words")?;
    items.iter().map(|item| word(reader, key, item, known)).collect()
}

/// A word, and its meaning. What an undefined variable means is of no account: it is an error in the end.
fn word<T: Copy>(reader: &mut Reader<'_>, key: &str, field: &Field, known: &[(&str, T)]) -> Result<T, ConfigError> {
    let all: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
    let written = field.scalar(&one_of(&all))?.trim().to_ascii_lowercase();
    if let Some(meant) = nearest(&written, all.iter().copied()).filter(|meant| *meant != written) {
        return Err(field.refuse(one_of(&all), format!("{}; did you mean `{meant}`?", found(&written))));
    }
    let word = reader.word(key, field, &all)?;
    let meaning = known.iter().find(|(known, _)| *known == word).or_else(|| known.first());
    meaning.map(|(_, meaning)| *meaning).ok_or_else(|| field.unexpected(&one_of(&all)))
}

fn conditions(reader: &mut Reader<'_>, key: &str, field: Field) -> Result<Vec<Condition>, ConfigError> {
    let expected = "a mapping of JSON pointers to what is compared";
    let whole = field.clone();
    let entries = field.into_entries(expected)?;
    if entries.is_empty() {
        return Err(whole.refuse(expected, "an empty mapping"));
    }
    let read = entries.into_iter().map(|(pointer, field)| {
        if !is_pointer(&pointer) {
            let expected = "a JSON pointer to an argument, such as `/amount` or `/body/amount`";
            return Err(field.refuse(expected, found(&pointer)));
        }
        let comparisons = comparisons(reader, &format!("{key}.{pointer}"), field)?;
        Ok(Condition { pointer, comparisons })
    });
    read.collect()
}

/// RFC 6901, section 3; the whole of the arguments is no place.
fn is_pointer(text: &str) -> bool {
    let mut escapes = text.split('~').skip(1);
    text.starts_with('/') && escapes.all(|rest| rest.starts_with(['0', '1']))
}

/// A plain value means that it is equal.
fn comparisons(reader: &mut Reader<'_>, key: &str, field: Field) -> Result<Vec<Comparison>, ConfigError> {
    if !matches!(field.node.kind, Kind::Map(_)) {
        return Ok(vec![Comparison::Equals(reader.exact(key, &field)?)]);
    }
    let whole = field.clone();
    let entries = field.into_entries("a value or a mapping of comparisons")?;
    if entries.is_empty() {
        return Err(whole.refuse(one_of(&COMPARISON_KEYS), "an empty mapping"));
    }
    let read = entries.into_iter().map(|(name, field)| {
        let key = format!("{key}.{name}");
        Ok(match name.as_str() {
            "equals" => Comparison::Equals(reader.exact(&key, &field)?),
            "not_equals" => Comparison::NotEquals(reader.exact(&key, &field)?),
            "in" => Comparison::In(values(reader, &key, &field)?),
            "not_in" => Comparison::NotIn(values(reader, &key, &field)?),
            "greater_than" => Comparison::GreaterThan(number(reader, &key, &field)?),
            "less_than" => Comparison::LessThan(number(reader, &key, &field)?),
            "at_least" => Comparison::AtLeast(number(reader, &key, &field)?),
            "at_most" => Comparison::AtMost(number(reader, &key, &field)?),
            "matches" => Comparison::Matches(text(reader, &key, &field)?),
            "exists" => Comparison::Exists(reader.flag(&key, &field)?),
            _ => return Err(unknown(&field, &name, &COMPARISON_KEYS)),
        })
    });
    read.collect()
}

fn values(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<Vec<ExactValue>, ConfigError> {
    let ExactValue::Array(values) = reader.exact(key, field)? else {
        return Err(field.unexpected("a list of values"));
    };
    Ok(values)
}

fn number(reader: &mut Reader<'_>, key: &str, field: &Field) -> Result<Decimal, ConfigError> {
    let ExactValue::Number(number) = reader.exact(key, field)? else {
        return Err(field.unexpected("a number without quotes"));
    };
    Ok(number)
}

fn budget(reader: &mut Reader<'_>, key: &str, field: Field) -> Result<Budget, ConfigError> {
    let mut budget = Budget::default();
    let whole = field.clone();
    for (name, field) in field.into_entries("a mapping with `per_run`, `per_minute`, `per_day`")? {
        let slot = match name.as_str() {
            "per_run" => &mut budget.per_run,
            "per_minute" => &mut budget.per_minute,
            "per_day" => &mut budget.per_day,
            _ => return Err(unknown(&field, &name, &BUDGET_KEYS)),
        };
        let number = reader.number(&format!("{key}.{name}"), &field, 0..=MAX_BUDGET)?;
        *slot = Some(u32::try_from(number).unwrap_or(u32::MAX));
    }
    if budget == Budget::default() {
        return Err(whole.refuse(one_of(&BUDGET_KEYS), "an empty mapping"));
    }
    Ok(budget)
}

/// A list, or a text with `:` or commas between folders.
fn read_projects(fields: &mut SettingFields<'_, '_>) -> Result<Vec<PathBuf>, ConfigError> {
    let key = "allowed_projects";
    let Some(field) = fields.field(key) else {
        fields.reader.show_default(key, &"");
        return Ok(Vec::new());
    };
    let texts = match field.node.kind {
        Kind::List(_) => fields.reader.list(key, &field)?,
        Kind::Null | Kind::Scalar(_) | Kind::Map(_) => {
            let text = fields.reader.text(key, &field)?;
            text.split([':', ',']).map(|part| part.trim().to_owned()).collect()
        }
    };
    let base = Base {
        directory: &field.directory,
        home: fields.reader.home,
    };
    let folders = texts.iter().filter(|text| !text.is_empty());
    let folders: Vec<PathBuf> = folders.map(|text| resolve_path(text, base)).collect();
    if folders.is_empty() {
        return Err(field.unexpected("folders, at least one"));
    }
    Ok(folders)
}
