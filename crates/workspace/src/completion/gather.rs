//! Finds out what is wanted at the cursor, and collects it.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{
    Conversation,
    approval::chain,
    completion::{
        Completion, Item, ItemKind,
        options::{Sources, Syntax, group_item, tool_items},
        spot,
    },
    components::Completions,
};
use flemma_chat::{AtWord, BEGINNINGS, Completable, Document, EditorSubject, Speaker, decoded_name, reference_name};
use flemma_provider::ProviderName;
use flemma_runtime::{FolderEntries, FolderQuery};
use flemma_text::truncate::format_size;

/// The most files of a folder that are offered at once.
pub const MAX_FILES: usize = 500;

/// The most files that are offered by their names alone, among names of tools.
pub const MAX_NAMED: usize = 50;

/// What the beginnings of a reference mean.
const STARTS: [(&str, &str); 4] = [
    ("./", "the conversation's folder"),
    ("../", "the folder above it"),
    ("~/", "your home folder"),
    ("//", "the root of the file system"),
];

/// Takes what can be completed; `None` where nothing can.
type Then = Box<dyn FnOnce(&Completions, Option<Completion>) + Send>;

impl Completions {
    /// What can be put at byte `column` of a line: of the conversation, or of a message that is being written for later, of which `draft`
    /// are the lines. `then` gets it: at once, or, where a folder has to be read, when that is done. `None` where nothing can be
    /// completed.
    pub fn complete(
        &self,
        conversation: &Conversation,
        draft: Option<Vec<String>>,
        line: usize,
        column: usize,
        then: impl FnOnce(&Self, Option<Completion>) + Send + 'static,
    ) {
        let then: Then = Box::new(then);
        let found = match draft {
            Some(draft) => completable_in_draft(draft, line, column),
            // While the rest is parsed, nothing is known of the frontmatter's end.
            None if conversation.is_busy() || !conversation.page.is_complete.get() => None,
            None => conversation.page.with_parsed(|document, text| Completable::at(document, line, column, text)),
        };
        let found = match found {
            None => None,
            Some(Completable::Code { language, before, after }) => {
                self.complete_code(&language, &before, &after, column)
            }
            Some(Completable::Word(word)) => {
                let word = path_of_subject(&word).unwrap_or(word);
                if let Some(path) = folder_of(&word.typed).filter(|_| word.may_be_file) {
                    return self.complete_file(conversation, &word, path, column, then);
                }
                let found = self.complete_word(&word, column);
                if word.may_be_file && !word.typed.is_empty() && !word.typed.starts_with(['{', '/', '~', '.']) {
                    return self.complete_name(conversation, &word, found, then);
                }
                Some(found)
            }
        };
        then(self, found.filter(|found| !found.items.is_empty()));
    }

    fn complete_word(&self, word: &AtWord, column: usize) -> Completion {
        let mut items = Vec::new();
        if word.may_be_role {
            let sign = if word.has_sign { "" } else { "@" };
            items.extend(Speaker::ALL.iter().map(|speaker| {
                let says = match speaker {
                    Speaker::System => "The instructions for the model.",
                    Speaker::You => "What you write, and the results of tools.",
                    Speaker::Assistant => "What the model writes.",
                };
                let name = format!("{sign}{}:", speaker.as_str());
                Item::new(ItemKind::Role, name).documentation(says)
            }));
        }
        let braced = word.typed.strip_prefix('{');
        if word.may_be_file && braced.is_none() {
            items.extend(STARTS.iter().map(|(start, of)| {
                let text = format!("A file in {of}: `@{start}path`.\n\n`:help flemma-reference`");
                Item::new(ItemKind::Folder, *start).detail(*of).documentation(text)
            }));
        }
        if word.may_be_tool && braced.is_none() {
            items.extend(EditorSubject::ALL.map(subject_item));
        }
        if word.may_be_tool {
            let registry = self.shared.toolbox.registry();
            let mut tools = tool_items(registry.nameable().map(|(tool, is_enabled)| (&**tool, is_enabled)));
            let is_subject = |item: &&mut Item| EditorSubject::from_name(&item.word).is_some();
            for item in tools.iter_mut().filter(is_subject).filter(|_| braced.is_none()) {
                // Without braces it would be the reference.
                item.word = format!("{{{}}}", item.word);
            }
            items.extend(tools);
            items.extend(registry.groups().map(|group| group_item(group, &group.name)));
        }
        if braced.is_some() && !word.rest.contains('}') {
            items.iter_mut().for_each(|item| item.word.push('}'));
        }
        let start = word.start + usize::from(braced.is_some());
        let end = word.rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_-:".contains(c)).unwrap_or(word.rest.len());
        Completion { range: start..column + end, items, is_incomplete: false }
    }

