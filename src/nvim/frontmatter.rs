//! What a buffer's frontmatter comes to.
//!
//! It is evaluated when a request, a decision about a call or a status view needs it, and again only when the text, the
//! options or the tools have changed since. Lua is run in the limits of `lua/flemma/frontmatter.lua`, JSON is read, any other
//! language goes to the parser that was registered for it. Code that the user has not trusted is not run, and a policy that
//! they have not trusted does not count: then, as with a mistake, the conversation has a fault, which keeps it from
//! being sent and its tools from running.

use std::{collections::BTreeSet, rc::Rc};

use serde_json::Value;

use super::{
    approvals::{self, Asking},
    conversation::Conversation,
    convert,
    editor::Editor,
    opt::Session,
};
use crate::{
    chat::{Diagnostic, Document, Severity, Text},
    config::{
        Config, FileOptions,
        buffer::{AUTO_APPROVE, BufferOptions, Check, Defaults, TOOLS},
    },
    text::suggest::nearest,
    tools::{
        Policy,
        approval::{BufferPolicy, Decision},
        presets,
        rules::Rule,
    },
};

/// What holds for one conversation.
pub(super) struct Effective {
    /// The options, the file's included.
    pub(super) config: Rc<Config>,
    /// The tools on offer, where the file says.
    pub(super) tools: Option<BTreeSet<String>>,
    /// What the file says of approval.
    pub(super) policy: Option<BufferPolicy>,
    /// What the file has set, to show it.
    pub(super) file: FileOptions,
    /// Whether the file decides on approval with a function.
    pub(super) decides: bool,
    /// Why the file does not count.
    pub(super) fault: Option<Fault>,
}

/// Why a file's frontmatter does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The line, from 0.
    line: usize,
    message: String,
    /// Whether all that it lacks is the user's trust.
    pub(super) untrusted: bool,
}

impl Fault {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into(), untrusted: false }
    }

    /// The fault as it is shown in the buffer.
    pub(super) fn diagnostic(&self) -> Diagnostic {
        Diagnostic { line: self.line, severity: Severity::Error, message: self.message.clone() }
    }
}

/// What an evaluation depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Basis {
    source: Option<Source>,
    trusted: bool,
    generation: u64,
}

/// Frontmatter as it stands in the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The language, as the fence names it.
    pub(super) language: String,
    /// What stands between the fences.
    pub(super) code: String,
}

impl Source {
    /// The lines between the fences.
    pub(super) fn lines(&self) -> std::ops::Range<usize> {
        1..1 + self.code.lines().count()
    }
}

/// The frontmatter of a conversation, if it has any that is complete.
pub(super) fn source(conversation: &Conversation) -> Option<Source> {
    conversation.with_document(|document, text| source_in(document, text))
}

/// The frontmatter of a document, if it has any that is complete.
pub(super) fn source_in(document: &Document, text: &dyn Text) -> Option<Source> {
    let matter = document.frontmatter().filter(|matter| matter.closed)?;
    let mut code = String::new();
    text.read(1..matter.lines - 1, &mut |line: &str| {
        code.push_str(line);
        code.push('\n');
    });
    Some(Source { language: matter.language.clone(), code })
}

/// What holds for a conversation now.
pub(super) fn effective(editor: &Editor, conversation: &Conversation) -> Rc<Effective> {
    let source = source(conversation);
    let trusted = source.as_ref().is_none_or(|source| conversation.trusts(editor, source));
    let basis = Basis { source, trusted, generation: editor.generation() };
    if let Some((known, effective)) = &*conversation.effective.borrow()
        && *known == basis
    {
        return Rc::clone(effective);
    }
    let effective = Rc::new(evaluate(editor, conversation, basis.source.as_ref(), trusted));
    *conversation.effective.borrow_mut() = Some((basis, Rc::clone(&effective)));
    effective
}

fn evaluate(editor: &Editor, conversation: &Conversation, source: Option<&Source>, trusted: bool) -> Effective {
    let nothing = |fault: Option<Fault>| Effective {
        config: editor.config(),
        tools: None,
        // A policy that cannot be read may have been a strict one.
        policy: fault.as_ref().map(|_| BufferPolicy::Function(Rc::new(|_| Ok(Some(Decision::RequireApproval))))),
        file: FileOptions::default(),
        decides: false,
        fault,
    };
    let Some(source) = source else { return nothing(None) };
    match read(editor, conversation, source, trusted) {
        Err(fault) => nothing(Some(fault)),
        Ok((file, function)) => match editor.config_with(&file.layer) {
            Err(problem) => nothing(Some(Fault::new(0, format!("the frontmatter: {problem}")))),
            Ok(config) => {
                let decides = function.is_some();
                let policy = match (function, &file.auto_approve) {
                    (Some(function), _) => {
                        let label = "the function flemma.opt.tools.auto_approve".to_owned();
                        let find = move |_: &mlua::Lua| Ok(function.clone());
                        let decide = approvals::own_word(&editor.lua, &editor.host, label, Asking::Guarded, find);
                        Some(BufferPolicy::Function(decide))
                    }
                    (None, Some(list)) => {
                        let (presets, _) = approvals::presets(&config);
                        Some(BufferPolicy::List(Policy::new(list.items(), list.removed(), &presets)))
                    }
                    (None, None) => None,
                };
                let tools = file.tools.as_ref().map(|list| list.items().iter().cloned().collect());
                Effective { config: Rc::new(config), tools, policy, file, decides, fault: None }
            }
        },
    }
}

