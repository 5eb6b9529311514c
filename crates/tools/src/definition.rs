//! The definition of a tool: the part that a model sees, and the part that determines how a call is run.
//!
//! A definition is checked once, when it is registered ([`Definition::check`]), so that everything in the registry can be
//! sent to a provider. Its schema is compiled when an input is first checked against it, and then kept.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::Value;
use thiserror::Error;

use super::{
    NativeTool, PathKind, PathParams,
    schema::{self, AnswerMistakes, CompiledSchema},
    schema_errors, seconds,
};
use flemma_config::Retention;
use flemma_model::{ModelError, ToolInput, UserError};
use flemma_provider::ToolSpec;
use flemma_text::suggest::nearest;

/// The longest name that every provider accepts, in characters.
pub(super) const MAX_NAME: usize = 64;

/// A tool.
///
/// Build one with [`Definition::new`] and set what differs from the defaults.
#[derive(Clone, Debug, Default)]
pub struct Definition {
    /// The name that the model calls it by: 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`.
    pub name: String,
    /// What it does, in words for the model. Never empty.
    pub description: String,
    /// JSON Schema of the input, passed to providers unchanged. Its type is `object`.
    pub input_schema: Arc<Value>,
    /// The letter of a Nerd Font that stands for it on a card; `None` for the one of all others.
    pub icon: Option<char>,
    /// Whether to request the provider's strict mode: every property is required, and no others are allowed.
    pub strict: bool,
    /// Whether a call runs asynchronously, so that it can be watched and cancelled.
    pub is_async: bool,
    /// Whether it is offered to models by default.
    pub enabled: bool,
    /// The Lua function that says before each request whether it is offered; `enabled` is true then.
    pub enabled_by: Option<LuaRef>,
    /// What the tool itself declares about approval; only used if no other resolver decides.
    pub approval: Option<DeclaredApproval>,
    /// Whether every call waits for the user's approval: no rule, function or option approves one.
    pub always_asks: bool,
    /// Whether code that is not the user's has registered it under the name of a tool of ours.
    pub takes_name: bool,
    /// Whether the latest lines of its output are shown while it runs.
    pub streaming: bool,
    /// How long a call may take once it may run: until the tool, the editor or the user has answered. `None` for the
    /// default of its executor.
    pub timeout: Option<Duration>,
    /// How long a call waits for approval; `None` for the user's `tools.deadlines.approval`.
    pub approval_timeout: Option<Duration>,
    /// JSON Schema of the answer of the user or of the editor; `None` if any text will do.
    pub result_schema: Option<Arc<Value>>,
    /// Whether running a call twice does no harm.
    pub idempotent: bool,
    /// Which of its results stay whole in requests; `None` for what the user says of all tools.
    pub retention: Option<Retention>,
    /// What the paths in these properties are.
    pub path_kind: PathKind,
    /// The properties of the input that name paths that are read; `None` if the tool does not say.
    pub read_path_param: Option<PathParams>,
    /// The properties of the input that name paths that are written; `None` if the tool does not say.
    pub write_path_param: Option<PathParams>,
    /// Whether it leaves out files that the user denies reading ([`super::Context::denied`]).
    pub leaves_out_denied: bool,
    /// How the tool is described to a model that calls tools in XML, with an example; otherwise that is made from the
    /// description and the schema.
    pub system_prompt: Option<Arc<str>>,
    /// Who answers a call, and what runs it if Flemma does.
    pub executor: Executor,
    /// The Lua function that creates a preview; native tools have their own ([`NativeTool::preview`]).
    pub format_preview: Option<LuaRef>,
    /// The Lua function that words the result of a call that the user rejects.
    pub format_rejection: Option<LuaRef>,
    compiled: OnceLock<Result<CompiledSchema, UserError>>,
    compiled_result: OnceLock<Result<CompiledSchema, UserError>>,
}

/// Who answers a call of a tool, and what runs it if Flemma does.
#[derive(Clone, Debug, Default)]
pub enum Executor {
    /// This process.
    Server(Runner),
    /// The user interface of the editor, on the main thread. Without a function, something else in the editor answers
    /// the call.
    Client(Option<LuaRef>),
    /// The user: their answer is the result.
    #[default]
    Human,
    /// The provider, which runs the tool itself.
    Provider,
}

/// What runs a call of a tool.
#[derive(Clone, Debug)]
pub enum Runner {
    /// Rust code, off the main thread.
    Native(Arc<dyn NativeTool>),
    /// A Lua function, on the main thread.
    Lua(LuaRef),
}

/// A Lua function, identified by its number in the Neovim layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LuaRef(pub u64);

/// What a tool declares about its own approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredApproval {
    /// It is harmless: run it.
    Auto,
    /// It is not harmless: ask.
    RequiresApproval,
    /// What a Lua function says of each call.
    Function(LuaRef),
}

