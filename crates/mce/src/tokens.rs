//! How many tokens a text costs a model.

/// Tokens of the `o200k_base` vocabulary. The first call takes some tenths of a second to load it.
pub(crate) fn count(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_the_public_vocabulary() {
        assert_eq!(count("hello world"), 2);
        assert_eq!(count(""), 0);
    }
}
