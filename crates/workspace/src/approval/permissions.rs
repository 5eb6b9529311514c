//! What the agents of a conversation permit, and whether it permits a call.
//!
//! A conversation has the agent of the user's configuration, and the one that its file names. Both have to agree, so a file
//! can only restrict further. What relative paths of an agent mean depends on the user's configuration and on where the
//! file is, and not on what the file says.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    Conversation,
    approval::{
        lookups::unanswered,
        questions::{PathQuestions, path_base},
    },
    components::Permissions,
    options::{effective::Effective, notes},
    ports::{Place, folder_of},
};
use flemma_agent::{Level, Verdict};
use flemma_config::{AgentOptions, Config};
use flemma_model::{CallId, ModelError, ToolInput, UserError};
use flemma_text::escape_controls;
use flemma_tools::{
    Access, AgentBase, Agents, Definition, Disk, Facts, FileClass, Judged, Linked, Owner, PathKind, Permitted,
    Protected, TurnTools,
    builtin::{Readable, missing_file},
    paths,
    rules::{self, DeniedPaths, Names, PathBase, SHELL_TOOL, Target},
};

/// The agent of a file whose frontmatter has a mistake: it may have named one.
const UNKNOWN: &str = "(unknown: the frontmatter has a mistake)";

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

impl Permissions {
    /// What the agents of a conversation permit.
    pub(crate) fn permitted(&self, conversation: &Conversation) -> Permitted {
        self.agents_of(conversation).permitted()
    }

    /// The agents of a conversation. This does not read the disk.
    pub(crate) fn agents_of(&self, conversation: &Conversation) -> Agents {
        self.agents_at(&self.frontmatter.of(conversation), &self.shared.place(conversation))
    }