impl DeclaredApproval {
    /// The words for it in a definition, and in what its function returns.
    pub const WORDS: [(&str, Self); 2] = [("auto", Self::Auto), ("requires_approval", Self::RequiresApproval)];

    /// The word for it; `None` for a function.
    pub fn word(self) -> Option<&'static str> {
        Self::WORDS.iter().find(|(_, declared)| *declared == self).map(|(word, _)| *word)
    }
}

/// Why a definition is rejected. The message names the tool, the field and the fix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("tool `{tool}`: `{field}` {problem}")]
pub struct DefinitionError {
    /// The tool's name as given.
    pub tool: String,
    /// The invalid field.
    pub field: String,
    /// What is wrong with it, and what is expected.
    pub problem: String,
}

impl Definition {
    /// A definition with the defaults: enabled, not strict, not asynchronous, nothing declared.
    ///
    /// `input_schema` is JSON Schema of an object. Nothing is checked yet: [`Definition::check`] does that.
    pub fn new(name: &str, description: &str, input_schema: Value, executor: Executor) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: Arc::new(input_schema),
            enabled: true,
            executor,
            ..Self::default()
        }
    }

    /// The path of the file whose content the result of a call is; `None` if it is something else.
    pub fn shown_file(&self, input: &ToolInput) -> Option<String> {
        match (&self.executor, input) {
            (Executor::Server(Runner::Native(tool)), ToolInput::Json(input)) => tool.shown_file(input),
            _ => None,
        }
    }

    /// The tool as a provider sends it to a model.
    pub fn to_spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            description: self.description.clone(),
            input_schema: Arc::clone(&self.input_schema),
            strict: self.strict,
            prompt: self.system_prompt.clone(),
        }
    }

    /// Whether this can be sent to a provider and run.
    ///
    /// # Errors
    /// The first field that is invalid: a name that providers do not accept, a missing description, a schema that is not
    /// a JSON Schema of an object or (with `strict`) does not follow strict mode, a gate or a `result_schema` that does not
    /// go with the executor, an invalid timeout, or a path parameter that is not in the schema.
    pub fn check(&self) -> Result<(), DefinitionError> {
        if !is_name(&self.name) {
            let problem = format!("must be 1 to {MAX_NAME} letters, digits, `_` or `-`: providers accept nothing else");
            return Err(self.wrong("name", problem));
        }
        if self.description.trim().is_empty() {
            let problem = "is empty: say in a sentence what the tool does and when to use it";
            return Err(self.wrong("description", problem));
        }
        if self.input_schema.get("type") != Some(&Value::from("object")) {
            return Err(self.wrong("input_schema", "must be a JSON Schema whose `type` is \"object\""));
        }
        self.compiled().as_ref().map_err(|problem| self.wrong("input_schema", problem))?;
        if self.strict {
            schema::check_strict(&self.input_schema, "").map_err(|problem| self.wrong("input_schema", problem))?;
        }
        let gate = match self.approval {
            Some(DeclaredApproval::RequiresApproval) => Some("\"requires_approval\""),
            Some(DeclaredApproval::Function(_)) => Some("a function"),
            Some(DeclaredApproval::Auto) | None => None,
        };
        if let (Some(gate), Some(why)) = (gate, self.executor.why_ungated()) {
            return Err(self.wrong("approval", format!("cannot be {gate}: {why}")));
        }
        if self.result_schema.is_some() && !self.executor.is_answered() {
            let word = self.executor.as_str();
            let problem = format!("only goes with the executors \"human\" and \"client\", not with \"{word}\"");
            return Err(self.wrong("result_schema", problem));
        }
        self.compiled_result().map_err(|problem| self.wrong("result_schema", problem))?;
        let (longest, longest_wait) = (self.executor.longest(), seconds::LONGEST_WAIT);
        let limits = [("timeout", self.timeout, longest), ("approval_timeout", self.approval_timeout, longest_wait)];
        for (field, limit, longest) in limits {
            let checked = limit.map(|limit| seconds::at_most(longest, limit.as_secs_f64())).transpose();
            checked.map_err(|problem| self.wrong(field, problem))?;
        }
        let params = [("read_path_param", &self.read_path_param), ("write_path_param", &self.write_path_param)];
        for (field, params) in params {
            let mut lacking = params.iter().flat_map(PathParams::iter).filter_map(|param| self.lacks_property(param));
            lacking.next().map_or(Ok(()), |problem| Err(self.wrong(field, problem)))?;
        }
        Ok(())
    }

    fn wrong(&self, field: &str, problem: impl ToString) -> DefinitionError {
        DefinitionError { tool: self.name.clone(), field: field.to_owned(), problem: problem.to_string() }
    }

    /// Whether it says which paths its calls use, or cannot use any by itself: the user or the provider answers it.
    pub fn declares_paths(&self) -> bool {
        self.read_path_param.is_some()
            || self.write_path_param.is_some()
            || matches!(self.executor, Executor::Human | Executor::Provider)
    }

    /// The Lua functions that belong to it.
    pub fn functions(&self) -> impl Iterator<Item = LuaRef> {
        let approval = match self.approval {
            Some(DeclaredApproval::Function(function)) => Some(function),
            _ => None,
        };
        let functions =
            [self.executor.function(), self.enabled_by, self.format_preview, self.format_rejection, approval];
        functions.into_iter().flatten()
    }

    /// Checks what a model sent against the schema, and gives it as the tool gets it.
    ///
    /// A required property that may be null is allowed to be missing: strict mode makes every property required, and
    /// models outside strict mode omit such properties. A number or a boolean may be written as text if that loses nothing, and a
    /// property that may not be null, or that the schema does not know, counts as missing if it is null.
    ///
    /// # Errors
    /// A message for the model: each invalid path with the expected and the actual value, or the position at which the
    /// JSON cannot be parsed.
    pub fn check_input<'a>(&self, input: &'a ToolInput) -> Result<Cow<'a, Value>, ModelError> {
        match (input, self.compiled()) {
            (ToolInput::Malformed(text), _) => Err(schema_errors::malformed(&self.name, text)),
            (ToolInput::Json(value), Ok(schema)) => {
                let mut paths = [&self.read_path_param, &self.write_path_param].into_iter().flatten();
                paths.try_for_each(|params| params.check_lengths(value))?;
                schema.take("the input", value).map_err(|mistakes| {
                    let list = mistakes.list();
                    ModelError::new(format!("The input of `{}` does not match its schema:\n{list}", self.name))
                })
            }
            (ToolInput::Json(_), Err(problem)) => {
                bail!("The input of `{}` cannot be checked: its input_schema {problem}.", self.name)
            }
        }
    }

    /// The input as the tool gets it, for what is shown of a call; as it is if it does not match the schema.
    pub fn taken<'a>(&self, input: &'a Value) -> Cow<'a, Value> {
        let taken = self.compiled().as_ref().ok().and_then(|schema| schema.take("", input).ok());
        taken.unwrap_or(Cow::Borrowed(input))
    }

    /// Checks the answer of the user or of the editor against `result_schema`. Without one every answer is valid.
    ///
    /// # Errors
    /// What is wrong, and what to do if the answer is JSON text.
    pub fn check_answer(&self, answer: &Value) -> Result<(), AnswerMistakes> {
        // A definition whose schema is not valid is not registered.
        let schema = self.compiled_result().ok().flatten();
        schema.map_or(Ok(()), |schema| schema.check_answer("the answer", answer))
    }

    /// The problem with the name of a property; `None` if the schema has it.
    fn lacks_property(&self, name: &str) -> Option<String> {
        let properties = self.input_schema.get("properties").and_then(Value::as_object);
        let known: Vec<&str> = properties.into_iter().flatten().map(|(known, _)| known.as_str()).collect();
        if known.contains(&name) {
            return None;
        }
        let meant = nearest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        Some(format!("is \"{name}\", but input_schema has no such property{meant}"))
    }

    fn compiled(&self) -> &Result<CompiledSchema, UserError> {
        self.compiled.get_or_init(|| CompiledSchema::compile(&self.input_schema))
    }

    fn compiled_result(&self) -> Result<Option<&CompiledSchema>, &UserError> {
        let Some(schema) = &self.result_schema else { return Ok(None) };
        self.compiled_result.get_or_init(|| CompiledSchema::compile(schema)).as_ref().map(Some)
    }
}

