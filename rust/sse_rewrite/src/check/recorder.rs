//! Puts names to what a translator decides.

use crate::check::breach::{Fault, Found, Telling};
use crate::check::findings::{Findings, Place};
use crate::check::items::Told;
use crate::check::origin::Signs;
use crate::check::table::Table;
use crate::check::text::short;
use crate::check::verdict::{End, Outcome, Verdict};
use crate::fields::{Fields, member};
use crate::identity::{Field, Identity};
use crate::policy::GaveUp;
use crate::vocabulary::EventKind;

/// The events that vLLM before 0.32 has and the API has not.
const REASONING_PART: &str = "response.reasoning_part.";

/// Who is told what a translator decides: nobody, or a recorder.
#[derive(Debug, Default)]
pub(crate) struct Watch(Option<Box<Recorder>>);

impl Watch {
    pub(crate) fn recording() -> Self {
        Self(Some(Box::default()))
    }

    /// Tells the recorder, if there is one.
    #[inline]
    pub(crate) fn note(&mut self, tell: impl FnOnce(&mut Recorder)) {
        if let Some(recorder) = &mut self.0 {
            tell(recorder);
        }
    }

    /// What was found.
    pub(crate) fn verdict(&mut self, limit: Option<GaveUp>) -> Verdict {
        self.0.take().unwrap_or_default().verdict(limit)
    }
}

/// What a server says instead of a terminal event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    /// Nothing more comes.
    Done,
    /// It failed.
    Failed,
}

/// What becomes of the frame that has no blank line after it, if there is one.
#[derive(Debug, Default, PartialEq, Eq)]
enum LastFrame {
    #[default]
    Awaited,
    Comes,
    /// It was cut.
    Unreadable,
}

/// Keeps what is found in one stream.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    now: Place,
    telling: Option<Telling>,
    pub(super) response_id: Option<String>,
    last_number: Option<u64>,
    end: Option<End>,
    joined: bool,
    stopped: Option<Stopped>,
    last_frame: LastFrame,
    pub(super) signs: Signs,
    pub(super) table: Table,
    findings: Findings,
}

/// What the translator tells.
impl Recorder {
    /// An event comes.
    pub(crate) fn event(
        &mut self,
        json: &[u8],
        fields: &Fields,
        event_type: &str,
        kind: EventKind,
        number: Option<u64>,
    ) {
        self.begin(short(event_type).into_owned(), number);
        self.telling = Some(match kind {
            EventKind::Added => Telling::Added,
            EventKind::Done => Telling::Done,
            EventKind::Terminal => Telling::Terminal,
            _ => Telling::Event,
        });
        if event_type.is_empty() {
            self.raise(Found::new(Fault::NoType, Telling::Event));
        }
        let event = fields.start..json.len();
        if event_type == "error"
            || (event_type.is_empty() && member(json, &event, "error").is_some())
        {
            self.stopped = Some(Stopped::Failed);
        }
        if event_type.starts_with("response.") && kind != EventKind::Created {
            self.now.response = self.now.response.max(1);
        }
        if event_type.starts_with(REASONING_PART) {
            self.remark("vocabulary", || {
                "The stream has response.reasoning_part.* events, which the API has not: OpenAI's Node SDK stops at them."
                    .to_owned()
            });
        }
        if let Some(response) = &fields.response {
            self.response(json, response, event_type, kind);
        }
    }

    /// Data comes that is no JSON object.
    pub(crate) fn unreadable(&mut self, data: &[u8]) {
        match data.trim_ascii() {
            b"" => {}
            b"[DONE]" => self.stopped = self.stopped.or(Some(Stopped::Done)),
            _ => {
                self.begin(String::new(), None);
                if self.last_frame == LastFrame::Awaited {
                    self.raise(Found::new(Fault::NotJson, Telling::Event));
                } else {
                    self.last_frame = LastFrame::Unreadable;
                }
            }
        }
    }

    /// What comes now has no blank line after it: the stream may have been cut in it.
    pub(crate) fn last_frame(&mut self) {
        self.last_frame = LastFrame::Comes;
    }

    /// The stream begins in the middle.
    pub(crate) fn joins(&mut self) {
        self.joined = true;
        self.remark("joined", || {
            "The recording begins in the middle of a response; what came before was not seen."
                .to_owned()
        });
    }

    /// `response.created`, and what repeats the beginning of a response.
    pub(crate) fn created(&mut self, id: Option<&str>, begins: bool) {
        if !begins {
            self.raise(Found::new(Fault::BeginsAgain, Telling::Event));
            self.carries_id(id);
            return;
        }
        self.now.response += 1;
        self.response_id = id.map(str::to_owned);
        self.last_number = None;
        self.end = None;
        self.stopped = None;
        self.table.begin();
    }

