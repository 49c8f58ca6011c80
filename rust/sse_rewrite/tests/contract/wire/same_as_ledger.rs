//! Both adapters on the ledger say the same: the tests' own, and the rewriter of bytes.

use proptest::prelude::*;
use serde_json::json;

use crate::driver::{Played, play};
use crate::model::Numbered;
use crate::properties::{any_stream, sound_stream};
use crate::wire::encoding::{LAYOUTS, Layout, as_json, modelled_stream, rewritten, rewritten_in};

/// Wants the stream, as bytes, to become what the ledger makes of it, and to stay that.
pub(crate) fn check(stream: &[Numbered], played: &Played, layout: Layout) {
    let mut json: Vec<_> = stream.iter().map(as_json).collect();
    // Without it, a stream whose numbers do not start at 0 is one that was joined later.
    json.insert(0, json!({"type": "response.created", "response": {}}));
    let bytes = layout.stream(&json);
    let (sent, rewriter) = rewritten_in(usize::MAX, &bytes);
    assert_eq!(modelled_stream(&sent)[1..], played.sent, "{layout:?}");
    // The tests' adapter corrects an item that is closed late once more for the output.
    let counts = |report: &sse_rewrite::Report| -> Vec<(&str, u64)> {
        let counts = report.counts();
        counts
            .filter(|(name, _)| !matches!(*name, "part_moved" | "identity_kept"))
            .collect()
    };
    assert_eq!(counts(rewriter.report()), counts(&played.report));
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
    fn any_stream_becomes_what_the_ledger_makes_of_it(
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
