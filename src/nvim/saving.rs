//! Writes a conversation's file by itself, away from the main thread: the Rust side of `lua/flemma/saving.lua`.
//!
//! What is known of the file (its [`Stamp`]) is shared with the thread that writes, so that a second write knows the
//! file that the first one made, even before the main thread has heard of it.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use mlua::Table;

use super::{buffer::BufferText, editor::Editor, exports::Exports};
use crate::{
    chat::Text as _,
    runtime::{
        ConversationId, Notice, Report,
        save::{SaveError, Stamp, save},
    },
};

/// How long Neovim waits for the disk where it has to wait: on leaving, and for a `:write` during a write of ours.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is known of a conversation's file.
#[derive(Clone, Debug, Default)]
enum Known {
    /// Nothing: it may have been changed since it was read.
    #[default]
    Nothing,
    /// The file of this name was last seen so; `None` if there was none.
    At(PathBuf, Option<Stamp>),
}

/// A conversation's file, for the main thread and the one that writes.
#[derive(Clone, Debug, Default)]
pub(super) struct OnDisk(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<Known>,
    /// Held while the file is written: the number of the latest text that was. The main thread never waits for it.
    written: Mutex<u64>,
    /// The number of the latest text that was taken.
    taken: AtomicU64,
}

/// A text on its way to the disk.
struct Text {
    /// Texts are written in the order in which they were taken, whichever thread is faster.
    number: u64,
    path: PathBuf,
    bytes: Vec<u8>,
    /// Whether the file is overwritten whatever is in it now: `:write!`.
    is_forced: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change leaves a whole value behind, also when a panic follows.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OnDisk {
    /// The buffer's text and the file of this name are the same now, or there is no such file.
    fn note(&self, path: PathBuf) {
        let known = Stamp::of(&path).map_or(Known::Nothing, |stamp| Known::At(path, stamp));
        *lock(&self.0.known) = known;
    }

    /// Whether the file is as it was last seen.
    fn is_current(&self) -> bool {
        let known = lock(&self.0.known).clone();
        matches!(known, Known::At(path, stamp) if Stamp::of(&path).is_ok_and(|now| now == stamp))
    }

    /// Takes the buffer's text.
    fn take(&self, buffer: i32, path: PathBuf, layout: &Table) -> mlua::Result<Text> {
        let bytes = Layout::read(layout)?.bytes(BufferText(buffer));
        let number = self.0.taken.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Text { number, path, bytes, is_forced: false })
    }

    /// Writes the file, unless a later text was written meanwhile. It blocks on the disk. `Err` is a sentence for the
    /// user.
    fn write(&self, Text { number, path, bytes, is_forced }: &Text) -> Result<(), String> {
        let mut written = lock(&self.0.written);
        if *written > *number {
            return Ok(());
        }
        let known = lock(&self.0.known).clone();
        let failed = |trouble: SaveError| sentence(path, &trouble.to_string());
        let stamp = match known {
            _ if *is_forced => Stamp::of(path).map_err(|error| failed(error.into()))?,
            Known::At(at, stamp) if at == *path => stamp,
            // The buffer has another name now: such a file must not be there yet.
            Known::At(..) => None,
            Known::Nothing => {
                return Err(sentence(path, "it is not known whether the file was changed. Use `:write` once"));
            }
        };
        let stamp = save(path, bytes, stamp).map_err(failed)?;
        *lock(&self.0.known) = Known::At(path.clone(), Some(stamp));
        *written = *number;
        Ok(())
    }
}

fn sentence(path: &Path, why: &str) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    format!("{} was not written: {why}.", name.display())
}

/// How a buffer's lines become a file's bytes.
struct Layout {
    /// `unix`, `dos` or `mac`.
    format: String,
    byte_order_mark: bool,
    /// Whether the last line has a line break.
    end_of_line: bool,
    /// Whether a Ctrl-Z ends the file.
    end_of_file: bool,
    /// Whether there is nothing in the buffer, not even an empty line.
    is_empty: bool,
}

impl Layout {
    fn read(table: &Table) -> mlua::Result<Self> {
        Ok(Self {
            format: table.get("format")?,
            byte_order_mark: table.get("byte_order_mark")?,
            end_of_line: table.get("end_of_line")?,
            end_of_file: table.get("end_of_file")?,
            is_empty: table.get("is_empty")?,
        })
    }

