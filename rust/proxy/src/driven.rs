//! A connection to an upstream that is driven by whoever reads from it.
//!
//! hyper makes a connection a future of its own, commonly a task. Here it is polled by the reader
//! of the answer, in the reader's task: between the bytes of upstream's and those to the client
//! there is no other task to be woken, maybe on another core. Upstream is read when there is room
//! for more, and all that has come is read at once.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http::{Request, Response};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::SendRequest;

use crate::upload::Upload;

/// How often it is looked again at what called while it was looked at.
const PASSES: usize = 2;

type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// A connection to an upstream.
pub(crate) struct Connection {
    sender: SendRequest<Upload>,
    /// There is none once the connection has ended. Why it did is told to who waits for it.
    driver: Option<Driver>,
    alarm: Arc<Alarm>,
    waker: Waker,
}

impl Connection {
    pub(crate) fn new(
        sender: SendRequest<Upload>,
        driver: impl Future<Output = hyper::Result<()>> + Send + 'static,
    ) -> Self {
        let alarm = Arc::<Alarm>::default();
        Self {
            sender,
            driver: Some(Box::pin(driver)),
            waker: Arc::clone(&alarm).into(),
            alarm,
        }
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn request(
        &mut self,
        request: Request<Upload>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Upload>>> {
        let sending = self.sender.try_send_request(request);
        tokio::pin!(sending);
        std::future::poll_fn(|cx| self.poll(cx, |cx| sending.as_mut().poll(cx))).await
    }

    /// Reads on in the body of the answer.
    pub(crate) fn poll_body(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.poll(cx, |cx| Pin::new(&mut *body).poll_frame(cx))
    }

    /// Whether it can have another request.
    pub(crate) fn is_ready(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.driver.is_some() && self.sender.is_ready()
    }

    /// Drives it to its end, which is that of the answer.
    pub(crate) async fn run(self) {
        drop(self.sender);
        if let Some(driver) = self.driver {
            // Whoever waits for it is told.
            let _ = driver.await;
        }
    }

    /// Polls something that the connection brings on.
    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut something: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.alarm.reader.register(cx.waker());
        let waker = self.waker.clone();
        let mut quiet = Context::from_waker(&waker);
        for _ in 0..PASSES {
            self.alarm.listen();
            if let Poll::Ready(ready) = something(&mut quiet) {
                return Poll::Ready(ready);
            }
            self.drive(&mut quiet);
            if let Poll::Ready(ready) = something(&mut quiet) {
                return Poll::Ready(ready);
            }
            if self.alarm.sleep() {
                return Poll::Pending;
            }
        }
        // What goes on calling wants others to run, such as a socket that has had its turn.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        if let Some(driver) = &mut self.driver
            && driver.as_mut().poll(cx).is_ready()
        {
            self.driver = None;
        }
    }
}

/// Wakes the reader, except while it reads: both ends of hyper's channel are in its hands, and
/// each piece that passes would wake it once more.
#[derive(Default)]
struct Alarm {
    reader: AtomicWaker,
    state: AtomicU8,
}

/// The reader is to be woken.
const ASLEEP: u8 = 0;
/// It is reading.
const AWAKE: u8 = 1;
/// It was called while it was reading.
const CALLED: u8 = 2;

impl Alarm {
    /// The reader reads: whatever called it until now, it will see.
    fn listen(&self) {
        self.state.store(AWAKE, Ordering::SeqCst);
    }

    /// Whether the reader may sleep; else it was called.
    fn sleep(&self) -> bool {
        let slept = self
            .state
            .compare_exchange(AWAKE, ASLEEP, Ordering::SeqCst, Ordering::SeqCst);
        slept.is_ok()
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.swap(CALLED, Ordering::SeqCst) == ASLEEP {
            self.reader.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};
    use std::sync::atomic::AtomicUsize;

    use hyper::client::conn::http1;
    use hyper_util::rt::TokioIo;

    use super::*;

    #[derive(Default)]
    struct Calls(AtomicUsize);

    impl Wake for Calls {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Calls {
        fn count(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    async fn driven_by(
        driver: impl Future<Output = hyper::Result<()>> + Send + 'static,
    ) -> Connection {
        let (here, _) = tokio::io::duplex(1);
        let (sender, _) = http1::handshake(TokioIo::new(here)).await.expect("no I/O");
        Connection::new(sender, driver)
    }

    /// Polls for something that is never there; counts how often it was looked at.
    fn look(connection: &mut Connection, calls: &Arc<Calls>) -> usize {
        let waker = Arc::clone(calls).into();
        let mut looks = 0;
        let polled: Poll<()> = connection.poll(&mut Context::from_waker(&waker), |_| {
            looks += 1;
            Poll::Pending
        });
        assert!(polled.is_pending());
        looks
    }

    #[tokio::test]
    async fn the_reader_is_woken_only_while_it_sleeps() {
        let mut connection = driven_by(pending()).await;
        let calls = Arc::<Calls>::default();
        assert_eq!(look(&mut connection, &calls), 2);
        connection.waker.wake_by_ref();
        connection.waker.wake_by_ref();
        assert_eq!(calls.count(), 1);
        assert_eq!(look(&mut connection, &calls), 2);
        assert_eq!(calls.count(), 1);
    }

    #[tokio::test]
    async fn a_call_while_it_reads_makes_it_look_again() {
        let mut once = true;
        let driver = poll_fn(move |cx| {
            if std::mem::take(&mut once) {
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        });
        let mut connection = driven_by(driver).await;
        let calls = Arc::<Calls>::default();
        assert_eq!(look(&mut connection, &calls), 4);
        assert_eq!(calls.count(), 0);
    }

    #[tokio::test]
    async fn what_calls_for_ever_lets_others_run() {
        let driver = poll_fn(|cx| {
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        let mut connection = driven_by(driver).await;
        let calls = Arc::<Calls>::default();
        assert_eq!(look(&mut connection, &calls), 2 * PASSES);
        assert_eq!(calls.count(), 1);
    }
}