    fn complete_file(&self, conversation: &Conversation, word: &AtWord, path: (&str, &str), column: usize, then: Then) {
        let (folder, typed) = path;
        // `@/` is not the beginning of a reference yet.
        let lead = if folder == "/" { "//" } else { "" };
        let start = if lead.is_empty() { column - typed.len() } else { word.start };
        let end = column + word.rest.find('/').unwrap_or(word.rest.len());
        let Some(path) = path_of(folder) else { return then(self, None) };
        let is_followed = word.rest.contains('/');
        self.list(conversation, &path, typed, MAX_FILES, move |this, found| {
            let is_incomplete = found.has_more;
            let items = items_of(found, lead, is_followed);
            let is_empty = items.is_empty() && !is_incomplete;
            then(this, (!is_empty).then_some(Completion { range: start..end, items, is_incomplete }));
        });
    }

    /// Offers files for a word that is the beginning of their names or paths without `./`, among `others`.
    fn complete_name(&self, conversation: &Conversation, word: &AtWord, mut others: Completion, then: Then) {
        let (folder, typed) = word.typed.split_at(word.typed.rfind('/').map_or(0, |at| at + 1));
        let (lead, path) = (format!("./{folder}"), PathBuf::from(decoded_name(folder)));
        let is_followed = word.rest.contains('/');
        let whole = word.typed.clone();
        self.list(conversation, &path, typed, MAX_NAMED, move |this, found| {
            others.is_incomplete |= found.has_more;
            let files = items_of(found, &lead, is_followed);
            // A role that fits comes first, and then files: every tool is offered to the model anyway.
            let at = others.items.iter().take_while(|item| item.kind == ItemKind::Role).count();
            let roles = &others.items[..at];
            let at = if roles.iter().any(|item| item.word.starts_with(&whole)) { at } else { 0 };
            others.items.splice(at..at, files);
            then(this, (!others.items.is_empty()).then_some(others));
        });
    }

    /// Lists the entries of a folder that begin with what was typed, away from the main thread.
    fn list(
        &self,
        conversation: &Conversation,
        folder: &Path,
        typed: &str,
        most: usize,
        answer: impl FnOnce(&Self, FolderEntries) + Send + 'static,
    ) {
        let query = FolderQuery {
            folder: self.shared.place(conversation).folder().join(folder),
            prefix: decoded_name(typed),
            denied: self.permissions.denied(conversation).into(),
            agents: self.permissions.agents_of(conversation),
            most,
        };
        let mailbox = self.background.mailbox.clone();
        let then = move |found: io::Result<FolderEntries>| {
            let found = found.unwrap_or_default();
            mailbox.job(move |this: &Self| answer(this, found));
        };
        let folders = self.folders.clone();
        if folders.ask(query, then) {
            let worker = folders.clone();
            if self.background.worker.spawn_blocking(move || worker.work()).is_err() {
                folders.give_up();
            }
        }
    }

    fn complete_code(&self, language: &str, before: &str, after: &str, column: usize) -> Option<Completion> {
        let (syntax, spot) = match language {
            "lua" => (Syntax::Lua, spot::in_lua(before)?),
            "json" => (Syntax::Json, spot::in_json(before)?),
            _ => return None,
        };
        let config = self.shared.config();
        let (tools, groups) = (self.shared.toolbox.all(), self.shared.toolbox.groups());
        let sources = Sources {
            config: serde_json::to_value(&*config).unwrap_or_default(),
            provider: provider_in(before).unwrap_or(config.provider),
            tools: tools.iter().map(|(tool, is_enabled)| (&**tool, *is_enabled)).collect(),
            groups: &groups,
            presets: chain::presets(&config),
        };
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || spot.is_quoted && "-$.".contains(c);
        let rest = after.find(|c| !is_part(c)).unwrap_or(after.len());
        let range = column.checked_sub(spot.typed)?..column + rest;
        Some(Completion { range, items: sources.items(&spot, syntax), is_incomplete: false })
    }
}