    /// The bytes that `:write` would write.
    fn bytes(&self, text: BufferText) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.byte_order_mark {
            bytes.extend_from_slice(b"\xef\xbb\xbf");
        }
        let (line_break, is_mac): (&[u8], bool) = match self.format.as_str() {
            "dos" => (b"\r\n", false),
            "mac" => (b"\r", true),
            _ => (b"\n", false),
        };
        let lines = if self.is_empty { 0 } else { text.line_count() };
        let mut index = 0;
        text.read_bytes(0..lines, |line| {
            let begin = bytes.len();
            bytes.extend_from_slice(line);
            for byte in &mut bytes[begin..] {
                match *byte {
                    // A line cannot hold a line feed: it stands for a NUL.
                    b'\n' => *byte = 0,
                    b'\r' if is_mac => *byte = b'\n',
                    _ => {}
                }
            }
            index += 1;
            if index < lines || self.end_of_line {
                bytes.extend_from_slice(line_break);
            }
        });
        if self.end_of_file {
            bytes.push(0x1a);
        }
        bytes
    }
}

/// What is known of a buffer's file, also when the buffer was let go and its file is still being written.
fn on_disk_of(editor: &Editor, buffer: i32) -> Option<OnDisk> {
    match editor.conversation(buffer) {
        Some(conversation) => Some(conversation.on_disk.clone()),
        None => editor.flights.borrow().get(&buffer).cloned(),
    }
}

/// The functions that Lua calls.
pub(super) fn fill(exports: &Exports<'_>) -> mlua::Result<()> {
    // on_disk(buffer, path or nil): the file of this name has the buffer's text, or nobody knows
    exports.add("on_disk", |_, editor, (buffer, path): (i32, Option<PathBuf>)| {
        if let Some(conversation) = editor.conversation(buffer) {
            match path {
                Some(path) => conversation.on_disk.note(path),
                None => *lock(&conversation.on_disk.0.known) = Known::Nothing,
            }
        }
        Ok(())
    })?;
    // is_on_disk(buffer) -> whether the file is as it was last seen
    exports.add("is_on_disk", |_, editor, buffer: i32| {
        Ok(on_disk_of(editor, buffer).is_some_and(|on_disk| on_disk.is_current()))
    })?;
    // save(buffer, path, layout, tick) -> whether it was begun; `host.saved` hears of its end, and calls `landed`
    exports.add("save", |_, editor, (buffer, path, layout, tick): (i32, PathBuf, Table, i64)| {
        let Some(conversation) = editor.conversation(buffer) else { return Ok(false) };
        let Ok(threads) = editor.worker.handle() else { return Ok(false) };
        let on_disk = conversation.on_disk.clone();
        let text = on_disk.take(buffer, path, &layout)?;
        editor.flights.borrow_mut().insert(buffer, on_disk.clone());
        let queue = Arc::clone(editor.worker.queue());
        threads.spawn_blocking(move || {
            let problem = on_disk.write(&text).err();
            let report = Report::Saved { buffer, tick, problem };
            queue.push(Notice { conversation: ConversationId::NONE, report });
        });
        Ok(true)
    })?;
    // landed(buffer): nobody waits for the end of its write any more
    exports.add("landed", |_, editor, buffer: i32| {
        editor.flights.borrow_mut().remove(&buffer);
        Ok(())
    })?;
    // save_now(buffer, path, layout, forced) -> what went wrong, or nil
    exports.add("save_now", |_, editor, (buffer, path, layout, is_forced): (i32, PathBuf, Table, bool)| {
        let Some(on_disk) = on_disk_of(editor, buffer) else { return Ok(None) };
        let text = Text { is_forced, ..on_disk.take(buffer, path, &layout)? };
        Ok(save_now(on_disk, text).err())
    })
}

/// Writes the file, and waits for it.
fn save_now(on_disk: OnDisk, text: Text) -> Result<(), String> {
    let (tell, told) = mpsc::channel();
    let path = text.path.clone();
    let work = move || {
        // Nobody listens any more where it took too long.
        let _ = tell.send(on_disk.write(&text));
    };
    thread::Builder::new()
        .name("flemma-save".into())
        .spawn(work)
        .map_err(|error| sentence(&path, &format!("there is no thread for it ({error})")))?;
    told.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(sentence(&path, "the disk does not answer")))
}
