//! `tools`: approval, execution, autopilot, and a table of its own for every tool.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{BackupOptions, Retention, RetentionOptions, ReviewOptions, deadlines::Deadlines, seconds::seconds};
use flemma_model::options::{
    Kind, Problem, Table,
    kinds::{COUNT, NAMES, SECONDS, SWITCH, TEXT, text},
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

/// `tools`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tools {
    /// Whether calls that no policy decides wait for the user.
    pub require_approval: bool,
    /// Tools, `$presets` and rules that run without asking, and modules that decide.
    pub auto_approve: Vec<String>,
    /// The user's presets, by name with its `$`.
    pub presets: BTreeMap<String, PresetOptions>,
    /// What becomes of files outside the conversation's project that `$default` would let be written.
    pub write_outside: WriteOutside,
    /// How long a tool may run, and a source of tools may take to load. Seconds in the options.
    #[serde(serialize_with = "seconds")]
    pub default_timeout: Duration,
    /// Whether a running tool shows a spinner.
    pub show_spinner: bool,
    /// Where the cursor goes when a result arrives.
    pub cursor_after_result: CursorAfterResult,
    /// How many tools run at the same time.
    pub max_concurrent: u32,
    /// How far a conversation goes on by itself.
    pub autopilot: Autopilot,
    /// Which results of a tool stay whole, where neither the tool nor its own table says.
    pub retention: RetentionOptions,
    /// The folder of notes, and whether its tools are offered.
    pub notes: Notes,
    /// What every tool's own table says of that, by the tool's name: `tools.<name>.retention`.
    #[serde(skip)]
    pub own_retention: BTreeMap<String, Retention>,
    /// How long calls wait.
    pub deadlines: Deadlines,
    /// What is kept of files that tools change.
    pub backups: BackupOptions,
    /// How changes of files are shown before they are made.
    pub review: ReviewOptions,
    /// `tools.web_search`: what a search of the provider's may do.
    #[serde(skip)]
    pub search: SearchLimits,
    /// Every tool's own table, as it was written, by the tool's name: `tools.bash = { … }`.
    #[serde(flatten)]
    pub each: BTreeMap<String, Value>,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            require_approval: true,
            auto_approve: vec!["$default".to_owned()],
            presets: BTreeMap::new(),
            write_outside: WriteOutside::default(),
            default_timeout: Duration::from_secs(30),
            show_spinner: true,
            cursor_after_result: CursorAfterResult::default(),
            max_concurrent: 4,
            autopilot: Autopilot::default(),
            retention: RetentionOptions::default(),
            notes: Notes::default(),
            own_retention: BTreeMap::new(),
            deadlines: Deadlines::default(),
            backups: BackupOptions::default(),
            review: ReviewOptions::default(),
            search: SearchLimits::default(),
            each: BTreeMap::new(),
        }
    }
}

impl Tools {
    /// A tool's own table; an empty one if it has none.
    #[must_use]
    pub fn options_of(&self, tool: &str) -> Value {
        self.each.get(tool).cloned().unwrap_or_else(|| Value::Object(Map::new()))
    }

    /// Which tools the user switches on or off: `tools.<name>.enabled`.
    #[must_use]
    pub fn switches(&self) -> BTreeMap<String, bool> {
        let switch = |(tool, options): (&String, &Value)| Some((tool.clone(), options.get("enabled")?.as_bool()?));
        self.each.iter().filter_map(switch).collect()
    }

    pub(super) fn read(&mut self, table: &mut Table<'_>) {
        table.set("require_approval", &mut self.require_approval, &SWITCH);
        table.set("auto_approve", &mut self.auto_approve, &POLICY);
        table.entries("presets", |presets, name| {
            let mut preset = PresetOptions::default();
            presets.table(name, |table| preset.read(table));
            self.presets.insert(name.to_owned(), preset);
        });
        table.choose("write_outside", &mut self.write_outside, &WriteOutside::WORDS);
        table.set("default_timeout", &mut self.default_timeout, &SECONDS);
        table.set("show_spinner", &mut self.show_spinner, &SWITCH);
        table.choose("cursor_after_result", &mut self.cursor_after_result, &CursorAfterResult::WORDS);
        table.set("max_concurrent", &mut self.max_concurrent, &COUNT);
        table.table("autopilot", |table| self.autopilot.read(table));
        table.table("retention", |table| self.retention.read(table));
        table.table("deadlines", |table| self.deadlines.read(table));
        table.table("backups", |table| self.backups.read(table));
        table.table("review", |table| self.review.read(table));
        table.table("notes", |table| self.notes.read(table));
        self.read_bash(table);
        self.read_web_search(table);
        for (tool, options) in table.remaining_tables(&TABLES) {
            self.keep(tool, options);
            if let Some(written) = options.get("retention") {
                let problems = self.read_retention(tool, written);
                table.wrong_inside(tool, problems.into_iter().map(|problem| problem.inside("retention")).collect());
            }
        }
    }

