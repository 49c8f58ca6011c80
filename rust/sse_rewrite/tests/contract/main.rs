//! The identity contract, rule by rule, played through the engine as bytes.
//!
//! One test binary, so that the driver and the judge are compiled once and wholly used.
//! `cfg(test)` marks the modules as test code for the lints, which allow panics there.

#[cfg(test)]
mod driver;
#[cfg(test)]
mod fuzzed;
#[cfg(test)]
mod generated;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod known_faults;
#[cfg(test)]
mod losses;
#[cfg(test)]
mod model;
#[cfg(test)]
mod pairing;
#[cfg(test)]
mod pairing_reference;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod random;
#[cfg(test)]
mod repetition;
#[cfg(test)]
mod states;
#[cfg(test)]
mod stream;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod wire;
#[cfg(test)]
use wire::encoding;
