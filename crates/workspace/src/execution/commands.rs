//! Commands that Lua runs.

use std::{env, rc::Rc};

use tokio_util::sync::CancellationToken;

use crate::{background::Background, shared::Shared};
use flemma_model::ModelError;
use flemma_tools::{
    LuaRef,
    command::{CommandRequest, CommandResult, run_command},
};

/// Commands that tools in Lua run.
pub struct Commands {
    pub(crate) shared: Rc<Shared>,
    pub(crate) background: Background<Self>,
}

impl Commands {
    /// Runs a command in the background, in the working directory of this process if the request names none. `callback`
    /// hears of its end, once and never before this has returned; a request that is wrong is such an end as well. Cancelling
    /// the token stops the command.
    pub fn run_command(&self, request: Result<CommandRequest, ModelError>, callback: LuaRef) -> CancellationToken {
        let stop = CancellationToken::new();
        if let Err(problem) = request.and_then(|request| self.start_command(request, callback, stop.clone())) {
            let result = CommandResult::not_started(problem);
            self.background.mailbox().job(move |this: &Self| this.shared.scripts.command_ended(callback, result));
        }
        stop
    }

    fn start_command(
        &self,
        mut request: CommandRequest,
        callback: LuaRef,
        stop: CancellationToken,
    ) -> Result<(), ModelError> {
        if request.cwd.is_none() {
            // The user may be elsewhere by the time that it starts.
            request.cwd = env::current_dir().ok();
        }
        let bash = self.shared.config().tools.options_of("bash");
        let kept = bash.get("keep_env").and_then(|kept| kept.as_array()).into_iter().flatten();
        request.keep_env.extend(kept.filter_map(|name| name.as_str()).map(str::to_owned));
        let (mailbox, outputs) = (self.background.mailbox().clone(), self.shared.outputs.folder().to_owned());
        let started = self.background.worker().spawn(async move {
            let result = run_command(request, stop, outputs).await;
            mailbox.job(move |this: &Self| this.shared.scripts.command_ended(callback, result));
        });
        started.map(drop).map_err(|error| ModelError::new(format!("The command could not be started: {error}.")))
    }
}
