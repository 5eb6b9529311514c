//! What the agents of a conversation permit, and whether it permits a call.
//!
//! A conversation has the agent of the user's configuration, and the one that its file names. Both have to agree, so a file
//! can only restrict further. What relative paths of an agent mean depends on the user's configuration and on where the
//! file is, and not on what the file says.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    Conversation, Workspace,
    effective::Effective,
    notes,
    path_questions::PathQuestions,
    ports::{Place, folder_of},
};
use flemma_agent::Level;
use flemma_config::{AgentOptions, Config};
use flemma_model::{CallId, ModelError};
use flemma_text::escape_controls;
use flemma_tools::{
    Access, AgentBase, Agents, Definition, Disk, FileClass, Judged, Linked, PathKind, Permitted, Silent, TurnTools,
    paths,
    rules::{Names, SHELL_TOOL},
};

/// The agent of a file whose frontmatter has a mistake: it may have named one.
const UNKNOWN: &str = "(unknown: the frontmatter has a mistake)";

/// Why a call is not permitted.
pub(super) enum NotPermitted {
    /// The agents forbid it.
    Forbidden(ModelError),
    /// Nobody knows, since something does not answer.
    Unclear(Silent),
}

/// The agents of a conversation of which `file` is in effect: those of the user and of the file.
///
/// # Errors
/// The name of one that is not known. It may permit nothing.
fn agents<'a>(config: &'a Config, file: &'a Effective) -> Result<Vec<(&'a str, &'a AgentOptions)>, &'a str> {
    if file.fault.is_some() && !config.agents.is_empty() {
        return Err(UNKNOWN);
    }
    let chosen: BTreeSet<&String> = config.agent.iter().chain(&file.config.agent).collect();
    let of = |name: &'a String| config.agents.get(name).map(|options| (name.as_str(), options)).ok_or(name.as_str());
    chosen.into_iter().map(of).collect()
}

impl Workspace {
    /// What the agents of a conversation permit.
    pub(super) fn permitted(&self, conversation: &Conversation) -> Permitted {
        let file = self.frontmatter(conversation);
        self.permitted_by(&file, &self.place(conversation))
    }

    /// The same of a conversation at `place`, of which `file` is in effect.
    pub(super) fn permitted_by(&self, file: &Effective, place: &Place) -> Permitted {
        self.agents_at(file, place).permitted()
    }

    /// The agents of a conversation. This does not read the disk.
    pub(super) fn agents_of(&self, conversation: &Conversation) -> Agents {
        self.agents_at(&self.frontmatter(conversation), &self.place(conversation))
    }

    fn agents_at(&self, file: &Effective, place: &Place) -> Agents {
        let config = self.config();
        // Not the file's own folder of notes: it would choose what the paths mean.
        let base = AgentBase { notes: notes::root(&config, place), folder: place.folder(), disk: Disk::itself() };
        match agents(&config, file) {
            Ok(agents) => {
                let all = agents.into_iter().map(|(name, options)| (name.to_owned(), options.clone())).collect();
                Agents { all, base }
            }
            Err(unknown) => Agents::unknown(unknown, base),
        }
    }

    /// The tools that agents refuse whatever a call names, because they do not declare which files they use: of the tools that are
    /// chosen (`None`: of those that are enabled), each with the agent. This does not read the disk.
    pub(super) fn refused_tools(&self, file: &Effective, chosen: Option<&BTreeSet<String>>) -> Vec<(String, String)> {
        let config = self.config();
        let none = AgentOptions::default();
        let agents = match agents(&config, file) {
            Ok(agents) => agents.into_iter().filter(|(_, options)| options.is_restricting()).collect(),
            Err(unknown) => vec![(unknown, &none)],
        };
        if agents.is_empty() {
            return Vec::new();
        }
        let refused = self.toolbox().names(chosen).into_iter().filter_map(|name| {
            let (agent, _) = agents.iter().find(|(_, options)| !options.unchecked_tools.contains(&name))?;
            let is_checked = self.toolbox().get(&name).is_none_or(|tool| tool.declares_paths());
            (!is_checked).then(|| (name, (*agent).to_owned()))
        });
        refused.collect()
    }

    /// The tools that a request offers in this turn; `None` for the enabled ones. Those that an agent refuses whatever a call names
    /// are not among them: a model would only waste a call.
    pub(super) fn offered_tools(&self, file: &Effective, turn: &TurnTools) -> Option<BTreeSet<String>> {
        let chosen = self.toolbox().chosen(file, turn);
        let refused = self.refused_tools(file, chosen.as_ref());
        if refused.is_empty() {
            return chosen;
        }
        let mut names: BTreeSet<String> = self.toolbox().names(chosen.as_ref()).into_iter().collect();
        for (name, _) in &refused {
            names.remove(name);
        }
        Some(names)
    }

