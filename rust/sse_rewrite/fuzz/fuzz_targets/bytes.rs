//! Any bytes at all.
#![no_main]
#![allow(
    dead_code,
    reason = "the modules are those of the tests, which use more of them"
)]

#[path = "../../tests/contract/driver.rs"]
mod driver;
#[path = "../../tests/contract/wire/encoding.rs"]
mod encoding;
#[path = "../../tests/contract/fuzzed.rs"]
mod fuzzed;
#[path = "../../tests/contract/judge.rs"]
mod judge;
#[path = "../../tests/contract/losses.rs"]
mod losses;
#[path = "../../tests/contract/model.rs"]
mod model;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::check_bytes(data));
