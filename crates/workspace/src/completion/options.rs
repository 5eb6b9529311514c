//! What belongs at a place in frontmatter: options, their values, and the entries of lists.

use std::time::SystemTime;

use serde_json::Value;

use crate::completion::{
    Item, ItemKind,
    spot::{Slot, Spot, is_list},
};
use flemma_config::{
    Node, OptionDocumentation,
    buffer::{self, AUTO_APPROVE, AUTOPILOT, OPERATIONS, TOOLS},
};
use flemma_provider::{ProviderName, catalogue, usage::figures};
use flemma_tools::{Definition, Group, Presets};

/// The language of frontmatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    Lua,
    Json,
}

/// The methods of a list in Lua.
const METHODS: [(&str, &str); 5] = [
    ("append", "Adds names at the end of the list."),
    ("prepend", "Adds names at the beginning of the list."),
    ("remove", "Removes names from the list."),
    ("set", "Assigns a list."),
    ("get", "Returns the names as a plain list."),
];

/// What the items of frontmatter are made of.
pub(crate) struct Sources<'a> {
    /// The options that would hold without the file, as a [`Config`](flemma_config::Config) serialises.
    pub(crate) config: Value,
    /// The provider that the file talks to.
    pub(crate) provider: ProviderName,
    /// The tools, each with whether it is offered without the file.
    pub(crate) tools: Vec<(&'a Definition, bool)>,
    /// The groups of tools.
    pub(crate) groups: &'a [Group],
    /// The presets of approvals.
    pub(crate) presets: Presets,
}

impl Sources<'_> {
    /// What belongs at a place.
    pub(crate) fn items(&self, spot: &Spot, syntax: Syntax) -> Vec<Item> {
        let quoted = |items: Vec<Item>| if spot.is_quoted { items } else { items.into_iter().map(in_quotes).collect() };
        match &spot.slot {
            Slot::Root => vec![root("flemma.opt")],
            Slot::Opt => vec![root("opt")],
            Slot::Method => METHODS
                .iter()
                .map(|(name, text)| Item::new(ItemKind::Operation, *name).documentation(help(text, "flemma-opt-lists")))
                .collect(),
            Slot::Name(table) => {
                let names = self.options(table, syntax);
                if syntax == Syntax::Json { quoted(names) } else { names }
            }
            Slot::Value(path) => {
                let mut items = if spot.is_quoted { Vec::new() } else { words(path) };
                items.extend(quoted(self.strings(path)));
                items
            }
        }
    }

    /// The options of a table, and in JSON the operations on a list.
    fn options(&self, table: &str, syntax: Syntax) -> Vec<Item> {
        let known = buffer::known();
        let names = known.iter().filter_map(|(path, node)| {
            let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
            (parent == table).then(|| self.option(path, name, *node))
        });
        let mut items: Vec<Item> = names.collect();
        if syntax == Syntax::Json && is_list(table) {
            items.extend(METHODS.iter().filter(|(name, _)| OPERATIONS.contains(name)).map(|(name, text)| {
                Item::new(ItemKind::Operation, *name).documentation(help(text, "flemma-opt-json"))
            }));
        }
        items
    }

    fn option(&self, path: &str, name: &str, node: Node) -> Item {
        let kind = if node == Node::Table { ItemKind::Table } else { ItemKind::Option };
        let item = Item::new(kind, name);
        let Some(documentation) = buffer::documentation(path) else { return item };
        let (detail, text) = self.describe(path, node, documentation);
        item.detail(detail).documentation(text)
    }

    /// The type of an option, and its documentation: what it does, what it is now, and where the help has more.
    fn describe(&self, path: &str, node: Node, documentation: OptionDocumentation) -> (String, String) {
        let takes = match node {
            Node::Table => String::new(),
            Node::Value | Node::List => documentation.takes.to_owned(),
        };
        let full = buffer::config_path(path);
        let now = match node {
            Node::Value => self.config.pointer(&format!("/{}", full.replace('.', "/"))),
            Node::Table | Node::List => None,
        };
        let mut text = sentence(documentation.text);
        if !takes.is_empty() {
            text = format!("`{takes}`\n\n{text}");
        }
        if let Some(now) = now.filter(|now| !now.is_null()) {
            text.push_str(&format!("\n\nWithout this file: `{now}`"));
        }
        let tag = if path == TOOLS { "flemma-opt-lists".to_owned() } else { format!("flemma-option-{full}") };
        (takes, help(&text, &tag))
    }

    /// The strings that an option takes, or a list has.
    fn strings(&self, path: &str) -> Vec<Item> {
        match path {
            "model" => models(self.provider).collect(),
            "agent" => {
                let agents = self.config["agents"].as_object().into_iter().flatten();
                agents.map(|(name, agent)| agent_item(name, agent)).collect()
            }
            TOOLS => {
                let groups = self.groups.iter().map(|group| group_item(group, &format!("${}", group.name)));
                tool_items(self.tools.iter().copied()).into_iter().chain(groups).collect()
            }
            AUTO_APPROVE => {
                let presets = self.presets.names().filter_map(|name| {
                    let preset = self.presets.get(name)?;
                    let list = |what: &str, names: &[String]| {
                        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                        (!names.is_empty()).then(|| format!("{what} {}.", names.join(", ")))
                    };
                    let says = [list("Approves", &preset.approve), list("Denies", &preset.deny)];
                    let text = says.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
                    Some(Item::new(ItemKind::Preset, name).documentation(text))
                });
                presets.chain(tool_items(self.tools.iter().copied())).collect()
            }
            _ => {
                let words = buffer::documentation(path).map(|option| option.strings()).into_iter().flatten();
                words.map(|word| Item::new(ItemKind::Value, word)).collect()
            }
        }
    }
}

