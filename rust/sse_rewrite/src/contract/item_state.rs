//! One announced item: what it is called, where it is in its life, and what it has said.

use std::borrow::Cow;

use crate::contract::identity::Identity;
use crate::contract::item::{Item, Payload};
use crate::contract::said::Said;

/// Where an item is in its life. The whole table is in [`crate::contract::engine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// It was announced before the stream was joined, and no event has shown its type.
    Unseen,
    /// It is announced and not closed.
    Open,
    /// It is closed.
    Closed,
}

/// An item that is announced, at the `output_index` that is its position in the engine's list.
#[derive(Debug, Clone)]
pub(crate) struct ItemState {
    /// The identity that clients know.
    pub(crate) identity: Identity,
    /// The identity that the server gave it first.
    pub(crate) server: Identity,
    pub(crate) life: Life,
    /// The `output_index` that the server gave it first.
    pub(crate) server_index: Option<u64>,
    /// Whether the server announced it, as against an event of it that came unannounced.
    pub(crate) by_server: bool,
    /// Whether a repeated announcement of it was dropped, whose close may come.
    pub(crate) is_repeated: bool,
    /// Whether it was announced before the stream was joined: its beginning is not known.
    pub(crate) is_joined: bool,
    /// Its place in the order in which the server began its items.
    pub(crate) arrival: u64,
    /// The item as it was last sent: as it was announced, then as it was closed.
    pub(crate) json: Vec<u8>,
    /// What it said at its announcement.
    pub(crate) opening: Payload,
    /// What it has said so far, while it is open.
    pub(crate) said: Said,
    /// What it has said: at its close, and before it where that is something else.
    pub(crate) payloads: Vec<Payload>,
    /// The text that a call streamed, where its close has another.
    streamed_text: Option<String>,
    /// The text that a call was closed with, once that was asked for.
    closed_text: Option<String>,
}

impl ItemState {
    pub(crate) fn new(server: Identity, server_index: Option<u64>, arrival: u64) -> Self {
        Self {
            identity: server.clone(),
            server,
            life: Life::Open,
            server_index,
            by_server: false,
            is_repeated: false,
            is_joined: false,
            arrival,
            json: Vec::new(),
            opening: Payload::none(),
            said: Said::default(),
            payloads: Vec::new(),
            streamed_text: None,
            closed_text: None,
        }
    }

    /// An item that was announced before the stream was joined.
    pub(crate) fn unseen(server_index: Option<u64>, arrival: u64) -> Self {
        Self {
            life: Life::Unseen,
            is_joined: true,
            said: Said::joined(),
            ..Self::new(Identity::default(), server_index, arrival)
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.life == Life::Open
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.life == Life::Closed
    }

    pub(crate) fn is_unseen(&self) -> bool {
        self.life == Life::Unseen
    }

    /// What it says, as far as is known: at its close, or else up to now.
    pub(crate) fn payload(&self) -> Option<Payload> {
        if self.is_closed() {
            return self.payloads.first().copied();
        }
        if self.said.says_anything() {
            let said = self.said.payload(&self.identity.kind);
            let phase = self.opening.phase;
            return Some(Payload { phase, ..said });
        }
        (!self.opening.empty).then_some(self.opening)
    }

    /// Whether an item with the payload `other` says nothing that this one has not said.
    pub(crate) fn has_said(&self, other: &Payload) -> bool {
        if other.empty && !other.encrypted {
            return true;
        }
        let now = self.payload();
        let said = self.payloads.iter().chain(&now);
        let mut said = said.chain(Some(&self.opening));
        said.any(|said| said.digest == other.digest && (said.empty == other.empty))
    }

    /// The texts that a call has said: that of its close, or up to now, and another that it
    /// streamed before. `None` stands for one that is not known.
    pub(crate) fn call_texts(&mut self) -> (Option<&str>, Option<&str>) {
        if self.is_open() {
            let is_known = self.said.is_known();
            return (Some(self.said.text_so_far()).filter(|_| is_known), None);
        }
        if self.closed_text.is_none() {
            let closed = Item::read(&self.json).ok().and_then(|item| item.text());
            self.closed_text = closed.map(Cow::into_owned);
        }
        (self.closed_text.as_deref(), self.streamed_text.as_deref())
    }

    /// Whether a closed call has streamed `text`, which its close has not.
    pub(crate) fn has_streamed(&self, text: &str) -> bool {
        self.streamed_text.as_deref() == Some(text)
    }

    /// Whether the terminal output may have `rebuilt` in place of what was streamed (C6).
    pub(crate) fn is_kept_by(&self, rebuilt: &Item) -> bool {
        if self.is_closed() {
            let mut payloads = self.payloads.iter();
            return payloads.any(|said| said.is_kept_by(&rebuilt.payload));
        }
        // Of an item that was joined only its end may be known.
        if self.is_joined || !self.said.is_known() {
            return true;
        }
        let Some(said) = self.payload() else {
            return true;
        };
        if said.is_kept_by(&rebuilt.payload) {
            return true;
        }
        let texts = rebuilt.texts();
        if self.said.is_whole() {
            // A server that sums up wrongly may still be right at the end.
            return !texts.is_empty() && texts == self.said.deltas();
        }
        self.said.says_anything() && texts.starts_with(&self.said.texts())
    }

    /// Whether `rebuilt` says no more than the announcement of this open item, although more was
    /// said: to close it so would lose that.
    pub(crate) fn is_left_out_of(&self, rebuilt: &Item) -> bool {
        let says_no_more = rebuilt.payload.digest == self.opening.digest;
        !self.is_joined && self.said.has_said_elsewhere() && says_no_more
    }

    /// Closes it with what `item` says; returns whether that is another text than it streamed.
    pub(crate) fn close(&mut self, item: &Item, listens: bool) -> bool {
        let kind = &self.identity.kind;
        self.payloads = vec![item.payload];
        let mut is_other = false;
        if self.said.says_anything() && self.said.is_known() && !self.is_joined {
            let said = self.said.payload(kind);
            if said.digest != item.payload.digest && !said.empty {
                self.payloads.push(said);
            }
            if let Some(closed) = item.text() {
                let text = self.said.text().decoded();
                let is_another = !text.is_empty() && text != closed;
                self.streamed_text = is_another.then(|| text.into_owned());
            }
            is_other = listens && {
                let texts = self.said.texts();
                !texts.is_empty() && texts != item.texts()
            };
        }
        self.said = Said::default();
        self.life = Life::Closed;
        is_other
    }
}
