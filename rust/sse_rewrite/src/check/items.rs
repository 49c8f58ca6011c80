//! What a stream told of each item, for the table.

use serde::Serialize;

use crate::check::text::short;
use crate::contract::identity::Identity;

/// An item, as it was first told, and what was told of it each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ItemTold {
    /// Which response of the stream, counted from 1.
    pub response: u64,
    /// Its place, counted from 0 in order of announcement.
    pub output_index: usize,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its `id`, as first told.
    pub id: Option<String>,
    /// Its `call_id`, as first told.
    pub call_id: Option<String>,
    /// Its name, as first told.
    pub name: Option<String>,
    /// Its announcement.
    pub added: Option<Told>,
    /// Its close.
    pub done: Option<Told>,
    /// Its entry in the terminal output.
    pub terminal: Option<Told>,
}

/// What one event told of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The event's number, counted from 1.
    pub event: u64,
    /// The `output_index`, or the position in the terminal output.
    pub output_index: Option<u64>,
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The `id`.
    pub id: Option<String>,
    /// The `call_id`.
    pub call_id: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// What of it is not as announced.
    pub differs: Vec<&'static str>,
}

impl Told {
    pub(crate) fn new(event: u64, output_index: Option<u64>, said: &Identity) -> Self {
        let text = |value: &Option<String>| value.as_deref().map(|value| short(value).into_owned());
        Self {
            event,
            output_index,
            kind: short(&said.kind).into_owned(),
            id: text(&said.id),
            call_id: text(&said.call_id),
            name: text(&said.name),
            differs: Vec::new(),
        }
    }

    /// Notes that `field` is not as announced.
    pub(crate) fn differs(&mut self, field: &'static str) {
        if !self.differs.contains(&field) {
            self.differs.push(field);
        }
    }
}

impl ItemTold {
    pub(crate) fn new(response: u64, output_index: usize, first: &Identity) -> Self {
        let told = Told::new(0, None, first);
        Self {
            response,
            output_index,
            kind: told.kind,
            id: told.id,
            call_id: told.call_id,
            name: told.name,
            added: None,
            done: None,
            terminal: None,
        }
    }

    /// Takes over what was not told before.
    pub(crate) fn learn(&mut self, told: &Told) {
        for (known, said) in [
            (&mut self.id, &told.id),
            (&mut self.call_id, &told.call_id),
            (&mut self.name, &told.name),
        ] {
            if known.is_none() {
                known.clone_from(said);
            }
        }
    }
}
