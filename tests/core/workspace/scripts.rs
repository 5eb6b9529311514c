//! Scripts that are Rust closures: tools, policies, parsers, and a few words of frontmatter.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

use flemma_config::buffer::BufferOptions;
use flemma_model::UserError;
use flemma_tools::{
    DeclaredApproval, Definition, LuaError, LuaRef,
    approval::{Decision, Resolve},
};
use flemma_workspace::{
    LuaOutcome, LuaValue, Scripts, StopTool, ToolAnswer,
    ports::{CallContext, FrontmatterRun, ScriptError, ToolRun},
};
use serde_json::{Value, json};

type Tool = Rc<dyn Fn(&Value, ToolAnswer) -> Option<StopTool>>;
type Hook = Rc<dyn Fn(&Value) -> Result<Value, String>>;
type Parser = Rc<dyn Fn(&str) -> Result<Value, String>>;

/// A success with this text.
pub fn text(text: &str) -> LuaOutcome {
    LuaOutcome::new(LuaValue::Text(text.as_bytes().to_vec()), false)
}

/// The parts of `PATH:OPERATION(JSON)`.
fn list_operation(statement: &str) -> Option<(&str, (&str, &str))> {
    let (path, call) = statement.split_once(':')?;
    Some((path, call.strip_suffix(')')?.split_once('(')?))
}

/// The scripts.
#[derive(Default)]
pub struct FakeScripts {
    functions: RefCell<BTreeMap<u64, Tool>>,
    /// The other functions of definitions.
    hooks: RefCell<BTreeMap<u64, Hook>>,
    /// What they were asked, oldest first.
    pub asked: RefCell<Vec<Value>>,
    last: Cell<u64>,
    pub modules: RefCell<BTreeMap<String, Resolve>>,
    pub parsers: RefCell<BTreeMap<String, Parser>>,
    /// The frontmatter that has run, oldest first.
    pub ran: RefCell<Vec<String>>,
    /// The functions that were released.
    pub released: RefCell<Vec<String>>,
    /// The latest run of each call.
    pub runs: RefCell<BTreeMap<String, u64>>,
    /// In which roles calls were let run, oldest first.
    pub let_by: RefCell<Vec<&'static str>>,
    /// What functions were called with that asked for something.
    pub answers: RefCell<BTreeMap<LuaRef, Result<Value, String>>>,
}

impl FakeScripts {
    /// Keeps a function; the number is for a definition.
    pub fn keep(&self, tool: impl Fn(&Value, ToolAnswer) -> Option<StopTool> + 'static) -> LuaRef {
        self.last.set(self.last.get() + 1);
        let function = LuaRef(self.last.get());
        self.functions.borrow_mut().insert(function.0, Rc::new(tool));
        function
    }

    /// Keeps another function of a definition: it gets what it is asked, and gives what it returns or throws.
    pub fn hook(&self, hook: impl Fn(&Value) -> Result<Value, String> + 'static) -> LuaRef {
        self.last.set(self.last.get() + 1);
        self.hooks.borrow_mut().insert(self.last.get(), Rc::new(hook));
        LuaRef(self.last.get())
    }

    fn answer(&self, function: LuaRef, question: Value) -> Result<Value, LuaError> {
        let hook = self.hooks.borrow().get(&function.0).cloned().expect("the function was kept");
        let answer = hook(&question);
        self.asked.borrow_mut().push(question);
        answer.map_err(|thrown| LuaError::new(format!("failed: {thrown}")))
    }
}

impl Scripts for FakeScripts {
    fn start(&self, run: ToolRun<'_>) -> Option<StopTool> {
        let tool = self.functions.borrow().get(&run.function.0).cloned().expect("the function was kept");
        self.runs.borrow_mut().insert(run.call.id.0.clone(), run.run);
        self.let_by.borrow_mut().push(run.resolved_by.role.as_str());
        tool(run.input, run.answer)
    }

