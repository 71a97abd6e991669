//! Values of a program become JSON by these rules.
//!
//! - Whole numbers up to 2^53 and those of type `bigint` of any size are exact integers; larger ones up to 9e18 have the digits
//!   that JavaScript writes. `NaN` and infinities are null.
//! - Dates are ISO 8601 texts. Sets and iterators are lists, maps are objects whose keys become texts.
//! - `Uint8Array`, `ArrayBuffer` and `DataView` are `{"base64": ...}`, other typed arrays lists of numbers.
//! - `toJSON` is honoured. Errors are `{"error": "Type: text"}`, regular expressions texts.
//! - `undefined` is null in lists and left out in objects, as are methods of instances of classes.
//! - Lone surrogates become U+FFFD. Anything else is an error that says where in the value it is.
//!
//! Nothing that hostile objects say is trusted for size: what is produced is counted while it is produced.

use rquickjs::object::Filter;
use rquickjs::{Array, Function, Object, Type, Value};

/// The deepest nesting.
const DEPTH: usize = 100;

/// Bytes of a place in a value, for messages.
const PLACE_BYTES: usize = 120;

/// Larger whole numbers are written with an exponent: whoever reads them could not hold them as integers of 64 bits.
const MAX_WHOLE: f64 = 9e18;

const HINT: &str = "return plain data: objects, lists, texts, numbers, booleans or null";

/// The longest whole number whose digits a double holds exactly whatever they are.
const SAFE_DIGITS: usize = 15;

/// Why a value has no JSON text.
#[derive(Debug)]
pub(super) enum Problem {
    /// It needs more bytes than it may.
    TooLarge,
    /// It has no JSON form.
    NoJson { message: String, hint: String },
    /// Its own code threw.
    Thrown(rquickjs::Error),
}

impl From<rquickjs::Error> for Problem {
    fn from(error: rquickjs::Error) -> Self {
        Self::Thrown(error)
    }
}

/// JSON text of a value of at most `limit` bytes; `null` for `undefined`. `shared` has the helpers of `values.js`.
pub(super) fn encode<'js>(shared: &Object<'js>, value: Value<'js>, limit: usize, name: &str) -> Result<String, Problem> {
    let mut encoder = Encoder {
        stand: shared.get("stand")?,
        text_of: shared.get("textOf")?,
        is_plain: shared.get("isPlain")?,
        text: String::new(),
        limit,
        path: Vec::new(),
        place: name.to_owned(),
    };
    if !encoder.value(value)? {
        encoder.push("null")?;
    }
    Ok(encoder.text)
}

struct Encoder<'js> {
    /// `stand(value)`: what an object that is not plain stands for.
    stand: Function<'js>,
    /// `textOf(value)`: a well-formed text.
    text_of: Function<'js>,
    /// `isPlain(value)`: it is an object without a class.
    is_plain: Function<'js>,
    text: String,
    limit: usize,
    /// Objects around the current value.
    path: Vec<Value<'js>>,
    /// Where the current value is.
    place: String,
}

impl<'js> Encoder<'js> {
    /// Writes a value; false if there is nothing to write, as for `undefined`.
    fn value(&mut self, value: Value<'js>) -> Result<bool, Problem> {
        match value.type_of() {
            Type::Undefined | Type::Uninitialized => return Ok(false),
            Type::Null => self.push("null")?,
            Type::Bool => self.push(if value.as_bool() == Some(true) { "true" } else { "false" })?,
            Type::Int | Type::Float => self.number(value.as_number().unwrap_or(f64::NAN))?,
            Type::String => self.string(&value)?,
            Type::BigInt => {
                let digits: String = self.text_of.call((value,))?;
                self.push(&digits)?;
            }
            Type::Symbol => return Err(self.refused("symbol")),
            _ => return self.nested(value),
        }
        Ok(true)
    }

    fn push(&mut self, text: &str) -> Result<(), Problem> {
        if self.text.len() + text.len() > self.limit {
            return Err(Problem::TooLarge);
        }
        self.text.push_str(text);
        Ok(())
    }

