//! Judges an outgoing stream by the contract's words alone, without asking the ledger.

use std::collections::HashSet;

use serde_json::Value;

use crate::model::{Event, Numbered, field, show_item};

const IDENTITY: [&str; 5] = ["id", "call_id", "name", "namespace", "server_label"];

/// What is known about an announced item so far.
struct Seen {
    kind: String,
    named: Vec<(&'static str, String)>,
    closed: Option<Value>,
}

impl Seen {
    /// C1: `item` must carry what was announced; what is new is fixed from here on.
    fn mention(&mut self, item: &Value, place: &str, faults: &mut Vec<String>) {
        if field(item, "type") != Some(&self.kind) {
            faults.push(format!("C1: {place} has another type than {}", self.kind));
        }
        for key in IDENTITY {
            let carried = field(item, key);
            match self.named.iter().find(|(known, _)| *known == key) {
                Some((_, announced)) if carried != Some(announced) => faults.push(format!(
                    "C1: {place} carries {key} {carried:?}, announced was {announced:?}"
                )),
                Some(_) => {}
                None => self
                    .named
                    .extend(carried.map(|value| (key, value.to_owned()))),
            }
        }
    }

    fn get(&self, key: &str) -> Option<&str> {
        let found = self.named.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| value.as_str())
    }
}

/// What in the `sent` events of one response breaks C1, C2, C3, C4, C6 or C11.
pub(crate) fn faults(sent: &[Numbered]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut items: Vec<Seen> = Vec::new();
    let mut last_number = None;
    for (number, event) in sent {
        if last_number >= *number && number.is_some() {
            faults.push(format!("C3: {number:?} follows {last_number:?}"));
        }
        last_number = *number;
        match event {
            Event::Created => {}
            Event::Added { index, item } => {
                if *index != Some(items.len() as u64) {
                    faults.push(format!("C2: item {} announced at {index:?}", items.len()));
                }
                let mut seen = Seen {
                    kind: field(item, "type").unwrap_or_default().to_owned(),
                    named: Vec::new(),
                    closed: None,
                };
                seen.mention(item, "the announcement", &mut faults);
                if seen.get("id").is_none() {
                    faults.push("C1: an item is announced without an id".to_owned());
                }
                items.push(seen);
            }
            Event::Scoped {
                event_type,
                index,
                item_id,
                ..
            } => match at(&mut items, *index) {
                Some(seen) if seen.closed.is_none() => {
                    if item_id.as_deref() != seen.get("id") {
                        faults.push(format!("C1: {event_type} has item_id {item_id:?}"));
                    }
                }
                _ => faults.push(format!("C2: {event_type} at {index:?}: no open item")),
            },
            Event::Done { index, item } => match at(&mut items, *index) {
                Some(seen) if seen.closed.is_none() => {
                    seen.mention(item, "the close", &mut faults);
                    seen.closed = Some(item.clone());
                }
                _ => faults.push(format!("C2: close at {index:?}: no open item")),
            },
            Event::Terminal { output } => end(&mut items, output, &mut faults),
        }
    }
    distinct(&items, &mut faults);
    faults
}

fn at(items: &mut [Seen], index: Option<u64>) -> Option<&mut Seen> {
    items.get_mut(usize::try_from(index?).ok()?)
}

fn end(items: &mut [Seen], output: &[Value], faults: &mut Vec<String>) {
    if output.len() != items.len() {
        faults.push(format!(
            "C4: {} items streamed, {} in the terminal output",
            items.len(),
            output.len()
        ));
    }
    for (slot, (seen, item)) in items.iter_mut().zip(output).enumerate() {
        seen.mention(item, &format!("output[{slot}]"), faults);
        match &seen.closed {
            None => faults.push(format!("C2: item {slot} is open at the end")),
            Some(closed) if payload(closed) != payload(&as_phased(item, closed)) => {
                faults.push(format!("C6: output[{slot}] says other than its close"));
            }
            Some(_) => {}
        }
    }
}

/// `item` without its phase where `closed` has none: a phase may be added, not taken away.
fn as_phased(item: &Value, closed: &Value) -> Value {
    let mut item = item.clone();
    if field(closed, "phase").is_none() {
        item.as_object_mut().unwrap().remove("phase");
    }
    item
}

fn distinct(items: &[Seen], faults: &mut Vec<String>) {
    let mut ids = HashSet::new();
    let mut call_ids = HashSet::new();
    for item in items {
        if item.get("id").is_some_and(|id| !ids.insert(id)) {
            faults.push(format!("C11: two items have id {:?}", item.get("id")));
        }
        let call_id = item.get("call_id").filter(|_| is_call(&item.kind));
        if call_id.is_some_and(|id| !call_ids.insert(id)) {
            faults.push(format!("C11: two calls have call_id {call_id:?}"));
        }
        let answered = matches!(item.kind.as_str(), "function_call" | "custom_tool_call");
        if answered && item.closed.is_some() && call_id.is_none() {
            faults.push("C11: a call that a client must answer has no call_id".to_owned());
        }
    }
}

