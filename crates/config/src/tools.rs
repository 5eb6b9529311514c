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

    pub(super) fn read(table: &mut Table<'_>) -> Self {
        let cursors = [CursorAfterResult::Result, CursorAfterResult::Stay, CursorAfterResult::Next];
        let mut tools = Self {
            require_approval: table.get("require_approval", true, &SWITCH),
            auto_approve: table.get("auto_approve", vec!["$default".to_owned()], &POLICY),
            presets: table.entries("presets", |presets, name| Some(presets.table(name, PresetOptions::read))),
            write_outside: table.choose("write_outside", &[WriteOutside::Ask, WriteOutside::Auto]).unwrap_or_default(),
            default_timeout: table.get("default_timeout", Duration::from_secs(30), &SECONDS),
            show_spinner: table.get("show_spinner", true, &SWITCH),
            cursor_after_result: table.choose("cursor_after_result", &cursors).unwrap_or_default(),
            max_concurrent: table.get("max_concurrent", 4, &COUNT),
            autopilot: table.table("autopilot", Autopilot::read),
            retention: table.table("retention", RetentionOptions::read),
            deadlines: table.table("deadlines", Deadlines::read),
            backups: table.table("backups", BackupOptions::read),
            review: table.table("review", ReviewOptions::read),
            notes: table.table("notes", Notes::read),
            own_retention: BTreeMap::new(),
            search: SearchLimits::default(),
            each: BTreeMap::new(),
        };
        table.table("bash", |table| tools.read_bash(table));
        tools.search = table.table("web_search", read_web_search);
        for tool in ["bash", "web_search"] {
            table.raw(tool).into_iter().for_each(|options| tools.keep(tool, options));
        }
        for (tool, options) in table.remaining_tables(&TABLES) {
            tools.keep(tool, options);
            if let Some(written) = options.get("retention") {
                let problems = tools.read_retention(tool, written);
                table.wrong_inside(tool, problems.into_iter().map(|problem| problem.inside("retention")).collect());
            }
        }
        tools
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
        let (_shell, _cwd) = (table.some("shell", &TEXT), table.some("cwd", &TEXT));
        let (_timeout, _enabled) = (table.some("timeout", &SECONDS), table.some("enabled", &SWITCH));
        let _keep_env = table.some("keep_env", &NAMES);
        if let Some(written) = table.raw("retention") {
            let problems = self.read_retention("bash", written);
            table.wrong_inside("retention", problems);
        }
    }

    fn keep(&mut self, tool: &str, options: &Value) {
        // An empty Lua table may have arrived as an empty list.
        let table = if options.is_object() { options.clone() } else { Value::Object(Map::new()) };
        self.each.insert(tool.to_owned(), table);
    }
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

/// One of `tools.presets`: a named set of approvals and denials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PresetOptions {
    /// Tools that run without asking.
    pub approve: Vec<String>,
    /// Tools that never run.
    pub deny: Vec<String>,
}

impl PresetOptions {
    fn read(table: &mut Table<'_>) -> Self {
        Self { approve: table.get("approve", Vec::new(), &NAMES), deny: table.get("deny", Vec::new(), &NAMES) }
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

/// `tools.notes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notes {
    /// Whether the tools for notes are offered to models.
    pub enabled: bool,
    /// The folder of notes; the conversation's folder if it is not set.
    pub root: Option<String>,
}

impl Notes {
    fn read(table: &mut Table<'_>) -> Self {
        Self { enabled: table.get("enabled", false, &SWITCH), root: table.some("root", &TEXT) }
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

impl Autopilot {
    fn read(table: &mut Table<'_>) -> Self {
        Self { enabled: table.get("enabled", true, &SWITCH), max_turns: table.get("max_turns", 100, &COUNT) }
    }
}
