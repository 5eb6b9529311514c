//! `:Flemma status`: what is in effect for a conversation, and who set it.

use std::collections::BTreeSet;

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::{Conversation, components::Views, options::effective::Effective};
use flemma_agent::Activity;
use flemma_config::{Config, leaves};
use flemma_provider::connection::shown;
use flemma_text::{
    one_line,
    wrap::{wrap, wrap_with},
};
use flemma_tools::{Permitted, PermittedView, approval::BufferPolicy, preview, rules::SHELL_TOOL};

/// How wide a line of the list of tools is, in cells.
const LIST_WIDTH: usize = 76;

/// The tables of options that are about conversations; the others are about the editor.
const SHOWN: [&str; 8] = ["provider", "model", "parameters", "system", "rules", "skills", "budget", "tools"];

/// Who has set an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionLayer {
    /// Nobody: it is the default.
    Default,
    /// The user, with `setup`.
    Setup,
    /// The user, since the editor started.
    Runtime,
    /// The conversation's own file.
    File,
}

impl OptionLayer {
    /// Its name on the screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Setup => "setup",
            Self::Runtime => "runtime",
            Self::File => "frontmatter",
        }
    }
}

/// What is in effect for a conversation, and who set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusView {
    /// Why the frontmatter has no effect: the line, from 0, and what is wrong.
    pub fault: Option<(usize, String)>,
    /// The options.
    pub rows: Vec<OptionRow>,
    /// What the conversation is doing.
    pub activity: String,
    /// The calls that run and those that wait, a line each.
    pub calls: Vec<String>,
}

/// One option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionRow {
    /// Its name, as a user writes it.
    pub name: String,
    /// Its value, as a user writes it.
    pub value: String,
    /// Who set it.
    pub layer: OptionLayer,
}

impl Views {
    /// What is in effect for a conversation, and who set it.
    pub fn status(&self, conversation: &Conversation) -> StatusView {
        let file = self.frontmatter.of(conversation);
        let activity = match conversation.session.activity() {
            Activity::Idle => {
                let place = conversation.holding.elsewhere();
                place.map_or_else(|| "idle".to_owned(), |place| format!("read-only: open {place}"))
            }
            Activity::Executing { running: 0 } => "the calls are being judged".to_owned(),
            Activity::Executing { running: 1 } => "1 tool is running".to_owned(),
            Activity::Executing { running } => format!("{running} tools are running"),
            _ => conversation.activity_text().unwrap_or_default(),
        };
        StatusView {
            fault: file.fault.as_ref().map(|fault| (fault.diagnostic.line, fault.diagnostic.message.clone())),
            rows: rows(self, conversation, &file),
            activity,
            calls: conversation.call_lines(),
        }
    }

    /// Whether a conversation goes on by itself, and who set that.
    pub fn autopilot(&self, conversation: &Conversation) -> String {
        let file = self.frontmatter.of(conversation);
        let autopilot = file.config.tools.autopilot;
        let [setup, runtime] = self.shared.options.layers();
        let layer = who(&[setup, runtime, file.file.layer.clone()], "/tools/autopilot/enabled").name();
        if autopilot.enabled {
            format!("autopilot is on here ({layer}): up to {} requests for each key press", autopilot.max_turns)
        } else {
            format!("autopilot is off here ({layer}): press Ctrl-] for each step")
        }
    }

    /// The tools that a conversation has chosen and that its next request does not offer, each with the reason.
    fn not_offered(&self, file: &Effective, chosen: Option<&BTreeSet<String>>) -> Vec<(String, String)> {
        let left_out = self.shared.toolbox.hosted(&file.config, chosen).left_out.into_iter();
        let left_out = left_out.map(|(tool, why)| (tool.name().to_owned(), why));
        let refused = self.permissions.refused_tools(file, chosen).into_iter();
        let refused = refused.map(|(tool, agent)| (tool, format!("the agent {agent} refuses it")));
        left_out.chain(refused).collect()
    }

    /// The lines of `:Flemma tool:list`.
    pub fn tool_list(&self, conversation: &Conversation) -> Vec<String> {
        let mut lines = conversation.call_lines();
        if lines.is_empty() {
            lines.push("no call is running or pending here".into());
        }
        lines.push(String::new());
        let file = self.frontmatter.of(conversation);
        let turn = self.frontmatter.turn_tools(conversation, &file);
        let chosen = self.shared.toolbox.chosen(&file, &turn);
        lines.extend(self.shared.toolbox.all().iter().map(|(tool, is_enabled)| {
            let is_on = *is_enabled && turn.answers.get(&tool.name) != Some(&false);
            let state = if is_on { "" } else { " (off)" };
            preview::line(&format!("{}{state}", tool.name), &tool.description, LIST_WIDTH)
        }));
        let not_offered = self.not_offered(&file, chosen.as_ref()).into_iter();
        lines.extend(not_offered.map(|(tool, why)| format!("not offered here  {tool}: {why}")));
        lines.extend(self.shared.toolbox.loading().iter().map(|source| format!("loading  {source}")));
        lines
    }
}

