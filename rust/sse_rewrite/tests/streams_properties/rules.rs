//! What breaks a rule of the contract in a stream that was sent, by the stream alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::client::Seen;
use crate::event::{CLIENT_CALLS, Event, Lane, field};
use crate::facts::{Facts, Numbered};

const IDENTITY: [&str; 5] = ["id", "call_id", "name", "namespace", "server_label"];

/// Items whose deltas do not add up to what their close says: one may be left open.
const MAY_STAY_OPEN: [&str; 3] = ["shell_call", "shell_call_output", "apply_patch_call"];

/// An item as the stream has shown it so far.
#[derive(Default)]
struct Known {
    kind: String,
    named: BTreeMap<&'static str, String>,
    closed: bool,
    /// Maybe sent as it came, so that it may have names that others have.
    as_it_came: bool,
    /// How many parts of each kind were opened.
    parts: BTreeMap<Lane, u64>,
}

struct Rules<'a> {
    facts: &'a Facts,
    items: Vec<Known>,
    last_number: Option<u64>,
    unnamed: usize,
    faults: Vec<String>,
}

/// What is wrong with a stream that was `sent`; `facts` are those of the stream as it came.
pub(crate) fn faults(sent: &[Event], facts: &Facts) -> Vec<String> {
    let mut rules = Rules {
        facts,
        items: Vec::new(),
        last_number: None,
        unnamed: 0,
        faults: Vec::new(),
    };
    for event in sent {
        rules.number(event);
        if facts.joined {
            continue;
        }
        let before = rules.faults.len();
        if event.is_added() {
            rules.added(event);
        } else if event.is_done() {
            rules.done(event);
        } else if event.is_scoped() {
            rules.scoped(event);
        } else if event.is_terminal() {
            rules.terminal(event);
        }
        if rules.passes_as_it_came(event) {
            rules.faults.truncate(before);
        }
    }
    if facts.joined {
        rules.joined(sent);
    } else {
        rules.distinct();
    }
    rules.faults
}

