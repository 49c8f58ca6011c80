//! Keeps each item as it was last sent, so that it can be put back into the terminal output.

use crate::policy::GaveUp;

/// Each slot's item: that of its close, or of its announcement while it is open.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    items: Vec<Option<Vec<u8>>>,
    bytes: usize,
    limit: usize,
}

impl Held {
    /// Nothing, and at most `limit` bytes later.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            items: Vec::new(),
            bytes: 0,
            limit,
        }
    }

    /// The JSON text of the item in `slot`, if it was seen.
    pub(crate) fn get(&self, slot: usize) -> Option<&[u8]> {
        self.items.get(slot)?.as_deref()
    }

    /// Keeps `item` in place of what was kept for `slot`.
    pub(crate) fn keep(&mut self, slot: usize, item: Vec<u8>) -> Result<(), GaveUp> {
        if slot >= self.items.len() {
            self.items.resize(slot + 1, None);
        }
        let Some(place) = self.items.get_mut(slot) else {
            return Ok(());
        };
        self.bytes -= place.as_ref().map_or(0, Vec::len);
        self.bytes += item.len();
        *place = Some(item);
        if self.bytes > self.limit {
            return Err(GaveUp::TooMuchHeld);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_replaced_does_not_count() {
        let mut held = Held::new(5);
        assert_eq!(held.keep(1, b"abcd".to_vec()), Ok(()));
        assert_eq!(held.keep(1, b"efghi".to_vec()), Ok(()));
        assert_eq!(held.get(1), Some(&b"efghi"[..]));
        assert_eq!(held.get(0), None);
        assert_eq!(held.keep(0, b"j".to_vec()), Err(GaveUp::TooMuchHeld));
    }
}
