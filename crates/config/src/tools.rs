//! `tools`: approval, execution, autopilot, and a table of its own for every tool.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    BackupOptions, Retention, RetentionOptions,
    deadlines::Deadlines,
    declare::{inner, one_of, options, or, some},
    parameters::seconds,
};
use flemma_model::options::{
    Kind, Table,
    kinds::{COUNT, NAMES, SECONDS, SWITCH, TEXT, text, whole},
};
use flemma_provider::SearchLimits;

/// A list of strings; a lone one, which is then a module's name, is a list of one.
const POLICY: Kind<Vec<String>> = Kind {
    expected: "a list of strings, a function, or the name of a module with a dot in it",
    read: |value| match text(value) {
        Some(name) => name.contains('.').then(|| vec![name.to_owned()]),
        None => (NAMES.read)(value),
    },
};

/// A list of domains.
const DOMAINS: Kind<Vec<String>> = Kind {
    expected: "a list of domains without `https://`, as in { \"docs.rs\" }",
    read: |value| {
        let is_domain = |domain: &String| !domain.contains("://") && !domain.contains(char::is_whitespace);
        (NAMES.read)(value).filter(|domains| domains.iter().all(is_domain))
    },
};

/// Options of `tools` that are tables. A key that is almost one of these is a typing error, not a tool.
const TABLES: [&str; 7] = ["presets", "autopilot", "auto_approve", "retention", "deadlines", "backups", "review"];

/// The most lines of a diff below a call.
const MOST: u32 = 500;

/// A number of lines; 0 for none.
const LINES: Kind<u32> = Kind {
    expected: "a whole number from 0 up to 500",
    read: |value| value.as_number().and_then(whole).filter(|lines| *lines <= MOST),
};

options! {
    /// `tools`.
    pub struct Tools {
        /// Whether calls that no policy decides wait for the user.
        pub require_approval: bool = or(true, &SWITCH);
        /// Tools, `$presets` and rules that run without asking, and modules that decide.
        pub auto_approve: Vec<String> = or(vec!["$default".to_owned()], &POLICY);
        /// The user's presets, by name with its `$`.
        pub presets: BTreeMap<String, PresetOptions> = |table: &mut Table<'_>, key: &str| {
            table.entries(key, |presets, name| Some(presets.table(name, PresetOptions::read)))
        };
        /// What becomes of files outside the conversation's project that `$default` would let be written.
        pub write_outside: WriteOutside = one_of(&[WriteOutside::Ask, WriteOutside::Auto]);
        /// How long a tool may run, and a source of tools may take to load. Seconds in the options.
        #[serde(serialize_with = "seconds")]
        pub default_timeout: Duration = or(Duration::from_secs(30), &SECONDS);
        /// Whether a running tool shows a spinner.
        pub show_spinner: bool = or(true, &SWITCH);
        /// Where the cursor goes when a result arrives.
        pub cursor_after_result: CursorAfterResult =
            one_of(&[CursorAfterResult::Result, CursorAfterResult::Stay, CursorAfterResult::Next]);
        /// How many tools run at the same time.
        pub max_concurrent: u32 = or(4, &COUNT);
        /// How far a conversation goes on by itself.
        pub autopilot: Autopilot = inner(Autopilot::read);
        /// Which results of a tool stay whole, where neither the tool nor its own table says.
        pub retention: RetentionOptions = inner(RetentionOptions::checked);
        /// The folder of notes, and whether its tools are offered.
        pub notes: Notes = inner(Notes::read);
        /// How long calls wait.
        pub deadlines: Deadlines = inner(Deadlines::read);
        /// What is kept of files that tools change.
        pub backups: BackupOptions = inner(BackupOptions::read);
        /// How changes of files are shown before they are made.
        pub review: ReviewOptions = inner(ReviewOptions::read);
        /// `tools.web_search`: what a search of the provider's may do.
        #[serde(skip)]
        pub search: SearchLimits = |table: &mut Table<'_>, _: &str| table.table("web_search", read_web_search);
        /// Every tool's own table, as it was written, by the tool's name: `tools.bash = { … }`.
        #[serde(flatten)]
        pub each: BTreeMap<String, Value> = |table: &mut Table<'_>, _: &str| own_tables(table);
    }

    /// One of `tools.presets`: a named set of approvals and denials.
    #[derive(Eq)]
    pub struct PresetOptions {
        /// Tools that run without asking.
        pub approve: Vec<String> = or(Vec::new(), &NAMES);
        /// Tools that never run.
        pub deny: Vec<String> = or(Vec::new(), &NAMES);
    }

    /// `tools.notes`.
    #[derive(Eq)]
    pub struct Notes {
        /// Whether the tools for notes are offered to models.
        pub enabled: bool = or(false, &SWITCH);
        /// The folder of notes; the conversation's folder if it is not set.
        pub root: Option<String> = some(&TEXT);
    }

    /// `tools.autopilot`.
    #[derive(Copy, Eq)]
    pub struct Autopilot {
        /// Whether approved tools run, and their results are sent, without another key.
        pub enabled: bool = or(true, &SWITCH);
        /// How many requests one key may lead to.
        pub max_turns: u32 = or(100, &COUNT);
    }

    /// `tools.review`: how the user sees what a call would change in files.
    #[derive(Copy, Eq)]
    pub struct ReviewOptions {
        /// How many lines of the diff are shown below a call that waits; 0 for none.
        pub lines: u32 = or(12, &LINES);
        /// Where the whole change is shown.
        pub view: ReviewView = one_of(&[ReviewView::Tab, ReviewView::Inline]);
    }
}

