//! The components of a [`Workspace`]: a table, in the order in which they may ask each other.
//!
//! A component owns one kind of state. It may ask those above it, and has no other handle to anybody; what is to happen in others, it
//! tells the loop (`event`). What a component does is where the files of its name are.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    rc::Rc,
    sync::{Arc, mpsc},
};

use crate::{
    approval::lookups::Lookups,
    background::{Background, Job},
    event_loop::Unsettled,
    ownership::holder::Locks,
    reviews::Reviewer,
    saving::file_on_disk::FileOnDisk,
    usage::known_messages::KnownMessages,
};
pub use crate::{shared::Shared, tools::toolbox::Toolbox};
use flemma_journal::CallKey;
use flemma_model::Digest;
use flemma_provider::usage::Ledger;
use flemma_runtime::{
    ConversationId, Folders, Journal, MessageNotes, OutboxFiles, Spending, backups::Backups, trust::Trusted,
};

/// Declares the application: its components in their order, each with those that it asks, and what it owns. `of background`: it
/// has work done away from the main thread.
macro_rules! components {
    ($(#[$about:meta])* $workspace:ident($shared:ident, $background:ident, $state_dir:ident); $(
        $(#[$doc:meta])*
        $name:ident: $type:ident $(of $from:ident)?, asks [$($asked:ident),*] $(, owns {
            $($(#[$kept:meta])* $state:ident: $kind:ty = $value:expr,)*
        })?;
    )*) => {
        /// The component of each name.
        #[expect(unused_imports, reason = "nobody asks the last ones")]
        mod named {
            $(pub(super) use super::$type as $name;)*
        }

        $(
            $(#[$doc])*
            pub struct $type {
                /// What all components share.
                pub shared: Rc<Shared>,
                $(pub(crate) $from: Background<Self>,)?
                $(pub(crate) $asked: Rc<named::$asked>,)*
                $($($(#[$kept])* pub(crate) $state: $kind,)*)?
            }
        )*

        $(#[$about])*
        pub struct $workspace {
            /// What all components share.
            pub shared: Rc<Shared>,
            $($(#[$doc])* pub $name: Rc<$type>,)*
            pub(crate) background: Background<Self>,
            pub(crate) unsettled: RefCell<Vec<Unsettled<Self>>>,
        }

        impl $workspace {
            pub(crate) fn build($shared: Rc<Shared>, $background: Background<Self>, $state_dir: &Path) -> Self {
                $(let $name = Rc::new($type {
                    shared: Rc::clone(&$shared),
                    $($from: $from.of(|workspace: &Self| &*workspace.$name),)?
                    $($asked: Rc::clone(&$asked),)*
                    $($($state: $value,)*)?
                });)*
                Self { $shared, $($name,)* $background, unsettled: RefCell::default() }
            }
        }
    };
}

components! {
    /// The application. It lives on the main thread. State is behind cells that are borrowed for one statement at a time: Lua that
    /// is called may call back.
    Workspace(shared, background, state_dir);

    /// What users trust: code in frontmatter, and files that may be shown. It is kept on the disk.
    trust: TrustStore of background, asks [], owns {
        path: PathBuf = state_dir.join("trust.jsonl"),
        /// `None` until it was read.
        trusted: RefCell<Option<Trusted>> = RefCell::default(),
        is_reading: Cell<bool> = Cell::default(),
        /// Whether the user was told that it cannot be written.
        is_told: Cell<bool> = Cell::default(),
    };
    /// The options of each conversation: those of `setup`, under what its frontmatter says and who started it asked for.
    frontmatter: Frontmatter, asks [trust];
    /// What tools and references may read and write, and where they run.
    permissions: Permissions, asks [trust, frontmatter];
    /// What conversations of projects tell the model before the first message.
    instructions: InstructionSource of background, asks [trust, frontmatter, permissions];
    /// Which process each conversation belongs to.
    ownership: Ownership of background, asks [], owns {
        locks: Locks = Locks::new(state_dir.join("locks")),
    };
    /// The records of calls: in memory, in the journal, and in which order they take effect.
    journaling: Journaling of background, asks [ownership], owns {
        journal: Journal = Journal::new(state_dir.join("journal")),
        /// What waited for records that are on the disk now, or that could not be written. When the editor exits, it is done without
        /// the rest of what background work has left.
        commits: (mpsc::Sender<Job>, mpsc::Receiver<Job>) = mpsc::channel(),
    };
    /// The changes of files that calls have made, and the way back.
    undo: Undo of background, asks [permissions, ownership], owns {
        backups: Backups = Backups::new(state_dir.join("changes"), state_dir.join("locks")),
        /// What distinguishes this process from all others, for conversations without a file.
        session: String = format!("{}-{:016x}", std::process::id(), fastrand::u64(..)),
    };
    /// What a tool is told about where it runs.
    contexts: ToolContexts, asks [trust, frontmatter, permissions, undo], owns {
        /// What users have edited in reviews and is on its way to the disk.
        unsaved_edits: RefCell<HashMap<Digest, Arc<Vec<u8>>>> = RefCell::default(),
    };
    /// What the user's policies say of a call.
    approval: Approval of background, asks [frontmatter, permissions, contexts], owns {
        /// What the disk is being asked.
        lookups: Lookups = Lookups::default(),
    };
    /// The open calls: what each waits for, and what was decided.
    calls: OpenCalls of background, asks [frontmatter, permissions, journaling];
    /// What calls would write, and what users make of it.
    reviews: Reviews of background, asks [frontmatter, journaling, undo, contexts, approval, calls], owns {
        /// Who wants to look at what calls would write, and waits until that is found out.
        reviewers: RefCell<Vec<(ConversationId, CallKey, Reviewer)>> = RefCell::default(),
    };
    /// The tools that run.
    execution: Execution of background, asks [frontmatter, permissions, journaling, undo, contexts, approval, calls, reviews];
    /// The messages that wait for their turn.
    queue: Queue of background, asks [ownership, journaling, calls], owns {
        outboxes: OutboxFiles = OutboxFiles::new(state_dir.join("outbox")),
    };
    /// What the references in a message mean when it is sent.
    references: References of background, asks [permissions, ownership];
    /// Decisions and answers: checked, recorded, and then carried out.
    resolutions: Resolutions of background, asks [frontmatter, ownership, journaling, undo, approval, calls, execution];
    /// What requests have used, and the notes about messages.
    usage: Accounting of background, asks [frontmatter, permissions], owns {
        ledger: RefCell<Ledger> = RefCell::default(),
        /// What all editors have spent on a day, as far as that is read.
        day: RefCell<Option<(String, f64)>> = RefCell::default(),
        spending: Spending = Spending::new(state_dir.join("spending")),
        known_messages: KnownMessages = KnownMessages::default(),
        /// Where these are kept.
        notes: MessageNotes = MessageNotes::new(state_dir.join("messages.jsonl")),
    };
    /// Conversations that are carried on without a user.
    drives: Drives of background, asks [ownership, calls];
    /// The way of a wish to the session: trust first.
    admission: Gatekeeper of background, asks [trust, frontmatter, instructions, ownership, approval, calls, resolutions, usage, drives];
    /// A file that was opened, brought together with its journal.
    recovery: Recovery, asks [frontmatter, ownership, journaling, undo, calls, reviews, queue, resolutions, drives];
    /// The files of conversations, as they are written.
    saving: Saving of background, asks [trust, ownership, journaling, queue], owns {
        /// The files that are being written now, by buffer. A buffer may be gone before the end.
        flights: RefCell<BTreeMap<i32, FileOnDisk>> = RefCell::default(),
    };
    /// The conversations of projects: where they are, and which was used last.
    projects: ProjectConversations of background, asks [];
    /// What completion offers.
    completions: Completions of background, asks [permissions], owns { folders: Folders = Folders::default(), };
    /// The tools that are registered.
    tools: Tools of background, asks [];
    /// The options that commands change while Neovim runs.
    switches: Switches of background, asks [frontmatter];
    /// What is drawn and said of conversations: messages, calls and folds, what is shown at calls that wait, and the status.
    views: Views, asks [frontmatter, permissions, usage];
    /// The lists of conversations and of calls that wait.
    lists: Lists of background, asks [ownership, journaling, calls, projects];
}
