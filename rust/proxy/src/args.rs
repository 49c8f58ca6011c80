//! The command line, and what it says.

use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::loops;
use crate::server::Config;
use crate::tls;
use crate::upstream::Address;

/// Keep the ids of a Responses API stream stable, in front of a server.
///
/// Event streams of /v1/responses and /v1/responses/{id} leave it with one identity for each
/// output item; everything else passes as it is.
#[derive(Debug, Parser)]
#[command(name = "vllm-stable-ids-proxy", version)]
pub(crate) struct Args {
    /// The server to stand in front of; repeat it for several.
    #[arg(long, required = true, value_name = "http://ADDRESS:PORT")]
    upstream: Vec<Address>,

    /// Where clients connect.
    #[arg(
        long,
        default_value = "127.0.0.1:8001",
        value_name = "ADDRESS:PORT",
        value_parser = socket_address,
    )]
    listen: SocketAddr,

    /// Where /health, /ready and /metrics are; off if left out.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = socket_address)]
    admin: Option<SocketAddr>,

    /// Serve TLS with this certificate chain (PEM).
    #[arg(long, requires = "tls_key", value_name = "FILE")]
    tls_cert: Option<PathBuf>,

    /// The key of --tls-cert (PEM).
    #[arg(long, requires = "tls_cert", value_name = "FILE")]
    tls_key: Option<PathBuf>,

    /// Trust these authorities and certificates for https upstreams (PEM), instead of the system's
    /// authorities.
    #[arg(long, value_name = "FILE")]
    upstream_ca: Option<PathBuf>,

    /// Leave vLLM's `response.reasoning_part.*` events as they are. Otherwise they are sent as the
    /// `response.content_part.*` that the `OpenAI` API has.
    #[arg(long)]
    keep_vocabulary: bool,

    /// With several upstreams, read requests up to this length for their `previous_response_id`.
    /// Longer ones pass unread.
    #[arg(long, default_value_t = 32 << 20, value_name = "BYTES")]
    body_limit: u64,

    /// How long to wait for open streams after SIGTERM.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    drain: u64,

    /// What to log, on standard error.
    #[arg(long, value_enum, default_value_t = LogLevel::Warn, value_name = "LEVEL")]
    log_level: LogLevel,

    /// How to log.
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

impl Args {
    /// Starts to log as asked. What the process logs to already, stays.
    pub(crate) fn start_log(&self) {
        let level = match self.log_level {
            LogLevel::Error => LevelFilter::ERROR,
            LogLevel::Warn => LevelFilter::WARN,
            LogLevel::Info => LevelFilter::INFO,
            LogLevel::Debug => LevelFilter::DEBUG,
        };
        // Libraries log what passes through them, paths and headers too.
        let own = Targets::new().with_target(env!("CARGO_CRATE_NAME"), level);
        let lines = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_target(false)
            .with_writer(std::io::stderr);
        let log = tracing_subscriber::registry().with(own);
        // An error means that the process logs somewhere already.
        let _ = match self.log_format {
            LogFormat::Text => log.with(lines).try_init(),
            LogFormat::Json => log.with(lines.json().flatten_event(true)).try_init(),
        };
    }

    /// Reads the files that were named.
    ///
    /// # Errors
    ///
    /// A message for the user, where a file cannot be read or used, or arguments do not fit.
    pub(crate) fn into_config(self) -> Result<Config, String> {
        for upstream in &self.upstream {
            for (flag, listen) in [("--listen", Some(self.listen)), ("--admin", self.admin)] {
                if let Some(listen) = listen.filter(|&listen| loops::leads_to(upstream, listen)) {
                    return Err(format!(
                        "--upstream {upstream} is this proxy itself ({flag} {listen}); \
                         write the address of the server behind it, or another {flag}"
                    ));
                }
            }
        }
        let read = |path: &PathBuf| {
            fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => Some(tls::for_clients(&read(cert)?, &read(key)?)?),
            _ => None,
        };
        let authorities = self.upstream_ca.as_ref().map(read).transpose()?;
        let upstream_tls = if self.upstream.iter().any(Address::is_https) {
            Some(tls::for_upstreams(authorities.as_deref())?)
        } else {
            None
        };
        Ok(Config {
            listen: self.listen,
            admin: self.admin,
            tls,
            upstream_tls,
            openai_vocabulary: !self.keep_vocabulary,
            drain: Duration::from_secs(self.drain),
            body_limit: self.body_limit,
            ..Config::new(self.upstream)
        })
    }
}

/// An address to listen at; a name is looked up, and an IPv4 address of it preferred.
fn socket_address(text: &str) -> Result<SocketAddr, String> {
    const EXAMPLE: &str = "127.0.0.1:8001";
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err(format!(
            "an address and a port are wanted, such as {EXAMPLE}"
        ));
    };
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let Some(port) = port.parse::<u16>().ok().filter(|_| is_number) else {
        return Err(format!(
            "`{port}` is no port; write one up to 65535, such as {EXAMPLE}"
        ));
    };
    if host.is_empty() {
        return Err(format!(
            "the address is missing; write 0.0.0.0:{port} for every one of this machine's"
        ));
    }
    if host.contains([':', '[', '/']) {
        return Err(format!(
            "`{host}` is no address; write one such as {EXAMPLE} or [::1]:8001"
        ));
    }
    let found: Vec<_> = match (host, port).to_socket_addrs() {
        Ok(found) => found.collect(),
        Err(error) => return Err(format!("`{host}` cannot be looked up: {error}")),
    };
    let is_ipv4 = |address: &&SocketAddr| address.is_ipv4();
    let chosen = found.iter().find(is_ipv4).or_else(|| found.first());
    chosen
        .copied()
        .ok_or_else(|| format!("`{host}` has no address; write one such as {EXAMPLE}"))
}
