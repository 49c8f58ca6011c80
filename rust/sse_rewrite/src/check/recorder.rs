//! Puts names to what an engine finds.

use std::collections::HashMap;

use crate::check::breach::{Fault, Found, Telling};
use crate::check::findings::{Findings, Place};
use crate::check::origin::Signs;
use crate::check::table::Table;
use crate::check::text::short;
use crate::check::verdict::{End, Outcome, Verdict};
use crate::contract::event::Ticket;
use crate::contract::policy::GaveUp;

/// What a server says instead of a terminal event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// Nothing more comes.
    Done,
    /// It failed.
    Failed,
}

/// What becomes of the frame that has no blank line after it, if there is one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum LastFrame {
    #[default]
    Awaited,
    Comes,
    /// It was cut.
    Unreadable,
}

/// Keeps what is found in one stream.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(super) now: Place,
    pub(super) telling: Option<Telling>,
    /// Where the events came that wait.
    pub(super) waiting: HashMap<Ticket, (Place, Option<Telling>)>,
    /// How many events have come.
    events: u64,
    /// The event at hand, while one that waited is decided on.
    present: Option<(Place, Option<Telling>)>,
    pub(super) response_id: Option<String>,
    pub(super) last_number: Option<u64>,
    pub(super) end: Option<End>,
    pub(super) joined: bool,
    pub(super) stopped: Option<Stopped>,
    pub(super) last_frame: LastFrame,
    pub(super) signs: Signs,
    pub(super) table: Table,
    pub(super) findings: Findings,
}

impl Recorder {
    /// What comes now has no blank line after it: the stream may have been cut in it.
    pub(crate) fn last_frame(&mut self) {
        self.last_frame = LastFrame::Comes;
    }

    pub(super) fn begin(&mut self, event_type: String, number: Option<u64>) {
        self.count_event();
        self.now.event_type = event_type;
        self.now.number = number;
        self.telling = None;
        self.findings.next_event();
    }

    pub(super) fn telling(&self) -> Telling {
        self.telling.unwrap_or(Telling::Event)
    }

    /// An event that waited is decided on: what is found was there when it came.
    pub(super) fn resume(&mut self, ticket: Ticket) {
        if let Some((place, telling)) = self.waiting.remove(&ticket) {
            let now = std::mem::replace(&mut self.now, place);
            let telling = std::mem::replace(&mut self.telling, telling);
            self.present.get_or_insert((now, telling));
        }
    }

    /// The event at hand is decided on again.
    pub(super) fn return_to_present(&mut self) {
        if let Some((now, telling)) = self.present.take() {
            self.now = now;
            self.telling = telling;
        }
    }

    /// The response ends; returns how it ended before, if it did.
    pub(super) fn end(&mut self) -> Option<End> {
        let end = match self.now.event_type.as_str() {
            "response.completed" => End::Completed,
            "response.incomplete" => End::Incomplete,
            _ => End::Failed,
        };
        self.end.replace(end)
    }

    /// A fault of the item in `slot`.
    pub(super) fn find(&mut self, fault: Fault, slot: usize, say: impl FnOnce(Found) -> Found) {
        let kind = Some(&self.table.row(slot).kind).filter(|kind| !kind.is_empty());
        let found = Found {
            slot: Some(slot),
            kind: kind.map(|kind| short(kind).into_owned()),
            ..Found::new(fault, self.telling.unwrap_or(Telling::Event))
        };
        self.raise(say(found));
    }

    pub(super) fn raise(&mut self, found: Found) {
        self.findings.raise(&self.now, found);
    }

    pub(super) fn remark(&mut self, note: &'static str, sentence: impl FnOnce() -> String) {
        self.findings.remark(self.now.event, note, sentence);
    }

    /// Another event comes.
    pub(super) fn count_event(&mut self) {
        self.events += 1;
        self.now.event = self.events;
    }

    /// What was found, where the stream went on to `limit` or its end.
    pub(crate) fn verdict(mut self, limit: Option<GaveUp>) -> Verdict {
        let has_begun = self.now.response > 0;
        let is_open = has_begun && self.end.is_none() && limit.is_none();
        if is_open && self.stopped.is_some() {
            self.raise(Found::new(Fault::NoEnd, Telling::Event));
        }
        let is_broken_off = self.last_frame == LastFrame::Unreadable;
        let cut = is_broken_off || (is_open && self.stopped.is_none());
        let open = self.table.open();
        if is_open && open > 0 {
            self.remark("open", || {
                format!("Items that were announced, and not closed where the stream stops: {open}.")
            });
        }
        let rules = self.findings.broken();
        Verdict {
            outcome: match limit {
                _ if !has_begun => Outcome::NoStream,
                _ if !rules.is_empty() => Outcome::Broken,
                Some(_) => Outcome::Limit,
                None if cut => Outcome::Cut,
                None => Outcome::Kept,
            },
            events: self.events,
            responses: self.now.response,
            end: self.end.unwrap_or(match self.stopped {
                Some(Stopped::Failed) => End::Error,
                _ => End::None,
            }),
            joined: self.joined,
            cut,
            limit: limit.map(|limit| limit.to_string()),
            origin: self.signs.guess(),
            items: self.table.items,
            more_items: self.table.more_items,
            breaches: self.findings.breaches,
            more_breaches: self.findings.more_breaches,
            rules,
            notes: self.findings.notes,
        }
    }
}
