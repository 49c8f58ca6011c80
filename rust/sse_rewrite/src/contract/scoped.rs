//! Events of one item between its announcement and its close: parts, deltas, status.

use crate::contract::catalogue::{
    Effect, Family, PartKind, Role, Scope, is_call, item_type, openai_name,
};
use crate::contract::engine::{Draft, Engine, Phase, Planned, Ref};
use crate::contract::event::{Changes, Fate, Run, Scoped, Target, Value};
use crate::contract::identity::{Field, Identity};
use crate::contract::item::Item;
use crate::contract::item_state::ItemState;
use crate::contract::lookup::Names;
use crate::contract::observer::Observer;
use crate::contract::parts::{Opening, Step};
use crate::contract::policy::GaveUp;
use crate::contract::report::{Change, Told};
use crate::contract::said::List;
use crate::contract::waiting::{Kept, KeptScoped, Waiting};
use crate::json::scan;

impl<O: Observer> Engine<O> {
    /// An event of one item.
    pub(super) fn scoped(&mut self, event: &Scoped, number: Option<u64>) -> Result<Draft, GaveUp> {
        let Some(scope) = event.scope() else {
            return Ok(Draft::default());
        };
        let id = event.item_id.filter(|id| !id.is_empty());
        let names = Names {
            index: event.index,
            id,
            call_id: None,
        };
        if let Some(index) = event.index.filter(|_| self.is_uncounted()) {
            self.reach(index.saturating_add(1))?;
        }
        if self.is_denied(&scope, event, names) {
            return Ok(self.dropped_event());
        }
        let fits = |kind: &str| scope.family.fits(kind);
        match self.find(names, fits) {
            Some(Ref::Waiting(key)) if self.is_of_waiting(key, event, &scope) => {
                if let Some(waiting) = self.waiting.get_mut(&key) {
                    if waiting.is_closed && waiting.is_continued_by(event, &scope) {
                        waiting.reopen();
                    }
                    waiting.take(event, &scope);
                }
                self.defer(key, Kept::Scoped(KeptScoped::of(event)), number)
            }
            Some(Ref::Item(at)) if self.items.get(at).is_some_and(|item| !item.is_closed()) => {
                self.show_kind(at, &scope, id)?;
                let mut draft = Draft::default();
                let mut changes = Changes::default();
                match self.send_scoped(at, event, &scope, &mut draft.steps, &mut changes) {
                    Sent::As(run) => draft.run = run.filter(|_| draft.steps.is_empty()),
                    Sent::Not => return Ok(self.dropped_event()),
                }
                draft.this = Fate::Send(changes);
                Ok(draft)
            }
            found => self.scoped_of_none(found, event, &scope, number),
        }
    }

    /// An event of an item that is closed, or was never announced.
    fn scoped_of_none(
        &mut self,
        closed: Option<Ref>,
        event: &Scoped,
        scope: &Scope,
        number: Option<u64>,
    ) -> Result<Draft, GaveUp> {
        if let Some(Ref::Item(at)) = closed
            && self.says_nothing_new(at, event, scope)
        {
            return Ok(self.dropped_event());
        }
        let is_unknown = self.is_uncounted() || closed.is_none() && self.may_be_unseen();
        if is_unknown || self.phase == Phase::Failed {
            return Ok(Draft::default());
        }
        let mut seen = Identity::of_kind(scope.family.kind());
        let id = event.item_id.filter(|id| !id.is_empty());
        seen.set(Field::Id, id.map(str::to_owned));
        self.check(&seen)?;
        let is_client_call = item_type(&seen.kind).role == Role::ClientCall;
        if is_client_call && !self.is_joined {
            if let Some(closed) = closed {
                self.name_after(closed, &mut seen);
            }
            let mut waiting = Waiting::new(seen, event.index);
            waiting.take(event, scope);
            let key = self.wait(waiting)?;
            return self.defer(key, Kept::Scoped(KeptScoped::of(event)), number);
        }
        let at = self.insert_item(event.index, &seen)?;
        let mut draft = Draft::default();
        self.insert_announcement(at, &mut draft.steps)?;
        let mut changes = Changes::default();
        self.send_scoped(at, event, scope, &mut draft.steps, &mut changes);
        draft.this = Fate::Send(changes);
        Ok(draft)
    }

