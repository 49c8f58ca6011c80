//! Plays a stream through the ledger as an adapter does, and keeps what comes out.

use serde_json::Value;
use sse_rewrite::lifecycle::Event as Made;
use sse_rewrite::{
    Announce, Decision, EventKind, Identity, Insert, Item, Ledger, Lifecycle, Policy,
    ReasoningParts, Report, Sequence, Source, Terminal, classify,
};

use crate::model::{Event, Numbered, show};

/// What became of a stream.
pub(crate) struct Played {
    pub(crate) sent: Vec<Numbered>,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) terminals: Vec<Terminal>,
    pub(crate) report: Report,
}

impl Played {
    /// The outgoing events, one line each.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.sent.iter().map(|(_, event)| show(event)).collect()
    }

    /// The outgoing terminal output.
    pub(crate) fn output(&self) -> &[Value] {
        match self.sent.last() {
            Some((_, Event::Terminal { output })) => output,
            other => panic!("the stream ends with {other:?}"),
        }
    }
}

/// Plays `stream` under the default policy.
pub(crate) fn play(stream: &[Numbered]) -> Played {
    play_under(Policy::default(), stream)
}

pub(crate) fn play_under(policy: Policy, stream: &[Numbered]) -> Played {
    let mut adapter = Adapter {
        ledger: Ledger::new(policy),
        sequence: Sequence::default(),
        kept: Vec::new(),
        sent: Vec::new(),
        decisions: Vec::new(),
        terminals: Vec::new(),
    };
    for (number, event) in stream {
        adapter.take(*number, event);
    }
    Played {
        report: *adapter.ledger.report(),
        sent: adapter.sent,
        decisions: adapter.decisions,
        terminals: adapter.terminals,
    }
}

struct Adapter {
    ledger: Ledger,
    sequence: Sequence,
    /// Each slot's item as it was last sent: in its close, or else in its announcement.
    kept: Vec<Value>,
    sent: Vec<Numbered>,
    decisions: Vec<Decision>,
    terminals: Vec<Terminal>,
}

impl Adapter {
    fn take(&mut self, number: Option<u64>, event: &Event) {
        match event {
            Event::Created => {
                if self.ledger.created(Some("resp_1")) {
                    self.kept.clear();
                    self.send(number, Event::Created);
                } else {
                    self.drop(number);
                }
            }
            Event::Added { index, item } => {
                let decision = self.ledger.added(*index, read(item).as_ref()).unwrap();
                self.apply(number, event, decision);
            }
            Event::Done { index, item } => {
                let decision = self.ledger.done(*index, read(item).as_ref()).unwrap();
                self.apply(number, event, decision);
            }
            Event::Scoped {
                event_type,
                index,
                item_id,
                ..
            } => {
                let EventKind::Scoped(scope) = classify(event_type, None) else {
                    panic!("{event_type} is not about an item");
                };
                let decision = self
                    .ledger
                    .mentioned(&scope, *index, item_id.as_deref())
                    .unwrap();
                self.apply(number, event, decision);
            }
            Event::Terminal { output } => self.end(number, output),
        }
    }

    fn apply(&mut self, number: Option<u64>, event: &Event, decision: Decision) {
        self.decisions.push(decision);
        let Decision::Send { slot, announce } = decision else {
            self.drop(number);
            return;
        };
        if let Some(Announce { open_part }) = announce {
            self.insert(number, slot, |lifecycle| lifecycle.announce(open_part));
        }
        let index = Some(slot as u64);
        let event = match event {
            Event::Added { item, .. } => {
                let item = self.corrected(slot, item);
                self.keep(slot, &item);
                Event::Added { index, item }
            }
            Event::Done { item, .. } => {
                let item = self.corrected(slot, item);
                self.keep(slot, &item);
                Event::Done { index, item }
            }
            Event::Scoped {
                event_type, text, ..
            } => Event::Scoped {
                event_type: event_type.clone(),
                index,
                item_id: self.identity(slot).id,
                text: text.clone(),
            },
            Event::Created | Event::Terminal { .. } => unreachable!("no decision is made on it"),
        };
        self.send(number, event);
    }