    fn number(&mut self, number: f64) -> Result<(), Problem> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if !number.is_finite() {
            return self.push("null");
        }
        if number.fract() == 0.0 && number.abs() <= EXACT {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and in range")]
            let whole = number as i64;
            return self.push(&whole.to_string());
        }
        if number.fract() == 0.0 && number.abs() < MAX_WHOLE {
            return self.push(&whole_text(number));
        }
        let text = serde_json::Number::from_f64(number).map_or_else(|| "null".to_owned(), |number| number.to_string());
        self.push(&text)
    }

    fn string(&mut self, value: &Value<'js>) -> Result<(), Problem> {
        let text = self.plain_text(value)?;
        // Longer than its limit without escapes: no need to write it.
        if text.len() > self.limit {
            return Err(Problem::TooLarge);
        }
        let quoted = serde_json::to_string(&text).unwrap_or_else(|_| "\"\"".to_owned());
        self.push(&quoted)
    }

    /// The text without lone surrogates.
    fn plain_text(&self, value: &Value<'js>) -> Result<String, Problem> {
        let text = value.as_string().map(rquickjs::String::to_string);
        match text {
            Some(Ok(text)) => Ok(text),
            _ => Ok(self.text_of.call((value.clone(),))?),
        }
    }

    fn nested(&mut self, value: Value<'js>) -> Result<bool, Problem> {
        if self.path.len() >= DEPTH {
            return Err(Problem::NoJson {
                message: format!("the value is nested deeper than {DEPTH} levels at `{}`", self.shown_place()),
                hint: "return a flatter value".to_owned(),
            });
        }
        if self.path.contains(&value) {
            return Err(Problem::NoJson {
                message: format!("the value contains itself at `{}`", self.shown_place()),
                hint: "return a value without cycles".to_owned(),
            });
        }
        self.path.push(value.clone());
        let is_written = self.object(value)?;
        self.path.pop();
        Ok(is_written)
    }

    fn object(&mut self, value: Value<'js>) -> Result<bool, Problem> {
        let is_array = value.is_array();
        let object = Object::from_value(value.clone())?;
        if is_array {
            self.list(&object)?;
            return Ok(true);
        }
        if !value.is_proxy()
            && !value.is_function()
            && self.is_plain.call::<_, bool>((value.clone(),))?
            && !object.contains_key("toJSON")?
        {
            self.members(&object, true)?;
            return Ok(true);
        }
        let stand: Array<'js> = self.stand.call((value,))?;
        let kind: String = stand.get(0)?;
        match kind.as_str() {
            "value" => return self.value(stand.get(1)?),
            "object" => self.members(&object, false)?,
            "pairs" => self.pairs(&stand.get(1)?, &stand.get(2)?)?,
            "iterator" => self.iterator(&stand.get(1)?)?,
            "promise" => {
                return Err(Problem::NoJson {
                    message: format!("`{}` was never awaited", self.shown_place()),
                    hint: "put `await` before the call that makes it".to_owned(),
                });
            }
            _ => return Err(self.refused(&stand.get::<String>(1)?)),
        }
        Ok(true)
    }

    fn list(&mut self, list: &Object<'js>) -> Result<(), Problem> {
        let length: f64 = list.get("length")?;
        self.push("[")?;
        let mut index = 0.0;
        while index < length {
            if index > 0.0 {
                self.push(",")?;
            }
            let item: Value<'js> = list.get(index)?;
            self.at(&format!("[{index}]"), |encoder| encoder.value_or_null(item))?;
            index += 1.0;
        }
        self.push("]")
    }

    fn iterator(&mut self, next: &Function<'js>) -> Result<(), Problem> {
        self.push("[")?;
        let mut index = 0;
        loop {
            let step: Object<'js> = next.call(())?;
            if step.get::<_, rquickjs::convert::Coerced<bool>>("done")?.0 {
                break;
            }
            if index > 0 {
                self.push(",")?;
            }
            let item = step.get("value")?;
            self.at(&format!("[{index}]"), |encoder| encoder.value_or_null(item))?;
            index += 1;
        }
        self.push("]")
    }

    /// An object's own members. Functions are left out of instances of classes and refused in plain objects.
    fn members(&mut self, object: &Object<'js>, is_plain: bool) -> Result<(), Problem> {
        self.push("{")?;
        let mut is_first = true;
        for key in object.own_keys::<Value<'js>>(Filter::new().string().enum_only()) {
            let key = key?;
            let value: Value<'js> = object.get(key.clone())?;
            if value.is_undefined() || !is_plain && value.is_function() {
                continue;
            }
            let name = self.plain_text(&key)?;
            self.member(&name, value, &mut is_first)?;
        }
        self.push("}")
    }

    fn pairs(&mut self, keys: &Array<'js>, values: &Array<'js>) -> Result<(), Problem> {
        self.push("{")?;
        let mut is_first = true;
        for (key, value) in keys.iter::<Value<'js>>().zip(values.iter::<Value<'js>>()) {
            let name = self.key(key?)?;
            self.member(&name, value?, &mut is_first)?;
        }
        self.push("}")
    }

    fn member(&mut self, name: &str, value: Value<'js>, is_first: &mut bool) -> Result<(), Problem> {
        let start = self.text.len();
        let separator = if *is_first { "" } else { "," };
        let quoted = serde_json::to_string(name).unwrap_or_else(|_| "\"\"".to_owned());
        self.push(&format!("{separator}{quoted}:"))?;
        let is_written = self.at(&format!(".{name}"), |encoder| encoder.value(value))?;
        if is_written {
            *is_first = false;
        } else {
            self.text.truncate(start);
        }
        Ok(())
    }

    /// The text of a key of a map: the text itself, or the JSON text of anything else.
    fn key(&mut self, key: Value<'js>) -> Result<String, Problem> {
        if key.is_string() {
            return self.plain_text(&key);
        }
        let start = self.text.len();
        self.value_or_null(key)?;
        let text = self.text.get(start..).unwrap_or_default().to_owned();
        self.text.truncate(start);
        Ok(text)
    }

    fn value_or_null(&mut self, value: Value<'js>) -> Result<(), Problem> {
        if self.value(value)? { Ok(()) } else { self.push("null") }
    }

    /// Does something one step deeper.
    fn at<T>(&mut self, step: &str, work: impl FnOnce(&mut Self) -> Result<T, Problem>) -> Result<T, Problem> {
        let length = self.place.len();
        if length < PLACE_BYTES {
            self.place.push_str(step);
        }
        let done = work(self)?;
        self.place.truncate(length);
        Ok(done)
    }

    fn shown_place(&self) -> String {
        crate::program::shortened(self.place.clone(), PLACE_BYTES)
    }

    fn refused(&self, kind: &str) -> Problem {
        let kind: String = kind.chars().take(100).collect();
        Problem::NoJson {
            message: format!("`{}` is of type `{kind}`, which has no JSON form", self.shown_place()),
            hint: HINT.to_owned(),
        }
    }
}