    /// Whether an event of a waiting call is to wait with it.
    ///
    /// After the close of the call only what says nothing new is, and what that has left out:
    /// nothing was sent of the call.
    fn is_of_waiting(&self, key: u64, event: &Scoped, scope: &Scope) -> bool {
        let waiting = self.waiting.get(&key);
        waiting.is_some_and(|waiting| {
            !waiting.is_closed
                || is_blank(event, scope)
                || waiting.repeats(event, scope)
                || waiting.is_continued_by(event, scope)
        })
    }

    /// An event is not sent: it repeats what was said, or says nothing.
    fn dropped_event(&mut self) -> Draft {
        self.observer.dropped(None);
        self.dropped()
    }

    /// Some servers close reasoning as a message that says nothing.
    fn is_denied(&self, scope: &Scope, event: &Scoped, names: Names) -> bool {
        if !matches!(scope.effect, Effect::Whole | Effect::ClosesPart) || !is_blank(event, scope) {
            return false;
        }
        let Some(at) = self.named_and_placed(names) else {
            return false;
        };
        let item = self.items.get(at);
        item.is_some_and(|item| scope.denies(&item.identity.kind))
    }

    /// The open item that both the id and the index of an event name.
    pub(super) fn named_and_placed(&self, names: Names) -> Option<usize> {
        let owners = names.id.map(|id| self.ids.owners(id))?;
        let there = self.by_index.get(&names.index?)?;
        let mut owners = owners.iter().copied();
        owners.find(|&at| there.contains(&Ref::Item(at)) && self.open.contains(&at))
    }

    /// An event of an unseen item of a joined stream shows what it is.
    fn show_kind(&mut self, at: usize, scope: &Scope, id: Option<&str>) -> Result<(), GaveUp> {
        if !self.items.get(at).is_some_and(ItemState::is_unseen) {
            return Ok(());
        }
        let family = scope.family;
        let is_part = family == Family::Part && scope.part.is_none();
        // A part of a message, or one of reasoning that does not say so.
        let mut seen = Identity::of_kind(if is_part { "" } else { family.kind() });
        seen.set(Field::Id, id.map(str::to_owned));
        self.check(&seen)?;
        self.show(at, &seen);
        Ok(())
    }

    /// Whether an event of a closed item says nothing that the item has not said.
    fn says_nothing_new(&self, at: usize, event: &Scoped, scope: &Scope) -> bool {
        if scope.effect == Effect::Status || is_blank(event, scope) {
            return true;
        }
        let text = match scope.effect {
            Effect::Whole => event.raw_text().map(scan::unescaped),
            Effect::ClosesPart => event
                .part
                .and_then(|part| scan::member_text(part, scope.part?.text_key())),
            _ => None,
        };
        let (Some(text), Some(item)) = (text, self.items.get(at)) else {
            return false;
        };
        let closed = Item::read(&item.json).ok();
        closed.is_some_and(|item| item.has_text(&text)) || item.has_streamed(&text)
    }

    /// Sends an event of the open item at `at`.
    pub(super) fn send_scoped(
        &mut self,
        at: usize,
        event: &Scoped,
        scope: &Scope,
        steps: &mut Vec<Planned>,
        changes: &mut Changes,
    ) -> Sent {
        let part = self.place_part(at, event, scope);
        let opens_again = part.is_some_and(|part| part.opening == Opening::Again);
        if opens_again && is_blank(event, scope) {
            return Sent::Not;
        }
        self.move_to(at, event.index, changes);
        self.name_item(at, event, scope, changes);
        self.name_call(at, event, changes);
        if let Some(part) = part {
            self.open_part(at, event, &part, steps, changes);
        }
        let is_restored = self.restore_text(at, event, scope, part.as_ref(), steps, changes);
        let spot = self.remember(at, event, scope, part.as_ref(), is_restored);
        if self.policy.openai_vocabulary
            && let Some(name) = openai_name(event.event_type)
        {
            self.count(Change::EventRenamed);
            changes.event_type = Some(name);
        }
        let is_delta = scope.effect == Effect::Delta;
        Sent::As(is_delta.then_some(Run { item: at, spot }))
    }

    /// The event names the item as it was announced.
    fn name_item(&mut self, at: usize, event: &Scoped, scope: &Scope, changes: &mut Changes) {
        let Some(item) = self.items.get(at) else {
            return;
        };
        let Some(announced) = item.identity.id.as_deref() else {
            return;
        };
        if scope.names_item(event.index, event.item_id) && event.item_id != Some(announced) {
            self.observer.named(at, Field::Id, event.item_id, announced);
            changes.set(Target::Event, "item_id", Value::Text(announced.to_owned()));
            self.report.count(Change::IdentityKept);
            self.report.count_field(Told::Mentioned, Field::Id);
        }
    }