/// `flemma.opt`, with as much before it as is missing.
fn root(word: &str) -> Item {
    Item::new(ItemKind::Table, word).documentation(help("The options of this conversation.", "flemma-opt"))
}

/// The words without quotes that an option takes.
fn words(path: &str) -> Vec<Item> {
    let words: Vec<&str> = match path {
        AUTOPILOT => vec!["true", "false"],
        _ => buffer::documentation(path).map(|option| option.words().collect()).unwrap_or_default(),
    };
    words.into_iter().map(|word| Item::new(ItemKind::Value, word)).collect()
}

/// The models of a provider that are known, the newest first.
pub(crate) fn models(provider: ProviderName) -> impl Iterator<Item = Item> {
    let now = SystemTime::now();
    provider.models().into_iter().flatten().map(move |name| {
        let item = Item::new(ItemKind::Model, *name).detail(provider.name());
        let Some(model) = catalogue::find(provider.name(), name) else { return item };
        let price = model.price(now);
        let mut lines = vec![format!(
            "{} of {}: {} for a million tokens that are read, {} for those that are written.",
            name,
            provider.name(),
            figures::dollars(price.input),
            figures::dollars(price.output)
        )];
        let most =
            |what: &str, count: Option<u64>| count.map(|count| format!("{what}: {} tokens.", figures::tokens(count)));
        lines.extend(most("Context", model.context));
        lines.extend(most("Longest reply", model.max_output));
        if !model.takes.is_empty() {
            let takes: Vec<_> = model.takes.iter().map(|takes| takes.word()).collect();
            lines.push(format!("Supports {}.", takes.join(", ")));
        }
        item.documentation(lines.join("\n\n"))
    })
}

/// An agent by its name, with what it lets tools do.
fn agent_item(name: &str, agent: &Value) -> Item {
    let list = |key: &str| {
        let paths: Vec<_> =
            agent[key].as_array()?.iter().filter_map(|path| Some(format!("`{}`", path.as_str()?))).collect();
        Some(if paths.is_empty() { "nothing".to_owned() } else { paths.join(", ") })
    };
    let rule = |what: &str, key: &str| list(key).map(|paths| format!("Tools {what} {paths}."));
    let rules = [rule("read", "allowed_read_paths"), rule("write", "allowed_write_paths")];
    let text = rules.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    Item::new(ItemKind::Value, name).detail("agent").documentation(help(&text, "flemma-agents"))
}

/// Tools by their names, those that are enabled first.
pub(crate) fn tool_items<'a>(tools: impl IntoIterator<Item = (&'a Definition, bool)>) -> Vec<Item> {
    let mut tools: Vec<_> = tools.into_iter().collect();
    tools.sort_by_key(|(_, is_enabled)| !is_enabled);
    let item = |(tool, is_enabled): (&Definition, bool)| {
        let detail = if is_enabled { "" } else { "off by default" };
        Item::new(ItemKind::Tool, tool.name.as_str()).detail(detail).documentation(tool.description.as_str())
    };
    tools.into_iter().map(item).collect()
}

/// A group of tools by this name.
pub(crate) fn group_item(group: &Group, name: &str) -> Item {
    let tools: Vec<_> = group.tools.iter().map(|tool| format!("`{tool}`")).collect();
    let mut text = group.description.clone().unwrap_or_default();
    if !tools.is_empty() {
        text.push_str(&format!("{}Tools: {}.", if text.is_empty() { "" } else { "\n\n" }, tools.join(", ")));
    }
    Item::new(ItemKind::Group, name).documentation(text)
}

/// The item as a string.
fn in_quotes(item: Item) -> Item {
    Item { word: Value::from(item.word.as_str()).to_string(), ..item }
}

/// The text, and the tag of the help that has more.
fn help(text: &str, tag: &str) -> String {
    format!("{text}\n\n`:help {tag}`")
}

/// A description of a few words as a sentence.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}
