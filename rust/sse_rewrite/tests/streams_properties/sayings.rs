//! What a stream says that its rewriting must say, too (C5, C6).

use crate::client::{Rest, Seen, Texts, rest_of, texts_of};
use crate::event::{CLIENT_CALLS, Event, field};
use crate::facts::{End, Facts};

/// What one item of the rewritten stream must say.
#[derive(Debug)]
pub(crate) struct Need {
    pub(crate) kind: String,
    pub(crate) texts: Vec<Texts>,
    pub(crate) rest: Rest,
    /// The item of the stream as it came.
    pub(crate) item: usize,
}

impl Need {
    /// Whether an item that was sent says it.
    pub(crate) fn is_met_by(&self, sent: &Seen) -> bool {
        let rests = sent.rests();
        sent.kind == self.kind
            && self.texts.iter().all(|texts| sent.covers(texts))
            && self.rest.iter().all(|value| rests.contains(value))
    }
}

/// What must be said of each item, by an item of its own. Items of types of which the stream
/// leaves unclear what is of which are left out.
pub(crate) fn needs(facts: &Facts, stream: &[Event]) -> Vec<Need> {
    let mut needs = Vec::new();
    for (place, item) in facts.items.iter().enumerate() {
        if !facts.is_clear(&item.kind) || is_repetition(place, &facts.items) {
            continue;
        }
        if item.is_streamed() {
            needs.extend(streamed(item, facts, stream));
        } else if facts.end == End::Complete && !facts.joined {
            needs.extend(only_listed(item, &facts.items));
        }
    }
    needs
}

fn streamed(item: &Seen, facts: &Facts, stream: &[Event]) -> Option<Need> {
    let mut texts = vec![item.streamed.clone(), item.whole.clone()];
    texts.extend(item.announced.iter().chain(&item.close).map(texts_of));
    // An empty message that nothing announced may be dropped.
    let says = texts.iter().any(|texts| !texts.is_empty());
    let may_go = matches!(item.kind.as_str(), "message" | "reasoning") && item.announced.is_empty();
    if may_go && !says {
        return None;
    }
    if let Some(entry) = completes(item, facts, stream) {
        texts.push(entry);
    }
    Some(Need {
        kind: item.kind.clone(),
        texts,
        rest: item
            .announced
            .iter()
            .chain(&item.close)
            .flat_map(rest_of)
            .collect(),
        item: item.key,
    })
}

/// What the terminal output adds to an item that has no close and no summing up: the rest of it.
fn completes(item: &Seen, facts: &Facts, stream: &[Event]) -> Option<Texts> {
    let entry = item.listed.as_ref()?;
    let open = item.close.is_none() && item.whole.is_empty();
    let texts = texts_of(entry);
    // The pairing is certain only where the entry has an id that was streamed.
    let mut own = stream.iter().filter(|event| event.owner == Some(item.key));
    let id = field(entry, "id")?;
    let shared = facts
        .items
        .iter()
        .filter(|other| other.key != item.key)
        .any(|other| {
            let names = |value| field(value, "id") == Some(id);
            other
                .announced
                .iter()
                .chain(&other.close)
                .chain(&other.listed)
                .any(names)
        });
    let certain = !shared && own.all(|event| event.id().is_none_or(|own| own == id));
    let certain = certain && !item.announced.is_empty();
    let announced = item.announced.iter().map(texts_of);
    let adds = announced
        .chain([item.streamed.of_item_only()])
        .all(|it| texts.begins_with(&it));
    (open && certain && adds && facts.end == End::Complete).then_some(texts)
}

/// An item that only the terminal output has.
fn only_listed(item: &Seen, items: &[Seen]) -> Option<Need> {
    let entry = item.listed.as_ref()?;
    let texts = texts_of(entry);
    let may_be_empty = !matches!(item.kind.as_str(), "message" | "reasoning");
    let taken = items.iter().any(|other| is_taken_for(other, item, &texts));
    ((may_be_empty || !texts.is_empty()) && !taken).then(|| Need {
        kind: item.kind.clone(),
        texts: vec![texts],
        rest: rest_of(entry),
        item: item.key,
    })
}

