//! Changes JSON text by replacing spans of it, and nothing between them (C9).

use std::ops::Range;

use crate::contract::identity::Field;
use crate::json::scan;

/// Spans to replace, with what replaces them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Edits(Vec<(Range<usize>, Vec<u8>)>);

impl Edits {
    /// Replaces the span by `text`.
    pub(crate) fn replace(&mut self, span: Range<usize>, text: impl Into<Vec<u8>>) {
        self.0.push((span, text.into()));
    }

    /// Sets members of the object that starts at `start`; a missing one becomes its first.
    ///
    /// A name that stands there twice is set twice, so that every reader sees the new value.
    pub(crate) fn set<V: AsRef<[u8]>>(&mut self, json: &[u8], start: usize, members: &[(&str, V)]) {
        let mut missing = vec![true; members.len()];
        let mut is_empty = true;
        scan::object(json, start, |member| {
            is_empty = false;
            let key = scan::key(json, &member);
            for ((name, value), missing) in members.iter().zip(&mut missing) {
                if *key == *name.as_bytes() {
                    self.replace(member.value.clone(), value.as_ref());
                    *missing = false;
                }
            }
        });
        let mut added: Vec<u8> = Vec::new();
        for ((name, value), _) in members.iter().zip(missing).filter(|(_, missing)| *missing) {
            if !added.is_empty() {
                added.push(b',');
            }
            added.extend([b"\"", name.as_bytes(), b"\":", value.as_ref()].concat());
        }
        if !added.is_empty() {
            added.extend(b",".iter().filter(|_| !is_empty));
            self.replace(start + 1..start + 1, added);
        }
    }

    /// Whether nothing is changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The edits in order of their spans, none of which overlap.
    pub(crate) fn sorted(mut self) -> Vec<(Range<usize>, Vec<u8>)> {
        self.0.sort_by_key(|(span, _)| (span.start, span.end));
        self.0
    }

    /// The text with its edits made.
    pub(crate) fn apply(self, json: &[u8]) -> Vec<u8> {
        let mut changed = Vec::with_capacity(json.len());
        let mut at = 0;
        for (span, text) in self.sorted() {
            changed.extend_from_slice(json.get(at..span.start).unwrap_or_default());
            changed.extend_from_slice(&text);
            at = span.end;
        }
        changed.extend_from_slice(json.get(at..).unwrap_or_default());
        changed
    }
}

/// The item with its identity corrected; `None` where there is nothing to correct.
pub(crate) fn corrected(item: &[u8], corrections: &[(Field, String)]) -> Option<Vec<u8>> {
    if corrections.is_empty() {
        return None;
    }
    let members: Vec<(&str, String)> = corrections
        .iter()
        .map(|(field, value)| (field.key(), quoted(value)))
        .collect();
    Some(with_members(item, &members))
}

/// The object with the member `key` set to this JSON text; a missing one becomes its first.
#[must_use]
pub fn with_member(object: &[u8], key: &str, value: &[u8]) -> Vec<u8> {
    with_members(object, &[(key, value)])
}

/// The object with these members set; a missing one becomes its first.
pub(crate) fn with_members<V: AsRef<[u8]>>(object: &[u8], members: &[(&str, V)]) -> Vec<u8> {
    let mut edits = Edits::default();
    edits.set(object, scan::skip_space(object, 0), members);
    edits.apply(object)
}

/// `text` as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| r#""""#.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(json: &str, members: &[(&str, &str)]) -> String {
        let mut edits = Edits::default();
        let members: Vec<(&str, String)> = members
            .iter()
            .map(|&(name, value)| (name, value.to_owned()))
            .collect();
        edits.set(json.as_bytes(), 0, &members);
        String::from_utf8(edits.apply(json.as_bytes())).expect("text stays text")
    }

    #[test]
    fn all_but_the_value_stays_as_it_is_written() {
        assert_eq!(
            set(r#"{ "n" : 1.0,"id":"a" , "t":"\u00e9\/" }"#, &[("id", "7")]),
            r#"{ "n" : 1.0,"id":7 , "t":"\u00e9\/" }"#
        );
    }

    #[test]
    fn a_missing_member_comes_first_and_a_double_one_is_set_twice() {
        assert_eq!(set("{}", &[("a", "1"), ("b", "2")]), r#"{"a":1,"b":2}"#);
        assert_eq!(
            set(r#"{"b":0,"b":null}"#, &[("a", "1"), ("b", "2")]),
            r#"{"a":1,"b":2,"b":2}"#
        );
    }

    #[test]
    fn corrections_are_quoted() {
        let item = br#"{"type":"x","id":null}"#;
        assert_eq!(
            corrected(item, &[(Field::Id, "a\"b".into())]),
            Some(br#"{"type":"x","id":"a\"b"}"#.to_vec())
        );
        assert_eq!(corrected(item, &[]), None);
    }
}
