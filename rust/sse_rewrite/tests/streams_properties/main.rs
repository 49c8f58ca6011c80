//! Properties of the rewriter of event streams: bytes in, bytes out.
//!
//! An oracle that shares no code with the crate: it generates streams without fault, puts known
//! faults into them, and judges what comes out as a strict client reads it. Rules are numbered
//! as in `docs/contract.md`. `PROPTEST_CASES=2000` runs more cases than the default of 256.
//!
//! | module | what it does |
//! |---|---|
//! | `event` | an event, whose generator knows which item it is of |
//! | `wire` | events as bytes, bytes as events |
//! | `items`, `hosted` | the events of one item, of each type of the API |
//! | `right` | streams without fault |
//! | `faults`, `repeats`, `names` | the faults, and how each is put into a stream |
//! | `client` | what a client accumulates of a stream |
//! | `facts` | how a stream ends, and whether it says of each event which item it is of |
//! | `rules` | what breaks a rule in a stream that was sent |
//! | `sayings`, `kept` | what is lost or altered between a stream and its rewriting |
//! | `ends` | what waits too long, and what a failure must not bring |
//! | `right_streams`, `faulty_streams` | the properties |
//! | `regressions` | streams that were once sent wrongly |
//! | `oracle` | tests of the oracle itself |
//!
//! `cfg(test)` marks the modules as test code for the lints, which allow panics there.

#[cfg(test)]
mod client;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod event;
#[cfg(test)]
mod facts;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod faulty_streams;
#[cfg(test)]
mod hosted;
#[cfg(test)]
mod items;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod names;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod regressions;
#[cfg(test)]
mod repeats;
#[cfg(test)]
mod right;
#[cfg(test)]
mod right_streams;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod sayings;
#[cfg(test)]
mod wire;