    fn end(&mut self, number: Option<u64>, output: &[Value]) {
        let (rebuilt, items): (Vec<&Value>, Vec<Item>) = output
            .iter()
            .filter_map(|item| Some((item, read(item)?)))
            .unzip();
        let decided = self.ledger.terminal(&items).unwrap();
        for insert in &decided.inserts {
            match *insert {
                Insert::Close { slot, source } => {
                    let item = self.found(slot, source, &rebuilt);
                    self.keep(slot, &item);
                    let text = item.to_string();
                    self.insert(number, slot, |lifecycle| vec![lifecycle.close(&text)]);
                }
                Insert::Whole { slot, rebuilt: at } => {
                    let text = self.corrected(slot, rebuilt[at]).to_string();
                    self.insert(number, slot, |lifecycle| lifecycle.whole(&text));
                }
            }
        }
        let output = (0..)
            .zip(&decided.output)
            .map(|(slot, source)| self.found(slot, *source, &rebuilt))
            .collect();
        self.terminals.push(decided);
        self.send(number, Event::Terminal { output });
    }

    fn found(&mut self, slot: usize, source: Source, rebuilt: &[&Value]) -> Value {
        let item = match source {
            Source::Rebuilt(at) => rebuilt[at].clone(),
            Source::Streamed => self.kept[slot].clone(),
        };
        self.corrected(slot, &item)
    }

    fn corrected(&mut self, slot: usize, item: &Value) -> Value {
        let carried = read(item).unwrap().identity;
        let mut item = item.clone();
        for (field, value) in self.ledger.corrections(slot, &carried) {
            item[field.key()] = Value::String(value);
        }
        item
    }

    fn insert<F>(&mut self, number: Option<u64>, slot: usize, make: F)
    where
        F: FnOnce(&Lifecycle) -> Vec<Made>,
    {
        let identity = self.identity(slot);
        let lifecycle = Lifecycle {
            slot,
            identity: &identity,
            reasoning_parts: ReasoningParts::default(),
        };
        for made in make(&lifecycle) {
            let number = number.map(|before| self.sequence.inserted(before));
            let event: Value = serde_json::from_str(&made.to_json(number)).unwrap();
            assert_eq!(event["sequence_number"].as_u64(), number);
            let event = modelled(&event);
            if let Event::Added { item, .. } | Event::Done { item, .. } = &event {
                self.keep(slot, item);
            }
            self.sent.push((number, event));
        }
    }

    fn keep(&mut self, slot: usize, item: &Value) {
        if slot == self.kept.len() {
            self.kept.push(item.clone());
        } else {
            self.kept[slot] = item.clone();
        }
    }

    fn send(&mut self, number: Option<u64>, event: Event) {
        let number = number.map(|upstream| self.sequence.number(upstream));
        self.sent.push((number, event));
    }

    fn drop(&mut self, number: Option<u64>) {
        if number.is_some() {
            self.sequence.dropped();
        }
    }

    fn identity(&self, slot: usize) -> Identity {
        self.ledger.identity(slot).unwrap().clone()
    }
}

fn read(item: &Value) -> Option<Item> {
    Item::from_json(&item.to_string()).ok()
}

/// An event that was made here, in the model.
pub(crate) fn modelled(event: &Value) -> Event {
    let event_type = event["type"].as_str().unwrap();
    let index = event["output_index"].as_u64();
    match event_type {
        "response.output_item.added" => Event::Added {
            index,
            item: event["item"].clone(),
        },
        "response.output_item.done" => Event::Done {
            index,
            item: event["item"].clone(),
        },
        _ => Event::Scoped {
            event_type: event_type.to_owned(),
            index,
            item_id: event["item_id"].as_str().map(str::to_owned),
            text: event["delta"].as_str().unwrap_or_default().to_owned(),
        },
    }
}
