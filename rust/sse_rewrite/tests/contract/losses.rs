//! What of an incoming stream is missing from the outgoing one, and what was made up.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use crate::judge::{is_call, payload, payload_texts};
use crate::model::{Event, Numbered, field, part_list, said, show_item};

/// What of the events that `came` is missing from those `sent`, or was made up (C5, C6).
pub(crate) fn losses(came: &[Numbered], sent: &[Numbered]) -> Vec<String> {
    let mut losses = Vec::new();
    texts(came, sent, &mut losses);
    closes(came, sent, &mut losses);
    outputs(came, sent, &mut losses);
    losses
}

/// Every text arrives, and those of one item in their order.
fn texts(came: &[Numbered], sent: &[Numbered], losses: &mut Vec<String>) {
    let all = |events: &[Numbered]| -> Vec<String> {
        let texts = events.iter().filter_map(|(_, event)| text_of(event));
        texts.map(str::to_owned).collect()
    };
    let (all_came, all_sent) = (all(came), all(sent));
    let count = |texts: &[String], text: &str| texts.iter().filter(|other| *other == text).count();
    // A call that is streamed twice may be cut otherwise the second time.
    let may_repeat = repeats(came);
    let streamed = streamed_by_index(sent).into_values().flatten();
    let closed = all_closes(sent).map(|(_, item)| said(item));
    let whole: Vec<String> = streamed.chain(closed).collect();
    for text in &all_came {
        let (before, after) = (count(&all_came, text), count(&all_sent, text));
        let is_said = || whole.iter().any(|whole| whole.contains(&**text));
        if after < before && !(may_repeat && is_said()) {
            losses.push(format!("C6: the text {text:?} is lost"));
        }
    }
    for (index, mut texts) in texts_by_index(sent) {
        // An inserted event that sums up repeats the delta before it.
        texts.dedup();
        let mut came = all_came.iter();
        let known = texts.iter().filter(|text| all_came.contains(text));
        for text in known {
            if !came.any(|other| other == text) {
                losses.push(format!(
                    "C6: the text {text:?} of item {index} is out of order"
                ));
                break;
            }
        }
    }
}

/// Every close that says something arrives, or what it says was said already; and a close that
/// the server did not send says what was streamed.
fn closes(came: &[Numbered], sent: &[Numbered], losses: &mut Vec<String>) {
    let streamed = streamed_by_index(sent);
    for (_, item) in all_closes(came) {
        let closed = all_closes(sent).map(|(_, item)| item);
        let arrived = closed.chain(announced(sent)).any(|other| same(item, other));
        let streamed = streamed.values().any(|texts| texts.contains(&said(item)));
        if says_something(item) && !arrived && !streamed {
            losses.push(format!("C5: the close of {} is lost", show_item(item)));
        }
    }
    let closed = all_closes(came).map(|(_, item)| item);
    let told: Vec<&Value> = announced(came).chain(closed).chain(listed(came)).collect();
    for (index, item) in all_closes(sent) {
        let streamed = streamed.get(&index).cloned().unwrap_or_default();
        // What an announcement says in parts is not streamed in events.
        let opening = opening(sent, index).unwrap_or_default();
        let is_streamed = streamed
            .iter()
            .any(|text| said(item).strip_prefix(&*opening) == Some(text) || said(item) == *text);
        if !told.iter().any(|other| same(item, other)) && !is_streamed {
            let said = said(item);
            losses.push(format!(
                "C5: {index} is closed with {said:?}, but streamed {streamed:?}"
            ));
        }
    }
}

/// What the server lists is in the output, or was streamed as something else.
fn outputs(came: &[Numbered], sent: &[Numbered], losses: &mut Vec<String>) {
    for (_, event) in came {
        let Event::Terminal { output, .. } = event else {
            continue;
        };
        let sent_output = sent.iter().rev().find_map(|(_, event)| match event {
            Event::Terminal { output, .. } => Some(output),
            _ => None,
        });
        let sent_output = sent_output.map_or(&[][..], Vec::as_slice);
        let missing: Vec<&Value> = output
            .iter()
            .filter(|item| carries(item))
            .filter(|item| !sent_output.iter().any(|other| same(item, other)))
            .filter(|item| !is_repeated_call(item, came, output))
            .collect();
        if !each_has_its_own(&missing, sent_output, came) {
            let missing: Vec<String> = missing.into_iter().map(show_item).collect();
            losses.push(format!("C5: lost from the output: {missing:?}"));
        }
    }
}

