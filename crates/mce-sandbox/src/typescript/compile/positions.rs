//! Where places of the compiled text are in the program's own text.

/// A place of both texts; lines and columns from 0.
#[derive(Debug, Clone, Copy)]
pub(in crate::typescript) struct Place {
    pub(super) compiled: (u32, u32),
    pub(super) own: (u32, u32),
}

/// All known places, in the order of the compiled text.
#[derive(Debug, Default)]
pub(in crate::typescript) struct Positions(pub(super) Vec<Place>);

impl Positions {
    /// The own line and column (from 1) of a place of the compiled text (from 1).
    pub(in crate::typescript) fn own(&self, line: u32, column: u32) -> Option<(u32, u32)> {
        let wanted = (line.checked_sub(1)?, column.saturating_sub(1));
        let next = self.0.partition_point(|place| place.compiled <= wanted);
        let place = self.0.get(next.saturating_sub(1))?;
        // A place before the first known one of its line belongs to what follows.
        let place = if place.compiled.0 < wanted.0 {
            self.0.get(next).filter(|after| after.compiled.0 == wanted.0)?
        } else {
            place
        };
        Some((place.own.0 + 1, place.own.1 + 1))
    }
}
