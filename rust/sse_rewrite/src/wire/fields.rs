//! What the rewriter reads of an event, without parsing more of it than its outermost level.

use std::borrow::Cow;
use std::ops::Range;

use crate::json::scan;

/// Where the members that matter lie in an event's JSON text.
///
/// Of members of one name the last counts, as it does for every client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields {
    pub(crate) event_type: Option<Range<usize>>,
    pub(crate) sequence_number: Option<Range<usize>>,
    pub(crate) output_index: Option<Range<usize>>,
    pub(crate) content_index: Option<Range<usize>>,
    pub(crate) summary_index: Option<Range<usize>>,
    pub(crate) item_id: Option<Range<usize>>,
    pub(crate) name: Option<Range<usize>>,
    pub(crate) call_id: Option<Range<usize>>,
    pub(crate) item: Option<Range<usize>>,
    pub(crate) part: Option<Range<usize>>,
    pub(crate) delta: Option<Range<usize>>,
    pub(crate) annotation: Option<Range<usize>>,
    pub(crate) response: Option<Range<usize>>,
    /// Where the object starts.
    pub(crate) start: usize,
}

impl Fields {
    /// Reads the outermost level; `None` where the text is not one JSON object.
    pub(crate) fn read(json: &[u8]) -> Option<Self> {
        let start = scan::skip_space(json, 0);
        let mut fields = Self {
            start,
            ..Self::default()
        };
        let end = scan::object(json, start, |member| {
            let field = match &*scan::key(json, &member) {
                b"type" => &mut fields.event_type,
                b"sequence_number" => &mut fields.sequence_number,
                b"output_index" => &mut fields.output_index,
                b"content_index" => &mut fields.content_index,
                b"summary_index" => &mut fields.summary_index,
                b"item_id" => &mut fields.item_id,
                b"name" => &mut fields.name,
                b"call_id" => &mut fields.call_id,
                b"item" => &mut fields.item,
                b"part" => &mut fields.part,
                b"delta" => &mut fields.delta,
                b"annotation" => &mut fields.annotation,
                b"response" => &mut fields.response,
                _ => return,
            };
            *field = Some(member.value);
        })?;
        (scan::skip_space(json, end) == json.len()).then_some(fields)
    }
}

/// The string member `name` of the object at `object`.
pub(crate) fn member_text<'a>(
    json: &'a [u8],
    object: Option<&Range<usize>>,
    name: &str,
) -> Option<Cow<'a, str>> {
    scan::text(json, member(json, object?, name)?)
}

/// Where the value of the member `name` of the object at `object` lies.
pub(crate) fn member(json: &[u8], object: &Range<usize>, name: &str) -> Option<Range<usize>> {
    let mut found = None;
    scan::object(json, object.start, |member| {
        if *scan::key(json, &member) == *name.as_bytes() {
            found = Some(member.value);
        }
    })?;
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outermost_level_counts_and_there_the_last() {
        let json = br#" {"item":{"type":"x","id":"i"},"type":"a","type":"b","output_index":3} "#;
        let fields = Fields::read(json).expect("an object");
        let text = |span: Option<Range<usize>>| scan::text(json, span?);
        assert_eq!(text(fields.event_type).as_deref(), Some("b"));
        assert_eq!(fields.output_index.map(|span| json[span][0]), Some(b'3'));
        assert_eq!(
            member_text(json, fields.item.as_ref(), "id").as_deref(),
            Some("i")
        );
        assert_eq!(fields.item_id, None);
    }

    #[test]
    fn what_is_no_single_object_has_no_fields() {
        for text in ["[DONE]", "", "{}{}", r#"{"a":1"#, "null"] {
            assert!(Fields::read(text.as_bytes()).is_none(), "{text}");
        }
    }
}
