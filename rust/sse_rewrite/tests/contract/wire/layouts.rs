//! However a stream is written, the same comes out of it, and once is enough.

use proptest::prelude::*;
use serde_json::json;

use crate::driver::{Played, play};
use crate::model::Numbered;
use crate::random::{any_stream, sound_stream};
use crate::wire::encoding::{LAYOUTS, Layout, as_json, modelled_stream, rewritten, rewritten_in};

/// Wants the stream, written so, to become what it became as `played`, and to stay that.
pub(crate) fn check(stream: &[Numbered], played: &Played, layout: Layout) {
    let mut json: Vec<_> = stream.iter().map(as_json).collect();
    // A stream that does not begin with it is one that was joined later.
    json.insert(0, json!({"type": "response.created", "response": {}}));
    let bytes = layout.stream(&json);
    let (sent, rewriter) = rewritten_in(usize::MAX, &bytes);
    assert_eq!(modelled_stream(&sent)[1..], played.sent, "{layout:?}");
    assert_eq!(*rewriter.report(), played.report);
    assert!(rewriter.gave_up().is_none());
    if rewriter.report().is_untouched() && stream == played.sent {
        assert_eq!(sent, bytes);
    }
    let again = rewritten(&sent);
    assert_eq!(
        String::from_utf8_lossy(&again),
        String::from_utf8_lossy(&sent)
    );
}

proptest! {
    #[test]
    fn any_stream_becomes_the_same_in_every_layout(
        stream in any_stream(),
        layout in proptest::sample::select(&LAYOUTS[..]),
    ) {
        check(&stream, &play(&stream), layout);
    }

    #[test]
    fn a_sound_stream_is_the_same_bytes(
        stream in sound_stream(),
        layout in proptest::sample::select(&LAYOUTS[..]),
    ) {
        let json: Vec<_> = stream.iter().map(as_json).collect();
        let bytes = layout.stream(&json);
        let (sent, rewriter) = rewritten_in(usize::MAX, &bytes);
        prop_assert_eq!(sent, bytes);
        prop_assert!(rewriter.report().is_untouched());
    }
}
