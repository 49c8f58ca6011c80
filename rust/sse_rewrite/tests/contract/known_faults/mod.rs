//! Faults that streams of real servers have, each as a small event list.
//!
//! The numbers are those of the project's corpus of faulty streams; each
//! stream is also written as bytes, in several ways, and must come out of the rewriter the same.

mod announcements;
mod outputs;

use crate::driver::{Played, play};
use crate::judge::faults;
use crate::losses::losses;
use crate::model::{Event, Numbered, numbered, show_item};
use crate::wire::encoding::LAYOUTS;
use crate::wire::layouts;

/// Plays `stream`, wants a faultless result that lists `want` (`*` for what was minted), and
/// wants a second pass to change nothing.
pub(super) fn check_numbered(stream: &[Numbered], want: &str) -> Played {
    let played = play(stream);
    assert_eq!(faults(&played.sent), [""; 0], "{:#?}", played.lines());
    assert_eq!(losses(stream, &played.sent), [""; 0]);
    let got: Vec<String> = played.output().iter().map(show_item).collect();
    let want: Vec<&str> = want.split(" | ").collect();
    let fits = |got: &String, want: &&str| match want.split_once('*') {
        Some((head, tail)) => {
            got.len() > head.len() + tail.len() && got.starts_with(head) && got.ends_with(tail)
        }
        None => got == want,
    };
    let all_fit = got.iter().zip(&want).all(|(got, want)| fits(got, want));
    assert!(all_fit && got.len() == want.len(), "{got:?}, not {want:?}");
    assert_eq!(play(&played.sent).sent, played.sent);
    for layout in LAYOUTS {
        layouts::check(stream, &played, layout);
    }
    played
}

pub(super) fn check(events: Vec<Event>, want: &str) -> Played {
    check_numbered(&numbered(events), want)
}

pub(super) fn joined(parts: impl IntoIterator<Item = Vec<Event>>) -> Vec<Event> {
    parts.into_iter().flatten().collect()
}
