//! A call that cannot be announced yet, and the events of it that wait (C12).

use std::borrow::Cow;

use crate::contract::catalogue::{Effect, Role, Scope, item_type};
use crate::contract::event::{Scoped, Ticket};
use crate::contract::identity::{Field, Identity};
use crate::contract::item::{Item, Payload};
use crate::contract::said::Text;
use crate::json::scan;

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
    /// How many of them are counted as waiting, and their bytes as held.
    pub(crate) counted: (usize, usize),
    /// The calls that it may repeat.
    pub(crate) rivals: Rivals,
}

/// The announced calls that a waiting one may repeat, as far as they are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rivals {
    /// How many of those of its `call_id` were looked at.
    pub(crate) seen: usize,
    pub(crate) left: Vec<Rival>,
}

impl Rivals {
    /// The text that is compared is another one from now on.
    fn start_over(&mut self) {
        let equal = self.left.iter_mut().flat_map(|rival| &mut rival.equal);
        equal.flatten().for_each(|equal| *equal = 0);
    }
}

/// A call that a waiting one may repeat: its text begins as that of the other does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rival {
    pub(crate) item: usize,
    /// Whether it was open when the texts were compared: its close may have another.
    pub(crate) is_open: bool,
    /// How many bytes are equal, of its text and of the one that it streamed before; `None` where
    /// they differ.
    pub(crate) equal: [Option<usize>; 2],
}

impl Rival {
    pub(crate) fn new(item: usize, is_open: bool) -> Self {
        Self {
            item,
            is_open,
            equal: [Some(0); 2],
        }
    }

    /// Compares what is new of `text` with `own`, the texts that the call has said.
    ///
    /// What is open may still grow, and what is not known may be anything.
    pub(crate) fn compare(&mut self, text: &str, own: (Option<&str>, Option<&str>)) {
        let [first, second] = &mut self.equal;
        let other = own.1.unwrap_or_default();
        if let Some(own) = own.0 {
            *first = equal(own, text, *first, self.is_open);
        }
        *second = equal(other, text, *second, false);
    }

    /// Whether it is still one that may be repeated.
    pub(crate) fn is_left(&self) -> bool {
        self.equal.iter().any(Option::is_some)
    }

    /// Whether all of a text of this length was said before.
    pub(crate) fn has_said(&self, length: usize) -> bool {
        self.equal.contains(&Some(length))
    }
}

/// How many bytes of two texts are equal, of which so many are known to be; `None` where they
/// differ, or where `text` is longer than one that does not grow.
fn equal(own: &str, text: &str, known: Option<usize>, grows: bool) -> Option<usize> {
    let length = own.len().min(text.len());
    let known = known?.min(length);
    let is_equal = own.as_bytes().get(known..length) == text.as_bytes().get(known..length);
    (is_equal && (grows || length == text.len())).then_some(length)
}

/// An event that waits.
#[derive(Debug, Clone)]
pub(crate) struct Deferred {
    pub(crate) ticket: Ticket,
    /// Its number, where it has one.
    pub(crate) number: Option<u64>,
    pub(crate) event: Kept,
    /// Whether a later event says more in its place.
    pub(crate) is_replaced: bool,
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

    fn is_blank_whole(&self) -> bool {
        let event = self.event();
        let is_whole = event
            .scope()
            .is_some_and(|scope| scope.effect == Effect::Whole);
        is_whole && event.raw_text() == Some(b"")
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
            counted: (0, 0),
            rivals: Rivals::default(),
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
            _ if !is_text || self.is_closed => {}
            (Effect::Delta, Some(raw)) => {
                // Its announcement had a text, too: what is compared from now on is another one.
                if self.text.is_empty() && self.item_text.is_some() {
                    self.rivals.start_over();
                }
                self.text.add(raw);
            }
            (Effect::Whole, Some(raw)) => {
                self.rivals.start_over();
                self.text.set_whole(raw);
            }
            _ => {}
        }
    }

    /// What it has said so far, as a client decodes it.
    pub(crate) fn said(&mut self) -> &str {
        match &self.item_text {
            Some(text) if !text.is_empty() && (self.is_closed || self.text.is_empty()) => text,
            _ => self.text.decoded_so_far(),
        }
    }

    /// Its close has not said all: what follows takes its place, and that of a blank summing up.
    pub(crate) fn reopen(&mut self) {
        if !self.is_closed {
            return;
        }
        self.is_closed = false;
        for deferred in &mut self.events {
            deferred.is_replaced |= match &deferred.event {
                Kept::Announced { .. } => false,
                Kept::Scoped(event) => event.is_blank_whole(),
                Kept::Closed { .. } => true,
            };
        }
    }

    /// Whether `text` goes on from what it has said.
    pub(crate) fn goes_on_with(&self, text: &str) -> bool {
        let said = match &self.item_text {
            Some(said) if self.is_closed || self.text.is_empty() => Cow::Borrowed(&**said),
            _ => self.text.decoded(),
        };
        text.len() > said.len() && text.starts_with(&*said)
    }

    /// Whether a whole item is of another call: its text neither begins as what this one has said,
    /// nor the other way round.
    pub(crate) fn says_otherwise(&self, item: &Item) -> bool {
        let said = match &self.item_text {
            Some(said) if self.is_closed || self.text.is_empty() => Cow::Borrowed(&**said),
            _ => self.text.decoded(),
        };
        item.text()
            .is_some_and(|text| !text.starts_with(&*said) && !said.starts_with(&*text))
    }

    /// Whether an event that comes after its close goes on with what that has said.
    pub(crate) fn is_continued_by(&self, event: &Scoped, scope: &Scope) -> bool {
        let is_here = event.index.is_none()
            || self.server_index.is_none()
            || event.index == self.server_index;
        let Some(raw) = event.raw_text().filter(|_| is_here) else {
            return false;
        };
        match scope.effect {
            Effect::Delta => self.payload.empty && self.text.is_empty() && !raw.is_empty(),
            Effect::Whole => self.goes_on_with(&scan::unescaped(raw)),
            _ => false,
        }
    }

    /// Whether an event that comes after its close says nothing new.
    pub(crate) fn repeats(&self, event: &Scoped, scope: &Scope) -> bool {
        match scope.effect {
            Effect::Status => true,
            Effect::Whole => event
                .raw_text()
                .is_some_and(|raw| self.item_text.as_deref() == Some(&*scan::unescaped(raw))),
            _ => false,
        }
    }

    /// Whether a second close with the payload `again` says nothing new.
    pub(crate) fn has_said(&self, again: &Payload) -> bool {
        (again.empty && !again.encrypted) || again.digest == self.says().digest
    }

    /// What it says when its close has come, or else up to now.
    pub(crate) fn says(&self) -> Payload {
        // A blank close takes nothing back of what was streamed.
        let is_told = self.is_closed && !self.payload.empty;
        if is_told || self.text.is_empty() {
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
