//! Variants of one thing: operations on the same resource, by other methods, versions or with a further parameter in the path.
//! A model that asks for something is better served by the other things that it may mean than by the eighth variant of one.

use super::{Found, Hit};

/// Variants of a thing that keep their place.
const KEPT: i32 = 3;
/// What each further one keeps of its score.
const FURTHER: f32 = 0.9;

/// The first `limit` of hits, best first, when variants beyond the third of each thing stand back.
pub(crate) fn spread(hits: Vec<Hit>, limit: usize, total: usize) -> Found {
    let mut things: Vec<(Option<String>, i32)> = Vec::new();
    let mut rest: Vec<(usize, Hit)> = Vec::with_capacity(hits.len());
    for hit in hits {
        let name = thing(&hit.operation).map(|path| format!("{} {path}", hit.server));
        let known = name
            .is_some()
            .then(|| things.iter().position(|(other, _)| *other == name))
            .flatten();
        let thing = known.unwrap_or(things.len());
        if known.is_none() {
            things.push((name, 0));
        }
        rest.push((thing, hit));
    }
    let mut found = Found { hits: Vec::new(), total };
    while found.hits.len() < limit && !rest.is_empty() {
        let scored = |(thing, hit): &(usize, Hit)| {
            let seen = things.get(*thing).map_or(0, |(_, seen)| *seen);
            hit.score * FURTHER.powi((seen - KEPT + 1).max(0))
        };
        // The first of equal ones: they are in their order.
        let mut best = (0, f32::MIN);
        for (at, one) in rest.iter().enumerate() {
            let score = scored(one);
            if score > best.1 {
                best = (at, score);
            }
        }
        let (thing, mut hit) = rest.remove(best.0);
        hit.score = best.1;
        if let Some((_, seen)) = things.get_mut(thing) {
            *seen += 1;
        }
        found.hits.push(hit);
    }
    found
}

/// The resource of `METHOD /path`: what does not change in its path. Tools have none.
fn thing(operation: &str) -> Option<String> {
    let (_, path) = operation.split_once(" /")?;
    let fixed = path
        .split('/')
        .filter(|part| !part.is_empty() && !part.contains('{') && !is_version(part));
    let fixed: Vec<&str> = fixed.map(|part| part.split_once('.').map_or(part, |(name, _)| name)).collect();
    (!fixed.is_empty()).then(|| fixed.join("/"))
}

/// `v1`, `v2beta1`, `2010-04-01`, `1.0`.
fn is_version(part: &str) -> bool {
    part.strip_prefix('v')
        .unwrap_or(part)
        .starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::Effect;

    fn hit(operation: &str, score: f32) -> Hit {
        Hit {
            server: "shop".to_owned(),
            python: String::new(),
            typescript: String::new(),
            operation: operation.to_owned(),
            effect: Effect::Read,
            summary: String::new(),
            score,
        }
    }

    #[test]
    fn the_fourth_variant_of_a_thing_stands_behind_what_is_nearly_as_good() {
        let hits = vec![
            hit("GET /v1/pods/{name}/proxy", 1.0),
            hit("PUT /v1/pods/{name}/proxy", 1.0),
            hit("GET /v1/pods/{name}/proxy/{path}", 1.0),
            hit("PUT /v2/pods/{name}/proxy/{path}", 1.0),
            hit("POST /v1/pods/{name}/proxy.json", 0.99),
            hit("GET /v1/pods", 0.95),
            hit("tool_one", 0.9),
            hit("tool_two", 0.9),
        ];
        let found = spread(hits, 6, 8);
        let operations: Vec<&str> = found.hits.iter().map(|hit| hit.operation.as_str()).collect();
        assert_eq!(
            operations,
            [
                "GET /v1/pods/{name}/proxy",
                "PUT /v1/pods/{name}/proxy",
                "GET /v1/pods/{name}/proxy/{path}",
                "GET /v1/pods",
                "PUT /v2/pods/{name}/proxy/{path}",
                "tool_one",
            ]
        );
        assert_eq!(found.total, 8);
        assert!(found.hits.is_sorted_by(|a, b| a.score >= b.score), "{found:?}");
    }

    #[test]
    fn variants_alone_are_all_there_and_in_their_order() {
        let operations: Vec<String> = (0..8).map(|n| format!("GET /v{n}/pods")).collect();
        let hits = operations.iter().map(|operation| hit(operation, 1.0)).collect();
        let found = spread(hits, 8, 8);
        let spread: Vec<&String> = found.hits.iter().map(|hit| &hit.operation).collect();
        assert_eq!(spread, operations.iter().collect::<Vec<_>>());
    }
}
