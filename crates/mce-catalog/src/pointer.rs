//! Steps of JSON Pointers. (RFC 6901)

/// A key as a step of a JSON Pointer. (RFC 6901, 3.)
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A step of a JSON Pointer as a key. (RFC 6901, 4.)
pub fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_from_its_step() {
        for (key, step) in [("a/b", "a~1b"), ("~1", "~01"), ("a~/b", "a~0~1b"), ("", "")] {
            assert_eq!((escape(key).as_str(), unescape(step).as_str()), (step, key));
        }
    }
}
