//! Counts the content parts of each item from 0, however the server counts them.
//!
//! Clients index an item's content by `content_index`. Some servers count on from the item
//! before, or count every delta; what such an event means is the part that was opened under
//! its number, or else the part that is open.

use crate::contract::catalogue::{Effect, Family, PartKind, Scope};

/// How many parts of one item may be open at once; beyond, its numbers are left as they are.
const MAX_OPEN: usize = 64;

/// What an event does to a content part, in the order in which it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
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
    /// What an event of this scope does to a content part, if it is about one.
    pub(crate) fn of(scope: &Scope) -> Option<Self> {
        let is_content = match scope.part {
            Some(part) => part != PartKind::Summary,
            None => scope.family == Family::Part,
        };
        let step = match scope.effect {
            Effect::OpensPart => Self::Opens,
            Effect::Delta | Effect::Adds => Self::Says,
            Effect::Whole => Self::Ends,
            Effect::ClosesPart => Self::Closes,
            Effect::Status => return None,
        };
        is_content.then_some(step)
    }
}

/// Where an event belongs in its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The `content_index` to send it under.
    pub(crate) index: u64,
    pub(crate) opening: Opening,
}

/// Who opens the part of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// The server does, or did before.
    Server,
    /// Nobody did: it must be opened before this event.
    Now,
    /// It was opened for the server before.
    Before,
    /// It was opened for the server, which opens it with this event.
    Again,
}

/// A part under the number that the server gives it.
#[derive(Debug, Clone, Copy)]
struct Part {
    server_index: Option<u64>,
    index: u64,
    reached: Step,
    /// Whether the server did not open it.
    unopened: bool,
}

/// The numbers of the content parts of one item.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartNumbers {
    /// Open parts, and the one that closed last.
    known: Vec<Part>,
    next: u64,
    /// Earlier parts were not seen, or too many are open: the numbers stand.
    trusted: bool,
}

impl PartNumbers {
    /// The parts of an item that was announced before the stream was joined.
    pub(crate) fn trusted() -> Self {
        Self {
            trusted: true,
            ..Self::default()
        }
    }

    /// The place of an event that has `server_index` or none; `None` leaves its number.
    pub(crate) fn place(&mut self, step: Step, server_index: Option<u64>) -> Option<Place> {
        if self.trusted {
            return None;
        }
        let named = self
            .known
            .iter_mut()
            .rev()
            .find(|part| server_index.is_some() && part.server_index == server_index);
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
            return Some(Place {
                index: part.index,
                opening: match step {
                    _ if !part.unopened => Opening::Server,
                    Step::Opens => Opening::Again,
                    _ => Opening::Before,
                },
            });
        }
        if step != Step::Opens
            && let Some(index) = server_index.filter(|&index| index < self.next)
        {
            // Late for a part that is known by its number, if at all.
            if let Some(part) = self.known.iter_mut().find(|part| part.index == index) {
                part.reached = part.reached.max(step);
            }
            return Some(Place {
                index,
                opening: Opening::Server,
            });
        }
        self.known.retain(|part| part.reached != Step::Closes);
        if self.known.len() == MAX_OPEN {
            *self = Self::trusted();
            return None;
        }
        let index = self.next;
        let unopened = step != Step::Opens;
        self.next += 1;
        self.known.push(Part {
            server_index,
            index,
            reached: step,
            unopened,
        });
        Some(Place {
            index,
            opening: if unopened {
                Opening::Now
            } else {
                Opening::Server
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Step::{Closes, Ends, Opens, Says};
    use super::*;

    fn places(events: &[(Step, u64)]) -> Vec<u64> {
        let mut parts = PartNumbers::default();
        events
            .iter()
            .map(|&(step, upstream)| {
                parts
                    .place(step, Some(upstream))
                    .map_or(upstream, |place| place.index)
            })
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
        let mut parts = PartNumbers::default();
        for index in 0..10_000 {
            parts.place(Opens, Some(index));
        }
        assert!(parts.known.len() <= MAX_OPEN);
    }
}