/// Whether each of the `missing` items can be a restatement of a streamed item of its own.
fn each_has_its_own(missing: &[&Value], streamed: &[Value], came: &[Numbered]) -> bool {
    fn place(
        item: usize,
        could: &dyn Fn(usize, usize) -> bool,
        of_streamed: &mut [Option<usize>],
        tried: &mut HashSet<usize>,
    ) -> bool {
        for slot in 0..of_streamed.len() {
            if !could(item, slot) || !tried.insert(slot) {
                continue;
            }
            let free = match of_streamed[slot] {
                None => true,
                Some(other) => place(other, could, of_streamed, tried),
            };
            if free {
                of_streamed[slot] = Some(item);
                return true;
            }
        }
        false
    }
    let could = |item: usize, slot: usize| could_be(missing[item], &streamed[slot], came);
    let mut of_streamed = vec![None; streamed.len()];
    (0..missing.len()).all(|item| place(item, &could, &mut of_streamed, &mut HashSet::new()))
}

/// Whether any step of the pairing can take `rebuilt` for the item `streamed`.
fn could_be(rebuilt: &Value, streamed: &Value, came: &[Numbered]) -> bool {
    let agree = |key: &str| field(rebuilt, key) == field(streamed, key);
    let unnamed = field(rebuilt, "name").is_none() || field(streamed, "name").is_none();
    if agree("type") && (agree("name") || unnamed) {
        return true;
    }
    let kind = |item: &Value| field(item, "type").unwrap_or_default().to_owned();
    let (new, old) = (kind(rebuilt), kind(streamed));
    let call_id = field(rebuilt, "call_id");
    // The id may be one that upstream gave and another item has: ask what came.
    let id = field(rebuilt, "id");
    let had_id = id.is_some()
        && came.iter().any(|(_, event)| match event {
            Event::Added { item, .. } | Event::Done { item, .. } => {
                field(item, "id") == id && field(item, "type") == Some(&old)
            }
            Event::Scoped { item_id, .. } => item_id.as_deref() == id,
            _ => false,
        });
    let named_alike = (call_id.is_some() && agree("call_id") || had_id) && new == old;
    let same_id = (agree("id") || had_id) && (!is_call(&new) || is_call(&old));
    if named_alike || same_id {
        return true;
    }
    // What says nothing, and a call of the server's under another type, stands for what is there.
    let is_hosted = |kind: &str| HOSTED.contains(&kind);
    let says_nothing = !says_something(rebuilt) && !is_call(&new);
    let cut = old == "function_call"
        && new == "message"
        && serde_json::from_str::<Value>(field(streamed, "arguments").unwrap_or("")).is_err();
    let alike = payload_texts(rebuilt) == payload_texts(streamed);
    (is_hosted(&old) && is_hosted(&new))
        || says_nothing
        || cut
        || (alike && (is_call(&old) || !is_call(&new)))
}

/// The calls of these tests that the server runs.
const HOSTED: [&str; 3] = ["mcp_call", "code_interpreter_call", "web_search_call"];

/// A call that the output lists although it was streamed, or listed, under the same `call_id`.
fn is_repeated_call(item: &Value, came: &[Numbered], output: &[Value]) -> bool {
    let repeats = |other: &&Value| {
        let alike = ["type", "call_id"]
            .iter()
            .all(|key| field(item, key) == field(other, key));
        alike && (said(item).is_empty() || said(item) == said(other))
    };
    let told = came.iter().filter_map(|(_, event)| match event {
        Event::Added { item, .. } | Event::Done { item, .. } => Some(item),
        _ => None,
    });
    let is_call = is_call(field(item, "type").unwrap_or_default());
    let listed = output.iter().filter(repeats).count();
    is_call && field(item, "call_id").is_some() && (listed > 1 || told.filter(repeats).count() > 0)
}

