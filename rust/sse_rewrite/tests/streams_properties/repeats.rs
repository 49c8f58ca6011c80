//! Faults of events that come twice, or too late.

use serde_json::{Value, json};

use crate::event::{Event, Stream, field};
use crate::faults::{Says, is_of, owners};
use crate::names::room_behind;

/// The text of an item under the key that its type has, where it has one.
fn text_mut(item: &mut Value) -> Option<&mut Value> {
    let key = ["arguments", "input", "code"]
        .into_iter()
        .find(|key| item[*key].is_string());
    if let Some(key) = key {
        return item.get_mut(key);
    }
    item.get_mut("content")?.get_mut(0)?.get_mut("text")
}

fn position(stream: &Stream, owner: usize, what: impl Fn(&Event) -> bool) -> Option<usize> {
    stream
        .iter()
        .position(|event| event.owner == Some(owner) && what(event))
}

/// The last event of an item that names it.
fn last_of(stream: &Stream, owner: usize) -> Option<usize> {
    stream.iter().rposition(|event| event.owner == Some(owner))
}

/// A status event comes after the close.
pub(crate) fn status_after_close(stream: &mut Stream, struck: &[usize]) {
    for owner in struck {
        let statuses = ["completed", "failed", "in_progress"];
        let is_status = |event: &Event| {
            let verb = event.name().split('.').nth(1);
            event.is_scoped() && verb.is_some_and(|verb| statuses.contains(&verb))
        };
        let status = stream
            .iter()
            .rposition(|it| it.owner == Some(*owner) && is_status(it));
        let close = position(stream, *owner, Event::is_done);
        if let (Some(status), Some(close)) = (status, close)
            && status < close
        {
            let event = stream.remove(status);
            stream.insert(close, event);
        }
    }
}

/// An item is announced again, before or after its close, and says `says`.
pub(crate) fn announcement_again(
    stream: &mut Stream,
    struck: &[usize],
    says: Says,
    after_close: bool,
) {
    for owner in struck {
        let Some(added) = position(stream, *owner, |it| it.is_added() && it.item().is_some())
        else {
            continue;
        };
        let close = position(stream, *owner, Event::is_done);
        let mut again = stream[added].clone();
        let whole = close.and_then(|place| stream[place].item()).cloned();
        match says {
            Says::More => {
                let text = whole
                    .clone()
                    .and_then(|mut item| text_mut(&mut item).cloned());
                let place = again.item_mut().and_then(text_mut);
                if let (Some(place), Some(text)) = (place, text) {
                    *place = text;
                } else if let Some(item) = whole {
                    again.body["item"] = item;
                }
            }
            Says::Other => {
                if let Some(place) = again.item_mut().and_then(text_mut) {
                    *place = json!("other");
                }
            }
            Says::Same | Says::Nothing => {}
        }
        let own_next = (added + 1..stream.len()).find(|place| stream[*place].owner == Some(*owner));
        let place = if after_close {
            close
        } else {
            own_next.filter(|_| close.is_some())
        };
        stream.insert(place.unwrap_or(added) + 1, again);
    }
}

/// An item is closed again, at once or as the last of all items, and says `says`.
pub(crate) fn close_again(stream: &mut Stream, struck: &[usize], says: Says, late: bool) {
    for owner in struck {
        let Some(close) = position(stream, *owner, Event::is_done) else {
            continue;
        };
        let mut again = stream[close].clone();
        let text = again.item_mut().and_then(text_mut);
        if let Some(text) = text {
            match says {
                Says::Nothing => *text = json!(""),
                Says::More => {
                    let more = text.as_str().unwrap_or_default().to_owned() + " and more";
                    *text = json!(more);
                }
                Says::Same | Says::Other => {}
            }
        }
        let last = stream.iter().rposition(|event| event.owner.is_some());
        let place = if late { last.unwrap_or(close) } else { close };
        stream.insert(place + 1, again);
    }
}

/// How a call is streamed twice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Twice {
    /// With other arguments the second time.
    pub(crate) other: bool,
    pub(crate) shared: Shared,
    /// Twice in the terminal output, too.
    pub(crate) listed: bool,
}

/// What both times have in common, beside the `call_id`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shared {
    Nothing,
    Id,
    Index,
    Both,
}

