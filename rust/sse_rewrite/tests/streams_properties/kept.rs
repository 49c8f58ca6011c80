//! What is lost or altered between a stream and its rewriting (C5, C6, C9).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value;

use crate::client::{Seen, Texts, by_index, index_key, index_of_key, rest_of, texts_of};
use crate::event::{Event, field, show};
use crate::facts::{End, Facts};
use crate::sayings::{Need, is_repetition, needs};

/// What of the stream `came` is not said in the one that was `sent`.
pub(crate) fn losses(came: &[Event], sent: &[Event], facts: &Facts) -> Vec<String> {
    let mut losses = Vec::new();
    let items = by_index(sent);
    if !facts.joined {
        losses.extend(unmet(came, &items, facts));
    }
    losses.extend(lost_deltas(sent, facts));
    losses.extend(lost_closes(&items, came, sent));
    let foreign = |stream: &[Event]| -> Vec<String> {
        let foreign = stream.iter().filter(|event| is_foreign(event));
        foreign.map(without_names).collect()
    };
    if foreign(came) != foreign(sent) {
        losses.push("C9: what is of no item is not sent as it came".to_owned());
    }
    losses
}

/// Whether a frame is of no item and of no response.
fn is_foreign(event: &Event) -> bool {
    let begins = matches!(event.name(), "created" | "queued" | "in_progress");
    let of_item = event.is_added() || event.is_done() || event.is_scoped();
    !(begins || of_item || event.is_terminal())
}

/// What each item says must be said by an item of its own.
fn unmet(came: &[Event], items: &[Seen], facts: &Facts) -> Vec<String> {
    let needs = needs(facts, came);
    let mut taken: Vec<Option<usize>> = vec![None; items.len()];
    let could = |need: usize, item: usize| needs[need].is_met_by(&items[item]);
    let unmet =
        (0..needs.len()).filter(|need| !place(*need, &could, &mut taken, &mut HashSet::new()));
    let texts = |need: usize| {
        let texts = needs[need].texts.iter().filter(|texts| !texts.is_empty());
        texts.map(Texts::to_string).collect::<BTreeSet<_>>()
    };
    unmet
        .map(|need| {
            let Need {
                kind, item, rest, ..
            } = &needs[need];
            format!(
                "C5: no item of its own says {kind} {item}: {:?} {rest:?}",
                texts(need)
            )
        })
        .collect()
}

/// Finds an item for a need, moving other needs to other items: an augmenting path.
fn place(
    need: usize,
    could: &dyn Fn(usize, usize) -> bool,
    taken: &mut [Option<usize>],
    tried: &mut HashSet<usize>,
) -> bool {
    for item in 0..taken.len() {
        if !could(need, item) || !tried.insert(item) {
            continue;
        }
        let free = match taken[item] {
            None => true,
            Some(other) => place(other, could, taken, tried),
        };
        if free {
            taken[item] = Some(need);
            return true;
        }
    }
    false
}

/// Every delta is sent, as often as it came, unless its item is a repetition.
fn lost_deltas(sent: &[Event], facts: &Facts) -> Vec<String> {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for delta in sent.iter().filter_map(Event::delta) {
        *left.entry(delta).or_default() += 1;
    }
    let mut losses = Vec::new();
    let items = facts.items.iter().enumerate();
    let mut items: Vec<_> = items
        .map(|(place, item)| (is_repetition(place, &facts.items), item))
        .collect();
    // The deltas that must be there come first.
    items.sort_by_key(|(may_go, _)| *may_go);
    for (may_go, item) in items {
        // Where it is unclear what is of which, something may look as if it had been said.
        let guessed = !facts.is_clear(&item.kind);
        for delta in item.deltas.iter().filter(|delta| !delta.is_empty()) {
            let said_elsewhere = || {
                let others = facts
                    .items
                    .iter()
                    .filter(|other| !std::ptr::eq(*other, item));
                let mut others = others.filter(|other| other.kind == item.kind);
                others.any(|other| other.says().iter().any(|said| begins(said, delta)))
            };
            let left = left.entry(delta).or_default();
            if *left > 0 {
                *left -= 1;
            } else if !(may_go || guessed && said_elsewhere()) {
                losses.push(format!(
                    "C6: the delta {delta:?} of item {} is lost",
                    item.key
                ));
            }
        }
    }
    losses
}

fn begins(said: &Texts, text: &str) -> bool {
    said.lanes().any(|(_, said)| said.starts_with(text))
}

