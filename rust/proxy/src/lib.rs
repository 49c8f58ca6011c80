//! A reverse proxy that keeps the identities in the event streams of a Responses API.
//!
//! It stands in front of servers that no plugin reaches. What it does and does not, and why it
//! is built on hyper, is in `docs/proxy.md`; what each of its parts does:
//!
//! | part | does |
//! |---|---|
//! | [`server`], `listen` | listens, serves connections, drains |
//! | `proxy` | the way of a request |
//! | `route` | which requests are about responses |
//! | `accept`, `headers`, `framing`, `location`, `loops` | which requests go on to the next connection, and what of their headers |
//! | `upload` | bodies of requests, read ahead for the response they go on from |
//! | `stream`, `body`, `broken` | event streams, rewritten; other answers; those that break off |
//! | `client`, `driven`, `connect`, `idle` | requests to upstreams, and the connections for them |
//! | [`upstream`], `balance`, `health`, `affinity`, `json_scan` | which upstream is asked |
//! | `admin`, `metrics` | `/health`, `/ready`, `/metrics` |
//! | [`tls`], `named_verifier` | what is trusted, and shown |

#![forbid(unsafe_code)]

mod accept;
mod admin;
mod affinity;
mod args;
mod balance;
mod body;
mod broken;
mod client;
mod connect;
mod driven;
mod framing;
mod headers;
mod health;
mod idle;
mod json_scan;
mod listen;
mod location;
mod loops;
mod metrics;
mod named_verifier;
mod proxy;
mod route;
pub mod server;
mod stream;
pub mod tls;
mod upload;
pub mod upstream;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Args;
use crate::server::Server;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How the process ends whose arguments or files cannot be used.
const USAGE: u8 = 2;

/// Runs a proxy as the arguments say, the name of the program before them, until SIGTERM or
/// SIGINT; a second one ends it at once. Returns the exit status.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(message) => {
            // Where nobody listens there is nobody to tell.
            let _ = message.print();
            return u8::from(message.use_stderr()) * USAGE;
        }
    };
    args.start_log();
    let config = match args.into_config() {
        Ok(config) => config,
        Err(message) => return fail(&message, USAGE),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error.to_string(), 1),
    };
    let served = runtime.block_on(serve(config));
    // What still runs was given its time.
    runtime.shutdown_background();
    served.unwrap_or_else(|error| fail(&error.to_string(), 1))
}

async fn serve(config: server::Config) -> Result<u8, BoxError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut asked = async || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let server = Server::bind(config).await?;
    tracing::info!(address = %server.address()?, "listening");
    if let Some(address) = server.admin_address()? {
        tracing::info!(%address, "admin");
    }
    let (end, ends) = tokio::sync::oneshot::channel::<()>();
    let running = server.run(async move { drop(ends.await) });
    tokio::pin!(running);
    // It runs until it is asked to end.
    tokio::select! {
        drained = &mut running => return Ok(u8::from(!drained)),
        () = asked() => drop(end),
    }
    let drained = tokio::select! {
        drained = running => drained,
        () = asked() => false,
    };
    if !drained {
        tracing::warn!("streams were cut that had not ended");
    }
    Ok(u8::from(!drained))
}

fn fail(message: &str, status: u8) -> u8 {
    let _ = writeln!(std::io::stderr(), "vllm-stable-ids proxy: {message}");
    status
}
