//! What items and responses are called, and whether they still are.

use std::ops::Range;

use crate::check::breach::{Fault, Found, Telling};
use crate::check::recorder::Recorder;
use crate::check::text::shorter;
use crate::contract::catalogue::EventKind;
use crate::contract::catalogue::id_prefix;
use crate::contract::identity::{Field, Identity};
use crate::wire::fields::member_text;

impl Recorder {
    /// What an event says of the response as a whole.
    pub(super) fn response(
        &mut self,
        json: &[u8],
        response: &Range<usize>,
        event_type: &str,
        kind: EventKind,
    ) {
        let text = |name| member_text(json, Some(response), name);
        if matches!(kind, EventKind::Created | EventKind::Terminal { .. }) {
            self.signs.response(json, response);
        }
        if kind != EventKind::Created {
            self.carries_id(text("id").as_deref());
        }
        if event_type == "response.completed"
            && let Some(status) = text("status").filter(|status| *status != "completed")
        {
            self.remark("status", || {
                let status = shorter(&status);
                format!("The response ends with response.completed, but has the status {status}.")
            });
        }
    }

    pub(super) fn carries_id(&mut self, id: Option<&str>) {
        let Some(id) = id else {
            return;
        };
        let first = self.response_id.get_or_insert_with(|| id.to_owned());
        if first != id {
            let found = Found::new(Fault::ResponseId, Telling::Event);
            let found = found.field("response.id", Some(first), Some(id));
            self.raise(found);
        }
    }

    /// A mention of the item in `slot` must be `wanted` in a field, and is `said`.
    pub(super) fn misnamed(
        &mut self,
        slot: usize,
        field: Field,
        key: &'static str,
        said: Option<&str>,
        wanted: &str,
    ) {
        let telling = self.telling();
        let row = self.table.row(slot);
        // A call may get its `call_id` as late as at its close.
        let is_first = match telling {
            Telling::Event => false,
            Telling::Done => field == Field::CallId || row.is_unseen(),
            Telling::Added | Telling::Terminal => row.is_unseen(),
        };
        let (fault, announced) = match (row.first.get(field), said) {
            (Some(first), Some(said)) if first == said => (Fault::Taken, None),
            (None, Some(_)) if is_first => (Fault::Taken, None),
            (None, None) => (Fault::Unnamed, None),
            (None, Some(_)) if row.is_unseen() => (Fault::Identity, Some(wanted.to_owned())),
            (first, _) => (Fault::Identity, first.map(str::to_owned)),
        };
        self.find(fault, slot, |found| found.field(key, announced, said));
    }

    /// The item in `slot` shows its type.
    pub(super) fn show_kind(&mut self, slot: usize, item: &Identity) {
        let row = self.table.row(slot);
        if row.kind.is_empty() {
            row.kind.clone_from(&item.kind);
        }
    }

    /// Remembers what was first told of the item in `slot`.
    pub(super) fn learn(&mut self, slot: usize, said: &Identity) {
        self.show_kind(slot, said);
        let row = self.table.row(slot);
        let is_new = row.is_unseen();
        if is_new {
            row.first.kind.clone_from(&said.kind);
        }
        row.first.fill_from(said);
        if is_new {
            self.signs.item(said);
            self.look_at_prefix(said);
        }
    }

    fn look_at_prefix(&mut self, said: &Identity) {
        let Some((id, prefix)) = said.id.as_deref().zip(id_prefix(&said.kind)) else {
            return;
        };
        if !id.starts_with(prefix) {
            self.remark("prefix", || {
                let (id, kind) = (shorter(id), shorter(&said.kind));
                format!("The id {id} of a {kind} item does not begin with {prefix}, as is usual.")
            });
        }
    }
}