/// The text of every close is said by some item.
fn lost_closes(items: &[Seen], came: &[Event], sent: &[Event]) -> Vec<String> {
    let mut losses = Vec::new();
    for item in came
        .iter()
        .filter(|event| event.is_done())
        .filter_map(Event::item)
    {
        let kind = field(item, "type").unwrap_or_default();
        let texts = texts_of(item);
        let said = |sent: &Seen| sent.kind == kind && sent.covers(&texts);
        // In a stream that is joined, an event without index may pass as it came.
        let passed =
            |event: &Event| event.is_done() && event.item().map(texts_of) == Some(texts_of(item));
        if !items.iter().any(said) && !sent.iter().any(passed) && !texts.is_empty() {
            losses.push(format!(
                "C5: the close of a {kind} that says {texts} is lost"
            ));
        }
    }
    losses
}

/// What a stream says, to look up whether something is of it.
struct Said {
    deltas: HashSet<String>,
    wholes: HashSet<String>,
    /// What each item says, by its type, each time it is written out.
    items: Vec<(String, Texts)>,
    rest: Vec<(String, Value)>,
    /// All events without what a rewriter may change.
    events: HashSet<String>,
}

impl Said {
    fn of(stream: &[Event]) -> Self {
        let text = |texts: Option<&str>| texts.map(str::to_owned);
        let mut said = Self {
            deltas: stream
                .iter()
                .filter_map(|event| text(event.delta()))
                .collect(),
            wholes: stream
                .iter()
                .filter_map(|event| text(event.whole()))
                .collect(),
            items: Vec::new(),
            rest: Vec::new(),
            events: stream.iter().map(without_names).collect(),
        };
        for event in stream {
            let part = event
                .body
                .get("part")
                .and_then(|part| part.get("annotations"));
            let annotations = part.and_then(Value::as_array).into_iter().flatten();
            let annotations = annotations.chain(event.body.get("annotation"));
            said.rest
                .extend(annotations.map(|it| ("annotations".to_owned(), it.clone())));
        }
        let items = stream.iter().filter_map(Event::item);
        for item in items.chain(stream.iter().flat_map(Event::output)) {
            let kind = field(item, "type").unwrap_or_default().to_owned();
            said.items.push((kind, texts_of(item)));
            said.rest.extend(rest_of(item));
            for key in ["content", "summary"] {
                let parts = item.get(key).and_then(Value::as_array);
                let text = |part| field(part, "text").or(field(part, "refusal"));
                said.wholes.extend(
                    parts
                        .into_iter()
                        .flatten()
                        .filter_map(text)
                        .map(str::to_owned),
                );
            }
            let texts = ["arguments", "input", "code"]
                .iter()
                .filter_map(|key| field(item, key));
            said.wholes.extend(texts.map(str::to_owned));
        }
        said
    }
}

/// An event as text, without what a rewriter may change: names, indices, numbers.
pub(crate) fn without_names(event: &Event) -> String {
    if let Value::String(text) = &event.body {
        return text.replace("\r\n", "\n");
    }
    let mut event = event.clone();
    let keys = [
        "sequence_number",
        "output_index",
        "item_id",
        "content_index",
        "summary_index",
        "call_id",
        "name",
    ];
    for key in keys {
        event.remove(key);
    }
    if let Some(item) = event.item_mut().and_then(Value::as_object_mut) {
        let names = ["id", "call_id", "name", "namespace", "server_label"];
        for key in names {
            item.remove(key);
        }
    }
    if let Some(response) = event
        .body
        .get_mut("response")
        .and_then(Value::as_object_mut)
    {
        response.remove("output");
    }
    event.body.to_string()
}

/// What in the stream that was `sent` neither came nor sums up what came.
pub(crate) fn altered(came: &[Event], sent: &[Event], facts: &Facts) -> Vec<String> {
    let said = Said::of(came);
    let items = by_index(sent);
    let mut faults = Vec::new();
    let seen_at = |event: &Event| {
        let key = index_key(event.index()?, event.item_type()?);
        items.iter().find(|item| Some(item.key) == key)
    };
    for event in sent {
        let passed = said.events.contains(&without_names(event));
        let fault = if passed || event.opens_part() {
            false
        } else if let Some(delta) = event.delta() {
            // The whole of a text, or the rest of it, may be streamed late.
            let is_rest = || said.wholes.iter().any(|whole| whole.ends_with(delta));
            !(said.deltas.contains(delta) || is_rest())
        } else if let Some(whole) = event.whole() {
            let joined = || seen_at(event).is_some_and(|item| says_part(item, whole));
            !(whole.is_empty() || said.wholes.contains(whole) || joined())
        } else if let Some(item) = event.item() {
            let joined = |item: &Seen| [item.streamed.of_item_only(), item.whole.of_item_only()];
            let joined = seen_at(event).map(joined);
            !is_said(item, (&said, facts), joined.as_ref(), event.is_added())
        } else {
            true
        };
        if fault {
            faults.push(format!("C6: was not said: {}", show(event)));
        }
        for (place, entry) in event.output().iter().enumerate() {
            let kind = field(entry, "type").unwrap_or_default();
            // In a stream that is joined, entries may stand at other places than their indices.
            let key = index_key(place as u64, kind).filter(|_| !facts.joined);
            let texts = texts_of(entry);
            let is_entry = |item: &&Seen| match key {
                Some(key) => item.key == key,
                None => item.kind == kind && item.covers(&texts),
            };
            let joined = items.iter().find(is_entry);
            let joined = joined.map(|it| [it.streamed.of_item_only(), it.whole.of_item_only()]);
            if !is_said(entry, (&said, facts), joined.as_ref(), false) {
                faults.push(format!(
                    "C6: was not said: output[{place}] {}",
                    texts_of(entry)
                ));
            }
        }
    }
    faults.extend(items.iter().flat_map(|item| cut_short(item, &said, facts)));
    faults
}