/// All events of a call come a second time after its last.
pub(crate) fn call_twice(stream: &mut Stream, owner: usize, how: Twice) {
    let Some(last) = last_of(stream, owner) else {
        return;
    };
    let same_id = matches!(how.shared, Shared::Id | Shared::Both);
    let second = owners(stream).last().map_or(0, |last| last + 1);
    let index = if matches!(how.shared, Shared::Index | Shared::Both) {
        None
    } else {
        room_behind(stream, owner)
    };
    let own = stream.iter().filter(|event| event.owner == Some(owner));
    let mut events: Vec<Event> = own.cloned().collect();
    let mut told = false;
    for event in &mut events {
        rename(event, how, &mut told);
        event.owner = Some(second);
        if let (Some(index), true) = (index, event.index().is_some()) {
            event.body["output_index"] = json!(index);
        }
        if let (false, Some((place, key))) = (same_id, event.id_place()) {
            place[key] = json!(format!("again_{owner}"));
        }
    }
    stream.splice((last + 1)..=last, events);
    for event in stream.iter_mut().filter(|_| how.listed) {
        let Some(place) = event.listed.iter().position(|listed| *listed == owner) else {
            continue;
        };
        let mut entry = event.output()[place].clone();
        if let (true, Some(text)) = (how.other, text_mut(&mut entry)) {
            *text = other_text(text);
        }
        if !same_id {
            entry["id"] = json!(format!("again_{owner}"));
        }
        event.listed.insert(place + 1, second);
        if let Some(output) = event.output_mut() {
            output.insert(place + 1, entry);
        }
    }
}

fn other_text(text: &Value) -> Value {
    json!(format!("other {}", text.as_str().unwrap_or_default()))
}

/// Gives an event of the second time its other arguments; the first delta has what differs.
fn rename(event: &mut Event, how: Twice, told: &mut bool) {
    if !how.other {
        return;
    }
    let whole = event.whole().is_some();
    if event.is_done() {
        if let Some(text) = event.item_mut().and_then(text_mut) {
            *text = other_text(text);
        }
    } else if event.delta().is_some() && !*told {
        *told = true;
        event.body["delta"] = other_text(&event.body["delta"]);
    } else if whole {
        let keys = ["arguments", "input"];
        if let Some(key) = keys.into_iter().find(|key| event.body[*key].is_string()) {
            event.body[key] = other_text(&event.body[key]);
        }
    }
}

/// A call is closed empty before its arguments come.
pub(crate) fn closed_empty_first(stream: &mut Stream, owner: usize) {
    let added = position(stream, owner, Event::is_added);
    let whole = position(stream, owner, |event| event.whole().is_some());
    let close = position(stream, owner, Event::is_done);
    let (Some(added), Some(whole), Some(close)) = (added, whole, close) else {
        return;
    };
    let mut empty: Vec<Event> = [whole, close].map(|place| stream[place].clone()).into();
    for event in &mut empty {
        let object = if event.is_done() {
            event.item_mut()
        } else {
            Some(&mut event.body)
        };
        if let Some(text) = object.and_then(text_mut) {
            *text = json!("");
        }
    }
    stream.splice((added + 1)..=added, empty);
}

/// A further `response.created` comes after some of the items' events.
///
/// With `restart` the items that begin after it count their indices from 0 again.
pub(crate) fn created_again(stream: &mut Stream, at: u8, restart: bool) {
    let owned = (0..stream.len()).filter(|place| stream[*place].owner.is_some());
    let owned: Vec<usize> = owned.collect();
    let Some(place) = owned.get(usize::from(at) % owned.len().max(1)).copied() else {
        return;
    };
    let begun: Vec<usize> = stream[..place]
        .iter()
        .filter_map(|event| event.owner)
        .collect();
    let later = |event: &&mut Event| event.owner.is_some() && !is_of(event, &begun);
    let first = stream[place..].iter_mut().filter(later);
    let first = first.filter_map(|event| event.index()).min().unwrap_or(0);
    if restart {
        for event in stream[place..].iter_mut().filter(later) {
            if let Some(index) = event.index() {
                event.body["output_index"] = json!(index - first);
            }
        }
    }
    let begins = |event: &&Event| matches!(event.name(), "created" | "in_progress");
    let again: Vec<Event> = stream[..place].iter().filter(begins).cloned().collect();
    stream.splice(place..place, again);
}

/// The `call_id` of an item or of an event, where it has one.
fn call_id(event: &Event) -> Option<&str> {
    field(event.item().unwrap_or(&event.body), "call_id")
}

/// Whether two calls of a stream have one `call_id`.
pub(crate) fn repeats_a_call(stream: &Stream) -> bool {
    let named = stream
        .iter()
        .filter_map(|event| Some((call_id(event)?, event.owner?)));
    let named: Vec<(&str, usize)> = named.collect();
    let clash = |(call, owner): &(&str, usize)| {
        named
            .iter()
            .any(|(other, second)| other == call && owner != second)
    };
    named.iter().any(clash)
}