/// Whether the pairing can take the entry `unannounced` for the streamed item `other`, whose own
/// entry is missing or says something else.
fn is_taken_for(other: &Seen, unannounced: &Seen, texts: &Texts) -> bool {
    let says = other.close.as_ref().map_or_else(
        || {
            [&other.whole, &other.streamed]
                .into_iter()
                .find(|it| !it.is_empty())
                .cloned()
        },
        |close| Some(texts_of(close)),
    );
    let paired = other.listed.as_ref().is_some_and(|entry| {
        let texts = texts_of(entry);
        !texts.is_empty() && says.as_ref() == Some(&texts)
    });
    // A `call_id` settles which call an entry is, even if another says the same.
    let same_call = other.call_id.is_some() && other.call_id == unannounced.call_id;
    if !other.is_streamed() || paired && !same_call {
        return false;
    }
    let hosted =
        |kind: &str| !CLIENT_CALLS.contains(&kind) && !matches!(kind, "message" | "reasoning");
    let names_agree = other.name.is_none() || other.name == unannounced.name;
    let same_type = other.kind == unannounced.kind && names_agree;
    let same_text = !texts.is_empty() && other.says().contains(texts);
    let both_hosted = hosted(&other.kind) && hosted(&unannounced.kind);
    same_call || same_type || same_text || both_hosted
}

/// Whether the item at `place` says nothing that another does not: it may be dropped.
///
/// What comes after a close under the same names is one if it is the beginning of what was said;
/// another call under the same `call_id`, if it says the same or nothing. An unfinished one may
/// be a beginning, too.
pub(crate) fn is_repetition(place: usize, items: &[Seen]) -> bool {
    let item = &items[place];
    let (before, after) = (&items[..place], &items[place + 1..]);
    // One whose name came late may turn out to repeat a call that began after it.
    let empty = item.says().iter().all(Texts::is_empty);
    let says_less = |other: &Seen| {
        empty && same_call(item, other) && other.says().iter().any(|texts| !texts.is_empty())
    };
    before.iter().any(|other| repeats(item, other))
        || after
            .iter()
            .any(|other| says_less(other) || goes_on(item, other))
}

/// Whether `other` is what `item`, a call that was closed before anything named it, says after its
/// close: nothing of it was sent until then, so that it may still grow.
fn goes_on(item: &Seen, other: &Seen) -> bool {
    let said = other.says();
    let begins = |text: &Texts| said.iter().any(|other| other.begins_with(text));
    // What the terminal output names it, which may be listed with either, comes too late.
    let is_missing = |key: &&str| {
        let mut items = item.announced.iter().chain(&item.close);
        items.all(|item| field(item, key).is_none())
    };
    other.key == item.key
        && CLIENT_CALLS.contains(&item.kind.as_str())
        && ["call_id", "name"].iter().any(is_missing)
        && item.says().iter().all(begins)
}

/// Whether two items are calls of one name under one `call_id`, or one id where none is known.
fn same_call(item: &Seen, other: &Seen) -> bool {
    let names_agree = other.name.is_none() || item.name.is_none() || other.name == item.name;
    let unnamed = other.call_id.is_none() || item.call_id.is_none();
    let named = other.call_id.is_some() && other.call_id == item.call_id
        || unnamed && other.id.is_some() && other.id == item.id;
    other.key != item.key && named && other.kind == item.kind && names_agree
}

/// Whether `item` says nothing that `other` does not.
fn repeats(item: &Seen, other: &Seen) -> bool {
    let texts = item.says().into_iter().filter(|texts| !texts.is_empty());
    let says = other.says();
    let begins = texts
        .into_iter()
        .all(|text| says.iter().any(|said| said.begins_with(&text)));
    let unfinished = item.close.is_none() && item.whole.is_empty();
    let finally = item.close.as_ref().map(texts_of).unwrap_or_default();
    let same = unfinished || finally.is_empty() || says.contains(&finally);
    begins && (other.key == item.key || same_call(item, other) && same)
}
