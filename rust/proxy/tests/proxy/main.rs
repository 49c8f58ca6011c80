//! The proxy on real sockets, between a raw client and an upstream that does as it is told.
//!
//! `cfg(test)` marks the modules as test code for the lints, which allow panics there.

#![forbid(unsafe_code)]

#[cfg(test)]
mod answers;
#[cfg(test)]
mod arguments;
#[cfg(test)]
mod bed;
#[cfg(test)]
mod client;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod homes;
#[cfg(test)]
mod http2;
#[cfg(test)]
mod large;
#[cfg(test)]
mod loops;
#[cfg(test)]
mod passing;
#[cfg(test)]
mod process;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod several;
#[cfg(test)]
mod smuggling;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod strict;
