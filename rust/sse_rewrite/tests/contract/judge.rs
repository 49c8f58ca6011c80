//! Judges an outgoing stream by the contract's words alone, without asking the engine.

use std::collections::HashSet;

use serde_json::Value;

use crate::model::{End, Event, Numbered, field, part_list};

pub(crate) const IDENTITY: [&str; 5] = ["id", "call_id", "name", "namespace", "server_label"];

/// What a client needs to run a call.
const NEEDED: [&str; 2] = ["call_id", "name"];

/// What is known about an announced item so far.
struct Seen {
    kind: String,
    named: Vec<(&'static str, String)>,
    closed: Option<Value>,
    /// The parts that are open or were, by list and index.
    parts: HashSet<(&'static str, u64)>,
    is_announced: bool,
}

impl Seen {
    fn new(item: &Value) -> Self {
        Self {
            kind: field(item, "type").unwrap_or_default().to_owned(),
            named: Vec::new(),
            closed: None,
            parts: HashSet::new(),
            is_announced: false,
        }
    }

    /// C1: `item` must carry what was announced; what is new is fixed from here on.
    ///
    /// C12: what a client needs to run a call is not new, but was there at the announcement.
    fn mention(&mut self, item: &Value, place: &str, faults: &mut Vec<String>) {
        if field(item, "type") != Some(&self.kind) {
            faults.push(format!("C1: {place} has another type than {}", self.kind));
        }
        for key in IDENTITY {
            let carried = field(item, key);
            match self.get(key) {
                Some(announced) if carried != Some(announced) => faults.push(format!(
                    "C1: {place} carries {key} {carried:?}, announced was {announced:?}"
                )),
                Some(_) => {}
                None => {
                    let Some(value) = carried else { continue };
                    if self.is_announced && is_client_call(&self.kind) && NEEDED.contains(&key) {
                        faults.push(format!("C12: {place} brings {key}, which comes too late"));
                    }
                    self.named.push((key, value.to_owned()));
                }
            }
        }
        self.is_announced = true;
    }

    /// C12: a part is opened before its first event.
    fn part(&mut self, event_type: &str, part: Option<u64>, faults: &mut Vec<String>) {
        let name = event_type.trim_start_matches("response.");
        let Some(list) = part_list(name) else { return };
        let place = (list, part.unwrap_or(0));
        if name.ends_with("_part.added") {
            self.parts.insert(place);
        } else if !self.parts.contains(&place) {
            faults.push(format!(
                "C12: {event_type} is of {place:?}, which is not open"
            ));
        }
    }

    fn get(&self, key: &str) -> Option<&str> {
        let found = self.named.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether a client has what it needs to run it.
    fn is_usable(&self) -> bool {
        !is_client_call(&self.kind) || NEEDED.iter().all(|key| self.get(key).is_some())
    }
}

/// What in the `sent` events of one response breaks C1, C2, C3, C4, C6, C11 or C12.
///
/// After a failure items may stay open, and nothing is put right any more (C13).
pub(crate) fn faults(sent: &[Numbered]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut items: Vec<Seen> = Vec::new();
    let mut last_number = None;
    let mut has_failed = false;
    for (number, event) in sent {
        if last_number >= *number && number.is_some() {
            faults.push(format!("C3: {number:?} follows {last_number:?}"));
        }
        last_number = *number;
        match event {
            Event::Created => {}
            Event::Error => has_failed = true,
            Event::Added { index, item } => {
                if *index != Some(items.len() as u64) {
                    faults.push(format!("C2: item {} announced at {index:?}", items.len()));
                }
                let mut seen = Seen::new(item);
                seen.mention(item, "the announcement", &mut faults);
                if seen.get("id").is_none() {
                    faults.push("C1: an item is announced without an id".to_owned());
                }
                // A call that nobody names goes out last.
                let is_late = items.last().is_some_and(|last| !last.is_usable());
                if is_late && seen.is_usable() {
                    faults.push("C12: a call is announced that could not be run yet".to_owned());
                }
                items.push(seen);
            }
            Event::Scoped {
                event_type,
                index,
                item_id,
                part,
                ..
            } => match at(&mut items, *index) {
                Some(seen) if seen.closed.is_none() => {
                    if item_id.as_deref() != seen.get("id") {
                        faults.push(format!("C1: {event_type} has item_id {item_id:?}"));
                    }
                    seen.part(event_type, *part, &mut faults);
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
            Event::Terminal { end, output } => {
                if *end != End::Failed && !has_failed {
                    check_end(&mut items, output, &mut faults);
                }
            }
        }
    }
    distinct(&items, &mut faults);
    faults
}

fn at(items: &mut [Seen], index: Option<u64>) -> Option<&mut Seen> {
    items.get_mut(usize::try_from(index?).ok()?)
}

fn check_end(items: &mut [Seen], output: &[Value], faults: &mut Vec<String>) {
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
    }
}

/// Whether a client runs calls of type `kind`.
fn is_client_call(kind: &str) -> bool {
    matches!(kind, "function_call" | "custom_tool_call")
}

pub(crate) fn is_call(kind: &str) -> bool {
    kind.ends_with("_call")
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
pub(crate) fn payload_texts(item: &Value) -> Vec<String> {
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