impl Rules<'_> {
    fn fault(&mut self, text: String) {
        self.faults.push(text);
    }

    /// Whether the event is of a call that waited for its name until a failure: such a one
    /// passes as it came.
    fn passes_as_it_came(&self, event: &Event) -> bool {
        self.facts
            .as_it_came
            .contains(event.item_type().unwrap_or_default())
    }

    /// C3.
    fn number(&mut self, event: &Event) {
        let (number, last) = (event.number(), self.last_number);
        let right = match self.facts.numbered {
            Numbered::None => number.is_none(),
            Numbered::Contiguous => {
                number.is_some() && last.is_none_or(|it| Some(it + 1) == number)
            }
            Numbered::Otherwise => number.is_none() || last < number,
        };
        if !right && !event.is_raw() {
            self.fault(format!(
                "C3: {} has {number:?} after {last:?}",
                event.kind()
            ));
        }
        self.last_number = number.or(last);
    }

    /// C2, C11, C12.
    fn added(&mut self, event: &Event) {
        let Some(item) = event.item() else {
            return self.fault("C12: an announcement has no item".to_owned());
        };
        let kind = field(item, "type").unwrap_or_default().to_owned();
        if event.index() != Some(self.items.len() as u64) {
            let want = self.items.len();
            if self.passes_as_it_came(event) {
                return;
            }
            self.fault(format!(
                "C2: {kind} is announced at {:?}, not {want}",
                event.index()
            ));
        }
        if field(item, "id").is_none() {
            self.fault(format!("C1: {kind} is announced without id"));
        }
        let named = field(item, "call_id").is_some() && field(item, "name").is_some();
        if CLIENT_CALLS.contains(&kind.as_str()) && !named {
            self.unnamed += 1;
            if self.unnamed > self.facts.unnamed && self.facts.is_clear(&kind) {
                self.fault(format!("C12: {kind} is announced without call_id and name"));
            }
        }
        let mut known = Known {
            kind,
            as_it_came: self.passes_as_it_came(event),
            ..Known::default()
        };
        mention(&mut known, item, "the announcement", &mut self.faults);
        self.items.push(known);
    }

    /// The open item that an event is of.
    fn open(&mut self, event: &Event) -> Option<usize> {
        let place = event.index().and_then(|index| usize::try_from(index).ok());
        let place = place.filter(|place| self.items.get(*place).is_some_and(|it| !it.closed));
        if place.is_none() {
            self.fault(format!(
                "C2: {} at {:?}: no open item",
                event.kind(),
                event.index()
            ));
        }
        place
    }

    /// C1, C2, C12.
    fn scoped(&mut self, event: &Event) {
        let Some(place) = self.open(event) else {
            return;
        };
        let mut found = Vec::new();
        let item = &mut self.items[place];
        let kind = event.kind();
        if event.item_type() != Some(&item.kind) {
            found.push(format!("C1: {kind} is of no {}", item.kind));
        }
        let named = event.name().starts_with("shell_call_command");
        let id = field(&event.body, "item_id");
        if !named && id != item.named.get("id").map(String::as_str) {
            found.push(format!("C1: {kind} has item_id {id:?} of item {place}"));
        }
        for key in ["call_id", "name"] {
            let carried = field(&event.body, key);
            let announced = item.named.get(key).map(String::as_str);
            if carried.is_some() && announced.is_some() && carried != announced {
                found.push(format!(
                    "C1: {kind} has {key} {carried:?}, not {announced:?}"
                ));
            }
        }
        if let Some((lane @ (Lane::Content | Lane::Summary), part)) = event.place() {
            let opened = item.parts.entry(lane).or_default();
            if event.opens_part() {
                // Of two items that may be taken for one, each opens its first part.
                if part != *opened && self.facts.is_clear(&item.kind) {
                    found.push(format!(
                        "C2: part {part} of item {place} is opened, not {opened}"
                    ));
                }
                *opened += 1;
            } else if part >= *opened {
                found.push(format!(
                    "C12: {kind} of item {place}: part {part} is not opened"
                ));
            }
        }
        self.faults.extend(found);
    }

    /// C1, C2.
    fn done(&mut self, event: &Event) {
        let Some(place) = self.open(event) else {
            return;
        };
        let Some(item) = event.item() else {
            return self.fault("C2: a close has no item".to_owned());
        };
        let known = &mut self.items[place];
        known.closed = true;
        mention(
            known,
            item,
            &format!("the close of item {place}"),
            &mut self.faults,
        );
    }

    /// C1, C2, C4.
    fn terminal(&mut self, event: &Event) {
        if event.name() == "failed" {
            return;
        }
        let output = event.output();
        if output.len() != self.items.len() {
            let (streamed, listed) = (self.items.len(), output.len());
            self.fault(format!(
                "C4: {streamed} items were streamed, {listed} are listed"
            ));
        }
        for (place, (known, item)) in self.items.iter_mut().zip(output).enumerate() {
            mention(known, item, &format!("output[{place}]"), &mut self.faults);
            let may_stay = MAY_STAY_OPEN.contains(&known.kind.as_str());
            if !known.closed && !may_stay {
                self.faults.push(format!("C2: item {place} is not closed"));
            }
        }
    }

    /// C11.
    fn distinct(&mut self) {
        for (key, calls_only) in [("id", false), ("call_id", true)] {
            let mut seen = BTreeSet::new();
            let counts =
                |item: &&Known| !item.as_it_came && (!calls_only || item.kind.ends_with("_call"));
            let named = self.items.iter().filter(counts);
            for value in named.filter_map(|item| item.named.get(key)) {
                if !seen.insert(value) {
                    self.faults
                        .push(format!("C11: two items have the {key} {value:?}"));
                }
            }
        }
    }

    /// One id at each index; what is seen is closed once, nothing comes after, and all is listed.
    fn joined(&mut self, sent: &[Event]) {
        let mut ids: BTreeMap<u64, &str> = BTreeMap::new();
        let mut closed: BTreeSet<u64> = BTreeSet::new();
        if !self.facts.unclear.is_empty() || !self.facts.joined_plainly {
            return;
        }
        // Of an item that is not announced here, nobody knows the beginning.
        let known = |item: &Seen| {
            !item.announced.is_empty() && !MAY_STAY_OPEN.contains(&item.kind.as_str())
        };
        let all_known = self.facts.items.iter().all(known);
        for event in sent {
            if let (Some(index), Some(id)) = (event.index(), event.id()) {
                let known = *ids.entry(index).or_insert(id);
                if known != id {
                    self.fault(format!("C1: {} has id {id:?}, not {known:?}", event.kind()));
                }
            }
            if let Some(index) = event.index().filter(|index| closed.contains(index)) {
                self.fault(format!(
                    "C2: {} comes after the close of {index}",
                    event.kind()
                ));
            }
            closed.extend(event.index().filter(|_| event.is_done()));
            if event.is_terminal() && event.name() != "failed" && all_known {
                for (index, known) in &ids {
                    let mut listed = event.output().iter();
                    if !listed.any(|item| field(item, "id") == Some(known)) {
                        self.fault(format!("C4: {known:?} at {index} is not listed"));
                    }
                    if !closed.contains(index) {
                        self.fault(format!("C2: item {index} is not closed"));
                    }
                }
            }
        }
    }
}

/// C1: `item` carries what was announced; what is new is fixed from here on.
fn mention(known: &mut Known, item: &Value, place: &str, faults: &mut Vec<String>) {
    if field(item, "type") != Some(&known.kind) {
        faults.push(format!("C1: {place} is no {}", known.kind));
    }
    for key in IDENTITY {
        let carried = field(item, key);
        match known.named.get(key) {
            Some(announced) if carried != Some(announced) => {
                faults.push(format!(
                    "C1: {place} has {key} {carried:?}, not {announced:?}"
                ));
            }
            Some(_) => {}
            None => known
                .named
                .extend(carried.map(|value| (key, value.to_owned()))),
        }
    }
}
