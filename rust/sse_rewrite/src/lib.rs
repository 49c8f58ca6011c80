//! The identity contract of a Responses API event stream.
//!
//! A server announces each output item under an identity, and a client cannot un-know it. This
//! crate decides, event by event, what keeps that identity. The rules are numbered C1–C13 as in
//! `docs/contract.md`.
//!
//! | module | what it is |
//! |---|---|
//! | [`contract`] | the engine: events in, actions out. All rules are here |
//! | [`wire`] | the codec of bytes: [`SseRewriter`] |
//! | [`check`] | the checker: an engine that reports what it finds |
//! | [`encode`] | frames of deltas, for a caller that has the events and not their bytes |
//! | `json` | JSON text, read and changed by its structure |
//!
//! The crate does no I/O and knows no server and no client.

#![forbid(unsafe_code)]

pub mod check;
pub mod contract;
pub mod encode;
mod json;
pub mod wire;

pub use check::Checker;
pub use check::breach::{Breach, Fault, Rule};
pub use check::verdict::{Outcome, Verdict};
pub use contract::engine::{Engine, Phase};
pub use contract::event::{
    Action, Change as MemberChange, Changes, Event, Fate, Listed, Run, Scoped, Step, Target,
    Ticket, Value,
};
pub use contract::identity::{Field, Identity};
pub use contract::inserted::{Inserted, ReasoningParts};
pub use contract::item::{Item, NotAnItem, Payload};
pub use contract::policy::{GaveUp, Policy};
pub use contract::report;
pub use contract::report::{Change, Report, Told};
pub use encode::Template;
pub use json::edit::with_member;
pub use wire::rewriter::{Frames, SseRewriter};
