//! Counts the content parts of each item from 0, however the server counts them.
//!
//! Clients index an item's content by `content_index`. Some servers count on from the item
//! before, or count every delta; what such an event means is the part that was opened under
//! its number, or else the part that is open.

/// How many parts of one item may be open at once; beyond, its numbers are left as they are.
const MAX_OPEN: usize = 64;

/// What an event does to a content part, in the order in which it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Opens it.
    Opens,
    /// Adds to it, or annotates it.
    Says,
    /// Sums it up; only its close comes after.
    Ends,
    /// Closes it.
    Closes,
}

impl Step {
    /// What an event does to a content part, if it is about one.
    #[must_use]
    pub fn of(event_type: &str) -> Option<Self> {
        let rest = event_type.strip_prefix("response.")?;
        let (subject, verb) = rest.split_once('.')?;
        match (subject, verb) {
            ("content_part" | "reasoning_part", "added") => Some(Self::Opens),
            ("content_part" | "reasoning_part", "done") => Some(Self::Closes),
            ("output_text" | "refusal" | "reasoning_text", "done") => Some(Self::Ends),
            ("output_text" | "refusal" | "reasoning_text", _) => Some(Self::Says),
            _ => None,
        }
    }
}

/// A part under the number that the server gives it.
#[derive(Debug, Clone, Copy)]
struct Part {
    upstream: Option<u64>,
    place: u64,
    reached: Step,
}

/// The content parts of one item.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// Open parts, and the one that closed last.
    known: Vec<Part>,
    next: u64,
    /// Earlier parts were not seen, or too many are open: the numbers stand.
    trusted: bool,
}

impl Parts {
    /// The parts of an item that was announced before the stream was joined.
    pub(crate) fn trusted() -> Self {
        Self {
            trusted: true,
            ..Self::default()
        }
    }

    /// The `content_index` for an event that has `upstream` or none; `None` leaves it.
    pub fn place(&mut self, step: Step, upstream: Option<u64>) -> Option<u64> {
        if self.trusted {
            return None;
        }
        let named = self
            .known
            .iter_mut()
            .rev()
            .find(|part| upstream.is_some() && part.upstream == upstream);
        let found = match named {
            Some(part) if step != Step::Opens || part.reached != Step::Closes => Some(part),
            _ if step == Step::Opens => None,
            _ => self.known.last_mut().filter(|part| match part.reached {
                Step::Opens | Step::Says => true,
                Step::Ends => step == Step::Closes,
                Step::Closes => false,
            }),
        };
        if let Some(part) = found {
            part.reached = part.reached.max(step);
            return Some(part.place);
        }
        if step != Step::Opens
            && let Some(place) = upstream.filter(|&upstream| upstream < self.next)
        {
            // Late for a part that is known by its place, if at all.
            if let Some(part) = self.known.iter_mut().find(|part| part.place == place) {
                part.reached = part.reached.max(step);
            }
            return Some(place);
        }
        self.known.retain(|part| part.reached != Step::Closes);
        if self.known.len() == MAX_OPEN {
            *self = Self::trusted();
            return None;
        }
        let place = self.next;
        self.next += 1;
        self.known.push(Part {
            upstream,
            place,
            reached: step,
        });
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::Step::{Closes, Ends, Opens, Says};
    use super::*;

    fn places(events: &[(Step, u64)]) -> Vec<u64> {
        let mut parts = Parts::default();
        events
            .iter()
            .map(|&(step, upstream)| parts.place(step, Some(upstream)).unwrap_or(upstream))
            .collect()
    }

    #[test]
    fn parts_in_order_keep_their_numbers() {
        let whole = |index| {
            [
                (Opens, index),
                (Says, index),
                (Ends, index),
                (Closes, index),
            ]
        };
        let events = [whole(0), whole(1), whole(2)].concat();
        assert_eq!(places(&events), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
        let interleaved = [
            (Opens, 0),
            (Opens, 1),
            (Says, 0),
            (Says, 1),
            (Closes, 1),
            (Closes, 0),
        ];
        assert_eq!(places(&interleaved), [0, 1, 0, 1, 1, 0]);
        let unopened = [(Says, 0), (Ends, 0), (Says, 1), (Says, 1), (Ends, 1)];
        assert_eq!(places(&unopened), [0, 0, 1, 1, 1]);
    }

    #[test]
    fn a_count_carried_over_from_the_item_before_starts_at_0() {
        let events = [
            (Opens, 3),
            (Says, 3),
            (Ends, 3),
            (Closes, 3),
            (Opens, 4),
            (Says, 4),
        ];
        assert_eq!(places(&events), [0, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn a_count_of_deltas_is_one_part() {
        let events = [
            (Says, 0),
            (Says, 1),
            (Says, 2),
            (Ends, 3),
            (Closes, 4),
            (Says, 5),
        ];
        assert_eq!(places(&events), [0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn placing_twice_changes_nothing() {
        let steps = [Opens, Says, Ends, Closes];
        let mut state = 1u64;
        let mut draw = |bound: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % bound
        };
        for _ in 0..2000 {
            let events: Vec<(Step, u64)> = (0..8)
                .map(|_| (steps[usize::try_from(draw(4)).unwrap()], draw(4)))
                .collect();
            let once = places(&events);
            let again: Vec<(Step, u64)> = events
                .iter()
                .zip(&once)
                .map(|(&(step, _), &place)| (step, place))
                .collect();
            assert_eq!(places(&again), once, "{events:?}");
        }
    }

    #[test]
    fn parts_without_end_are_not_kept() {
        let mut parts = Parts::default();
        for index in 0..10_000 {
            parts.place(Opens, Some(index));
        }
        assert!(parts.known.len() <= MAX_OPEN);
    }
}