impl StatusView {
    /// The lines of `:Flemma status`, none wider than `width` cells: what happens and what waits, and then the options. Unless all are
    /// wanted, these are the recipient, what differs from the defaults, and no more of each than fits a small screen.
    pub fn lines(&self, width: usize, is_all: bool) -> Vec<String> {
        let room = width.max(1);
        let shown = if is_all { self.calls.len() } else { self.calls.len().min(MOST_CALLS) };
        let mut lines = vec![self.activity.clone()];
        lines.extend(self.calls[..shown].iter().cloned());
        if shown < self.calls.len() {
            lines.push(format!("  and {} more calls: `:Flemma tool:list`", self.calls.len() - shown));
        }
        if let Some((line, message)) = &self.fault {
            lines.push(format!("the frontmatter has no effect: line {}: {message}", line + 1));
        }
        lines.push(String::new());
        let is_shown = |row: &&OptionRow| {
            is_all || row.layer != OptionLayer::Default || ["provider", "model"].contains(&row.name.as_str())
        };
        let cut = |row: &OptionRow| OptionRow { value: one_line(&row.value, MOST_VALUE), ..row.clone() };
        let rows = self.rows.iter().filter(is_shown).map(|row| if is_all { row.clone() } else { cut(row) });
        let rows: Vec<OptionRow> = rows.collect();
        lines.extend(table(&rows, room));
        if rows.len() < self.rows.len() {
            lines.push(String::new());
            lines.push("`:Flemma status all` also shows the options at their defaults".to_owned());
        }
        lines.iter().flat_map(|line| wrap(line, room)).collect()
    }
}

/// Options in columns, or as a list where these would be too narrow.
fn table(rows: &[OptionRow], room: usize) -> Vec<String> {
    let width = |pick: fn(&OptionRow) -> &str| rows.iter().map(|row| pick(row).width()).max().unwrap_or_default();
    let (names, longest) = (width(|row| &row.name), width(|row| &row.value));
    let values = longest.min(room.saturating_sub(names + width(|row| row.layer.name()) + 2 * GAP));
    if values >= longest.min(VALUE) {
        return rows.iter().flat_map(|row| row.cells(names, values)).collect();
    }
    rows.iter().map(|OptionRow { name, value, layer }| format!("{name}: {value} ({})", layer.name())).collect()
}

/// The most calls that the short page shows, and the most characters of a value.
const MOST_CALLS: usize = 6;
const MOST_VALUE: usize = 160;

impl OptionRow {
    /// Its lines in a table whose columns have these widths. A value that is too long takes several lines.
    fn cells(&self, names: usize, values: usize) -> Vec<String> {
        let mut first = Some((self.name.as_str(), self.layer.name()));
        let pieces = wrap_with(&self.value, values.max(1), "").into_iter();
        pieces
            .map(|piece| {
                let (name, layer) = first.take().unwrap_or_default();
                let line = format!("{}{:GAP$}{}{:GAP$}{layer}", padded(name, names), "", padded(&piece, values), "");
                line.trim_end().to_owned()
            })
            .collect()
    }
}

/// A text with blanks up to a width in cells.
fn padded(text: &str, width: usize) -> String {
    format!("{text}{:1$}", "", width.saturating_sub(text.width()))
}

/// The blanks between two columns.
const GAP: usize = 2;

/// How wide the column of values is at least, in cells, if one of them needs it. Where there is less room, there is no table.
const VALUE: usize = 40;

fn rows(this: &Views, conversation: &Conversation, file: &Effective) -> Vec<OptionRow> {
    let config = serde_json::to_value(&*file.config).unwrap_or_default();
    let [setup, runtime] = this.shared.options.layers();
    let layers = Config::settled(&[setup, runtime, file.file.layer.clone()]);
    let layer = |pointer: &str| who(&layers, pointer);
    let mut rows = Vec::new();
    for (table, value) in SHOWN.iter().filter_map(|table| Some((*table, config.get(table)?))) {
        for (keys, value) in leaves(value) {
            let keys: Vec<&str> = [table].into_iter().chain(keys).collect();
            let (name, layer) = (keys.join("."), layer(&format!("/{}", keys.join("/"))));
            let name = name.strip_prefix("parameters.").unwrap_or(&name).to_owned();
            // What nobody has set, and what is shown below in other words.
            let is_nested = name.contains('.') && table == "parameters";
            let unset = value.is_null() || (layer == OptionLayer::Default && is_nested);
            if name == "model" {
                rows.push(OptionRow { name, value: file.config.model().to_owned(), layer });
            } else if !unset && name != "tools.auto_approve" {
                let value = shown(&name, &plain(value)).into_owned();
                rows.push(OptionRow { name, value, layer });
            }
        }
    }
    if let Some(folder) = this.permissions.runs_elsewhere(&this.shared.place(conversation), SHELL_TOOL) {
        let (name, layer) = ("tools.bash.cwd".to_owned(), layer("/tools/bash/cwd"));
        rows.retain(|row: &OptionRow| row.name != name);
        rows.push(OptionRow { name, value: format!("{}, not the file's folder", folder.display()), layer });
    }
    rows.extend(agents(this, conversation, file, layer("/agent")));
    rows.extend(lists(this, conversation, file, &layers[0]));
    rows
}

