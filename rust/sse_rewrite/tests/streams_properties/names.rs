//! Faults of ids, names and indices.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::event::{Event, Lane, Stream, field};
use crate::faults::{Blank, Late, Shown, is_of};

/// Every place where an id stands: of events, and of the entries of the terminal output.
fn each_id(stream: &mut Stream, everywhere: bool, mut set: impl FnMut(&mut Value, &str)) {
    for event in stream.iter_mut() {
        if everywhere && let Some((place, key)) = event.id_place() {
            set(place, key);
        }
        for entry in event.output_mut().into_iter().flatten() {
            set(entry, "id");
        }
    }
}

pub(crate) fn fresh_ids(stream: &mut Stream, everywhere: bool) {
    let mut fresh = 0;
    each_id(stream, everywhere, |place, key| {
        fresh += 1;
        place[key] = json!(format!("fresh_{fresh}"));
    });
}

pub(crate) fn same_ids(stream: &mut Stream) {
    each_id(stream, true, |place, key| place[key] = json!("same"));
}

pub(crate) fn set_ids(stream: &mut Stream, blank: Blank) {
    each_id(stream, true, |place, key| set_blank(place, key, blank));
}

fn set_blank(place: &mut Value, key: &str, blank: Blank) {
    match blank {
        Blank::Empty => place[key] = json!(""),
        Blank::Null => place[key] = Value::Null,
        Blank::Absent => {
            place
                .as_object_mut()
                .and_then(|members| members.remove(key));
        }
    }
}

pub(crate) fn fresh_call_ids(stream: &mut Stream, in_close: bool) {
    let mut fresh = 0;
    let mut renew = |item: &mut Value| {
        if field(item, "call_id").is_some() {
            fresh += 1;
            item["call_id"] = json!(format!("call_fresh_{fresh}"));
        }
    };
    for event in stream.iter_mut() {
        if in_close && event.is_done() {
            event.item_mut().into_iter().for_each(&mut renew);
        }
        event
            .output_mut()
            .into_iter()
            .flatten()
            .for_each(&mut renew);
    }
}

pub(crate) fn name_empty_in_close(stream: &mut Stream, struck: &[usize]) {
    for event in stream
        .iter_mut()
        .filter(|it| it.is_done() && is_of(it, struck))
    {
        if let Some(item) = event
            .item_mut()
            .filter(|item| field(item, "name").is_some())
        {
            item["name"] = json!("");
        }
    }
}

/// The names that `late` means are blank before `shown`.
pub(crate) fn named_late(
    stream: &mut Stream,
    struck: &[usize],
    late: Late,
    blank: Blank,
    shown: Shown,
) {
    let keys: &[&str] = match late {
        Late::CallId => &["call_id"],
        Late::Name => &["name"],
        Late::Both => &["call_id", "name"],
    };
    for owner in struck {
        let done = stream
            .iter()
            .find(|it| it.is_done() && it.owner == Some(*owner));
        let named = done.and_then(Event::item).cloned().unwrap_or_default();
        for event in stream.iter_mut() {
            let own = event.owner == Some(*owner);
            if own && (event.is_added() || event.is_done() && shown > Shown::Close) {
                let item = event.item_mut().into_iter();
                item.for_each(|item| keys.iter().for_each(|key| set_blank(item, key, blank)));
            } else if own && event.whole().is_some() {
                for key in keys {
                    if shown == Shown::ArgumentsDone {
                        event.body[*key] = named[*key].clone();
                    } else {
                        event.remove(key);
                    }
                }
            }
            let places = event.listed.iter().enumerate();
            let places: Vec<usize> = places
                .filter_map(|(place, listed)| (listed == owner).then_some(place))
                .collect();
            if shown == Shown::Never
                && let Some(output) = event.output_mut()
            {
                for (place, key) in places
                    .iter()
                    .flat_map(|it| keys.iter().map(move |key| (it, key)))
                {
                    set_blank(&mut output[*place], key, blank);
                }
            }
        }
    }
}

/// The parts of each item's content, by its `content_index`.
fn content_indices(stream: &Stream, owner: usize) -> BTreeSet<u64> {
    let own = stream.iter().filter(|event| event.owner == Some(owner));
    let index = |event: &Event| event.body.get("content_index").and_then(Value::as_u64);
    own.filter_map(index).collect()
}

/// `content_index` is counted over the response and not inside its item.
pub(crate) fn content_index_carried(stream: &mut Stream) {
    let mut before = 0;
    for owner in crate::faults::owners(stream) {
        let count = content_indices(stream, owner).len() as u64;
        for event in stream.iter_mut().filter(|event| event.owner == Some(owner)) {
            if let Some(index) = event.body.get("content_index").and_then(Value::as_u64) {
                event.body["content_index"] = json!(index + before);
            }
        }
        before += count;
    }
}

/// `content_index` grows with every text event of an item of one part, `opened` or not.
pub(crate) fn content_index_per_delta(stream: &mut Stream, struck: &[usize], opened: bool) {
    for owner in struck {
        if content_indices(stream, *owner).len() > 1 {
            continue;
        }
        let in_content =
            |event: &Event| event.place().is_some_and(|(lane, _)| lane == Lane::Content);
        let own = |event: &Event| event.owner == Some(*owner) && in_content(event);
        if !opened {
            stream.retain(|event| !(own(event) && event.opens_part()));
        }
        let mut next = 0;
        for event in stream.iter_mut().filter(|event| own(event)) {
            let counts = event.body.get("content_index").is_some() && !event.opens_part();
            if counts {
                event.body["content_index"] = json!(next);
                next += 1;
            }
        }
    }
}

fn index_of(stream: &Stream, owner: usize) -> Option<u64> {
    let own = stream.iter().filter(|event| event.owner == Some(owner));
    own.into_iter().find_map(Event::index)
}

fn move_index(stream: &mut Stream, moves: impl Fn(&Event, u64) -> u64) {
    for event in stream.iter_mut() {
        if let Some(index) = event.index() {
            event.body["output_index"] = json!(moves(event, index));
        }
    }
}

/// The items of `others` have the index of the first of `one`.
pub(crate) fn collide(stream: &mut Stream, one: &[usize], others: &[usize]) {
    let Some(index) = one.first().and_then(|owner| index_of(stream, *owner)) else {
        return;
    };
    move_index(
        stream,
        |event, old| if is_of(event, others) { index } else { old },
    );
}

/// The indices from the first item of `struck` on are two higher.
pub(crate) fn gap(stream: &mut Stream, struck: &[usize]) {
    let Some(first) = struck.first().and_then(|owner| index_of(stream, *owner)) else {
        return;
    };
    move_index(stream, |_, old| if old >= first { old + 2 } else { old });
}

/// The indices behind the items of `struck` are lower, as if those were not there.
pub(crate) fn close_gaps(stream: &mut Stream, struck: &[usize]) {
    let of = |owner: &usize| index_of(stream, *owner);
    let gone: BTreeSet<u64> = struck.iter().filter_map(of).collect();
    move_index(stream, |_, old| {
        old - gone.iter().filter(|index| **index < old).count() as u64
    });
}

/// Makes room for an item behind that of `owner`; the index of the room.
pub(crate) fn room_behind(stream: &mut Stream, owner: usize) -> Option<u64> {
    let index = index_of(stream, owner)?;
    move_index(stream, |_, old| if old > index { old + 1 } else { old });
    Some(index + 1)
}