    pub(crate) fn agents_at(&self, file: &Effective, place: &Place) -> Agents {
        let config = self.shared.config();
        // Not the file's own folder of notes: it would choose what the paths mean.
        let base = AgentBase { notes: notes::root(&config, place), folder: place.folder(), disk: Disk::default() };
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
    pub(crate) fn refused_tools(&self, file: &Effective, chosen: Option<&BTreeSet<String>>) -> Vec<(String, String)> {
        let config = self.shared.config();
        let none = AgentOptions::default();
        let agents = match agents(&config, file) {
            Ok(agents) => agents.into_iter().filter(|(_, options)| options.is_restricting()).collect(),
            Err(unknown) => vec![(unknown, &none)],
        };
        if agents.is_empty() {
            return Vec::new();
        }
        let refused = self.shared.toolbox.names(chosen).into_iter().filter_map(|name| {
            let (agent, _) = agents.iter().find(|(_, options)| !options.unchecked_tools.contains(&name))?;
            let is_checked = self.shared.toolbox.get(&name).is_none_or(|tool| tool.declares_paths());
            (!is_checked).then(|| (name, (*agent).to_owned()))
        });
        refused.collect()
    }

    /// The tools that a request offers in this turn; `None` for the enabled ones. Those that an agent refuses whatever a call names
    /// are not among them: a model would only waste a call.
    pub(crate) fn offered_tools(&self, file: &Effective, turn: &TurnTools) -> Option<BTreeSet<String>> {
        let chosen = self.shared.toolbox.chosen(file, turn);
        let refused = self.refused_tools(file, chosen.as_ref());
        if refused.is_empty() {
            return chosen;
        }
        let mut names: BTreeSet<String> = self.shared.toolbox.names(chosen.as_ref()).into_iter().collect();
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
    pub(crate) fn check_permitted(&self, questions: &PathQuestions, disk: &Disk) -> Result<Judged, Verdict> {
        let (permitted, judged) = (questions.check_paths(disk), questions.judged(disk));
        let is_answered = questions.definition.as_ref().is_some_and(|definition| definition.executor.is_answered());
        let problem = match (disk.lacks(), permitted) {
            (None, Ok(())) => return Ok(judged),
            (None, Err(problem)) => problem,
            (Some(silent), _) if is_answered => {
                let words = format!("This call did not run: {silent}, so it is not known whether it is allowed.");
                ModelError::new(words)
            }
            (Some(silent), _) => return Err(Verdict::Unclear(unanswered(&silent))),
        };
        self.log_not_permitted(&questions.tool, &problem);
        Err(Verdict::Invalid(problem))
    }

    /// The folder in which relative paths of a tool's input start. `file` is what is in effect for the conversation at `place`,
    /// as far as that is known.
    pub(crate) fn start_folder(&self, place: &Place, file: Option<&Effective>, definition: &Definition) -> PathBuf {
        if definition.path_kind != PathKind::File {
            return file
                .map_or_else(|| notes::root(&self.shared.config(), place), |file| notes::root(&file.config, place));
        }
        // A conversation without a file has no folder, so that the tool's own one counts.
        place.chat_dir().unwrap_or_else(|| self.working_directory(place, &definition.name))
    }

    /// The folder in which a tool works and its commands run, and by which they are judged: its option `cwd`, or else the root of
    /// the project or the editor's working directory.
    pub(crate) fn working_directory(&self, place: &Place, tool: &str) -> PathBuf {
        let own = self.shared.config().tools.options_of(tool);
        let own = own.get("cwd").and_then(Value::as_str).unwrap_or_default();
        paths::resolve(&place.cwd, Path::new(own)).components().collect()
    }

    /// The same for the conversation in a buffer.
    pub fn working_directory_of(&self, buffer: i32, tool: &str) -> PathBuf {
        self.working_directory(&self.shared.place_of(buffer), tool)
    }

    /// The folder in which the commands of a tool run, if that is not the folder of the conversation's file.
    pub(crate) fn runs_elsewhere(&self, place: &Place, tool: &str) -> Option<PathBuf> {
        let folder = self.working_directory(place, tool);
        (tool == SHELL_TOOL && folder_of(&place.file).is_some_and(|own| own != folder)).then_some(folder)
    }

    /// Whether a rule can let calls like this one run without asking, as far as that is known without the disk.
    pub(crate) fn has_rule(&self, place: &Place, definition: &Definition, input: &ToolInput) -> bool {
        let ToolInput::Json(input) = input else { return false };
        let base = PathBase { disk: Disk::known(Facts::default()), ..path_base(place) };
        let target = Target::of(definition, input, &base);
        let is_covered = || rules::suggest(&definition.name, &target.subject(), &base).is_some();
        let never = definition.always_asks || self.shared.options.is_policy_function.get();
        !never && (!matches!(target, Target::Command(_)) || is_covered())
    }

    /// Why a tool may not use a file, for tools in Lua that judge paths themselves: the user denies reading it, an agent does not
    /// permit it, it must not be written, or it is not what was judged when `call` was approved. `None` if it may. A relative
    /// path starts at the conversation's folder. The disk is waited for for a moment only, and without its answer no file may be used.
    pub fn path_problem(
        &self,
        conversation: &Conversation,
        call: &CallId,
        access: Access,
        path: &Path,
    ) -> Option<ModelError> {
        let folder = self.shared.place(conversation).folder();
        let (permitted, denied) = (self.permitted(conversation), self.denied(conversation));
        let (owner, judged) = (self.owner(), conversation.tasks.judged(call));
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
        self.shared.wait_for_disk(&resolved, judge).unwrap_or_else(|_| {
            Some(ModelError::new(format!("The file system of {} does not answer.", escape_controls(&name))))
        })
    }

    /// Notes in the log that a call was not permitted.
    pub(crate) fn log_not_permitted(&self, tool: &str, problem: &ModelError) {
        self.shared.log(Level::Info, &format!("a call of `{tool}` is not allowed: {problem}"));
    }

    /// What the messages of a conversation may refer to.
    pub(crate) fn readable(&self, conversation: &Conversation) -> Readable {
        let (denied, permitted) = (self.denied(conversation), self.permitted(conversation));
        let folder = self.shared.place(conversation).folder();
        let mut readable = Readable::new(folder, Arc::new(denied), Arc::new(permitted));
        readable.foreign = conversation.page.files().foreign();
        readable.own = Some(self.shared.outputs.folder().into());
        readable.unsaved = self.shared.host.unsaved_files().into();
        readable
    }

    /// The files that the user's text shows and that could be refused. Before anything is captured, it is found out whether they
    /// are: a message is sent whole or not at all.
    pub(crate) fn judged_files(&self, conversation: &Conversation) -> Vec<PathBuf> {
        let mut files = conversation.page.named_files();
        files.retain(|file| file.columns.is_some() && !file.has_lines);
        if !files.is_empty() {
            let (page, folder) = (&conversation.page, self.shared.place(conversation).folder());
            // These are left out of the request, and the rest is sent.
            files.retain(|file| !page.files().is_withheld(&file.path, &folder));
            let readable = self.readable(conversation);
            files.retain(|file| readable.judges(&file.path));
        }
        files.into_iter().map(|file| file.path).collect()
    }

    /// Whether a model may be told about what has these names in the editor ([`DeniedPaths::allows`](flemma_tools::rules::DeniedPaths::allows)): paths of files, or
    /// names of buffers. Also whether nothing at all is denied, and everything is permitted.
    pub fn may_read(&self, conversation: &Conversation, names: &[PathBuf]) -> (Vec<bool>, bool) {
        let denied = self.denied(conversation);
        let permitted = self.permitted(conversation);
        let folder = self.shared.place(conversation).folder();
        let is_all = denied.is_empty() && permitted.is_everything();
        if is_all {
            return (vec![true; names.len()], true);
        }
        let (asked, first) = (names.to_vec(), folder.clone());
        let may_read = move || {
            let may_read = |name: &PathBuf| denied.allows(&folder, name) && permitted.allows_name(&folder, name);
            asked.iter().map(may_read).collect::<Vec<_>>()
        };
        (self.shared.wait_for_disk(&first, may_read).unwrap_or_else(|_| vec![false; names.len()]), is_all)
    }

    /// What a model is told of a path at which there is nothing, with similar names that it may know of. `None` if it may not
    /// know of this path. This reads the folder.
    pub fn missing_file(&self, conversation: &Conversation, path: &Path, name: &str) -> Option<String> {
        let denied = self.denied(conversation);
        let permitted = self.permitted(conversation);
        let folder = self.shared.place(conversation).folder();
        let (missing, name) = (path.to_owned(), name.to_owned());
        let look = move || {
            let is_shown = |path: &Path| denied.allows(&folder, path) && permitted.allows_name(&folder, path);
            is_shown(&missing).then(|| missing_file(&missing, &name, is_shown))
        };
        self.shared.wait_for_disk(path, look).ok().flatten()
    }

    /// The paths that the user denies reading, in the configuration and in the file.
    pub(crate) fn denied(&self, conversation: &Conversation) -> DeniedPaths {
        let file = self.frontmatter.of(conversation);
        self.shared.toolbox.denied(file.list(), &path_base(&self.shared.place(conversation)))
    }

    /// Whose files are judged: the user's, with the conversations that are open now and what Neovim runs files from now.
    pub(crate) fn owner(&self) -> Owner {
        let state = Some(self.trust.path.parent().unwrap_or(&self.trust.path).to_owned());
        let (open, runtime) = (self.shared.host.open_conversations(), self.shared.host.runtime_folders());
        Owner { home: std::env::home_dir(), state, open, runtime }
    }

    /// Says what a file is to tools that write.
    pub(crate) fn protected(&self) -> Protected {
        let owner = self.owner();
        Arc::new(move |path| owner.class_of(path))
    }
}

/// Looking at the disk for a function that has to answer at once.
///
/// The Lua functions that show conversations return them, and keys that are typed after a command are for what it shows. So these
/// look at the disk in the background, as everything does, and wait for it for a moment only. A file system that does not answer,
/// such as a lost network share, is an error then, and holds nobody up.
impl Permissions {
    /// What there is at an absolute path: the path with its links resolved, and whether it is a regular file; `None` if there is
    /// nothing.
    ///
    /// # Errors
    /// When the disk does not answer in time.
    pub fn found_file(&self, path: &Path) -> Result<Option<(PathBuf, bool)>, UserError> {
        let looked = path.to_owned();
        self.shared.wait_for_disk(path, move || {
            let real = looked.canonicalize().ok()?;
            let is_file = real.is_file();
            Some((real, is_file))
        })
    }

    /// Absolute paths with their links resolved; `None` for those where there is nothing.
    ///
    /// # Errors
    /// When the disk does not answer in time.
    pub fn real_paths(&self, paths: Vec<PathBuf>) -> Result<Vec<Option<PathBuf>>, UserError> {
        let place = paths.first().cloned().unwrap_or_default();
        self.shared.wait_for_disk(&place, move || paths.into_iter().map(|path| path.canonicalize().ok()).collect())
    }
}