    fn preview(&self, asked: CallContext<'_>, _: usize) -> Result<Option<String>, LuaError> {
        match asked.input.get("preview") {
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(LuaError::new(format!("{other} is no text"))),
            None => Ok(None),
        }
    }

    fn rejection(&self, asked: CallContext<'_>, reason: Option<&str>) -> Result<Option<String>, LuaError> {
        let facts = json!({ "input": asked.input, "id": asked.call.0, "reason": reason });
        let answer = self.answer(asked.function, facts)?;
        Ok(answer.as_str().map(str::to_owned))
    }

    fn declared_approval(&self, asked: CallContext<'_>) -> Result<Option<DeclaredApproval>, LuaError> {
        let answer = self.answer(asked.function, json!({ "input": asked.input, "id": asked.call.0 }))?;
        let known = DeclaredApproval::WORDS.iter().find(|(word, _)| answer == *word);
        Ok(known.map(|(_, declared)| *declared))
    }

    fn is_enabled(&self, function: LuaRef, buffer: i32, is_named: bool) -> Result<bool, LuaError> {
        let answer = self.answer(function, json!({ "buffer": buffer, "named": is_named }))?;
        Ok(answer == true)
    }

    fn policy_module(&self, module: &str) -> Resolve {
        let found = self.modules.borrow().get(module).cloned();
        let missing = LuaError::new(format!("failed: there is no module {module}"));
        found.unwrap_or_else(|| Rc::new(move |_| Err(missing.clone())))
    }

    fn parse(&self, _: i32, language: &str, code: &str) -> Result<Result<Value, LuaError>, Vec<String>> {
        let parsers = self.parsers.borrow();
        let parser = parsers.get(language).ok_or_else(|| parsers.keys().cloned().collect::<Vec<_>>())?;
        Ok(parser(code).map_err(LuaError::new))
    }

    /// The Lua that Flemma itself writes, and its like, a statement a line: `flemma.opt.PATH = JSON`,
    /// `flemma.opt.PATH:append(JSON)`, `:remove(JSON)`, and `flemma.opt.tools.auto_approve = function DECISION` for a
    /// function that always returns that decision.
    fn run_frontmatter(&self, code: &str, mut options: BufferOptions) -> Result<FrontmatterRun, ScriptError> {
        self.ran.borrow_mut().push(code.to_owned());
        let mut policy: Option<Resolve> = None;
        for (line, statement) in code.lines().enumerate().filter(|(_, statement)| !statement.trim().is_empty()) {
            let at = |message: String| ScriptError { line: line + 1, message };
            let refused = |error: UserError| at(error.to_string());
            let said = statement.strip_prefix("flemma.opt.").ok_or_else(|| at(format!("unexpected {statement}")))?;
            let json = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| at(error.to_string()));
            if let Some(decision) = said.strip_prefix("tools.auto_approve = function ") {
                let decision = match decision {
                    "approve" => Ok(Some(Decision::Approve)),
                    "deny" => Ok(Some(Decision::Deny)),
                    "nil" => Ok(None),
                    broken => Err(LuaError::new(format!("failed: {broken}"))),
                };
                options.set_function();
                policy = Some(Rc::new(move |_| decision.clone()));
            } else if let Some((path, (operation, argument))) = list_operation(said) {
                let names = json(argument)?;
                options.set(path, &json!({ operation: names })).map_err(refused)?;
            } else if let Some((path, value)) = said.split_once(" = ") {
                options.set(path, &json(value)?).map_err(refused)?;
            } else {
                return Err(at(format!("unexpected {statement}")));
            }
        }
        Ok(FrontmatterRun { file: options.finish(), policy })
    }

    fn release(&self, definition: &Definition) {
        self.released.borrow_mut().push(definition.name.clone());
    }

    fn answered(&self, callback: LuaRef, answer: Result<Value, UserError>) {
        self.answers.borrow_mut().insert(callback, answer.map_err(|problem| problem.to_string()));
    }
}
