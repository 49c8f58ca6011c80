//! A call that cannot be announced yet, and the events of it that wait (C12).

use std::borrow::Cow;

use crate::contract::catalogue::{Effect, Role, Scope, item_type};
use crate::contract::event::{Scoped, Ticket};
use crate::contract::identity::{Field, Identity};
use crate::contract::item::{Item, Payload};
use crate::contract::said::Text;

/// A call that waits for its name, its `call_id`, or for what it says.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    /// What the server has called it so far.
    pub(crate) seen: Identity,
    /// The `output_index` that the server gave it first.
    pub(crate) server_index: Option<u64>,
    /// Whether the server announced it.
    pub(crate) by_server: bool,
    /// Whether its close waits, too.
    pub(crate) is_closed: bool,
    /// What it has said so far.
    pub(crate) text: Text,
    /// What it says at its announcement, and then at its close.
    pub(crate) payload: Payload,
    /// The text at its announcement, and then at its close.
    pub(crate) item_text: Option<String>,
    /// Its events, in the order in which they came.
    pub(crate) events: Vec<Deferred>,
}

/// An event that waits.
#[derive(Debug, Clone)]
pub(crate) struct Deferred {
    pub(crate) ticket: Ticket,
    /// Its number, where it has one.
    pub(crate) number: Option<u64>,
    pub(crate) event: Kept,
}

/// What is kept of an event that waits.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    Announced { index: Option<u64>, json: Vec<u8> },
    Scoped(KeptScoped),
    Closed { index: Option<u64>, json: Vec<u8> },
}

/// [`Scoped`], with texts of its own.
#[derive(Debug, Clone)]
pub(crate) struct KeptScoped {
    event_type: String,
    index: Option<u64>,
    item_id: Option<String>,
    name: Option<String>,
    call_id: Option<String>,
    text: Option<Vec<u8>>,
}

impl Kept {
    /// How many bytes it holds.
    pub(crate) fn len(&self) -> usize {
        64 + match self {
            Self::Announced { json, .. } | Self::Closed { json, .. } => json.len(),
            Self::Scoped(event) => event.text.as_ref().map_or(0, Vec::len),
        }
    }
}

impl KeptScoped {
    pub(crate) fn of(event: &Scoped) -> Self {
        Self {
            event_type: event.event_type.to_owned(),
            index: event.index,
            item_id: event.item_id.map(str::to_owned),
            name: event.name.map(str::to_owned),
            call_id: event.call_id.map(str::to_owned),
            text: event.text.map(<[u8]>::to_vec),
        }
    }

    /// The event; a call has no parts.
    pub(crate) fn event(&self) -> Scoped<'_> {
        Scoped {
            event_type: &self.event_type,
            index: self.index,
            item_id: self.item_id.as_deref(),
            name: self.name.as_deref(),
            call_id: self.call_id.as_deref(),
            text: self.text.as_deref(),
            ..Scoped::default()
        }
    }
}

impl Waiting {
    pub(crate) fn new(seen: Identity, server_index: Option<u64>) -> Self {
        Self {
            seen,
            server_index,
            by_server: false,
            is_closed: false,
            text: Text::default(),
            payload: Payload::none(),
            item_text: None,
            events: Vec::new(),
        }
    }

    /// Takes in an announcement or a close.
    pub(crate) fn read(&mut self, item: &Item) {
        self.seen.fill_from(&item.identity);
        self.payload = item.payload;
        self.item_text = item.text().map(Cow::into_owned);
    }

    /// Takes in an event that is neither.
    pub(crate) fn take(&mut self, event: &Scoped, scope: &Scope) {
        let named = [
            (Field::Id, event.item_id),
            (Field::Name, event.name),
            (Field::CallId, event.call_id),
        ];
        for (field, said) in named {
            if self.seen.get(field).is_none() {
                self.seen.set(field, said.map(str::to_owned));
            }
        }
        let is_text = scope.text.is_some() && scope.text == item_type(&self.seen.kind).text;
        match (scope.effect, event.raw_text()) {
            (Effect::Delta, Some(raw)) if is_text => self.text.add(raw),
            (Effect::Whole, Some(raw)) if is_text => self.text.set_whole(raw),
            _ => {}
        }
    }

    /// What it has said so far, as a client decodes it.
    pub(crate) fn said(&self) -> Cow<'_, str> {
        let item_text = self.item_text.as_deref().filter(|text| !text.is_empty());
        match item_text {
            Some(text) if self.is_closed || self.text.is_empty() => Cow::Borrowed(text),
            _ => self.text.decoded(),
        }
    }

    /// What it says when its close has come, or else up to now.
    pub(crate) fn says(&self) -> Payload {
        if self.is_closed || self.text.is_empty() {
            self.payload
        } else {
            Payload::of(&[self.text.decoded()])
        }
    }

    /// Whether it still lacks what a client needs to run it.
    pub(crate) fn missing(&self) -> Option<Field> {
        missing(&self.seen)
    }
}

/// What a client needs to run a call of this identity, and does not have.
pub(crate) fn missing(identity: &Identity) -> Option<Field> {
    if item_type(&identity.kind).role != Role::ClientCall {
        return None;
    }
    let needed = [Field::CallId, Field::Name];
    needed
        .into_iter()
        .find(|field| identity.get(*field).is_none())
}
