//! Events of one item: content, arguments, status.

use super::{Open, Translator};
use crate::content_index::Step;
use crate::identity::Field;
use crate::pairing::is_call;
use crate::policy::GaveUp;
use crate::report::{Change, Told};
use crate::splice::quoted;
use crate::vocabulary::Scope;
use crate::walk;

impl Translator {
    /// An event that belongs to an item.
    pub(super) fn scoped(
        &mut self,
        open: &mut Open,
        event_type: &str,
        scope: &Scope,
    ) -> Result<bool, GaveUp> {
        let index = open.count(open.fields.output_index.as_ref());
        let item_id = open.fields.item_id.clone();
        let item_id = item_id.and_then(|span| walk::text(open.json, span));
        let text = if scope.sums_up() { open.text() } else { None };
        let scope = &scope.with_text(text.as_deref());
        let decision = self.ledger.mentioned(scope, index, item_id.as_deref())?;
        let Some(slot) = self.placed(open, decision, index)? else {
            return Ok(self.passes(decision, None));
        };
        let announced = self.ledger.identity(slot);
        let announced = announced.and_then(|identity| identity.id.as_deref());
        let must_name = scope.names_item(index, item_id.as_deref());
        if let Some(announced) =
            announced.filter(|announced| must_name && item_id.as_deref() != Some(announced))
        {
            let said = item_id.as_deref();
            self.watch
                .note(|seen| seen.named(slot, Field::Id, said, announced));
            open.set("item_id", quoted(announced));
        }
        self.names_in_event(open, slot);
        if let Some(step) = Step::of(event_type) {
            let upstream = open.count(open.fields.content_index.as_ref());
            let place = self.parts_of(slot).place(step, upstream);
            // An event that does not say where it belongs gets the whole of its place.
            let is_wanted = upstream.is_some() || index.is_none();
            if let Some(place) = place.filter(|&place| is_wanted && upstream != Some(place)) {
                self.ledger.report.count(Change::PartMoved);
                self.watch.note(|seen| seen.part(slot, upstream, place));
                open.set("content_index", place.to_string());
            }
        }
        Ok(true)
    }

    /// Some events of a call repeat what it is called by.
    fn names_in_event(&mut self, open: &mut Open, slot: usize) {
        let Some(identity) = self.ledger.identity(slot) else {
            return;
        };
        let mut differ = Vec::new();
        for (field, span) in [
            (Field::Name, &open.fields.name),
            (Field::CallId, &open.fields.call_id),
        ] {
            let said = span.clone().and_then(|span| walk::text(open.json, span));
            let said = said.filter(|said| !said.is_empty() && is_call(&identity.kind));
            if let (Some(said), Some(announced)) = (said, identity.get(field))
                && said != announced
            {
                self.watch
                    .note(|seen| seen.named(slot, field, Some(&said), announced));
                differ.push((field, quoted(announced)));
            }
        }
        if !differ.is_empty() {
            self.ledger.report.count(Change::IdentityKept);
        }
        for (field, value) in differ {
            self.ledger.report.count_field(Told::Mentioned, field);
            open.set(field.key(), value);
        }
    }
}