/// What the text says: the options, and `tools.auto_approve` where that is a function.
fn read(
    editor: &Editor,
    conversation: &Conversation,
    source: &Source,
    trusted: bool,
) -> Result<(FileOptions, Option<mlua::Function>), Fault> {
    if let Some(parsed) = editor.host.parse(conversation.buffer, &source.language, &source.code) {
        let value = parsed.and_then(|value| convert::to_json(&editor.lua, value)).map_err(|error| {
            Fault::new(0, format!("the {} frontmatter: {}", source.language, convert::words(&error)))
        })?;
        return data(editor, &value, trusted).map(|file| (file, None));
    }
    match source.language.as_str() {
        "lua" if !trusted => Err(untrusted("Lua")),
        "lua" => lua(editor, &source.code),
        "json" => {
            let value = serde_json::from_str(&source.code)
                .map_err(|error| Fault::new(error.line(), format!("the JSON frontmatter: {error}")))?;
            data(editor, &value, trusted).map(|file| (file, None))
        }
        "" => Err(Fault::new(0, "the frontmatter names no language; write lua or json behind the fence")),
        other => {
            let mut known = editor.host.languages();
            known.extend(["json".to_owned(), "lua".to_owned()]);
            let meant = nearest(other, known.iter().map(String::as_str));
            let meant = meant.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let mend = "register one with require(\"flemma.codeblock.parsers\").register";
            Err(Fault::new(0, format!("there is no parser for frontmatter in `{other}`{meant} ({mend})")))
        }
    }
}

fn untrusted(what: &str) -> Fault {
    let message = format!("the {what} in this file was not written here and is not trusted yet; Ctrl-] asks about it");
    Fault { untrusted: true, ..Fault::new(0, message) }
}

/// Options that are no code. What they say of tools counts only where it is trusted.
fn data(editor: &Editor, value: &Value, trusted: bool) -> Result<FileOptions, Fault> {
    let Value::Object(entries) = value else {
        return Err(Fault::new(0, format!("the frontmatter must be a table of options, not {value}")));
    };
    let mut options = BufferOptions::new(defaults(editor), "", check(editor));
    for (key, value) in entries {
        options.set(key, value).map_err(|problem| Fault::new(0, format!("the frontmatter: {problem}")))?;
    }
    let file = options.finish();
    if file.concerns_tools() && !trusted {
        return Err(untrusted("policy for tools"));
    }
    Ok(file)
}

fn lua(editor: &Editor, code: &str) -> Result<(FileOptions, Option<mlua::Function>), Fault> {
    let internal = |error: mlua::Error| Fault::new(0, format!("the Lua frontmatter: {}", convert::words(&error)));
    let session = Session::new(BufferOptions::new(defaults(editor), "flemma.opt.", check(editor)));
    let table = session.table(&editor.lua).map_err(internal)?;
    // One line above it, for the fence: so that the code's lines have the file's numbers.
    let (ok, problem, line) = editor.host.run_frontmatter(&format!("\n{code}"), table).map_err(internal)?;
    let (options, function) = session.finish();
    match options {
        Some(options) if ok => Ok((options.finish(), function)),
        _ => Err(Fault::new(line.unwrap_or(1).saturating_sub(1), problem.unwrap_or_default())),
    }
}

fn defaults(editor: &Editor) -> Defaults {
    let config = editor.config();
    let tools = editor.registry.borrow().enabled().map(|tool| tool.name.clone()).collect();
    Defaults {
        config: serde_json::to_value(&*config).unwrap_or_default(),
        tools,
        auto_approve: (!editor.decides.get()).then(|| config.tools.auto_approve.clone()),
    }
}

/// Whether the names in lists mean something. Tools that are still loading get the benefit of the doubt.
fn check(editor: &Editor) -> Check {
    let (presets, _) = approvals::presets(&editor.config());
    let tools = editor.sources.borrow().is_ready().then(|| editor.registry.borrow().clone());
    Rc::new(move |path, name| {
        if path == AUTO_APPROVE && presets::is_module(name) {
            return Err(format!("`{name}`: a module belongs into the configuration, not into a file"));
        }
        if path == TOOLS && (name.starts_with('$') || Rule::is_rule(name)) {
            return Err(format!("`{name}` is about approval; here stand the names of tools"));
        }
        presets::check(name, &presets, tools.as_ref())
    })
}