    /// Checks that the agents of a conversation permit a call. Nobody is asked about one that they do not permit. Gives where the files
    /// are that it names.
    ///
    /// # Errors
    /// That it is not permitted, or that this is not known.
    pub(super) fn check_permitted(&self, questions: &PathQuestions) -> Result<Judged, NotPermitted> {
        let disk = self.known_disk(questions);
        let (permitted, judged) = (questions.check_paths(&disk), questions.judged(&disk));
        match disk.lacks() {
            Some(silent) => Err(NotPermitted::Unclear(silent)),
            None => permitted.map(|()| judged).map_err(NotPermitted::Forbidden),
        }
    }

    /// The folder in which relative paths of a tool's input start. `file` is what is in effect for the conversation at `place`,
    /// as far as that is known.
    pub(super) fn start_folder(&self, place: &Place, file: Option<&Effective>, definition: &Definition) -> PathBuf {
        if definition.path_kind != PathKind::File {
            return file.map_or_else(|| notes::root(&self.config(), place), |file| notes::root(&file.config, place));
        }
        // A conversation without a file has no folder, so that the tool's own one counts.
        place.chat_dir().unwrap_or_else(|| self.working_directory(place, &definition.name))
    }

    /// The folder in which a tool works and its commands run, and by which they are judged: its option `cwd`, or else the root of
    /// the project or the editor's working directory.
    pub(super) fn working_directory(&self, place: &Place, tool: &str) -> PathBuf {
        let own = self.config().tools.options_of(tool);
        let own = own.get("cwd").and_then(Value::as_str).unwrap_or_default();
        paths::resolve(&place.cwd, Path::new(own)).components().collect()
    }

    /// The same for the conversation in a buffer.
    #[must_use]
    pub fn working_directory_of(&self, buffer: i32, tool: &str) -> PathBuf {
        self.working_directory(&self.place_of(buffer), tool)
    }

    /// The folder in which the commands of a tool run, if that is not the folder of the conversation's file.
    pub(super) fn runs_elsewhere(&self, place: &Place, tool: &str) -> Option<PathBuf> {
        let folder = self.working_directory(place, tool);
        (tool == SHELL_TOOL && folder_of(&place.file).is_some_and(|own| own != folder)).then_some(folder)
    }

    /// Why a tool may not use a file, for tools in Lua that judge paths themselves: the user denies reading it, an agent does not
    /// permit it, it must not be written, or it is not what was judged when `call` was approved. `None` if it may. A relative
    /// path starts at the conversation's folder. The disk is waited for for a moment only, and without its answer no file may be used.
    #[must_use]
    pub fn path_problem(
        &self,
        conversation: &Conversation,
        call: &CallId,
        access: Access,
        path: &Path,
    ) -> Option<ModelError> {
        let folder = self.place(conversation).folder();
        let (permitted, denied) = (self.permitted(conversation), self.denied(conversation));
        let (owner, judged) = (self.owner(), conversation.tasks().judged(call));
        let path = path.to_owned();
        let (resolved, name) = (paths::resolve(&folder, &path), path.to_string_lossy().into_owned());
        let judge = move || {
            let (resolved, name) = (paths::resolve(&folder, &path), path.to_string_lossy());
            if let Err(problem) = permitted.check(access, &resolved, &*name) {
                return Some(problem);
            }
            let real = paths::real(&resolved);
            let is_moved = |judged: &Judged| judged.place_of(&resolved).is_some_and(|place| place != real);
            let problem = match access {
                _ if judged.as_deref().is_some_and(is_moved) => "leads elsewhere than when the call was approved",
                Access::Read
                    if !denied.allows(&folder, &resolved)
                        || denied.judge_names(Linked::at(&real)) != Names::Allowed =>
                {
                    return Some(ModelError::new(format!(
                        "The user's policy denies reading {}.",
                        escape_controls(&name)
                    )));
                }
                Access::Read => return None,
                Access::Write => match owner.class_of(&resolved) {
                    FileClass::Refused(_) => "must not be written by tools",
                    FileClass::StartUp if judged.is_some_and(|judged| judged.is_by_policy()) => {
                        "is read by a program when it starts. A call that writes it has to be approved by the user"
                    }
                    FileClass::StartUp | FileClass::Ordinary => return None,
                },
            };
            Some(ModelError::new(format!("{} {problem}.", escape_controls(&name))))
        };
        self.promptly(&resolved, judge).unwrap_or_else(|_| {
            Some(ModelError::new(format!("The file system of {} does not answer.", escape_controls(&name))))
        })
    }

    /// Notes in the log that a call was not permitted.
    pub(super) fn log_not_permitted(&self, tool: &str, problem: &ModelError) {
        self.log(Level::Info, &format!("a call of `{tool}` is not permitted: {problem}"));
    }
}