    /// The event's number, and whether it is behind.
    pub(crate) fn numbered(&mut self, number: u64, is_behind: bool) {
        if is_behind {
            let found = Found::new(Fault::Number, self.telling());
            self.raise(found.field("sequence_number", self.last_number, Some(number)));
        }
        self.last_number = Some(number);
    }

    /// An event that is like the last one but for its text and number.
    pub(crate) fn again(&mut self, number: Option<u64>) {
        self.now.event += 1;
        self.now.number = number;
        self.findings.same_event();
    }

    /// The event is not sent on: it repeats one, or has no item.
    pub(crate) fn dropped(&mut self, item: Option<&Identity>) {
        let telling = self.telling();
        let fault = match (telling, item) {
            (Telling::Event, _) => Fault::AfterClose,
            (_, None) => Fault::NoItem,
            (Telling::Added, _) => Fault::AnnouncedAgain,
            _ => Fault::ClosedAgain,
        };
        self.raise(Found::new(fault, telling));
    }

    /// The event is of an item that was never announced, of which it shows this.
    pub(crate) fn unannounced(&mut self, slot: usize, seen: Option<&Identity>) {
        if let Some(seen) = seen {
            self.learn(slot, seen);
        }
        self.find(Fault::Unannounced, slot, |found| found);
    }

    /// The event is of the item in `slot`, which is not the index it has.
    pub(crate) fn misplaced(&mut self, slot: usize, index: Option<u64>, item: Option<&Identity>) {
        if let Some(item) = item {
            self.show_kind(slot, item);
        }
        self.find(Fault::Index, slot, |found| {
            found.field("output_index", Some(slot), index)
        });
    }

    /// The event says `said` for a field of its item that is `wanted`.
    pub(crate) fn named(&mut self, slot: usize, field: Field, said: Option<&str>, wanted: &str) {
        let key = match field {
            Field::Id => "item_id",
            _ => field.key(),
        };
        self.misnamed(slot, field, key, said, wanted);
    }

    /// The event is of part `place` of its item, which is not the index it has.
    pub(crate) fn part(&mut self, slot: usize, index: Option<u64>, place: u64) {
        self.find(Fault::Part, slot, |found| {
            found.field("content_index", Some(place), index)
        });
    }

    /// The event tells of the item in `slot` as a whole; it is `wanted`.
    pub(crate) fn told(
        &mut self,
        slot: usize,
        index: Option<u64>,
        said: &Identity,
        wanted: Option<&Identity>,
    ) {
        let mut told = Told::new(self.now.event, index, said);
        self.show_kind(slot, said);
        let is_new = self.table.row(slot).is_unseen();
        let mut learnt = said.clone();
        // An item of another type has other names; the type is what is wrong then.
        let is_like = wanted.is_none_or(|wanted| wanted.kind == said.kind);
        for (field, wanted) in wanted.into_iter().flat_map(|one| one.corrections(said)) {
            if self.table.row(slot).is_unlike(field, said.get(field)) {
                told.differs(field.key());
            }
            if is_like {
                self.misnamed(slot, field, field.key(), said.get(field), wanted);
            }
            if !is_new {
                // It comes too late to be what the item is called.
                learnt.set(field, None);
            }
        }
        if index != u64::try_from(slot).ok() {
            told.differs("output_index");
        }
        if is_like {
            self.learn(slot, &learnt);
        } else {
            told.differs("type");
        }
        let telling = self.telling();
        self.table.list(self.now.response, slot, telling, told);
    }

    /// An event of an item comes when all is over.
    pub(crate) fn after_end(&mut self) {
        self.raise(Found::new(Fault::AfterEnd, self.telling()));
    }
}

/// What the recorder makes of it.
impl Recorder {
    fn begin(&mut self, event_type: String, number: Option<u64>) {
        self.now.event += 1;
        self.now.event_type = event_type;
        self.now.number = number;
        self.telling = None;
        self.findings.next_event();
    }

    pub(super) fn telling(&self) -> Telling {
        self.telling.unwrap_or(Telling::Event)
    }

    /// The response ends; returns whether it has ended before.
    pub(super) fn ends(&mut self) -> bool {
        let end = match self.now.event_type.as_str() {
            "response.completed" => End::Completed,
            "response.incomplete" => End::Incomplete,
            _ => End::Failed,
        };
        self.end.replace(end).is_some()
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

    fn verdict(mut self, limit: Option<GaveUp>) -> Verdict {
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
            events: self.now.event,
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
