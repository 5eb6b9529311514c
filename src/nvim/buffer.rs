//! A buffer's text.

use std::ops::Range;

use nvim_oxi::api;

use flemma_chat::Text;

unsafe extern "C" {
    /// The C library's, which Neovim allocates with.
    fn free(pointer: *mut std::ffi::c_void);
}

/// How many lines are asked of Neovim at once. It copies each into memory of its own: a few at a time, that memory is
/// used again for the next ones, where many would come from the system and go back to it.
const AT_ONCE: usize = 512;

/// The lines of a buffer, read straight from Neovim.
///
/// See `:help nvim_buf_get_lines()`. A buffer that is gone has no lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferText(pub(super) i32);

impl BufferText {
    /// Lends each of these lines as it is, UTF-8 or not. A line feed in it stands for a NUL.
    fn lend(self, lines: Range<usize>, mut each: impl FnMut(&[u8])) {
        let buffer = api::Buffer::from(self.0);
        let mut start = lines.start;
        while start < lines.end {
            let end = lines.end.min(start + AT_ONCE);
            let Ok(some) = buffer.get_lines(start..end, false) else { return };
            let mut count = 0;
            for line in some {
                each(line.as_bytes());
                release(&line);
                count += 1;
            }
            if count < end - start {
                return;
            }
            start = end;
        }
    }
}

impl Text for BufferText {
    fn line_count(&self) -> usize {
        api::Buffer::from(self.0).line_count().unwrap_or_default()
    }

    fn read(&self, lines: Range<usize>, each: &mut dyn FnMut(&str)) {
        self.lend(lines, |line| match std::str::from_utf8(line) {
            // Much faster in a long line.
            Ok(line) => each(line),
            Err(_) => each(&String::from_utf8_lossy(line)),
        });
    }

    fn read_bytes(&self, lines: Range<usize>, each: &mut dyn FnMut(&[u8])) {
        self.lend(lines, each);
    }

    /// `:help nvim_buf_get_offset()`.
    fn size(&self) -> Option<usize> {
        let buffer = api::Buffer::from(self.0);
        // That of a buffer that is not loaded is -1, which the binding does not expect. Neovim unloads all when it exits.
        if buffer.is_loaded() { buffer.get_offset(self.line_count()).ok() } else { None }
    }

    fn length(&self, line: usize) -> usize {
        let buffer = api::Buffer::from(self.0);
        let Ok(lines) = buffer.get_lines(line..line + 1, false) else { return 0 };
        lines.map(|line| (line.len(), release(&line)).0).sum()
    }
}

/// Frees a string that Neovim allocated for us. nvim-oxi, which cannot tell whose a string is, never frees
/// one; reading a conversation again and again would then grow the process for ever.
fn release(string: &nvim_oxi::String) {
    // An empty string may be one of Neovim's constants.
    if !string.is_empty() {
        // SAFETY: nvim_buf_get_lines without an arena copies each line into memory of its own
        // (`xmemdupz`, that is `malloc`) and leaves it to the caller, who reads it nowhere after this.
        unsafe { free(string.as_bytes().as_ptr().cast_mut().cast()) };
    }
}
