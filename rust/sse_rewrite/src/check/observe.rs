//! What a recorder is told.

use crate::check::breach::{Fault, Found, Telling};
use crate::check::items::Told;
use crate::check::recorder::{LastFrame, Recorder, Stopped};
use crate::check::text::short;
use crate::contract::catalogue::{EventKind, PartKind};
use crate::contract::event::Ticket;
use crate::contract::identity::{Field, Identity};
use crate::contract::observer::{Entry, Observer};
use crate::wire::fields::member;
use crate::wire::observer::{FrameObserver, RawEvent};

/// The events that vLLM before 0.32 has and the API has not.
const REASONING_PART: &str = "response.reasoning_part.";

impl FrameObserver for Recorder {
    fn event(&mut self, event: &RawEvent) {
        let &RawEvent {
            json,
            fields,
            event_type,
            kind,
            number,
        } = event;
        self.begin(short(event_type).into_owned(), number);
        self.telling = Some(match kind {
            EventKind::Added => Telling::Added,
            EventKind::Done => Telling::Done,
            EventKind::Terminal { .. } => Telling::Terminal,
            _ => Telling::Event,
        });
        if event_type.is_empty() {
            self.raise(Found::new(Fault::NoType, Telling::Event));
        }
        let whole = fields.start..json.len();
        if event_type == "error"
            || (event_type.is_empty() && member(json, &whole, "error").is_some())
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

    fn again(&mut self, number: Option<u64>) {
        self.count_event();
        self.now.number = number;
        self.findings.same_event();
    }

    fn unreadable(&mut self, data: &[u8]) {
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

    fn no_response(&mut self) {
        self.raise(Found::new(Fault::NoResponse, Telling::Terminal));
    }

    fn not_an_item(&mut self) {
        self.raise(Found::new(Fault::NotAnItem, Telling::Terminal));
    }
}

impl Observer for Recorder {
    const LISTENS: bool = true;

    fn joins(&mut self) {
        self.joined = true;
        self.remark("joined", || {
            "The recording begins in the middle of a response; what came before was not seen."
                .to_owned()
        });
    }

    fn begins(&mut self, id: Option<&str>, is_first: bool) {
        if !is_first {
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

    fn numbered(&mut self, number: u64, is_behind: bool) {
        if is_behind {
            let found = Found::new(Fault::Number, self.telling());
            self.raise(found.field("sequence_number", self.last_number, Some(number)));
        }
        self.last_number = Some(number);
    }

    fn waits(&mut self, ticket: Ticket, resumes: bool) {
        if resumes {
            self.resume(ticket);
        } else {
            let place = (self.now.clone(), self.telling);
            self.waiting.insert(ticket, place);
        }
    }

    fn returns(&mut self) {
        self.return_to_present();
    }

    fn dropped(&mut self, item: Option<&Identity>) {
        let telling = self.telling();
        let fault = match (telling, item) {
            (Telling::Event, _) => Fault::AfterClose,
            (_, None) => Fault::NoItem,
            (Telling::Added, _) => Fault::AnnouncedAgain,
            _ => Fault::ClosedAgain,
        };
        self.raise(Found::new(fault, telling));
    }

    fn unannounced(&mut self, index: usize, seen: &Identity) {
        self.learn(index, seen);
        self.find(Fault::Unannounced, index, |found| found);
    }

    fn shows(&mut self, index: usize, seen: &Identity) {
        self.learn(index, seen);
    }

    fn unusable(&mut self, index: usize, item: &Identity, missing: Field, is_mended: bool) {
        self.show_kind(index, item);
        self.find(Fault::Unusable, index, |found| Found {
            is_mended,
            ..found.field(missing.key(), None::<&str>, None::<&str>)
        });
    }

    fn misplaced(&mut self, index: usize, said: Option<u64>, item: &Identity) {
        self.show_kind(index, item);
        self.find(Fault::Index, index, |found| {
            found.field("output_index", Some(index), said)
        });
    }

    fn named(&mut self, index: usize, field: Field, said: Option<&str>, wanted: &str) {
        let key = match field {
            Field::Id => "item_id",
            _ => field.key(),
        };
        self.misnamed(index, field, key, said, wanted);
    }

    fn part(&mut self, index: usize, key: &'static str, said: Option<u64>, place: u64) {
        self.find(Fault::Part, index, |found| {
            found.field(key, Some(place), said)
        });
    }

    fn part_unopened(&mut self, index: usize, _kind: PartKind) {
        self.find(Fault::PartUnopened, index, |found| found);
    }

    fn described(
        &mut self,
        index: usize,
        said_index: Option<u64>,
        said: &Identity,
        wanted: &Identity,
    ) {
        self.describe(index, said_index, said, wanted);
    }

    fn closed_otherwise(&mut self, index: usize) {
        self.find(Fault::ClosedOtherwise, index, |found| found);
    }

    fn after_end(&mut self) {
        self.raise(Found::new(Fault::AfterEnd, self.telling()));
    }

    fn ends(&mut self) {
        if self.end().is_some() {
            self.raise(Found::new(Fault::EndsTwice, Telling::Terminal));
        }
    }

    fn never_closed(&mut self, index: usize) {
        self.find(Fault::NeverClosed, index, |found| found);
    }

    fn only_at_end(&mut self, index: usize, item: &Identity) {
        self.show_kind(index, item);
        self.find(Fault::OnlyAtEnd, index, |found| found);
    }

    fn missing(&mut self, index: usize) {
        self.find(Fault::Missing, index, |found| found);
    }

    fn entry(
        &mut self,
        index: usize,
        position: usize,
        said: &Identity,
        wanted: &Identity,
        entry: Entry,
    ) {
        self.describe(index, u64::try_from(position).ok(), said, wanted);
        match entry {
            Entry::Same | Entry::OtherName => {}
            Entry::OtherType => self.find(Fault::Type, index, |found| {
                found.field("type", Some(&wanted.kind), Some(&said.kind))
            }),
            Entry::OtherPayload => {
                self.find(Fault::Payload, index, |found| Found {
                    field: Some("payload"),
                    ..found
                });
                let listed = self.table.listed(index);
                if let Some(told) = listed.and_then(|item| item.terminal.as_mut()) {
                    told.differs("payload");
                }
            }
        }
    }

    fn moved(&mut self, index: Option<usize>, position: usize, wanted: usize) {
        let place = |found: Found| found.field("position", Some(wanted), Some(position));
        match index {
            Some(index) => self.find(Fault::Position, index, place),
            None => self.raise(place(Found::new(Fault::Position, Telling::Terminal))),
        }
    }

    fn extra_entry(&mut self, said: &Identity) {
        let found = Found::new(Fault::Unstreamed, Telling::Terminal);
        self.raise(found.field("type", None::<&str>, Some(&said.kind)));
    }
}

impl Recorder {
    /// An event describes an item as a whole.
    fn describe(
        &mut self,
        index: usize,
        said_index: Option<u64>,
        said: &Identity,
        wanted: &Identity,
    ) {
        let mut told = Told::new(self.now.event, said_index, said);
        self.show_kind(index, said);
        let is_new = self.table.row(index).is_unseen();
        let mut learnt = said.clone();
        // An item of another type has other names; the type is what is wrong then.
        let is_like = wanted.kind == said.kind;
        for (field, wanted) in wanted.corrections(said) {
            if self.table.row(index).is_unlike(field, said.get(field)) {
                told.differs(field.key());
            }
            if is_like {
                self.misnamed(index, field, field.key(), said.get(field), wanted);
            }
            if !is_new {
                // It comes too late to be what the item is called.
                learnt.set(field, None);
            }
        }
        if said_index != u64::try_from(index).ok() {
            told.differs("output_index");
        }
        if is_like {
            self.learn(index, &learnt);
        } else {
            told.differs("type");
        }
        let telling = self.telling();
        self.table.list(self.now.response, index, telling, told);
    }
}
