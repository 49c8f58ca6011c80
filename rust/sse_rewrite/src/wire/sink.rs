//! Where a rewriter puts what it sends.

/// Collects what is sent; frames that pass are copied in runs, not one by one.
pub(crate) struct Sink<'a> {
    source: &'a [u8],
    out: &'a mut Vec<u8>,
    /// From here to `at`, the source passes and is not copied yet.
    kept: usize,
    at: usize,
}

impl<'a> Sink<'a> {
    /// Collects what is made of `source`, behind what `out` has already.
    pub(crate) fn new(source: &'a [u8], out: &'a mut Vec<u8>) -> Self {
        Self {
            source,
            out,
            kept: 0,
            at: 0,
        }
    }

    /// The next `length` bytes pass.
    pub(crate) fn pass(&mut self, length: usize) {
        self.at += length;
    }

    /// The next `length` bytes are replaced by what is written to the result.
    pub(crate) fn replace(&mut self, length: usize) -> &mut Vec<u8> {
        self.flush();
        self.at += length;
        self.kept = self.at;
        self.out
    }

    fn flush(&mut self) {
        let passed = self.source.get(self.kept..self.at).unwrap_or_default();
        self.out.extend_from_slice(passed);
        self.kept = self.at;
    }
}

impl Drop for Sink<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}
