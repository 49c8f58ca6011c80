//! Which upstream is asked: the less busy of two that are up, as tower balances.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_util::FutureExt;
use futures_util::stream::{Stream, poll_fn};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tower::balance::p2c::Balance;
use tower::discover::Change;
use tower::load::Load;
use tower_service::Service;

use crate::upstream::Upstream;

type Changes = Pin<Box<dyn Stream<Item = Result<Change<usize, Pick>, Infallible>> + Send>>;

/// Picks among upstreams.
pub(crate) struct Balancer {
    all: Vec<Arc<Upstream>>,
    up: Mutex<Balance<Changes, ()>>,
    changes: UnboundedSender<Change<usize, Pick>>,
    /// How many connections could not be made.
    failures: AtomicUsize,
}

impl Balancer {
    pub(crate) fn new(all: Vec<Arc<Upstream>>) -> Self {
        let (changes, mut receiver) = unbounded_channel();
        let balancer = Self {
            up: Mutex::new(Balance::new(Box::pin(poll_fn(move |cx| {
                receiver.poll_recv(cx).map(|change| change.map(Ok))
            })))),
            changes,
            all,
            failures: AtomicUsize::new(0),
        };
        for upstream in &balancer.all {
            balancer.announce(upstream);
        }
        balancer
    }

    pub(crate) fn all(&self) -> &[Arc<Upstream>] {
        &self.all
    }

    /// Notes whether an upstream is up.
    pub(crate) fn set_up(&self, upstream: &Arc<Upstream>, up: bool) {
        // Under the lock, so that the last one to say something is the last to be heard.
        let _one_by_one = self.lock();
        if !upstream.set_up(up) {
            return;
        }
        if up {
            tracing::warn!(upstream = %upstream.address, "upstream is up again");
        } else {
            tracing::warn!(upstream = %upstream.address, "upstream is down");
        }
        self.announce(upstream);
    }

    /// Notes that a connection to an upstream could not be made.
    pub(crate) fn failed(&self, upstream: &Arc<Upstream>) {
        self.set_up(upstream, false);
        upstream.note_failure(self.failures.fetch_add(1, Ordering::Relaxed) + 1);
    }

    /// The upstream to ask next, none of those `tried`.
    ///
    /// Where none is up, that may have changed since: those that are down are asked all the same,
    /// first the one that failed the longest ago.
    pub(crate) fn pick(&self, tried: &[usize]) -> Option<Arc<Upstream>> {
        let is_new = |upstream: &Arc<Upstream>| !tried.contains(&upstream.index);
        self.pick_up().filter(is_new).or_else(|| {
            let left = self.all.iter().filter(|upstream| is_new(upstream));
            // One may have come up in this moment.
            let order = |upstream: &&Arc<Upstream>| {
                (!upstream.is_up(), upstream.last_failure(), upstream.open())
            };
            left.min_by_key(order).cloned()
        })
    }

    /// The less busy of two that are up.
    fn pick_up(&self) -> Option<Arc<Upstream>> {
        if self.all.len() == 1 {
            return None;
        }
        let mut up = self.lock();
        // Upstreams are always ready: what is pending is that there are none.
        match up.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => up.call(()).now_or_never()?.ok(),
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Balance<Changes, ()>> {
        self.up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self, upstream: &Arc<Upstream>) {
        if self.all.len() == 1 {
            return;
        }
        let change = if upstream.is_up() {
            Change::Insert(upstream.index, Pick(Arc::clone(upstream)))
        } else {
            Change::Remove(upstream.index)
        };
        // The receiver lives as long as the sender does.
        let _ = self.changes.send(change);
    }
}

/// An upstream, for tower: a service that names it, as busy as it is.
struct Pick(Arc<Upstream>);

impl Load for Pick {
    type Metric = usize;

    fn load(&self) -> usize {
        self.0.open()
    }
}

impl Service<()> for Pick {
    type Response = Arc<Upstream>;
    type Error = Infallible;
    type Future = Ready<Result<Arc<Upstream>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        ready(Ok(Arc::clone(&self.0)))
    }
}
