//! JSON text string by string: what is not cut out stays byte for byte, and what was JSON is JSON still.

use std::borrow::Cow;
use std::collections::HashMap;

use super::patterns::Patterns;
use super::without;

/// JSON text without what must go. The text must be valid.
///
/// A number that holds a secret becomes a text. Keys of an object that would become the same are told apart by a number.
pub(super) fn clean<'a>(patterns: &Patterns, text: &'a str) -> Cow<'a, str> {
    let mut walk = Walk::new(patterns, text);
    walk.run();
    if walk.has_changed_key {
        walk = Walk {
            objects: Some(Vec::new()),
            ..Walk::new(patterns, text)
        };
        walk.run();
    }
    if walk.copied == 0 {
        return Cow::Borrowed(text);
    }
    walk.copy_up_to(text.len());
    Cow::Owned(walk.out)
}

struct Walk<'a> {
    patterns: &'a Patterns,
    text: &'a str,
    out: String,
    /// How much of the text is in `out`.
    copied: usize,
    has_changed_key: bool,
    /// The keys of all objects and arrays that are open, and whether each was changed; if keys are told apart.
    objects: Option<Vec<HashMap<String, bool>>>,
}

impl<'a> Walk<'a> {
    fn new(patterns: &'a Patterns, text: &'a str) -> Self {
        Self {
            patterns,
            text,
            out: String::new(),
            copied: 0,
            has_changed_key: false,
            objects: None,
        }
    }

    fn run(&mut self) {
        let mut at = 0;
        while let Some(rest) = self.text.get(at..).filter(|rest| !rest.is_empty()) {
            let quote = rest.find('"').unwrap_or(rest.len());
            self.between_strings(at, at + quote);
            let start = at + quote + 1;
            let end = start + string_length(self.text.get(start..).unwrap_or_default());
            if start <= self.text.len() {
                self.string(start, end);
            }
            at = end + 1;
        }
    }

    fn string(&mut self, start: usize, end: usize) {
        let text = self.text.get(start..end).unwrap_or_default();
        let cuts = self.patterns.in_json_string(text.as_bytes());
        let is_key = || self.text.get(end + 1..).is_some_and(|rest| rest.trim_start().starts_with(':'));
        if cuts.is_empty() && self.objects.is_none() {
            return;
        }
        let is_key = is_key();
        let mut clean = without(text, &cuts).into_owned();
        if is_key {
            self.has_changed_key |= !cuts.is_empty();
            clean = self.told_apart(clean, !cuts.is_empty());
        }
        if clean != text {
            self.copy_up_to(start);
            self.out.push_str(&clean);
            self.copied = end;
        }
    }

    /// A key that no other of its object has, unless both came so.
    fn told_apart(&mut self, key: String, is_changed: bool) -> String {
        let Some(keys) = self.objects.as_mut().and_then(|objects| objects.last_mut()) else {
            return key;
        };
        let is_taken = |key: &str, keys: &HashMap<String, bool>| keys.get(key).is_some_and(|was_changed| is_changed || *was_changed);
        let mut unique = key.clone();
        let mut number = 2;
        while is_taken(&unique, keys) {
            unique = format!("{key} ({number})");
            number += 1;
        }
        keys.insert(unique.clone(), is_changed || unique != key);
        unique
    }

    /// Brackets, and numbers, which may hold a secret of digits.
    fn between_strings(&mut self, start: usize, end: usize) {
        let text = self.text.get(start..end).unwrap_or_default();
        if let Some(objects) = &mut self.objects {
            for byte in text.bytes() {
                match byte {
                    b'{' | b'[' => objects.push(HashMap::new()),
                    b'}' | b']' => drop(objects.pop()),
                    _ => {}
                }
            }
        }
        if self.patterns.in_text(text.as_bytes()).is_empty() {
            return;
        }
        let mut at = start;
        for word in text.split_inclusive(|c: char| !is_of_number(c)) {
            let number = word.trim_end_matches(|c| !is_of_number(c));
            let cuts = self.patterns.in_text(number.as_bytes());
            if !cuts.is_empty() {
                self.copy_up_to(at);
                self.out.extend(["\"", &without(number, &cuts), "\""]);
                self.copied = at + number.len();
            }
            at += word.len();
        }
    }

    fn copy_up_to(&mut self, end: usize) {
        self.out.push_str(self.text.get(self.copied..end).unwrap_or_default());
        self.copied = end;
    }
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E')
}

/// The bytes up to the quote that ends a string.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.unwrap_or(text.len())
}