/// Whether the text of a part is among what an item streamed.
fn says_part(item: &Seen, whole: &str) -> bool {
    item.streamed.lanes().any(|(_, text)| text.contains(whole))
}

fn is_said(
    item: &Value,
    (said, facts): (&Said, &Facts),
    joined: Option<&[Texts; 2]>,
    announces: bool,
) -> bool {
    let kind = field(item, "type").unwrap_or_default();
    let texts = texts_of(item);
    let came = said
        .items
        .iter()
        .any(|(other, said)| other == kind && *said == texts);
    let streamed = joined.is_some_and(|joined| joined.contains(&texts));
    // Where two calls may be taken for one, its text is one of theirs.
    let of_either = !facts.is_clear(kind) && texts.lanes().all(|it| said.wholes.contains(it.1));
    let text_is_said = texts.is_empty() && announces || came || streamed || of_either;
    // A close may sum up commands and diffs that were streamed.
    let sums_up = |key: &str| {
        matches!(
            (kind, key),
            ("shell_call", "action") | ("apply_patch_call", "operation")
        )
    };
    let rest = rest_of(item);
    // The API wants a container to be named, and an announcement may be made before one is known.
    let unknown = |key: &str, value: &Value| key == "container_id" && value == "auto";
    let mut rest = rest
        .iter()
        .filter(|(key, value)| !sums_up(key) && !unknown(key, value));
    text_is_said && rest.all(|value| said.rest.contains(value))
}

/// An item that is closed, or listed, with less than was streamed of it, where none that came
/// says so.
fn cut_short(item: &Seen, said: &Said, facts: &Facts) -> Vec<String> {
    let streamed = [item.streamed.of_item_only(), item.whole.of_item_only()];
    let is_short = |texts: &Texts| {
        let shorter = |streamed: &&Texts| !texts.begins_with(streamed);
        let contradicts = |came: &&Seen| {
            let texts_came = came.close.as_ref().map(texts_of);
            came.kind == item.kind && texts_came.as_ref() == Some(texts)
        };
        let as_it_came = facts.items.iter().filter(contradicts).any(|came| {
            let streamed = [came.streamed.of_item_only(), came.whole.of_item_only()];
            streamed.iter().all(|streamed| !texts.begins_with(streamed)) || facts.joined
        });
        streamed.iter().all(|texts| shorter(&texts)) && !as_it_came
    };
    let mut faults = Vec::new();
    let closed = item.close.as_ref().map(texts_of);
    let listed = item.listed.as_ref().map(texts_of);
    let clear = facts.is_clear(&item.kind) && !facts.joined;
    if let Some(closed) = closed.as_ref().filter(|closed| clear && is_short(closed)) {
        let streamed = &streamed[0];
        faults.push(format!(
            "C5: item {} is closed as {closed}, streamed was {streamed}",
            index_of_key(item.key)
        ));
    }
    let blank = closed.as_ref().is_some_and(Texts::is_empty) && !item.streamed.is_empty();
    let closed_blank = |(kind, texts): &(String, Texts)| *kind == item.kind && texts.is_empty();
    if blank && !said.items.iter().any(closed_blank) {
        faults.push(format!(
            "C5: item {} is closed blank",
            index_of_key(item.key)
        ));
    }
    if let (Some(listed), Some(closed)) = (listed, closed) {
        let agrees = listed == closed || streamed.contains(&listed);
        if !agrees && facts.end == End::Complete && !facts.joined {
            let key = index_of_key(item.key);
            faults.push(format!(
                "C6: item {key} is listed as {listed}, closed as {closed}"
            ));
        }
    }
    faults
}
