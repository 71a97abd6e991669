//! From a byte's place in a text to its line.

/// Where the lines of a text begin.
pub(crate) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub(crate) fn new(text: &str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            starts: std::iter::once(0).chain(after_breaks).collect(),
        }
    }

    /// The line of a byte, from 1.
    pub(crate) fn line(&self, at: usize) -> u64 {
        let before = self.starts.partition_point(|start| *start <= at);
        u64::try_from(before).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_in_the_line_that_begins_before_it() {
        let lines = Lines::new("a\nbc\n\nd");
        let found: Vec<u64> = (0..8).map(|at| lines.line(at)).collect();
        assert_eq!(found, [1, 1, 2, 2, 2, 3, 4, 4]);
    }
}
