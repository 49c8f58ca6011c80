//! The items of a stream as they were told: those of the response under way, and the list.

use crate::check::breach::Telling;
use crate::check::findings::LISTED;
use crate::check::items::{ItemTold, Told};
use crate::contract::identity::{Field, Identity};

/// An item of the response under way.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// Its type, as soon as it shows.
    pub(super) kind: String,
    /// What was first told of it.
    pub(super) first: Identity,
    /// Whether it was told of as a whole.
    pub(super) known: bool,
    closed: bool,
    /// Where it is listed.
    listed: Option<usize>,
}

impl Row {
    /// Whether nothing was told of it, not even its type.
    pub(super) fn is_unseen(&self) -> bool {
        self.first.kind.is_empty()
    }

    /// Whether a field is not said as it was first told.
    pub(super) fn is_unlike(&self, field: Field, said: Option<&str>) -> bool {
        !self.known || self.first.get(field) != said
    }
}

/// All items.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Row>,
    spare: Row,
    pub(super) items: Vec<ItemTold>,
    pub(super) more_items: u64,
}

impl Table {
    /// Another response begins.
    pub(super) fn begin(&mut self) {
        self.rows.clear();
    }

    /// The item in `slot`.
    pub(super) fn row(&mut self, slot: usize) -> &mut Row {
        if self.rows.len() <= slot {
            self.rows.resize_with(slot + 1, Row::default);
        }
        self.rows.get_mut(slot).unwrap_or(&mut self.spare)
    }

    /// Lists what was told of the item in `slot`.
    pub(super) fn list(&mut self, response: u64, slot: usize, telling: Telling, told: Told) {
        let (place, is_full) = (self.items.len(), self.items.len() == LISTED);
        let row = self.row(slot);
        let is_new = !std::mem::replace(&mut row.known, true);
        row.closed |= telling == Telling::Done;
        if is_new && is_full {
            self.more_items += 1;
            return;
        }
        if is_new {
            row.listed = Some(place);
            let item = ItemTold::new(response, slot, &row.first);
            self.items.push(item);
        }
        let Some(item) = self.listed(slot) else {
            return;
        };
        item.learn(&told);
        let kept = match telling {
            Telling::Added => &mut item.added,
            Telling::Done => &mut item.done,
            _ => &mut item.terminal,
        };
        kept.get_or_insert(told);
    }

    /// What was told of the item in `slot`, if it is listed.
    pub(super) fn listed(&mut self, slot: usize) -> Option<&mut ItemTold> {
        let listed = self.row(slot).listed?;
        self.items.get_mut(listed)
    }

    /// How many items were announced and not closed.
    pub(super) fn open(&self) -> usize {
        let open = self.rows.iter().filter(|row| row.known && !row.closed);
        open.count()
    }
}