    /// `retention` in a tool's own table. Gives what is wrong with it, with paths that start in `retention`.
    fn read_retention(&mut self, tool: &str, written: &Value) -> Vec<Problem> {
        match Retention::read(written) {
            Ok(read) => {
                self.own_retention.extend(read.map(|retention| (tool.to_owned(), retention)));
                Vec::new()
            }
            Err(error) => error.problems,
        }
    }

    /// `tools.bash`: the built-in tool's table is checked here, and then kept like any tool's.
    fn read_bash(&mut self, table: &mut Table<'_>) {
        let (mut shell, mut cwd, mut timeout, mut enabled, mut keep_env) = (None, None, None, true, Vec::new());
        table.table("bash", |table| {
            table.set_some("shell", &mut shell, &TEXT);
            table.set_some("cwd", &mut cwd, &TEXT);
            table.set_some("timeout", &mut timeout, &SECONDS);
            table.set("enabled", &mut enabled, &SWITCH);
            table.set("keep_env", &mut keep_env, &NAMES);
            if let Some(written) = table.raw("retention") {
                let problems = self.read_retention("bash", written);
                table.wrong_inside("retention", problems);
            }
        });
        if let Some(options) = table.raw("bash") {
            self.keep("bash", options);
        }
    }

    /// `tools.web_search`, alike.
    fn read_web_search(&mut self, table: &mut Table<'_>) {
        let mut enabled = false;
        table.table("web_search", |table| {
            table.set_some("max_uses", &mut self.search.max_uses, &COUNT);
            table.set("allowed_domains", &mut self.search.allowed_domains, &DOMAINS);
            table.set("blocked_domains", &mut self.search.blocked_domains, &DOMAINS);
            table.set("enabled", &mut enabled, &SWITCH);
            if let Some(blocked) = table.raw("blocked_domains")
                && !self.search.allowed_domains.is_empty()
                && !self.search.blocked_domains.is_empty()
            {
                table.wrong("blocked_domains", "omitted where allowed_domains is set", blocked);
            }
        });
        if let Some(options) = table.raw("web_search") {
            self.keep("web_search", options);
        }
    }

    fn keep(&mut self, tool: &str, options: &Value) {
        // An empty Lua table may have arrived as an empty list.
        let table = if options.is_object() { options.clone() } else { Value::Object(Map::new()) };
        self.each.insert(tool.to_owned(), table);
    }
}

/// One of `tools.presets`: a named set of approvals and denials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PresetOptions {
    /// Tools that run without asking.
    pub approve: Vec<String>,
    /// Tools that never run.
    pub deny: Vec<String>,
}

impl PresetOptions {
    fn read(&mut self, table: &mut Table<'_>) {
        table.set("approve", &mut self.approve, &NAMES);
        table.set("deny", &mut self.deny, &NAMES);
    }
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

impl WriteOutside {
    const WORDS: [(&'static str, Self); 2] = [("ask", Self::Ask), ("auto", Self::Auto)];
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

impl CursorAfterResult {
    const WORDS: [(&'static str, Self); 3] = [("result", Self::Result), ("stay", Self::Stay), ("next", Self::Next)];
}

/// `tools.notes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notes {
    /// Whether the tools for notes are offered to models.
    pub enabled: bool,
    /// The folder of notes; the conversation's folder if it is not set.
    pub root: Option<String>,
}

impl Notes {
    fn read(&mut self, table: &mut Table<'_>) {
        table.set("enabled", &mut self.enabled, &SWITCH);
        table.set_some("root", &mut self.root, &TEXT);
    }
}

/// `tools.autopilot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Autopilot {
    /// Whether approved tools run, and their results are sent, without another key.
    pub enabled: bool,
    /// How many requests one key may lead to.
    pub max_turns: u32,
}

impl Default for Autopilot {
    fn default() -> Self {
        Self { enabled: true, max_turns: 100 }
    }
}

impl Autopilot {
    fn read(&mut self, table: &mut Table<'_>) {
        table.set("enabled", &mut self.enabled, &SWITCH);
        table.set("max_turns", &mut self.max_turns, &COUNT);
    }
}
