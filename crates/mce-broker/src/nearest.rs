//! The nearest known name to a mistyped one.

/// Longer names are not compared.
const MAX_LENGTH: usize = 64;

/// The known name that is near enough to `name` to be meant; the first of equally near ones.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = folded(name);
    if name.is_empty() || name.len() > MAX_LENGTH {
        return None;
    }
    known
        .filter_map(|candidate| {
            let other = folded(candidate);
            let limit = name.len().max(other.len()) / 3 + 1;
            let distance = if other.len() > MAX_LENGTH {
                usize::MAX
            } else {
                distance(&name, &other)
            };
            (distance <= limit && distance < other.len()).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Letters and digits only, lower case: `userId`, `user_id` and `user-id` are the same to a person.
fn folded(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Edits from one to the other: insert, remove, replace. (Levenshtein)
fn distance(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        for (b, cell) in right.iter().zip(row.iter_mut().skip(1)) {
            let replaced = diagonal + usize::from(a != b);
            diagonal = *cell;
            before = replaced.min(before + 1).min(diagonal + 1);
            *cell = before;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(left.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["owner", "repo", "branch", "user_id"];
        for (name, found) in [
            ("ownr", Some("owner")),
            ("brunch", Some("branch")),
            ("userID", Some("user_id")),
            ("zzzzzz", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known.into_iter()), found, "{name}");
        }
        assert_eq!(distance(&['a', 'b', 'c'], &['x', 'b', 'c', 'd']), 2);
    }
}
