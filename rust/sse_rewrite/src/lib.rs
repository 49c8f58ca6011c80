//! The identity contract of a Responses API event stream.
//!
//! A server announces each output item under an identity; a client cannot un-know it. This
//! crate decides, event by event, what keeps that identity: it learns announcements
//! ([`Ledger::added`]), says which item an event belongs to ([`Ledger::mentioned`],
//! [`Ledger::done`]) and makes the terminal output the list of what was streamed
//! ([`Ledger::terminal`]).
//!
//! It does no I/O and knows no server and no client. Callers hand in small values and apply
//! the decisions to their own kind of event. The rules are numbered C1–C11 as in
//! `docs/contract.md`; each has one place:
//!
//! | rule | place |
//! |---|---|
//! | C1 first announcement wins | [`ledger`], [`identity`] |
//! | C2 indices | [`ledger`] |
//! | C3 sequence | [`sequence`] |
//! | C4, C5 terminal output, nothing lost | [`reconcile`], [`lifecycle`] |
//! | C6 payload | [`item`], [`lifecycle`] |
//! | C11 distinct | `directory`, `entry`, [`mint`] |
//! | pairing | [`pairing`] |
//!
//! C7–C10 bind the callers: they see the response, the store and the bytes.
//!
//! [`SseRewriter`] is one of the callers, for the bytes of a stream. What each of its parts does:
//!
//! | part | does |
//! |---|---|
//! | [`rewriter`] | takes bytes in pieces, gives bytes back, gives up beyond a limit (C10) |
//! | `frame` | finds the ends of frames, reads the fields of one, writes one |
//! | `fields`, `walk` | find the spans of members in JSON text, without decoding it |
//! | `translate` | asks the ledger and edits spans accordingly (C9) |
//! | `splice`, `output` | replace spans; write the terminal output anew |
//! | [`content_index`] | counts content parts inside their item |
//! | `held` | keeps each item as it was sent, to be put back |
//! | `run` | sends deltas like the last one on without reading them |
//! | `resumed` | streams that are joined after their beginning |
//!
//! [`Template`] writes frames of deltas for a caller that has the events and not their bytes.
//!
//! [`Checker`] changes nothing: it runs the rewriter and tells what that found wrong.

#![forbid(unsafe_code)]

pub mod check;
pub mod content_index;
mod directory;
pub mod encode;
mod entry;
mod fields;
mod frame;
mod held;
pub mod identity;
pub mod item;
pub mod ledger;
pub mod lifecycle;
pub mod mint;
mod output;
pub mod pairing;
pub mod policy;
pub mod reconcile;
pub mod report;
mod resumed;
pub mod rewriter;
mod run;
pub mod sequence;
mod sink;
mod splice;
pub mod tail;
mod translate;
pub mod vocabulary;
mod walk;

pub use check::Checker;
pub use check::breach::{Breach, Fault, Rule};
pub use check::verdict::{Outcome, Verdict};
pub use content_index::{Parts, Step};
pub use encode::Template;
pub use identity::{Field, Identity};
pub use item::{Item, NotAnItem, Payload};
pub use ledger::{Announce, Decision, Ledger, Repaired};
pub use lifecycle::{Event, Lifecycle, ReasoningParts};
pub use policy::{GaveUp, Policy};
pub use reconcile::{Insert, Source, Terminal};
pub use report::{Change, Report, Told};
pub use rewriter::{Frames, SseRewriter};
pub use sequence::Sequence;
pub use tail::Tail;
pub use vocabulary::{Effect, EventKind, Family, PartKind, Scope, classify};
