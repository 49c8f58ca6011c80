//! The codec of bytes: an event stream in, an event stream out.
//!
//! It has no rule of the contract: it reads events from frames, asks the engine, and replaces
//! spans of bytes. A frame without a change is not touched (C9).
//!
//! | file | what it does |
//! |---|---|
//! | [`rewriter`] | takes bytes in pieces, gives bytes back, stops rewriting beyond a limit (C10) |
//! | `frame` | finds the ends of frames, reads the fields of one, writes one |
//! | `fields` | finds the members of an event |
//! | `decode` | makes an event of a frame |
//! | `apply` | makes of a frame what the engine wants |
//! | `output` | the list of items in a terminal event |
//! | `delta_run` | sends deltas like the last one on without reading them |
//! | [`observer`] | who is told what is in the frames |
//! | `sink` | collects what is sent |

mod apply;
mod decode;
mod delta_run;
pub(crate) mod fields;
mod frame;
pub mod observer;
mod output;
pub mod rewriter;
mod sink;
