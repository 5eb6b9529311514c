//! The options of the editor, in layers: `setup`, and what the user has set since. A file's own frontmatter lies above
//! them ([`crate::frontmatter`]).

use std::{
    cell::{Cell, RefCell},
    path::{Path, PathBuf},
    rc::Rc,
};

use serde_json::{Map, Value};

use flemma_config::{Config, Logging};
use flemma_model::UserError;
use flemma_runtime::Log;

/// The options and the log that they describe.
#[derive(Default)]
pub(crate) struct OptionLayers {
    effective: RefCell<Rc<Config>>,
    setup: RefCell<Value>,
    runtime: RefCell<Value>,
    /// Whether `tools.auto_approve` of `setup` is a function.
    pub(crate) is_policy_function: Cell<bool>,
    /// Why `setup` has no effect, if none has had any so far. Nothing is sent then: the user has chosen somebody else
    /// than the options that are in effect say.
    pub(crate) fault: RefCell<Option<UserError>>,
    pub(crate) log: RefCell<Log>,
    /// Where the log is unless the options say otherwise.
    log_dir: RefCell<PathBuf>,
}

/// Whether options say nothing.
pub(crate) fn is_empty(options: &Value) -> bool {
    options.as_object().is_none_or(Map::is_empty)
}

impl OptionLayers {
    /// The options that are in effect.
    pub(crate) fn effective(&self) -> Rc<Config> {
        Rc::clone(&self.effective.borrow())
    }

    /// What `setup` was given, and what was set since.
    pub(crate) fn layers(&self) -> [Value; 2] {
        [self.setup.borrow().clone(), self.runtime.borrow().clone()]
    }

    /// The options with these layers over them, such as that of a file.
    ///
    /// # Errors
    /// When they do not go together.
    pub(crate) fn with(&self, over: &[&Value]) -> Result<Config, UserError> {
        let layers: Vec<Value> = self.layers().iter().chain(over.iter().copied()).cloned().collect();
        Ok(Config::from_layers(&layers)?)
    }

    /// Takes what `setup` was given, and forgets what was set since. `config` is what it comes to.
    pub(crate) fn set_up(&self, setup: Value, config: Rc<Config>, is_policy_function: bool, log_dir: &Path) {
        log_dir.clone_into(&mut self.log_dir.borrow_mut());
        self.is_policy_function.set(is_policy_function);
        *self.log.borrow_mut() = self.open_log(&config.logging);
        *self.effective.borrow_mut() = config;
        *self.setup.borrow_mut() = setup;
        *self.runtime.borrow_mut() = Value::Null;
    }

    /// Takes what the user sets while the editor runs, in the place of what they have set before.
    ///
    /// # Errors
    /// When it does not go together with `setup`.
    pub(crate) fn set_runtime(&self, layer: Value) -> Result<(), UserError> {
        let setup = self.setup.borrow().clone();
        let config = Config::from_layers(&[setup, layer.clone()])?;
        if config.logging != self.effective().logging {
            *self.log.borrow_mut() = self.open_log(&config.logging);
        }
        *self.effective.borrow_mut() = Rc::new(config);
        *self.runtime.borrow_mut() = layer;
        Ok(())
    }

    fn open_log(&self, logging: &Logging) -> Log {
        if logging.enabled { Log::open(self.log_path_of(logging), logging.level) } else { Log::default() }
    }

    fn log_path_of(&self, logging: &Logging) -> PathBuf {
        logging.path.as_ref().map_or_else(|| self.log_dir.borrow().join("flemma.log"), PathBuf::from)
    }

    /// The log's file.
    pub(crate) fn log_path(&self) -> PathBuf {
        self.log_path_of(&self.effective().logging)
    }
}