/// The agents of a conversation, with what they permit. `layer` has set the one that counts for the options.
fn agents(this: &Views, conversation: &Conversation, file: &Effective, layer: OptionLayer) -> Vec<OptionRow> {
    let own = this.shared.config().agent.clone();
    let place = this.shared.place(conversation);
    let permitted = this.permissions.agents_at(file, &place).permitted();
    let permitted = this.shared.wait_for_disk(&place.folder(), move || permitted.looked_up());
    let views: Vec<_> = permitted.iter().flat_map(Permitted::describe).collect();
    let mut names: Vec<&str> = own.as_deref().into_iter().chain(file.config.agent.as_deref()).collect();
    names.extend(views.iter().map(|view| view.agent));
    let mut rows: Vec<OptionRow> = Vec::new();
    for name in names {
        let value = match views.iter().find(|view| view.agent == name) {
            Some(view) => format!("{name}: {}", permits(view)),
            None if permitted.is_err() => format!("{name}: the file system does not answer"),
            None => format!("{name}: restricts nothing"),
        };
        let layer = match own.as_deref() == Some(name) {
            true if layer == OptionLayer::Runtime => OptionLayer::Runtime,
            true => OptionLayer::Setup,
            false => OptionLayer::File,
        };
        if rows.iter().all(|row| row.value != value) {
            rows.push(OptionRow { name: "agent".into(), value, layer });
        }
    }
    rows
}

/// What an agent permits, as a user reads it.
fn permits(view: &PermittedView<'_>) -> String {
    let list = |list: &Option<Vec<String>>, all: &str| match list.as_deref() {
        None => all.to_owned(),
        Some([]) => "nothing".to_owned(),
        Some(list) => list.join(", "),
    };
    let (read, write) = (list(&view.read, "everything"), list(&view.write, "the same"));
    let unchecked = match view.unchecked_tools {
        [] => String::new(),
        tools => format!("; unchecked: {}", tools.join(", ")),
    };
    format!("reads {read}; writes {write}{unchecked}")
}

/// The highest of these layers that says something of an option. One that takes back what those below say leaves the
/// default.
fn who(layers: &[Value], pointer: &str) -> OptionLayer {
    let mut said = layers.iter().zip([OptionLayer::Setup, OptionLayer::Runtime, OptionLayer::File]).rev();
    let found = said.find_map(|(layer, who)| Some((layer.pointer(pointer)?, who)));
    found.filter(|(value, _)| !value.is_null()).map_or(OptionLayer::Default, |(_, who)| who)
}

/// What is on offer, and what runs without asking.
fn lists(this: &Views, conversation: &Conversation, file: &Effective, setup: &Value) -> [OptionRow; 2] {
    let toolbox = &this.shared.toolbox;
    let turn = this.frontmatter.turn_tools(conversation, file);
    let chosen = toolbox.chosen(file, &turn);
    let offered_by = if file.tools.is_some() { OptionLayer::File } else { OptionLayer::Default };
    let not_offered = this.not_offered(file, chosen.as_ref());
    let offered = toolbox.names(chosen.as_ref()).into_iter().map(|name| {
        match not_offered.iter().find(|(tool, _)| *tool == name) {
            Some((_, why)) => format!("{name} (not offered: {why})"),
            None => name,
        }
    });
    let offered: Vec<String> = offered.collect();
    let is_function = this.shared.options.is_policy_function.get();
    let own = setup.pointer("/tools/auto_approve").is_some() || is_function;
    let (approve, approve_by) = match &file.file.auto_approve {
        _ if file.fault.is_none() && matches!(file.policy, Some(BufferPolicy::Function(_))) => {
            ("a function".to_owned(), OptionLayer::File)
        }
        Some(list) => {
            let removed = list.removed().iter().map(|name| format!("without {name}"));
            (list.items().iter().cloned().chain(removed).collect::<Vec<_>>().join(", "), OptionLayer::File)
        }
        None if is_function => ("a function".to_owned(), OptionLayer::Setup),
        None => {
            (file.config.tools.auto_approve.join(", "), if own { OptionLayer::Setup } else { OptionLayer::Default })
        }
    };
    [
        OptionRow { name: "tools.auto_approve".into(), value: approve, layer: approve_by },
        OptionRow { name: "tools".into(), value: offered.join(", "), layer: offered_by },
    ]
}

/// A value as the user would write it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().filter(|float| float.fract() == 0.0).map_or_else(
            || number.to_string(),
            // Seconds are kept as fractions.
            |float| format!("{float:.0}"),
        ),
        other => other.to_string(),
    }
}