/// Whether a JSON text may hold a whole number that a double does not hold exactly. It may also say so of digits in a text.
pub(super) fn has_long_integer(json: &str) -> bool {
    let mut digits = 0;
    json.bytes().any(|byte| {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        digits > SAFE_DIGITS
    })
}

/// A whole number without exponent, in the digits that JavaScript writes: as few as tell it apart, then zeros.
/// (ECMAScript, `Number::toString`)
fn whole_text(number: f64) -> String {
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (head, tail) = digits.split_once('.').unwrap_or((digits, ""));
    let zeros = exponent.parse::<usize>().unwrap_or(0).saturating_sub(tail.len());
    format!("{head}{tail}{}", "0".repeat(zeros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_numbers_are_read_with_care() {
        assert!(!has_long_integer(r#"{"a":123456789012345,"b":1.5}"#));
        assert!(has_long_integer("[9007199254740993]"));
    }

    #[test]
    fn whole_numbers_have_the_digits_of_javascript() {
        for (number, text) in [
            (1_234_567_890_123_456_789_f64, "1234567890123456800"),
            (1e16, "10000000000000000"),
            (-1.5e17, "-150000000000000000"),
            (9_007_199_254_740_994.0, "9007199254740994"),
        ] {
            assert_eq!(whole_text(number), text);
        }
    }
}
