//! Line ends, comments, fields and foreign frames: all of it leaves as it came.

use crate::wire::encoding::rewritten;

fn passes(stream: &str) {
    assert_eq!(
        String::from_utf8_lossy(&rewritten(stream.as_bytes())),
        stream
    );
}

const CREATED: &str = r#"data: {"type":"response.created","response":{"id":"r"}}"#;

#[test]
fn what_is_no_event_of_the_api_passes() {
    for frame in [
        ": comment",
        "retry: 3000",
        "id: 7",
        "data: [DONE]",
        "data",
        "data:",
        "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":0}",
        r#"data: {"error":{"message":"m","type":"server_error"}}"#,
        r#"data: {"id":"chatcmpl-1","choices":[],"object":"chat.completion.chunk"}"#,
        r#"data: {"type":"response.made.up","output_index":9,"item_id":"x"}"#,
        r#"data: {"type":"response.output_text.delta","output_index":9"#,
        "data: null",
        "unknown: field",
    ] {
        passes(&format!("{CREATED}\n\n{frame}\n\n"));
        passes(&format!("\u{feff}{frame}\r\n\r\n\r\n\n\r{CREATED}"));
    }
}

#[test]
fn a_stream_that_ends_early_gets_no_end() {
    let added = r#"data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m"}}"#;
    for cut in ["", "\n", "\n\ndata: {\"type\":\"response.comp", "\n\n: x"] {
        passes(&format!("{CREATED}\n\n{added}{cut}"));
    }
}

#[test]
fn the_type_is_that_of_the_event_line_where_the_payload_has_none() {
    let stream = "event: response.created\ndata: {\"response\":{}}\n\nevent: response.output_item.added\ndata: {\"output_index\":4,\"item\":{\"type\":\"message\",\"id\":\"m\"}}\n\n";
    let sent = String::from_utf8(rewritten(stream.as_bytes())).unwrap();
    assert_eq!(sent, stream.replace(":4,", ":0,"));
}

#[test]
fn an_inserted_frame_is_written_as_its_neighbour_is() {
    let close =
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"x","id":"i"}}"#;
    for (neighbour, start) in [
        (
            format!("data: {close}\n\n"),
            "data: {\"type\":\"response.output_item.added\",",
        ),
        (
            format!("event:response.output_item.done\rdata:{close}\r\r"),
            "event:response.output_item.added\rdata:{\"type\":",
        ),
        (
            format!("id: 1\r\nevent: response.output_item.done\r\ndata: {close}\r\n\r\n"),
            "event: response.output_item.added\r\ndata: {\"type\":",
        ),
    ] {
        let stream = format!("{CREATED}\n\n{neighbour}");
        let sent = String::from_utf8(rewritten(stream.as_bytes())).unwrap();
        let sent = sent.strip_prefix(&format!("{CREATED}\n\n")).unwrap();
        assert!(sent.starts_with(start), "{sent:?}");
        assert!(sent.ends_with(&neighbour), "{sent:?}");
    }
}

#[test]
fn comments_and_fields_of_a_dropped_frame_stay() {
    let stream = format!(
        "{CREATED}\n\n: note\nid: 8\nevent: response.output_item.added\ndata: {{\"type\":\"response.output_item.added\",\"item\":null}}\nretry: 5\n\n"
    );
    let sent = String::from_utf8(rewritten(stream.as_bytes())).unwrap();
    assert_eq!(sent, format!("{CREATED}\n\n: note\nid: 8\nretry: 5\n\n"));
}

#[test]
fn lines_between_the_data_lines_of_a_changed_frame_stay() {
    let stream = format!(
        "{CREATED}\n\ndata: {{\"type\":\"response.output_item.added\",\n: note\ndata:  \"output_index\":3,\ndata:\"item\":{{\"type\":\"message\",\"id\":\"m\"}}}}\nid: 1\n\n"
    );
    let sent = String::from_utf8(rewritten(stream.as_bytes())).unwrap();
    assert_eq!(sent, stream.replace(":3,", ":0,"));
}
