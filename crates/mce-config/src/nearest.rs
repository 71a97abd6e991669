//! What a misspelt name was probably meant to be.

/// The most similar candidate, if it is similar enough: at most a third of the letters differ.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).max(1);
    let by_distance = candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(name, candidate), candidate));
    by_distance
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// `did you mean ``base_url``?`.
pub(crate) fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(name, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let known = ["base_url", "auth", "auth_header", "is_read_only"];
        for (name, expected) in [
            ("baseurl", Some("base_url")),
            ("read_only", Some("is_read_only")),
            ("autn", Some("auth")),
            ("timeout", None),
            ("x", None),
        ] {
            assert_eq!(nearest(name, known), expected, "{name}");
        }
    }
}