impl Tools {
    /// A tool's own table; an empty one if it has none.
    pub fn options_of(&self, tool: &str) -> Value {
        self.each.get(tool).cloned().unwrap_or_else(|| json!({}))
    }

    /// Which tools the user switches on or off: `tools.<name>.enabled`.
    pub fn switches(&self) -> BTreeMap<String, bool> {
        let switch = |(tool, options): (&String, &Value)| Some((tool.clone(), options.get("enabled")?.as_bool()?));
        self.each.iter().filter_map(switch).collect()
    }

    /// What the tools' own tables say of retention: `tools.<name>.retention`.
    pub fn own_retention(&self) -> impl Iterator<Item = (&String, Retention)> {
        self.each.iter().filter_map(|(tool, options)| Some((tool, Retention::read(options.get("retention")?).ok()??)))
    }
}

/// The tools' own tables. That of `bash` is checked here, and then kept like any tool's.
fn own_tables(table: &mut Table<'_>) -> BTreeMap<String, Value> {
    table.table("bash", |bash| {
        let (_shell, _cwd) = (bash.some("shell", &TEXT), bash.some("cwd", &TEXT));
        let (_timeout, _enabled) = (bash.some("timeout", &SECONDS), bash.some("enabled", &SWITCH));
        let _keep_env = bash.some("keep_env", &NAMES);
        if let Some(Err(error)) = bash.raw("retention").map(Retention::read) {
            bash.wrong_inside("retention", error.problems);
        }
    });
    let checked = ["bash", "web_search"].map(|tool| (tool, table.raw(tool)));
    let mut tables: Vec<_> = checked.into_iter().filter_map(|(tool, options)| Some((tool, options?))).collect();
    for (tool, options) in table.remaining_tables(&TABLES) {
        if let Some(Err(error)) = options.get("retention").map(Retention::read) {
            let problems = error.problems.into_iter().map(|problem| problem.inside("retention"));
            table.wrong_inside(tool, problems.collect());
        }
        tables.push((tool, options));
    }
    // An empty Lua table may have arrived as an empty list.
    let table = |options: &Value| if options.is_object() { options.clone() } else { json!({}) };
    tables.into_iter().map(|(tool, options)| (tool.to_owned(), table(options))).collect()
}

/// `tools.web_search`, alike.
fn read_web_search(table: &mut Table<'_>) -> SearchLimits {
    let limits = SearchLimits {
        max_uses: table.some("max_uses", &COUNT),
        allowed_domains: table.get("allowed_domains", Vec::new(), &DOMAINS),
        blocked_domains: table.get("blocked_domains", Vec::new(), &DOMAINS),
    };
    let _enabled = table.some("enabled", &SWITCH);
    if let Some(blocked) = table.raw("blocked_domains")
        && !limits.allowed_domains.is_empty()
        && !limits.blocked_domains.is_empty()
    {
        table.wrong("blocked_domains", "omitted where allowed_domains is set", blocked);
    }
    limits
}

/// What `$default` does with a file that is not an ordinary one of the conversation's project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteOutside {
    /// Nothing, so that the user is asked.
    #[default]
    Ask,
    /// That it may be written, like every other.
    Auto,
}

/// Where the cursor goes when a result arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CursorAfterResult {
    /// To the result.
    #[default]
    Result,
    /// Nowhere.
    Stay,
    /// To the next `@You:`.
    Next,
}

/// Where the whole change of a call is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewView {
    /// Side by side, in a tab page of its own.
    #[default]
    Tab,
    /// In a window of the file, as virtual lines.
    Inline,
}
