//! What open items say is remembered, and what vLLM takes back of it is said again.

use crate::contract::catalogue::{Effect, PartKind, Scope, final_status, item_type};
use crate::contract::engine::{Engine, Planned};
use crate::contract::event::{Changes, Scoped, Target, Value};
use crate::contract::item::Item;
use crate::contract::observer::Observer;
use crate::contract::report::Change;
use crate::contract::said::{List, Spot};
use crate::contract::scoped::Placed;
use crate::json::{edit, scan};

/// Stands for the first bytes of a character, which vLLM does not stream.
const CUT_CHARACTER: char = '\u{fffd}';

impl<O: Observer> Engine<O> {
    /// Remembers what an event says; returns where its text goes.
    pub(super) fn remember(
        &mut self,
        at: usize,
        event: &Scoped,
        scope: &Scope,
        part: Option<&Placed>,
        is_restored: bool,
    ) -> Option<Spot> {
        let item = self.items.get_mut(at)?;
        if item.said.has_overflowed() {
            return None;
        }
        let said = &mut item.said;
        let spot = match part {
            Some(part) => Some(Spot::Part(part.list, part.index)),
            None if item_type(&item.identity.kind).text == scope.text => {
                scope.text.map(|_| Spot::Call)
            }
            None => None,
        };
        // The text of a call has no part, and none of a kind.
        let kind = part.map_or(PartKind::Text, |part| part.kind);
        match (scope.effect, spot, event.raw_text()) {
            (Effect::Delta, Some(spot), Some(raw)) => said.add(spot, kind, raw),
            (Effect::Whole, Some(spot), Some(_)) if is_restored => {
                said.sum_up_as_streamed(spot, kind);
            }
            (Effect::Whole, Some(spot), Some(raw)) => said.sum_up(spot, kind, raw),
            (Effect::Delta | Effect::Whole, ..) => said.says_elsewhere(),
            (Effect::Status, ..) => said.set_status(final_status(event.event_type)),
            (Effect::OpensPart | Effect::ClosesPart | Effect::Adds, ..) => {}
        }
        if let (Some(place), Some(json)) = (part, event.part) {
            match scope.effect {
                Effect::OpensPart => said.open_part(place.list, place.index, place.kind, json),
                // Its text is what was streamed of it, not what this says.
                Effect::ClosesPart if is_restored => {}
                Effect::ClosesPart => said.close_part(place.list, place.index, place.kind, json),
                _ => {}
            }
        }
        if let (Some(place), Some(annotation)) = (part, event.annotation)
            && place.list == List::Content
        {
            said.annotate(place.index, place.kind, annotation);
        }
        self.hold(at);
        spot
    }

    /// Says again what vLLM before 0.25 takes back of a text that it has streamed.
    ///
    /// Where several tokens come in one step, the last deltas of a text may be missing: the event
    /// that sums up the text has them. vLLM 0.20 sums up the text before a call as empty: returns
    /// whether the event is one that does so.
    pub(super) fn restore_text(
        &mut self,
        at: usize,
        event: &Scoped,
        scope: &Scope,
        part: Option<&Placed>,
        steps: &mut Vec<Planned>,
        changes: &mut Changes,
    ) -> bool {
        let Some(item) = self
            .items
            .get_mut(at)
            .filter(|_| self.policy.restore_lost_text)
        else {
            return false;
        };
        let spot = part.map_or(Spot::Call, |part| Spot::Part(part.list, part.index));
        let said = item.said.deltas_at(spot).to_vec();
        let is_text = scope.part == Some(PartKind::Text);
        let restored = || Value::Text(scan::unescaped(&said).into_owned());
        match scope.effect {
            Effect::ClosesPart if is_text && !said.is_empty() => {
                let text = event.part.and_then(|part| scan::member_text(part, "text"));
                if text.is_none_or(|text| text.is_empty()) {
                    changes.set(Target::Part, "text", restored());
                    self.count(Change::TextRestored);
                    return true;
                }
            }
            Effect::Whole => {
                let Some(whole) = event.raw_text().map(scan::unescaped) else {
                    return false;
                };
                if whole.is_empty() && is_text && !said.is_empty() {
                    changes.set(Target::Event, "text", restored());
                    self.count(Change::TextRestored);
                    return true;
                }
                let streamed = scan::unescaped(&said);
                let rest = whole.strip_prefix(&*streamed).unwrap_or_default();
                let rest = rest.strip_suffix(CUT_CHARACTER).unwrap_or(rest);
                if rest.is_empty() {
                    return false;
                }
                let quoted = edit::quoted(rest);
                let raw = quoted.get(1..quoted.len().saturating_sub(1));
                let raw = raw.unwrap_or_default().as_bytes().to_vec();
                let kind = part.map_or(PartKind::Text, |part| part.kind);
                item.said.add(spot, kind, &raw);
                self.count(Change::TextRestored);
                if let Some(item) = self.items.get(at) {
                    let place = part.map(|part| part.index);
                    let events = self.events_of(at, item);
                    let delta = events.delta(event.event_type, scope.part, place, &quoted);
                    steps.extend(delta.map(Planned::Insert));
                }
            }
            _ => {}
        }
        false
    }

    /// The text of a message that vLLM 0.20 closes as empty, after it has streamed it, as the
    /// content that the close is to have.
    pub(super) fn lost_content(&self, at: usize, closed: &Item) -> Option<Vec<u8>> {
        let item = self
            .items
            .get(at)
            .filter(|_| self.policy.restore_lost_text)?;
        let is_message = closed.identity.kind == "message" && closed.texts().is_empty();
        if !is_message || item.said.texts().is_empty() {
            return None;
        }
        let whole = item.said.item("message", b"{}");
        let content = scan::member(&whole, "content")?;
        whole.get(content).map(<[u8]>::to_vec)
    }
}
