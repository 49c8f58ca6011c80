//! Counts what was changed, by rule of the contract: for logs, metrics and the checker.

use std::collections::BTreeMap;

use crate::contract::identity::Field;

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
    /// An event was sent under the name that the API has for it.
    EventRenamed,
    /// A part was opened that the server had not opened (C12).
    PartOpened,
    /// An event waited until its call could be announced (C12).
    Deferred,
    /// An item stays open: what it has said is not known, or more than the limit (C5).
    LeftOpen,
    /// Text was sent again that the server had taken back.
    TextRestored,
}

impl Change {
    /// Every change, in the order of [`Report::counts`].
    pub const ALL: [Self; 14] = [
        Self::IdentityKept,
        Self::IndexMoved,
        Self::Dropped,
        Self::StreamedStands,
        Self::AnnouncedLate,
        Self::ClosedLate,
        Self::PutBack,
        Self::Minted,
        Self::PartMoved,
        Self::EventRenamed,
        Self::PartOpened,
        Self::Deferred,
        Self::LeftOpen,
        Self::TextRestored,
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
            Self::EventRenamed => "event_renamed",
            Self::PartOpened => "part_opened",
            Self::Deferred => "deferred",
            Self::LeftOpen => "left_open",
            Self::TextRestored => "text_restored",
        }
    }
}

/// Where an item is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Told {
    /// `response.output_item.added`.
    Added,
    /// Any other event of the item.
    Mentioned,
    /// `response.output_item.done`.
    Done,
    /// The output of the terminal response.
    Terminal,
}

impl Told {
    /// Every place, in the order in which a stream has them.
    pub const ALL: [Self; 4] = [Self::Added, Self::Mentioned, Self::Done, Self::Terminal];

    /// A stable name, fit for a metric label.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Mentioned => "mentioned",
            Self::Done => "done",
            Self::Terminal => "terminal",
        }
    }
}

/// How often a field of items of a type was corrected, by where the item was told of.
pub type Repaired = BTreeMap<(Told, Field, &'static str), u64>;

/// How often each [`Change`] was made to one stream, and each field of an identity changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    changes: [u64; Change::ALL.len()],
    fields: [[u64; Field::ALL.len()]; Told::ALL.len()],
}

impl Report {
    /// Counts one change.
    pub fn count(&mut self, change: Change) {
        if let Some(count) = self.changes.get_mut(change as usize) {
            *count += 1;
        }
    }

    /// Counts one field of an identity that was changed.
    pub(crate) fn count_field(&mut self, told: Told, field: Field) {
        let counts = self.fields.get_mut(told as usize);
        if let Some(count) = counts.and_then(|counts| counts.get_mut(field as usize)) {
            *count += 1;
        }
    }

    /// Adds all that `other` has counted.
    pub(crate) fn add(&mut self, other: &Self) {
        for (count, more) in self.all_mut().zip(other.all()) {
            *count += more;
        }
    }

    /// What was counted since the report was `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let mut since = *self;
        for (count, before) in since.all_mut().zip(before.all()) {
            *count -= before;
        }
        since
    }

    fn all(&self) -> impl Iterator<Item = u64> + '_ {
        let fields = self.fields.as_flattened();
        self.changes.iter().chain(fields).copied()
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        let fields = self.fields.as_flattened_mut();
        self.changes.iter_mut().chain(fields)
    }

    /// Each change's name with its count.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Change::ALL
            .iter()
            .zip(self.changes)
            .map(|(change, count)| (change.name(), count))
    }

    /// How often each field of an identity was changed, by where the item was told of.
    pub fn fields(&self) -> impl Iterator<Item = (Told, Field, u64)> + '_ {
        let all = Told::ALL.iter().zip(&self.fields);
        all.flat_map(|(&told, counts)| {
            let fields = Field::ALL.iter().zip(counts);
            fields.map(move |(&field, &count)| (told, field, count))
        })
    }

    /// Whether the stream was left as it came.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        self.changes.iter().all(|&count| count == 0)
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

    #[test]
    fn every_field_has_its_own_count_at_each_place() {
        for (place, told) in Told::ALL.into_iter().enumerate() {
            for (index, field) in Field::ALL.into_iter().enumerate() {
                let mut report = Report::default();
                report.count_field(told, field);
                let counted: Vec<_> = report.fields().filter(|&(.., count)| count == 1).collect();
                assert_eq!(counted, [(told, field, 1)]);
                assert_eq!((told as usize, field as usize), (place, index));
            }
        }
    }
}
