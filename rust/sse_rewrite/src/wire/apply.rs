//! Writes a frame with the changes that the engine wants.

use crate::contract::catalogue::EventKind;
use crate::contract::event::{Change, Changes, Target, Value};
use crate::json::edit::{Edits, quoted};
use crate::wire::decode::Reading;
use crate::wire::frame::Frame;

/// The spans of a frame's data to replace, and the name to send it under if that is another.
pub(super) fn edits_of(reading: &Reading, changes: &Changes) -> (Edits, Option<&'static str>) {
    let mut edits = Edits::default();
    let json = reading.json;
    let fields = &reading.fields;
    for target in [Target::Event, Target::Part, Target::Item] {
        let mut members = members_of(changes, target);
        let start = match target {
            Target::Event => Some(fields.start),
            Target::Part => fields.part.as_ref().map(|span| span.start),
            Target::Item => fields.item.as_ref().map(|span| span.start),
        };
        if let (Target::Event, Some(name), true) = (target, changes.event_type, reading.states_type)
        {
            members.push(("type", quoted(name).into_bytes()));
        }
        if let Some(start) = start.filter(|_| !members.is_empty()) {
            edits.set(json, start, &members);
        }
    }
    if let (Some(listed), Some(output)) = (&changes.output, &reading.output) {
        let failed = reading.kind() == EventKind::Terminal { failed: true };
        output.write(json, listed, failed, &mut edits);
    }
    (edits, changes.event_type)
}

/// Writes a frame; returns whether it is as it came.
pub(super) fn write(
    frame: &Frame,
    reading: &Reading,
    changes: &Changes,
    out: &mut Vec<u8>,
) -> bool {
    let (edits, name) = edits_of(reading, changes);
    let is_same = edits.is_empty() && name.is_none();
    frame.write_with(edits, name, out);
    is_same
}

fn members_of(changes: &Changes, target: Target) -> Vec<(&'static str, Vec<u8>)> {
    let members = changes.members.iter();
    members
        .filter(|change| change.target == target)
        .map(|Change { key, value, .. }| {
            let text = match value {
                Value::Number(number) => number.to_string().into_bytes(),
                Value::Text(text) => quoted(text).into_bytes(),
                Value::Json(json) => json.clone(),
            };
            (*key, text)
        })
        .collect()
}