/// Whether every provider accepts this as the name of a tool.
pub(super) fn is_name(name: &str) -> bool {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_name_byte)
}

impl Executor {
    /// The word for it in a definition's `executor` field.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Server(_) => "server",
            Self::Client(_) => "client",
            Self::Human => "human",
            Self::Provider => "provider",
        }
    }

    /// Whether a call is answered from outside: by the user or by the user interface.
    pub const fn is_answered(&self) -> bool {
        matches!(self, Self::Human | Self::Client(_))
    }

    /// The longest time that a call may take.
    pub(super) const fn longest(&self) -> Duration {
        if self.is_answered() { seconds::LONGEST_WAIT } else { seconds::LONGEST }
    }

    /// Why no gate goes with this executor; `None` if one does.
    const fn why_ungated(&self) -> Option<&'static str> {
        match self {
            Self::Server(_) | Self::Client(_) => None,
            Self::Human => Some("the executor is \"human\", so the user answers the call anyway"),
            Self::Provider => Some("the executor is \"provider\", which does not wait for anyone"),
        }
    }

    /// The Lua function that runs a call, if there is one.
    pub const fn function(&self) -> Option<LuaRef> {
        match self {
            Self::Server(Runner::Lua(function)) => Some(*function),
            Self::Client(function) => *function,
            Self::Server(Runner::Native(_)) | Self::Human | Self::Provider => None,
        }
    }

    /// Whether the provider runs the tool.
    pub const fn is_provider(&self) -> bool {
        matches!(self, Self::Provider)
    }
}
