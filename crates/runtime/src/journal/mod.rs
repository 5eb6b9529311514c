//! The journal on the disk: a file per conversation, to which records of its calls are appended.
//!
//! A [`Journal`] hands records to a thread of its own. The thread takes everything that waits, writes it file by file,
//! flushes each file once, and answers in the order of the appends. So the cost of a flush is shared by all that wait for
//! it, and nobody but the thread waits for the disk.
//!
//! A conversation belongs to one process at a time, but several may append to its journal: each write and each rewrite
//! holds a kernel lock on the file. With a [`crate::Fence`], an append looks once more, while it has that lock, whether the
//! conversation still belongs to this process.

mod file;
mod handle;
mod lost;
mod writer;

pub use handle::{COMPACT_ABOVE, Journal};
