//! The identity contract as one state machine: events in, actions out.
//!
//! | file | what it has |
//! |---|---|
//! | [`engine`] | the states, and the table of what happens in each |
//! | [`event`] | what goes in and what comes out |
//! | `announced`, `scoped`, `closed`, `terminal` | what happens on each kind of event |
//! | `deferred`, `released`, `repetition` | calls that wait, how they are sent, and whether they repeat another |
//! | `texts` | what open items say is remembered |
//! | `lookup` | which item an event is about |
//! | `item_state`, `said`, `parts` | one item: its life, what it has said, its parts |
//! | [`catalogue`] | item types and event types |
//! | [`pairing`] | which entry of the terminal output is which streamed item |
//! | [`identity`], [`ids`], [`sequence`] | names and numbers |
//! | [`inserted`] | the events that a server did not send |
//! | [`observer`] | who is told what was found |

mod announced;
pub mod catalogue;
mod closed;
mod deferred;
pub mod engine;
pub mod event;
pub mod identity;
pub mod ids;
pub mod inserted;
pub mod item;
mod item_state;
mod lookup;
pub mod observer;
pub mod pairing;
mod parts;
pub mod policy;
mod released;
mod repetition;
pub mod report;
mod said;
mod scoped;
pub mod sequence;
pub mod tail;
mod terminal;
mod texts;
mod waiting;
