//! Keeps `sequence_number` strictly increasing across insertions and drops (C3).

/// The numbering of one stream.
///
/// Upstream numbers are shifted by what was inserted and dropped so far. A stream that is
/// not touched keeps its numbers, gaps included (C9); once touched, it is contiguous.
#[derive(Debug, Clone, Default)]
pub struct Sequence {
    trusted: bool,
    last_sent: Option<u64>,
    shift: i64,
    touched: bool,
}

impl Sequence {
    /// The numbering of a stream whose upstream is known to count without a fault, so that
    /// events between the calls made here need only [`Sequence::shift`].
    #[must_use]
    pub fn of_trusted_upstream() -> Self {
        Self {
            trusted: true,
            ..Self::default()
        }
    }

    /// A response begins: its numbers are its own.
    pub fn begin(&mut self) {
        *self = Self {
            trusted: self.trusted,
            ..Self::default()
        };
    }

    /// What to add to an upstream number.
    #[must_use]
    pub fn shift(&self) -> i64 {
        self.shift
    }

    /// The number of an event inserted before the event that upstream numbered `before`.
    pub fn inserted(&mut self, before: u64) -> u64 {
        let number = self.number(before);
        self.shift = self.shift.saturating_add(1);
        self.touched = true;
        number
    }

    /// An upstream event was not sent on.
    pub fn dropped(&mut self) {
        self.shift = self.shift.saturating_sub(1);
        self.touched = true;
    }

    /// Whether the event that upstream numbered `upstream` is not after the one before it.
    #[must_use]
    pub fn is_behind(&self, upstream: u64) -> bool {
        let shifted = self.shifted(upstream);
        self.last_sent.is_some_and(|last| shifted <= last)
    }

    fn shifted(&self, upstream: u64) -> u64 {
        upstream.saturating_add_signed(self.shift)
    }

    /// The number under which the event that upstream numbered `upstream` is sent.
    pub fn number(&mut self, upstream: u64) -> u64 {
        let shifted = self.shifted(upstream);
        if self.trusted {
            return shifted;
        }
        let number = match self.last_sent {
            Some(last)
                if self.is_behind(upstream)
                    || (self.touched && shifted > last.saturating_add(1)) =>
            {
                self.touched = true;
                last.saturating_add(1)
            }
            _ => shifted,
        };
        self.shift = i64::try_from(i128::from(number) - i128::from(upstream)).unwrap_or(i64::MAX);
        self.last_sent = Some(number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_untouched_stream_keeps_its_numbers_and_gaps() {
        let mut sequence = Sequence::default();
        let sent = [0, 1, 5, 6].map(|upstream| sequence.number(upstream));
        assert_eq!(sent, [0, 1, 5, 6]);
    }

    #[test]
    fn insertions_and_drops_shift_what_follows() {
        let mut sequence = Sequence::default();
        assert_eq!(sequence.number(0), 0);
        assert_eq!(sequence.inserted(1), 1);
        assert_eq!(sequence.inserted(1), 2);
        assert_eq!(sequence.number(1), 3);
        sequence.dropped();
        assert_eq!(sequence.number(3), 4);
        assert_eq!(sequence.shift(), 1);
    }

    #[test]
    fn a_second_round_that_starts_over_continues_the_count() {
        let mut sequence = Sequence::default();
        let sent = [0, 1, 2, 0, 1].map(|upstream| sequence.number(upstream));
        assert_eq!(sent, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_trusted_upstream_may_go_on_between_two_calls() {
        let mut sequence = Sequence::of_trusted_upstream();
        assert_eq!(sequence.inserted(2), 2);
        assert_eq!(sequence.number(9), 10);
    }

    #[test]
    fn extreme_numbers_do_not_panic() {
        let mut sequence = Sequence::default();
        sequence.number(u64::MAX);
        sequence.inserted(u64::MAX);
        sequence.number(0);
        sequence.dropped();
        sequence.number(u64::MAX);
    }
}
