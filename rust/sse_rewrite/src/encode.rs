//! Frames of deltas, written like one that the server wrote.
//!
//! A stream is mostly deltas of one item, whose frames differ in text and number only. What is
//! around them need not be made anew for each: it is taken from a frame of the server's own, so
//! that it is whatever the server writes there.

mod json;
mod template;

pub use json::write_string;
pub use template::Template;
