//! When events are sent: what waits too long, and what must not come with a failure (C12, C13).

use std::collections::HashMap;

use crate::event::{Event, field, show};
use crate::facts::{Facts, waits};
use crate::kept::without_names;

/// The deltas that have not been sent once the frames after `frame` of their own event were.
///
/// `sent` is what was sent for each frame of the stream. A call may wait for its name, or until
/// it shows whether it is a repetition; nothing else may.
pub(crate) fn late(came: &[Event], sent: &[Vec<Event>], facts: &Facts) -> Vec<String> {
    let prompt = |event: &Event| {
        let mut of = facts
            .items
            .iter()
            .filter(|item| Some(item.key) == event.owner);
        of.all(|item| !waits(item, &facts.items, came))
    };
    let mut left: HashMap<&str, usize> = HashMap::new();
    let mut late = Vec::new();
    for (sent, event) in sent.iter().zip(came) {
        for delta in sent.iter().filter_map(Event::delta) {
            *left.entry(delta).or_default() += 1;
        }
        // What waits may go later, and then comes on top.
        if let Some(delta) = event.delta().filter(|it| !it.is_empty() && prompt(event)) {
            match left.get_mut(delta).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => late.push(format!("C12: waits: {}", show(event))),
            }
        }
    }
    late
}

/// What was closed, announced or put back with a failure, or at the end of a stream cut off.
///
/// `after` is the part of what was `sent` that came with the failure or after it.
pub(crate) fn added_after_failure(came: &[Event], sent: &[Event], after: &[Event]) -> Vec<String> {
    let known: Vec<String> = came.iter().map(without_names).collect();
    let of_items = after
        .iter()
        .filter(|event| event.is_added() || event.is_done());
    let mut faults: Vec<String> = of_items
        .filter(|event| !known.contains(&without_names(event)))
        .map(|event| format!("C13: did not come: {}", show(event)))
        .collect();
    let closes = |stream: &[Event]| stream.iter().filter(|event| event.is_done()).count();
    if closes(sent) > closes(came) {
        faults.push("C13: an item is closed that was not".to_owned());
    }
    let listed =
        |stream: &[Event]| -> usize { stream.iter().map(|event| event.output().len()).sum() };
    if listed(sent) != listed(came) {
        faults.push("C13: the failed response lists other items".to_owned());
    }
    faults
}

/// The entries of a failed response that have another identity than their announced items.
pub(crate) fn misnamed(came: &[Event], sent: &[Event], facts: &Facts) -> Vec<String> {
    let announced = |owner: &usize| {
        let mut items = facts.items.iter().filter(|item| item.key == *owner);
        items.any(|item| !item.announced.is_empty() && facts.is_clear(&item.kind))
    };
    let ids: Vec<&str> = sent
        .iter()
        .filter(|it| it.is_added())
        .filter_map(Event::id)
        .collect();
    let failed = |event: &&Event| event.name() == "failed";
    let all_announced = came
        .iter()
        .filter(failed)
        .flat_map(|it| &it.listed)
        .all(announced);
    if facts.joined || !all_announced {
        return Vec::new();
    }
    let entries = sent.iter().filter(failed).flat_map(Event::output);
    entries
        .map(|entry| field(entry, "id").unwrap_or_default())
        .filter(|id| !ids.contains(id))
        .map(|id| format!("C13: the failed response lists {id:?}"))
        .collect()
}
