//! What `/metrics` says. No label tells of an id, a user, a path or a model.

use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sse_rewrite::report::{Change, Report};
use sse_rewrite::{Frames, GaveUp, SseRewriter};

use crate::upstream::Upstream;

/// What [`Metrics::text`] is.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// In seconds; what is usual is some microseconds.
const ADDED_BUCKETS: [f64; 10] = [
    1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 5e-3, 2.5e-2, 0.1,
];

const GAVE_UP: [GaveUp; 4] = [
    GaveUp::TooManyItems,
    GaveUp::IdentityTooLong,
    GaveUp::FrameTooLong,
    GaveUp::TooMuchHeld,
];

type Label = [(&'static str, &'static str); 1];

/// How a rewritten stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Upstream ended it.
    Complete,
    /// Upstream, or the connection to it, failed.
    UpstreamFailed,
    /// The client did not want the rest.
    ClientLeft,
}

impl End {
    const ALL: [Self; 3] = [Self::Complete, Self::UpstreamFailed, Self::ClientLeft];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::UpstreamFailed => "upstream_failed",
            Self::ClientLeft => "client_left",
        }
    }
}

/// The counters of one proxy.
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) requests: Counter,
    pub(crate) refused: Counter,
    pub(crate) upstream_failures: Counter,
    pub(crate) unread: Counter,
    pub(crate) streams_open: Gauge,
    pub(crate) encoded: Counter,
    frames: Family<Label, Counter>,
    streams: Family<Label, Counter>,
    changes: Family<Label, Counter>,
    identities: Family<[(&'static str, &'static str); 2], Counter>,
    gave_up: Family<Label, Counter>,
    added: Histogram,
    up: Family<[(&'static str, String); 1], Gauge>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("stable_ids");
        let metrics = Self {
            requests: Counter::default(),
            refused: Counter::default(),
            upstream_failures: Counter::default(),
            unread: Counter::default(),
            streams_open: Gauge::default(),
            encoded: Counter::default(),
            frames: Family::default(),
            streams: Family::default(),
            changes: Family::default(),
            identities: Family::default(),
            gave_up: Family::default(),
            added: Histogram::new(ADDED_BUCKETS),
            up: Family::default(),
            registry: Registry::default(),
        };
        registry.register(
            "requests",
            "Requests, of every kind",
            metrics.requests.clone(),
        );
        registry.register(
            "requests_refused",
            "Requests that were no proper HTTP for a proxy, and went to no upstream",
            metrics.refused.clone(),
        );
        registry.register(
            "upstream_failures",
            "Requests that no upstream answered",
            metrics.upstream_failures.clone(),
        );
        registry.register(
            "requests_unread",
            "Requests longer than --body-limit, not read for the response they go on from",
            metrics.unread.clone(),
        );
        registry.register(
            "streams_open",
            "Event streams being rewritten now",
            metrics.streams_open.clone(),
        );
        registry.register(
            "streams",
            "Rewritten event streams that ended, by how",
            metrics.streams.clone(),
        );
        registry.register(
            "streams_encoded",
            "Event streams passed as they are because upstream compressed them",
            metrics.encoded.clone(),
        );
        registry.register(
            "frames",
            "Frames of event streams that ended, by what became of them",
            metrics.frames.clone(),
        );
        registry.register(
            "changes",
            "Changes made to event streams that ended, by kind",
            metrics.changes.clone(),
        );
        registry.register(
            "identities_changed",
            "Fields of identities that event streams that ended had otherwise, by the event",
            metrics.identities.clone(),
        );
        registry.register(
            "streams_gave_up",
            "Event streams that passed unchanged from some frame on, by reason",
            metrics.gave_up.clone(),
        );
        registry.register(
            "first_event_added_seconds",
            "Time the proxy added until the first event of a stream",
            metrics.added.clone(),
        );
        registry.register(
            "upstream_up",
            "Whether an upstream answered its last health check",
            metrics.up.clone(),
        );
        // All of them are there from the start, so that an increase from none is one.
        for end in End::ALL {
            drop(metrics.streams.get_or_create(&[("end", end.name())]));
        }
        metrics.count_frames(Frames::default());
        for change in Change::ALL {
            drop(metrics.changes.get_or_create(&[("kind", change.name())]));
        }
        metrics.count_fields(&Report::default());
        for reason in GAVE_UP {
            drop(metrics.gave_up.get_or_create(&[("reason", reason.name())]));
        }
        Self {
            registry,
            ..metrics
        }
    }

    pub(crate) fn stream_ended(&self, end: End, rewriter: &SseRewriter) {
        self.count_frames(rewriter.frames());
        self.streams.get_or_create(&[("end", end.name())]).inc();
        self.count_fields(rewriter.report());
        for (kind, count) in rewriter.report().counts() {
            if count > 0 {
                self.changes.get_or_create(&[("kind", kind)]).inc_by(count);
            }
        }
        if let Some(reason) = rewriter.gave_up() {
            self.gave_up
                .get_or_create(&[("reason", reason.name())])
                .inc();
        }
    }

    fn count_fields(&self, report: &Report) {
        for (told, field, count) in report.fields() {
            self.identities
                .get_or_create(&[("event", told.name()), ("field", field.key())])
                .inc_by(count);
        }
    }

    fn count_frames(&self, frames: Frames) {
        for (outcome, count) in [("passed", frames.passed), ("rewritten", frames.rewritten)] {
            self.frames
                .get_or_create(&[("outcome", outcome)])
                .inc_by(count);
        }
    }

    pub(crate) fn first_event(&self, added: Duration) {
        self.added.observe(added.as_secs_f64());
    }

    pub(crate) fn upstream_up(&self, upstream: &Upstream) {
        self.up
            .get_or_create(&[("upstream", upstream.address.to_string())])
            .set(i64::from(upstream.is_up()));
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