/// Whether the server says something twice: by an announcement or close that repeats one, or by
/// an event that sums up.
fn repeats(came: &[Numbered]) -> bool {
    let mut names = HashSet::new();
    came.iter().any(|(_, event)| match event {
        Event::Added { item, .. } | Event::Done { item, .. } => {
            let is_added = matches!(event, Event::Added { .. });
            let kind = field(item, "type");
            let mut keys = ["id", "call_id"].into_iter();
            keys.any(|key| {
                let name = field(item, key);
                name.is_some() && !names.insert((is_added, kind, key, name))
            })
        }
        Event::Scoped { event_type, .. } => verb(event_type) == "done",
        _ => false,
    })
}

/// What each item says by its events, in order, by its index.
fn texts_by_index(events: &[Numbered]) -> BTreeMap<u64, Vec<String>> {
    let mut texts: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (_, event) in events {
        if let (Event::Scoped { index, .. }, Some(text)) = (event, text_of(event)) {
            let texts = texts.entry(index.unwrap_or(u64::MAX)).or_default();
            texts.push(text.to_owned());
        }
    }
    texts
}

/// What each item has streamed: its deltas, the texts that sum them up, and the parts as they
/// were closed. A server may contradict itself.
fn streamed_by_index(events: &[Numbered]) -> BTreeMap<u64, [String; 3]> {
    type Places = BTreeMap<(Option<&'static str>, u64), [Option<String>; 3]>;
    let mut texts: BTreeMap<u64, Places> = BTreeMap::new();
    for (_, event) in events {
        let Event::Scoped {
            event_type,
            index,
            part,
            text,
            ..
        } = event
        else {
            continue;
        };
        let name = event_type.trim_start_matches("response.");
        let place = (part_list(name), part.unwrap_or(0));
        let of_item = texts.entry(index.unwrap_or(u64::MAX)).or_default();
        let [deltas, whole, closed] = of_item.entry(place).or_default();
        let is_part = name.split('.').next().unwrap().ends_with("_part");
        let verb = verb(name);
        if is_part && verb == "done" {
            *closed = Some(text.clone());
        } else if verb == "done" {
            *whole = Some(text.clone());
        } else if verb == "delta" || is_part {
            let deltas = deltas.get_or_insert_default();
            let more = text.strip_prefix(&**deltas).filter(|_| is_part);
            *deltas += more.unwrap_or(text);
        }
    }
    let joined = |places: Places| {
        [1, 2, 3].map(|known| {
            let texts = places.values();
            let last = texts.map(|texts| texts[..known].iter().rev().flatten().next());
            last.flatten().cloned().collect()
        })
    };
    let texts = texts.into_iter();
    texts
        .map(|(index, places)| (index, joined(places)))
        .collect()
}

/// What an event does, by the end of its type.
fn verb(event_type: &str) -> &str {
    event_type.rsplit('.').next().unwrap()
}

fn text_of(event: &Event) -> Option<&str> {
    match event {
        Event::Scoped { text, .. } if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// What the item at `index` says in its announcement.
fn opening(sent: &[Numbered], index: u64) -> Option<String> {
    sent.iter().find_map(|(_, event)| match event {
        Event::Added { index: other, item } if *other == Some(index) => Some(said(item)),
        _ => None,
    })
}

fn announced(events: &[Numbered]) -> impl Iterator<Item = &Value> {
    events.iter().filter_map(|(_, event)| match event {
        Event::Added { item, .. } => Some(item),
        _ => None,
    })
}

fn all_closes(events: &[Numbered]) -> impl Iterator<Item = (u64, &Value)> {
    events.iter().filter_map(|(_, event)| match event {
        Event::Done { index, item } => Some((index.unwrap_or(u64::MAX), item)),
        _ => None,
    })
}

fn listed(events: &[Numbered]) -> impl Iterator<Item = &Value> {
    let outputs = events.iter().filter_map(|(_, event)| match event {
        Event::Terminal { output, .. } => Some(output),
        _ => None,
    });
    outputs.flatten()
}

fn same(left: &Value, right: &Value) -> bool {
    field(left, "type") == field(right, "type") && payload(left) == payload(right)
}

fn says_something(item: &Value) -> bool {
    !payload_texts(item).is_empty()
}

fn carries(item: &Value) -> bool {
    let text = matches!(field(item, "type"), Some("message" | "reasoning"));
    field(item, "type").is_some() && (!text || says_something(item))
}