/// What can be completed in a message that is being written.
fn completable_in_draft(draft: Vec<String>, line: usize, column: usize) -> Option<Completable> {
    // It becomes a message of the user's.
    let text: Vec<String> = std::iter::once(Speaker::You.to_string()).chain(draft).collect();
    match Completable::at(&Document::parse(&text), line + 1, column, &text)? {
        Completable::Word(word) if word.has_sign => Some(Completable::Word(AtWord { may_be_role: false, ..word })),
        Completable::Word(_) | Completable::Code { .. } => None,
    }
}

/// What is offered for a reference to what the editor shows.
fn subject_item(subject: EditorSubject) -> Item {
    let (detail, says) = match subject {
        EditorSubject::Buffer => {
            ("text of the buffer", "The text of the file that you came from, as it is in the editor.")
        }
        EditorSubject::Diagnostics => ("its diagnostics", "The diagnostics of the file that you came from."),
        EditorSubject::Diff => ("git diff", "What `git diff` says of the working tree."),
        EditorSubject::Quickfix => ("quickfix list", "The quickfix list."),
        EditorSubject::Symbol => ("at the cursor", "The function, or whatever else has a name, around the cursor."),
    };
    let text = format!("{says} `@{subject}:./path` is about another file.\n\n`:help flemma-editor-reference`");
    Item::new(ItemKind::Reference, subject.as_str()).detail(detail).documentation(text)
}

/// The path behind `@diagnostics:`, as a word of its own; `None` if the word does not begin like that.
fn path_of_subject(word: &AtWord) -> Option<AtWord> {
    let (name, path) = word.typed.split_once(':').filter(|_| word.may_be_tool)?;
    EditorSubject::from_name(name)?;
    Some(AtWord {
        start: word.start + name.len() + 1,
        typed: path.to_owned(),
        may_be_role: false,
        may_be_tool: false,
        ..word.clone()
    })
}

/// The folder and the beginning of the name in what was typed of a reference; `None` if it is no path yet.
fn folder_of(typed: &str) -> Option<(&str, &str)> {
    let is_path = typed == "/" || BEGINNINGS.iter().any(|beginning| typed.starts_with(beginning));
    let at = typed.rfind('/').filter(|_| is_path)? + 1;
    Some(typed.split_at(at))
}

/// The folder that a part of a reference means, relative to the conversation's.
fn path_of(written: &str) -> Option<PathBuf> {
    let folder = decoded_name(written);
    match folder.strip_prefix("~/") {
        Some(rest) => Some(std::env::home_dir()?.join(rest)),
        None if folder.starts_with("//") => Some(folder[1..].into()),
        None => Some(folder.into()),
    }
}

/// The entries of a folder as they are written in a reference. `lead` stands before each name, and is not shown. A folder gets a slash, unless one
/// follows.
fn items_of(found: FolderEntries, lead: &str, is_followed: bool) -> Vec<Item> {
    let items = found.entries.into_iter().filter_map(|entry| {
        let written = reference_name(&entry.name)?;
        let mut about = match entry.size {
            Some(size) if !entry.is_folder => format_size(size),
            _ => String::new(),
        };
        if entry.is_ignored {
            about.push_str(if about.is_empty() { "ignored" } else { ", ignored" });
        }
        let (kind, slash) = if entry.is_folder { (ItemKind::Folder, "/") } else { (ItemKind::File, "") };
        let shown = if is_followed { "" } else { slash };
        Some(Item {
            kind,
            word: format!("{lead}{written}{shown}"),
            label: format!("{}{slash}", entry.name),
            documentation: String::new(),
            detail: about,
        })
    });
    items.collect()
}

/// The provider that the code before the cursor names: `provider = "openai"` or `"provider": "openai"`.
fn provider_in(code: &str) -> Option<ProviderName> {
    code.rmatch_indices("provider").find_map(|(at, word)| {
        let rest = code[at + word.len()..].trim_start_matches(['"', ']', '\'']).trim_start();
        let value = rest.strip_prefix(['=', ':'])?.trim_start().strip_prefix(['"', '\''])?;
        ProviderName::from_name(&value[..value.find(['"', '\''])?])
    })
}
