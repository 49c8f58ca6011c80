//! Bytes that are no stream at all: nothing panics, and what is not understood passes.

use proptest::prelude::*;

use crate::wire::encoding::{rewritten, rewritten_in};

/// Pieces that mean something in a stream, in an order that means nothing.
const PIECES: [&[u8]; 32] = [
    b"data:",
    b"data: ",
    b"event: ",
    b"event: response.output_item.added",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\xef\xbb\xbf",
    b": note",
    b"[DONE]",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\"type\":",
    b"\"response.completed\"",
    b"\"response.output_text.delta\"",
    b"\"output_index\":",
    b"1",
    b"18446744073709551616",
    b"\"item\":",
    b"\"item_id\":",
    b"null",
    b"{\"type\":\"message\",\"id\":\"a\"}",
    b"\"response\":{\"output\":[",
    b"]}",
    b"\xff\xfe",
];

proptest! {
    #[test]
    fn nothing_panics_and_chunks_make_no_difference(
        pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..60),
        chunk in 1..9usize,
    ) {
        let bytes = pieces.concat();
        let (whole, _) = rewritten_in(usize::MAX, &bytes);
        let (sent, _) = rewritten_in(chunk, &bytes);
        prop_assert_eq!(whole, sent);
    }

    #[test]
    fn bytes_without_an_event_pass(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(rewritten(&bytes), bytes);
    }

    #[test]
    fn a_number_too_large_or_negative_is_no_index(number in "-?[0-9]{1,30}(\\.[0-9])?") {
        let frame = format!(
            "data: {{\"type\":\"response.output_text.delta\",\"output_index\":{number},\"sequence_number\":{number},\"delta\":\"x\"}}\n\n"
        );
        let sent = rewritten(frame.as_bytes());
        prop_assert_eq!(sent.last_chunk(), Some(b"}\n\n"));
    }
}

#[test]
fn text_that_is_no_utf_8_stays_as_it_is() {
    let stream = b"data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\ndata: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":\"message\",\"id\":\"m\",\"x\":\"\xff\"}}\n\ndata: {\"type\":\"response.content_part.added\",\"output_index\":1,\"item_id\":\"m\"}\n\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":1,\"item_id\":\"m\",\"delta\":\"\xfe\"}\n\n";
    let sent = rewritten(stream);
    let want = stream.to_vec();
    let want = String::from_utf8_lossy(&want).replace("\"output_index\":1", "\"output_index\":0");
    assert_eq!(String::from_utf8_lossy(&sent), want);
    assert!(sent.contains(&0xff) && sent.contains(&0xfe));
}

#[test]
fn half_a_surrogate_pair_is_still_payload() {
    let item = r#"{"type":"message","id":"m","content":[{"type":"output_text","text":"\ud83c"}]}"#;
    let stream = format!(
        "data: {{\"type\":\"response.created\",\"response\":{{}}}}\n\ndata: {{\"type\":\"response.completed\",\"response\":{{\"output\":[{item}]}}}}\n\n"
    );
    let sent = String::from_utf8(rewritten(stream.as_bytes())).unwrap();
    assert_eq!(sent.matches(r"\ud83c").count(), 5);
}
