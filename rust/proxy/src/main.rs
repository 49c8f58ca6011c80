//! The proxy as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    stable_ids_proxy::run(std::env::args_os()).into()
}
