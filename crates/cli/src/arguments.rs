//! The arguments of `flemma`, with the texts of its help, its manual page and its completions.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, builder::NonEmptyStringValueParser};
use clap_complete::Shell;

/// Answers, lists and checks conversations without an editor.
#[derive(Debug, Parser)]
#[command(
    name = "flemma",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Exit codes:\n  0  done\n  1  failed\n  2  wrong usage\n  3  suspended: it waits for a person (`flemma run`)\n  4  held by another process that cannot be asked"
)]
pub struct Arguments {
    /// Write one JSON value to standard output, also for an error
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the calls that wait for a decision or an answer
    ///
    /// Looks into a conversation, or into all `.chat` files of a folder and of the folders in it. What `.gitignore`
    /// excludes, and what is hidden, is left out.
    Pending(Place),
    /// Show where a conversation stands, and the input of each call that waits
    Show(File),
    /// Approve, reject or answer a call that waits
    ///
    /// If an editor on this machine has the conversation open, the editor resolves the call. Otherwise it is recorded, and
    /// the file is written. No tool runs before the conversation is opened in an editor. If the file has another input than
    /// the one that was asked about, `--approve` and `--result` are refused until `flemma run` or an editor has opened it.
    Resolve(Resolve),
    /// Carry a conversation on, in a Neovim without a user interface
    ///
    /// Neovim reads your configuration, so your tools and policies count. The conversation goes on until the model has
    /// replied, a call waits for a person, or it fails. You can run it again at any time: it goes on where the file stands.
    /// What waits is on standard output, a line each, which begins with `kind=`.
    Run(Run),
    /// Give calls whose deadline has passed an error result
    ///
    /// An editor does that by itself for the conversations that it has open, so those are left to it.
    Sweep(Sweep),
    /// Check conversations for mistakes in their text
    ///
    /// The exit code is 1 if there is an error. Warnings are listed, and do not count.
    Check(Place),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the manual page
    Man,
}

/// A conversation, or a folder of them.
#[derive(Args, Debug)]
pub struct Place {
    /// A conversation, or a folder
    #[arg(value_name = "DIR", default_value = ".")]
    pub path: PathBuf,
}

/// One conversation.
#[derive(Args, Debug)]
pub struct File {
    /// The conversation
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
}

/// What is swept.
#[derive(Args, Debug)]
pub struct Sweep {
    /// A conversation, or a folder of them.
    #[command(flatten)]
    pub place: Place,
    /// What happens to a lock that is in the way.
    #[command(flatten)]
    pub takeover: Takeover,
}

/// What happens to a conversation that another process holds.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Takeover {
    /// Take over a conversation whose holder does not answer
    ///
    /// For a process that is stopped, or one on another machine that is gone. It is the end of what that process does with
    /// the conversation: if it lives, it writes and runs nothing more there, and says who has taken it over. An editor on
    /// this machine that answers is asked as usual, and keeps the conversation.
    #[arg(long)]
    pub steal: bool,
}

/// A conversation, and how it is carried on.
#[derive(Args, Debug, Default)]
pub struct Run {
    /// The conversation
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// Trust what the file brings: its frontmatter, and the files that it names. This is remembered
    #[arg(long)]
    pub trust: bool,
    /// Stop after so many requests, in place of tools.autopilot.max_turns
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
    /// Stop after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,
    /// Talk to this provider, whatever the configuration and the file say
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub provider: Option<String>,
    /// Talk to this model, whatever the configuration and the file say
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub model: Option<String>,
    /// What happens to a lock that is in the way.
    #[command(flatten)]
    pub takeover: Takeover,
}

/// A call, and what becomes of it.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("resolution").required(true)))]
pub struct Resolve {
    /// The conversation
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// The call's id, as `flemma pending` prints it
    #[arg(value_name = "CALL", allow_hyphen_values = true)]
    pub call: String,
    /// Let the call run
    #[arg(long, group = "resolution")]
    pub approve: bool,
    /// Let a call run again that was started before and interrupted
    ///
    /// It is not known whether such a call had an effect, so `--approve` refuses it.
    #[arg(long, group = "resolution")]
    pub again: bool,
    /// Do not let the call run, and tell the model why
    #[arg(long, value_name = "MESSAGE", group = "resolution", allow_hyphen_values = true)]
    pub reject: Option<String>,
    /// Give the call this result, as JSON; `-` reads it from standard input
    #[arg(long, value_name = "JSON", group = "resolution", allow_hyphen_values = true)]
    pub result: Option<String>,
    /// Give the call an error result with this message
    #[arg(long, value_name = "MESSAGE", group = "resolution", allow_hyphen_values = true)]
    pub error: Option<String>,
    /// What happens to a lock that is in the way.
    #[command(flatten)]
    pub takeover: Takeover,
    /// Carry the conversation on after that, like `flemma run`, unless an editor has it open
    #[arg(long = "continue")]
    pub is_continued: bool,
}
