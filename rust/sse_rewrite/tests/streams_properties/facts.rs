//! What a stream is, before it is rewritten: its end, and how much it leaves to guess.

use std::collections::{BTreeMap, BTreeSet};

use crate::client::{Seen, rest_of, texts_of, truth};
use crate::event::{CLIENT_CALLS, Event, field};

/// How a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// `response.completed` or `response.incomplete`.
    Complete,
    /// `response.failed` or `error`.
    Failed,
    /// None of those.
    CutOff,
}

/// Which numbers the events of a stream have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbered {
    /// None.
    None,
    /// Every event has the number after that of the one before.
    Contiguous,
    /// Any others.
    Otherwise,
}

impl Numbered {
    fn of(stream: &[Event]) -> Self {
        let events = stream.iter().filter(|event| !event.is_raw());
        let numbers: Vec<Option<u64>> = events.map(Event::number).collect();
        let follows = |pair: &[Option<u64>]| match pair {
            [Some(before), Some(after)] => before + 1 == *after,
            _ => false,
        };
        if numbers.iter().all(Option::is_none) {
            Self::None
        } else if numbers.first().is_some_and(Option::is_some) && numbers.windows(2).all(follows) {
            Self::Contiguous
        } else {
            Self::Otherwise
        }
    }
}

/// What is known of a stream.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) end: End,
    /// Joined in the middle.
    pub(crate) joined: bool,
    /// Each index is of one item, which is announced first, if at all, and ends with its close.
    pub(crate) joined_plainly: bool,
    pub(crate) numbered: Numbered,
    /// What each item says, in truth.
    pub(crate) items: Vec<Seen>,
    /// The types of items of which some event could be of one or of another.
    pub(crate) unclear: BTreeSet<String>,
    /// The types of calls that may wait until a failure, and then pass as they came.
    pub(crate) as_it_came: BTreeSet<String>,
    /// How many calls no event names, or maybe none.
    pub(crate) unnamed: usize,
}

impl Facts {
    pub(crate) fn of(stream: &[Event]) -> Self {
        let end = if stream.iter().any(Event::is_failure) {
            End::Failed
        } else if stream.iter().any(Event::is_terminal) {
            End::Complete
        } else {
            End::CutOff
        };
        let first = stream.iter().find(|event| !event.name().is_empty());
        let begun =
            first.is_none_or(|event| matches!(event.name(), "created" | "queued" | "in_progress"));
        let mut unclear = Lifetimes::of(stream).unclear();
        unclear.extend(announced_otherwise(stream));
        let items = truth(stream);
        let mut as_it_came = BTreeSet::new();
        if end != End::Complete {
            let waiting = items.iter().filter(|item| waits(item, &items, stream));
            as_it_came.extend(waiting.map(|item| item.kind.clone()));
            unclear.extend(as_it_came.iter().cloned());
        }
        Self {
            end,
            joined: !begun,
            joined_plainly: is_plain(stream, &items),
            numbered: Numbered::of(stream),
            unnamed: unnamed(stream, end),
            items,
            unclear,
            as_it_came,
        }
    }

    /// Whether each event shows which item it is of.
    pub(crate) fn is_clear(&self, kind: &str) -> bool {
        !self.unclear.contains(kind)
    }
}

/// Whether each index is of one item, which is announced first, if at all, and ends with its
/// close.
fn is_plain(stream: &[Event], items: &[Seen]) -> bool {
    let mut keys = BTreeSet::new();
    let mut owners: BTreeMap<u64, usize> = BTreeMap::new();
    let mut begun = BTreeSet::new();
    let placed = stream
        .iter()
        .filter_map(|event| Some((event, event.owner?)));
    let mut plain = true;
    for (event, owner) in placed {
        let index = event.index();
        let one = index.is_none_or(|index| *owners.entry(index).or_insert(owner) == owner);
        let first = begun.insert(owner);
        plain &= one && (first || !event.is_added());
    }
    plain && items.iter().all(|item| keys.insert(item.key))
}

/// Whether a call may wait until something names it, or shows that it is a repetition.
pub(crate) fn waits(item: &Seen, items: &[Seen], stream: &[Event]) -> bool {
    let mut own = stream.iter().filter(|event| event.owner == Some(item.key));
    let first = own.next().and_then(Event::item);
    let named = |object| field(object, "call_id").is_some() && field(object, "name").is_some();
    let unnamed = CLIENT_CALLS.contains(&item.kind.as_str()) && !first.is_some_and(named);
    let taken = |other: &Seen| {
        let again = std::ptr::eq(other, item) && item.announced.len() > 1;
        let same = item.call_id.is_some() && other.call_id == item.call_id;
        same && (again || !std::ptr::eq(other, item))
    };
    unnamed || items.iter().any(taken)
}