/// What of the events that came `in` is missing from those `sent` (C5, C6).
pub(crate) fn losses(came: &[Numbered], sent: &[Numbered]) -> Vec<String> {
    let mut losses = Vec::new();
    // Only a repeated announcement lets payload disappear: its events repeat, too.
    if !announces_twice(came) {
        let texts: Vec<&str> = sent
            .iter()
            .filter_map(|(_, event)| text_of(event))
            .collect();
        let mut texts = texts.into_iter();
        for text in came.iter().filter_map(|(_, event)| text_of(event)) {
            if !texts.any(|other| other == text) {
                losses.push(format!("C6: the text {text:?} is lost or out of order"));
            }
        }
        for item in closes(came) {
            let arrived = closes(sent).any(|other| same(item, other));
            if says_something(item) && !arrived {
                losses.push(format!("C5: the close of {} is lost", show_item(item)));
            }
        }
    }
    for (_, event) in came {
        let Event::Terminal { output } = event else {
            continue;
        };
        let sent_output = sent.iter().rev().find_map(|(_, event)| match event {
            Event::Terminal { output } => Some(output),
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
    losses
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
    let browses = old == "mcp_call"
        && new == "web_search_call"
        && field(streamed, "name").is_some_and(|name| name.starts_with("browser."));
    let cut = old == "function_call"
        && new == "message"
        && serde_json::from_str::<Value>(field(streamed, "arguments").unwrap_or("")).is_err();
    let alike = payload_texts(rebuilt) == payload_texts(streamed);
    browses || cut || (alike && (is_call(&old) || !is_call(&new)))
}

/// A call that the output lists although a call of the same names stands already.
fn is_repeated_call(item: &Value, came: &[Numbered], output: &[Value]) -> bool {
    let same_names = |other: &&Value| {
        ["type", "id", "call_id", "name"]
            .iter()
            .all(|key| field(item, key) == field(other, key))
    };
    let before = came.iter().filter_map(|(_, event)| match event {
        Event::Added { item, .. } | Event::Done { item, .. } => Some(item),
        _ => None,
    });
    let listed = output.iter().filter(same_names).count();
    let named =
        is_call(field(item, "type").unwrap_or_default()) && field(item, "call_id").is_some();
    named && (listed > 1 || before.filter(same_names).count() > 0)
}

fn announces_twice(came: &[Numbered]) -> bool {
    let announced: Vec<&Value> = came
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Added { item, .. } => Some(item),
            _ => None,
        })
        .collect();
    let names = |item: &&Value| ["type", "id"].map(|key| field(item, key).map(str::to_owned));
    let distinct: HashSet<_> = announced.iter().map(names).collect();
    distinct.len() < announced.len()
}

fn text_of(event: &Event) -> Option<&str> {
    match event {
        Event::Scoped { text, .. } if !text.is_empty() => Some(text),
        _ => None,
    }
}

fn closes(events: &[Numbered]) -> impl Iterator<Item = &Value> {
    events.iter().filter_map(|(_, event)| match event {
        Event::Done { item, .. } => Some(item),
        _ => None,
    })
}

fn is_call(kind: &str) -> bool {
    kind.ends_with("_call")
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

/// The item without what names it and what a server may add when it is done.
pub(crate) fn payload(item: &Value) -> Value {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        for key in IDENTITY.iter().chain(&["type", "status", "role"]) {
            fields.remove(*key);
        }
        fields.retain(|_, value| !value.is_null());
        let parts = fields.get_mut("content").and_then(Value::as_array_mut);
        for part in parts.into_iter().flatten() {
            part.as_object_mut().unwrap().remove("logprobs");
        }
    }
    // An absent, null or empty payload says the same: nothing.
    if payload_texts(&item).is_empty() {
        return Value::Null;
    }
    item
}

/// Every text that an item of these tests says, in order.
fn payload_texts(item: &Value) -> Vec<String> {
    let mut texts = Vec::new();
    for key in [
        "arguments",
        "input",
        "code",
        "action",
        "output",
        "encrypted_content",
    ] {
        match item.get(key) {
            Some(Value::String(text)) if !text.is_empty() => texts.push(text.clone()),
            Some(Value::Object(value)) => texts.push(Value::Object(value.clone()).to_string()),
            _ => {}
        }
    }
    for key in ["content", "summary"] {
        let parts = item.get(key).and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            texts.extend(field(part, "text").map(str::to_owned));
        }
    }
    texts
}
