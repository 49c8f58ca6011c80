//! The list of items in a terminal event: where it lies, and how it is written anew.

use std::ops::Range;

use crate::contract::event::Listed;
use crate::contract::item::Item;
use crate::json::edit::{Edits, corrected};
use crate::json::scan;
use crate::wire::fields::member;

/// The terminal output as the server wrote it.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    place: Place,
    /// Where its items lie; what is no item is not among them.
    pub(crate) spans: Vec<Range<usize>>,
    /// The items.
    pub(crate) items: Vec<Item<'a>>,
    /// Whether it has elements that are no items.
    pub(crate) has_others: bool,
}

#[derive(Debug)]
enum Place {
    /// An array: its elements lie between these bounds, with this between two of them.
    Array {
        inside: Range<usize>,
        separator: Range<usize>,
    },
    /// `null` in place of an array.
    Null(Range<usize>),
    /// The response, which starts here, has none.
    Missing(usize),
}

/// An item for the output that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// The element at this position of the server's output, as it is.
    Same(usize),
    /// This text.
    Text(Vec<u8>),
}

impl<'a> Output<'a> {
    /// Reads the output of the `response` in `json`; `None` where it is of another make.
    pub(crate) fn read(json: &'a [u8], response: &Range<usize>) -> Option<Self> {
        if json.get(response.start) != Some(&b'{') {
            return None;
        }
        let mut output = Self {
            place: Place::Missing(response.start),
            spans: Vec::new(),
            items: Vec::new(),
            has_others: false,
        };
        let Some(value) = member(json, response, "output") else {
            return Some(output);
        };
        if json.get(value.clone()) == Some(b"null") {
            output.place = Place::Null(value);
            return Some(output);
        }
        let mut elements: Vec<Range<usize>> = Vec::new();
        scan::array(json, value.start, |span| elements.push(span))?;
        let first = elements.first().map_or(value.end - 1, |span| span.start);
        let separator = match elements.as_slice() {
            [first, second, ..] => first.end..second.start,
            _ => 0..0,
        };
        output.place = Place::Array {
            inside: first..elements.last().map_or(first, |span| span.end),
            separator,
        };
        for span in elements {
            match Item::read(json.get(span.clone()).unwrap_or_default()) {
                Ok(item) => {
                    output.spans.push(span);
                    output.items.push(item);
                }
                Err(_) => output.has_others = true,
            }
        }
        Some(output)
    }

    /// Makes the output the list that the engine wants.
    ///
    /// Elements that are no items are left out, unless the response has `failed`.
    pub(crate) fn write(&self, json: &[u8], listed: &[Listed], failed: bool, edits: &mut Edits) {
        let pieces: Vec<Piece> = listed.iter().map(|item| self.piece(json, item)).collect();
        let stays = |(at, piece): (usize, &Listed)| match piece {
            Listed::Rebuilt { position, .. } => *position == at,
            Listed::Streamed { .. } => true,
        };
        let as_many = (failed || !self.has_others) && pieces.len() == self.spans.len();
        if as_many && listed.iter().enumerate().all(stays) {
            for (span, piece) in self.spans.iter().zip(pieces) {
                if let Piece::Text(item) = piece {
                    edits.replace(span.clone(), item);
                }
            }
            return;
        }
        let (span, separator, brackets) = match &self.place {
            Place::Array { inside, separator } => {
                let separator = json.get(separator.clone()).filter(|text| !text.is_empty());
                (inside.clone(), separator.unwrap_or(b","), false)
            }
            Place::Null(span) => (span.clone(), &b","[..], true),
            Place::Missing(start) => (*start..*start, &b","[..], true),
        };
        if brackets && pieces.is_empty() {
            return;
        }
        let mut text = Vec::new();
        for (index, piece) in pieces.into_iter().enumerate() {
            if index > 0 {
                text.extend_from_slice(separator);
            }
            match piece {
                Piece::Same(at) => {
                    let span = self.spans.get(at).cloned().unwrap_or_default();
                    text.extend_from_slice(json.get(span).unwrap_or_default());
                }
                Piece::Text(item) => text.extend_from_slice(&item),
            }
        }
        if brackets {
            text.insert(0, b'[');
            text.push(b']');
        }
        match self.place {
            Place::Missing(start) => edits.set(json, start, &[("output", text)]),
            _ => edits.replace(span, text),
        }
    }

    fn piece(&self, json: &[u8], listed: &Listed) -> Piece {
        match listed {
            Listed::Rebuilt {
                position,
                corrections,
            } => {
                let text = self
                    .spans
                    .get(*position)
                    .and_then(|at| json.get(at.clone()));
                let text = text.and_then(|text| corrected(text, corrections));
                text.map_or(Piece::Same(*position), Piece::Text)
            }
            Listed::Streamed { json, .. } => Piece::Text(json.clone()),
        }
    }
}
