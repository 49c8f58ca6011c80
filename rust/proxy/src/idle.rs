//! Connections to upstreams that are kept between requests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::driven::Connection;

/// uvicorn closes a connection that was idle for 5 seconds. One that is used in that moment
/// loses its request.
const KEPT_IDLE: Duration = Duration::from_secs(3);

/// Connections that wait for their next request, the one used last at the end.
#[derive(Default)]
pub(crate) struct Idle(Mutex<Vec<Kept>>);

struct Kept {
    upstream: usize,
    since: Instant,
    connection: Connection,
}

impl Idle {
    /// Keeps a connection if it can have another request.
    pub(crate) fn keep(&self, upstream: usize, mut connection: Connection) {
        if connection.is_ready() {
            self.lock().push(Kept {
                upstream,
                since: Instant::now(),
                connection,
            });
        }
    }

    /// A connection to an upstream that is still open, as far as is known.
    pub(crate) fn take(&self, upstream: usize) -> Option<Connection> {
        loop {
            let mut kept = self.lock();
            let at = kept.iter().rposition(|kept| kept.upstream == upstream)?;
            let Kept {
                since,
                mut connection,
                ..
            } = kept.remove(at);
            drop(kept);
            if since.elapsed() < KEPT_IDLE && connection.is_ready() {
                return Some(connection);
            }
        }
    }

    /// Closes what was idle for too long, until it is dropped.
    pub(crate) async fn close_old(self: Arc<Self>) {
        loop {
            sleep(KEPT_IDLE / 2).await;
            self.lock().retain(|kept| kept.since.elapsed() < KEPT_IDLE);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
