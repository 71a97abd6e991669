//! Names in which `*` is anything.

/// Whether a name fits a pattern in which `*` is anything, also nothing. Takes time in proportion to the name for each `*`.
pub fn is_glob_match(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|start| name.strip_prefix(start)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_are_exact_but_for_stars() {
        for (pattern, name, expected) in [
            ("mcp__files__read", "mcp__files__read", true),
            ("mcp__files__read", "mcp__files__read_all", false),
            ("mcp__files__*", "mcp__files__read", true),
            ("mcp__files__*", "mcp__filesystem__read", false),
            ("mcp__*__read", "mcp__files__read", true),
            ("*", "mcp__files__read", true),
            ("mcp__files__r*a*", "mcp__files__read", true),
            ("mcp__files__r*x*", "mcp__files__read", false),
            ("GET /items/*", "GET /items/{id}/parts", true),
            ("", "mcp__files__read", false),
        ] {
            assert_eq!(is_glob_match(pattern, name), expected, "{pattern} {name}");
        }
    }

    /// By the definition: a star takes each possible number of characters in turn.
    fn is_match_by_definition(pattern: &[char], name: &[char]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((&'*', rest)) => (0..=name.len()).any(|taken| is_match_by_definition(rest, &name[taken..])),
            Some((first, rest)) => name
                .split_first()
                .is_some_and(|(next, name)| next == first && is_match_by_definition(rest, name)),
        }
    }

    proptest! {
        #[test]
        fn a_pattern_fits_what_it_fits_by_definition(pattern in "[ab*é]{0,8}", name in "[abé]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(is_glob_match(&pattern, &name), is_match_by_definition(&chars(&pattern), &chars(&name)));
        }
    }
}
