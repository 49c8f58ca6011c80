//! Who is told what an engine decides: nobody in a rewriter, a recorder in the checker.

use crate::contract::catalogue::PartKind;
use crate::contract::event::Ticket;
use crate::contract::identity::{Field, Identity};

/// How an entry of the terminal output differs from the item that was streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Not at all, but perhaps in its identity.
    Same,
    /// It is of another type.
    OtherType,
    /// It has another name, so that the streamed item is sent.
    OtherName,
    /// It says something else.
    OtherPayload,
}

/// Is told what an engine finds. Every method does nothing unless it is overridden.
///
/// Items are named by `index`, the `output_index` under which the engine sends them.
pub trait Observer {
    /// Whether anybody listens: what is found only to be reported is not looked for otherwise.
    const LISTENS: bool;

    /// The stream begins in the middle of a response.
    fn joins(&mut self) {}

    /// `response.created`, which begins a response, or repeats its beginning.
    fn begins(&mut self, _response_id: Option<&str>, _is_first: bool) {}

    /// The event has this number, which may not be greater than the last one.
    fn numbered(&mut self, _number: u64, _is_behind: bool) {}

    /// The event waits; or one that has waited is decided on, until [`Observer::returns`].
    fn waits(&mut self, _ticket: Ticket, _resumes: bool) {}

    /// The event at hand is decided on again, after those that have waited.
    fn returns(&mut self) {}

    /// The event is not sent on: it repeats one, or has no item.
    fn dropped(&mut self, _item: Option<&Identity>) {}

    /// The event is of an item that was never announced, of which it shows this.
    fn unannounced(&mut self, _index: usize, _seen: &Identity) {}

    /// An item of a joined stream shows this of itself for the first time.
    fn shows(&mut self, _index: usize, _seen: &Identity) {}

    /// A call is announced without what a client needs to run it, which is mended if it is named
    /// later.
    fn unusable(&mut self, _index: usize, _item: &Identity, _missing: Field, _is_mended: bool) {}

    /// The event has another `output_index` than its item.
    fn misplaced(&mut self, _index: usize, _said: Option<u64>, _item: &Identity) {}

    /// The event says `said` for a field of its item that is `wanted`.
    fn named(&mut self, _index: usize, _field: Field, _said: Option<&str>, _wanted: &str) {}

    /// The event is of part `place`, and says under `key` that it is of another.
    fn part(&mut self, _index: usize, _key: &'static str, _said: Option<u64>, _place: u64) {}

    /// The event is the first of a part that was never opened.
    fn part_unopened(&mut self, _index: usize, _kind: PartKind) {}

    /// The event describes the item at `index` as a whole; it is `wanted`.
    fn described(
        &mut self,
        _index: usize,
        _said_index: Option<u64>,
        _said: &Identity,
        _wanted: &Identity,
    ) {
    }

    /// The item is closed with another text than it streamed.
    fn closed_otherwise(&mut self, _index: usize) {}

    /// An event of an item comes after the end of the response.
    fn after_end(&mut self) {}

    /// The terminal event comes, perhaps a second one.
    fn ends(&mut self) {}

    /// The item is still open at the end.
    fn never_closed(&mut self, _index: usize) {}

    /// The item is in the terminal output only.
    fn only_at_end(&mut self, _index: usize, _item: &Identity) {}

    /// The terminal output lacks the item.
    fn missing(&mut self, _index: usize) {}

    /// The entry at `position` of the terminal output describes the item.
    fn entry(
        &mut self,
        _index: usize,
        _position: usize,
        _said: &Identity,
        _wanted: &Identity,
        _entry: Entry,
    ) {
    }

    /// The entry at `position` belongs to `wanted`; it is of this item, where that is known.
    fn moved(&mut self, _index: Option<usize>, _position: usize, _wanted: usize) {}

    /// An entry of the terminal output repeats another, or is an empty item nobody streamed.
    fn extra_entry(&mut self, _said: &Identity) {}
}

/// Nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    const LISTENS: bool = false;
}