/// How many calls no event names, or only an entry at the end whose id is another.
fn unnamed(stream: &[Event], end: End) -> usize {
    let mut calls: BTreeMap<usize, [bool; 2]> = BTreeMap::new();
    let mut ids: BTreeSet<&str> = BTreeSet::new();
    let mut call_ids: BTreeSet<&str> = BTreeSet::new();
    for event in stream {
        if let Some(owner) = event.owner
            && event
                .item_type()
                .is_some_and(|kind| CLIENT_CALLS.contains(&kind))
        {
            let object = event.item().unwrap_or(&event.body);
            let known = calls.entry(owner).or_default();
            known[1] |= field(object, "name").is_some();
            ids.extend(event.id());
            call_ids.extend(field(object, "call_id").filter(|_| !known[0]));
            known[0] |= field(object, "call_id").is_some();
        }
        for (owner, entry) in event.listed.iter().zip(event.output()) {
            let kind = field(entry, "type").unwrap_or_default();
            let only_here = !calls.contains_key(owner);
            // The entry of a `call_id` that another call has shown is that call's.
            let other = |id| call_ids.contains(id) && !calls.get(owner).is_some_and(|it| it[0]);
            let is_others = field(entry, "call_id").is_some_and(other);
            let found = field(entry, "id").is_some_and(|id| ids.contains(id)) && !is_others;
            if CLIENT_CALLS.contains(&kind) && end == End::Complete && (found || only_here) {
                let known = calls.entry(*owner).or_default();
                known[0] |= field(entry, "call_id").is_some();
                known[1] |= field(entry, "name").is_some();
            }
        }
    }
    calls
        .values()
        .filter(|known| **known != [true, true])
        .count()
}

/// The types of items that are announced again, while open, and say something else: what comes
/// then may be of the one or of the other.
fn announced_otherwise(stream: &[Event]) -> Vec<String> {
    let mut open: BTreeMap<usize, &Event> = BTreeMap::new();
    let mut kinds = Vec::new();
    for event in stream {
        let Some(owner) = event.owner else { continue };
        if event.is_done() {
            open.remove(&owner);
        } else if event.is_added() && event.item().is_some() {
            let before = open.insert(owner, event);
            let says = |event: &Event| event.item().map(|item| (texts_of(item), rest_of(item)));
            if before.is_some_and(|before| says(before) != says(event)) {
                kinds.extend(event.item_type().map(str::to_owned));
            }
        }
    }
    kinds
}

/// From where to where the events of an item are, and by what they name it.
struct Lifetimes<'a> {
    stream: &'a [Event],
    /// By item: its type, the place of its first event and of its last, whether it is closed.
    items: BTreeMap<usize, Lifetime<'a>>,
}

#[derive(Default)]
struct Lifetime<'a> {
    kind: &'a str,
    first: usize,
    last: usize,
    closed: bool,
    /// What it is named by, and from which event on.
    ids: BTreeMap<&'a str, usize>,
    indices: BTreeSet<u64>,
}

impl<'a> Lifetimes<'a> {
    fn of(stream: &'a [Event]) -> Self {
        let mut items: BTreeMap<usize, Lifetime<'a>> = BTreeMap::new();
        for (place, event) in stream.iter().enumerate() {
            let is_null = event.is_added() && event.item().is_none();
            let Some(owner) = event.owner.filter(|_| !is_null) else {
                continue;
            };
            let item = items.entry(owner).or_insert_with(|| Lifetime {
                first: place,
                ..Lifetime::default()
            });
            item.kind = event.item_type().unwrap_or(item.kind);
            item.last = place;
            // One that is announced again after its close may go on.
            item.closed = event.is_done() || item.closed && !event.is_added();
            if let Some(id) = event.id() {
                item.ids.entry(id).or_insert(place);
            }
            item.indices.extend(event.index());
        }
        Self { stream, items }
    }

    /// The other items of this type that live at the same time, or were never closed before.
    fn rivals(&self, owner: usize) -> impl Iterator<Item = &Lifetime<'a>> {
        let own = &self.items[&owner];
        let apart =
            |before: &Lifetime, after: &Lifetime| before.closed && before.last < after.first;
        self.items
            .iter()
            .filter(move |(other, item)| **other != owner && item.kind == own.kind)
            .map(|(_, item)| item)
            .filter(move |item| !apart(item, own) && !apart(own, item))
    }

    /// Whether the event at `place` can be of the item `owner` only.
    fn is_clear(&self, owner: usize, place: usize) -> bool {
        let own = &self.items[&owner];
        let event = &self.stream[place];
        let alone = self.rivals(owner).next().is_none();
        let id_of_rival = |id: &str| self.rivals(owner).any(|item| item.ids.contains_key(id));
        let own_id = event.id().is_some_and(|id| !id_of_rival(id));
        let own_index = event
            .index()
            .is_some_and(|index| !self.rivals(owner).any(|item| item.indices.contains(&index)));
        if event.is_added() {
            return alone || own_id || own_index;
        }
        if place == own.first {
            return alone || own_index && !event.id().is_some_and(id_of_rival);
        }
        let known = event
            .id()
            .is_some_and(|id| own.ids.get(id).is_some_and(|at| *at < place));
        alone || own_id && known || own_index
    }

    fn unclear(&self) -> BTreeSet<String> {
        let owned = (0..self.stream.len()).filter_map(|place| {
            let owner = self.stream[place].owner?;
            self.items.contains_key(&owner).then_some((owner, place))
        });
        owned
            .filter(|(owner, place)| !self.is_clear(*owner, *place))
            .map(|(owner, _)| self.items[&owner].kind.to_owned())
            .collect()
    }
}