    /// Some events of a call repeat what it is called by.
    fn name_call(&mut self, at: usize, event: &Scoped, changes: &mut Changes) {
        let Some(identity) = self.items.get(at).map(|item| &item.identity) else {
            return;
        };
        let mut differ = Vec::new();
        for (field, said) in [(Field::Name, event.name), (Field::CallId, event.call_id)] {
            let said = said.filter(|said| !said.is_empty() && is_call(&identity.kind));
            if let (Some(said), Some(announced)) = (said, identity.get(field))
                && said != announced
            {
                self.observer.named(at, field, Some(said), announced);
                differ.push((field, announced.to_owned()));
            }
        }
        if !differ.is_empty() {
            self.count(Change::IdentityKept);
        }
        for (field, _) in &differ {
            self.report.count_field(Told::Mentioned, *field);
        }
        changes.correct(Target::Event, differ);
    }

    /// Which part of its item an event is about.
    fn place_part(&mut self, at: usize, event: &Scoped, scope: &Scope) -> Option<Placed> {
        let item = self.items.get_mut(at)?;
        let kind = scope.part.unwrap_or(match &*item.identity.kind {
            "reasoning" => PartKind::Reasoning,
            _ => PartKind::Text,
        });
        if scope.part == Some(PartKind::Summary) && scope.effect != Effect::Status {
            let index = event.summary_index.unwrap_or(0);
            let is_new = !item.is_joined && item.said.opens_summary(index);
            let opens = scope.effect == Effect::OpensPart;
            return Some(Placed {
                list: List::Summary,
                kind,
                index,
                opening: match (is_new, item.said.is_unopened(index)) {
                    (true, _) if !opens => Opening::Now,
                    (false, true) if opens => Opening::Again,
                    (false, true) => Opening::Before,
                    _ => Opening::Server,
                },
                is_numbered: true,
            });
        }
        let step = Step::of(scope)?;
        let place = item.said.numbers.place(step, event.content_index);
        Some(Placed {
            list: List::Content,
            kind,
            index: place.map_or(event.content_index.unwrap_or(0), |place| place.index),
            opening: place.map_or(Opening::Server, |place| place.opening),
            is_numbered: place.is_some(),
        })
    }

    /// Opens the part of an event where the server has not, and numbers it inside its item.
    fn open_part(
        &mut self,
        at: usize,
        event: &Scoped,
        part: &Placed,
        steps: &mut Vec<Planned>,
        changes: &mut Changes,
    ) {
        if part.opening == Opening::Now {
            self.observer.part_unopened(at, part.kind);
            self.count(Change::PartOpened);
            if let Some(item) = self
                .items
                .get_mut(at)
                .filter(|_| part.list == List::Summary)
            {
                item.said.mark_unopened(part.index);
            }
            if let Some(item) = self.items.get(at) {
                let opening = self.events_of(at, item).open_part(part.kind, part.index);
                steps.push(Planned::Insert(opening));
            }
        }
        let (key, said) = match part.list {
            List::Content => ("content_index", event.content_index),
            List::Summary => ("summary_index", event.summary_index),
        };
        // An event that does not say where it belongs gets the whole of its place; one that says
        // its item alone is taken for one of the first part.
        let is_wanted = said.is_some()
            || event.index.is_none()
            || part.opening != Opening::Server
            || part.index > 0;
        if part.is_numbered && is_wanted && said != Some(part.index) {
            self.count(Change::PartMoved);
            self.observer.part(at, key, said, part.index);
            changes.set_number(key, part.index);
        }
    }
}

/// What became of an event of an open item.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sent {
    /// It is sent; further deltas like it go there.
    As(Option<Run>),
    /// It repeats what was done for the server.
    Not,
}

/// Where an event belongs in its item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) list: List,
    pub(super) kind: PartKind,
    pub(super) index: u64,
    opening: Opening,
    /// Whether the engine numbers the parts of this item.
    is_numbered: bool,
}

/// Whether an event that has, or sums up, a text has none.
pub(super) fn is_blank(event: &Scoped, scope: &Scope) -> bool {
    match scope.effect {
        Effect::Delta | Effect::Whole => event.raw_text() == Some(b""),
        Effect::OpensPart | Effect::ClosesPart => {
            let key = scope.part.map_or("text", PartKind::text_key);
            event.part.is_none_or(|part| {
                let text = scan::member_text(part, key);
                text.is_some_and(|text| text.is_empty())
            })
        }
        Effect::Adds | Effect::Status => false,
    }
}
