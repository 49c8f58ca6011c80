//! Counts what was changed, by rule of the contract: for logs, metrics and the checker.

/// A kind of change made to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// A later mention carried another identity than the announced one (C1).
    IdentityKept,
    /// An item or event moved to another `output_index`, or had none (C2).
    IndexMoved,
    /// A repeated or empty announcement, close or event was dropped (C2, C5).
    Dropped,
    /// The streamed item stands in the terminal output instead of the rebuilt one (C4, C6).
    StreamedStands,
    /// An item that only the terminal output had was streamed (C5).
    AnnouncedLate,
    /// An item still open was closed before the terminal event (C2).
    ClosedLate,
    /// An item that the terminal output lacked was put back (C5).
    PutBack,
    /// An id or `call_id` was made here, for want of one of its own (C11).
    Minted,
    /// A `content_index` was not counted inside its item, or missing (C2).
    PartMoved,
}

impl Change {
    /// Every change, in the order of [`Report::counts`].
    pub const ALL: [Self; 9] = [
        Self::IdentityKept,
        Self::IndexMoved,
        Self::Dropped,
        Self::StreamedStands,
        Self::AnnouncedLate,
        Self::ClosedLate,
        Self::PutBack,
        Self::Minted,
        Self::PartMoved,
    ];

    /// A stable name, fit for a metric label.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IdentityKept => "identity_kept",
            Self::IndexMoved => "index_moved",
            Self::Dropped => "dropped",
            Self::StreamedStands => "streamed_stands",
            Self::AnnouncedLate => "announced_late",
            Self::ClosedLate => "closed_late",
            Self::PutBack => "put_back",
            Self::Minted => "minted",
            Self::PartMoved => "part_moved",
        }
    }
}

/// How often each [`Change`] was made to one stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report([u64; Change::ALL.len()]);

impl Report {
    /// Counts one change.
    pub fn count(&mut self, change: Change) {
        if let Some(count) = self.0.get_mut(change as usize) {
            *count += 1;
        }
    }

    /// Adds all that `other` has counted.
    pub(crate) fn add(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// What was counted since the report was `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let mut since = *self;
        for (count, before) in since.0.iter_mut().zip(before.0) {
            *count -= before;
        }
        since
    }

    /// Each change's name with its count.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Change::ALL
            .iter()
            .zip(self.0)
            .map(|(change, count)| (change.name(), count))
    }

    /// Whether the stream was left as it came.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        self.0.iter().all(|&count| count == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_has_its_own_count() {
        for (index, change) in Change::ALL.into_iter().enumerate() {
            let mut report = Report::default();
            report.count(change);
            let counted: Vec<_> = report.counts().filter(|&(_, count)| count == 1).collect();
            assert_eq!(counted, [(change.name(), 1)]);
            assert_eq!(change as usize, index);
        }
    }
}
