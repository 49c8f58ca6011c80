//! Translates a terminal event.

use super::{Open, Translator};
use crate::item::Item;
use crate::output::{Output, Piece};
use crate::policy::GaveUp;
use crate::reconcile::{Insert, Source};
use crate::splice::corrected;
use crate::walk;

impl Translator {
    /// Makes its output the list of what was streamed, and sends first what is missing.
    pub(super) fn terminal(&mut self, open: &mut Open) -> Result<(), GaveUp> {
        let response = open.fields.response.clone();
        let output = response.and_then(|span| Output::read(open.json, &span));
        let items: &[Item] = output.as_ref().map_or(&[], |output| &output.items);
        let decided = self.ledger.terminal(items)?;
        let mut pieces = Vec::with_capacity(decided.output.len());
        for (slot, source) in decided.output.iter().enumerate() {
            pieces.push(self.piece(open.json, output.as_ref(), slot, *source));
        }
        for insert in &decided.inserts {
            let (Insert::Close { slot, .. } | Insert::Whole { slot, .. }) = *insert;
            let text = match pieces.get(slot) {
                Some(Some(Piece::Same(at))) => output
                    .as_ref()
                    .and_then(|output| open.json.get(output.spans.get(*at)?.clone()))
                    .unwrap_or_default(),
                Some(Some(Piece::Text(text))) => text,
                _ => continue,
            };
            let item = walk::decoded(text).into_owned();
            self.held.keep(slot, text.to_vec())?;
            let events = self.lifecycle(slot, |lifecycle| match insert {
                Insert::Close { .. } => vec![lifecycle.close(&item)],
                Insert::Whole { .. } => lifecycle.whole(&item),
            });
            self.insert(open, events.unwrap_or_default());
        }
        self.watch
            .note(|seen| seen.terminal(&decided, output.as_ref(), &pieces, &self.ledger));
        if let Some(output) = output {
            let pieces = pieces.into_iter().flatten().collect();
            output.write(open.json, pieces, &mut open.edits);
        }
        Ok(())
    }

    /// The item for the output at `slot`; `None` where it was never seen.
    fn piece(
        &mut self,
        json: &[u8],
        output: Option<&Output>,
        slot: usize,
        source: Source,
    ) -> Option<Piece> {
        let Source::Rebuilt(at) = source else {
            let text = self.held.get(slot)?;
            let item = Item::read(text).ok()?;
            let corrections = self.ledger.corrections(slot, &item.identity);
            let changed = corrected(text, &corrections);
            return Some(Piece::Text(changed.unwrap_or_else(|| text.to_vec())));
        };
        let output = output?;
        let identity = &output.items.get(at)?.identity;
        let corrections = self.ledger.corrections(slot, identity);
        let text = json.get(output.spans.get(at)?.clone())?;
        Some(corrected(text, &corrections).map_or(Piece::Same(at), Piece::Text))
    }
}
