//! Everything that judging a call asks the disk, apart from the workspace: so a worker can go through it as the main thread does.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use crate::{options::effective::Effective, ports::Place};
use flemma_model::{CallId, ModelError};
use flemma_tools::{
    Access, Agents, Definition, Disk, Executor, Judged, MeantPath, Owner, PathKind, PathName, PathParams, Permitted,
    Policy, Runner,
    approval::ApprovalCall,
    named_paths, paths,
    rules::{DeniedPaths, PathBase, ReadTarget, Target},
};

/// The questions about one call, and what rules may ask about it. Making them does not read the disk.
#[derive(Clone)]
pub(crate) struct PathQuestions {
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// Where paths in rules start, and where a command of the call runs.
    pub(crate) path_base: PathBase,
    pub(crate) target: Target,
    pub(crate) read: Option<Target>,
    pub(crate) agents: Agents,
    /// The lists of the user's configuration and of the file.
    pub(crate) lists: Vec<Policy>,
    /// The tool, if it is known.
    pub(crate) definition: Option<Arc<Definition>>,
    /// Where its relative paths start.
    pub(crate) folder: PathBuf,
    /// Whether it is looked at whether the call writes over what the user denies reading.
    pub(crate) guards_unread: bool,
    /// Whose files they are.
    pub(crate) owner: Owner,
    /// The files that the call has proposed to write, and the folder of notes. They are in place of what its input names.
    pub(crate) proposed: Option<(Vec<PathBuf>, PathBuf)>,
}

/// What paths in rules stand on: where the tools' own paths start.
pub(crate) fn path_base(place: &Place) -> PathBase {
    PathBase::of_process(place.folder())
}

impl PathQuestions {
    /// What paths stand on, judged by what this disk says.
    pub(crate) fn path_base_on(&self, disk: &Disk) -> PathBase {
        PathBase { disk: disk.clone(), ..self.path_base.clone() }
    }

    /// The call as resolvers see it. `file` is what the conversation's own file says.
    pub(crate) fn call<'a>(
        &'a self,
        path_base: &'a PathBase,
        id: &'a CallId,
        buffer: i64,
        file: Option<&'a Effective>,
    ) -> ApprovalCall<'a> {
        let definition = self.definition.as_deref();
        let leaves_out_denied = definition.is_some_and(|definition| definition.leaves_out_denied);
        let reading = |read: &'a Target| ReadTarget { subject: read.subject(), leaves_out_denied };
        ApprovalCall {
            is_ours: definition
                .is_none_or(|definition| matches!(definition.executor, Executor::Server(Runner::Native(_)))),
            takes_name: definition.is_some_and(|definition| definition.takes_name),
            declared: definition.and_then(|definition| definition.approval),
            subject: self.target.subject(),
            reading: self.read.as_ref().map(reading),
            path_base,
            frontmatter: file.and_then(|file| file.policy.as_ref()),
            ..ApprovalCall::new(&self.tool, &self.input, id, buffer)
        }
    }

    /// Asks all of them.
    pub(crate) fn ask(&self, disk: &Disk) {
        let _ = self.check_paths(disk);
        let (path_base, id) = (self.path_base_on(disk), CallId::from(""));
        let call = self.call(&path_base, &id, 0, None);
        for list in &self.lists {
            list.decide(&call);
        }
        self.overwrites_unread(disk);
        self.writes_start_up(disk);
        self.judged(disk);
    }

    /// What kind of paths the tool takes, and where its input has those that it reads and writes.
    fn params(&self) -> (PathKind, Option<&PathParams>, Option<&PathParams>) {
        self.definition.as_deref().map_or_else(Default::default, |definition| {
            (definition.path_kind, definition.read_path_param.as_ref(), definition.write_path_param.as_ref())
        })
    }

    /// Whether the call names a file to write of which writing asks every time, whatever rules and presets say.
    pub(crate) fn writes_start_up(&self, disk: &Disk) -> bool {
        let (kind, _, write) = self.params();
        let Some(write) = write.filter(|write| !write.is_empty()) else { return false };
        let named = named_paths(kind, write, &self.input, &self.folder).unwrap_or_default();
        named.iter().any(|named| disk.is_start_up(&named.path, &self.owner))
    }

    /// Where the files are that the call names.
    pub(crate) fn judged(&self, disk: &Disk) -> Judged {
        if let Some((files, root)) = &self.proposed {
            let in_notes = files.iter().any(|file| file.starts_with(root));
            return judge(disk, files.clone(), Some(root).filter(|_| in_notes));
        }
        let (kind, read, write) = self.params();
        let params = || [read, write].into_iter().flatten().filter(|params| !params.is_empty());
        if params().next().is_none() {
            return Judged::default();
        }
        let named = params().filter_map(|params| named_paths(kind, params, &self.input, &self.folder).ok());
        let named = named.flatten().map(|named| named.path).collect();
        judge(disk, named, Some(&self.folder).filter(|_| kind != PathKind::File))
    }

    /// Checks that the agents of the conversation permit the call, and that what it names as paths are paths.
    ///
    /// # Errors
    /// For the model: the first path that is wrong.
    pub(crate) fn check_paths(&self, disk: &Disk) -> Result<(), ModelError> {
        let mut agents = self.agents.clone();
        agents.base.disk = disk.clone();
        let permitted = agents.permitted();
        self.check_permitted(&permitted, disk)?;
        let ((kind, read, write), folder) = (self.params(), &self.folder);
        if kind != PathKind::File {
            return Ok(());
        }
        for params in [read, write].into_iter().flatten() {
            // What is no path at all, the tool refuses.
            for named in named_paths(kind, params, &self.input, folder).unwrap_or_default() {
                let written = named.written.unwrap_or_default();
                let Some(meant) = MeantPath::of(&written).filter(|_| !disk.is_there(&named.path)) else { continue };
                let path = Path::new(&meant.path);
                // What a model may not read, it is not told of.
                if meant.is_certain
                    || (permitted.allows_name(folder, path)
                        && self.denied(disk).allows(folder, path)
                        && disk.is_there(&paths::resolve(folder, path)))
                {
                    return Err(meant.problem(&written));
                }
            }
        }
        Ok(())
    }

    /// Checks that the agents of the conversation permit the call. Nobody is asked about one that they do not permit.
    ///
    /// # Errors
    /// For the model: the first path that is not permitted, with those that are.
    fn check_permitted(&self, permitted: &Permitted, disk: &Disk) -> Result<(), ModelError> {
        if permitted.is_everything() {
            return Ok(());
        }
        let (kind, read, write) = self.params();
        if read.is_none() && write.is_none() {
            return permitted.check_undeclared(&self.tool);
        }
        for (access, params) in [(Access::Write, write), (Access::Read, read)] {
            let Some(params) = params else { continue };
            for named in named_paths(kind, params, &self.input, &self.folder)? {
                if let Some(problem) = named.problem {
                    return Err(problem);
                }
                let name = match named.written.as_deref() {
                    Some(written) if !written.is_empty() => PathName::Written(written),
                    _ if kind == PathKind::File => PathName::Folder("the conversation's folder"),
                    _ => PathName::Folder("the folder of notes"),
                };
                // Flemma's own tools follow links before `..`, and those in Lua may not.
                for path in [&named.path, &paths::plain(&named.path)] {
                    // The name of no page may be that of a folder that is listed, or a page with a place in it. What is read is judged again.
                    let is_meant = || {
                        let page = self.folder.join(page_of(named.written.as_deref().unwrap_or_default()));
                        let names_page = kind == PathKind::Page && access == Access::Read && !disk.is_there(path);
                        names_page && [path.with_extension(""), page].iter().any(|path| permitted.allows(access, path))
                    };
                    permitted
                        .check(access, path, name)
                        .or_else(|problem| if is_meant() { Ok(()) } else { Err(problem) })?;
                }
            }
        }
        Ok(())
    }

    /// Whether the call may write over a file that the user denies reading. Its result does not show what was there, so the user has
    /// to look at it first, unless they want to be asked about nothing.
    pub(crate) fn overwrites_unread(&self, disk: &Disk) -> bool {
        let Some(Target::Paths(paths)) = self.guards_unread.then_some(&self.target) else { return false };
        let denied = self.denied(disk);
        paths.iter().any(|path| denied.covers_existing(path))
    }

    /// The paths that the user denies reading.
    fn denied(&self, disk: &Disk) -> DeniedPaths {
        Policy::denied(&self.lists, &self.path_base_on(disk))
    }
}

/// Where these files are, of a call that stays in `folder` if there is one.
fn judge(disk: &Disk, files: Vec<PathBuf>, folder: Option<&PathBuf>) -> Judged {
    let mut judged = Judged::default();
    let mut add = |path: PathBuf| {
        let (real, is_linked) = (disk.real(&path), disk.is_linked(&path));
        judged.add(path, real, is_linked);
    };
    let Some(folder) = folder else {
        files.into_iter().for_each(add);
        return judged;
    };
    // A tool for notes uses other pages as well, and looks for all of them from the real folder.
    let root = disk.real(folder);
    for file in files {
        file.strip_prefix(folder).into_iter().for_each(|page| add(root.join(page)));
        add(file);
    }
    let real = disk.real(&root);
    judged.add_folder(folder.clone(), root.clone());
    judged.add_folder(root, real);
    judged
}

/// The file of the page that a reference names: `Page`, `Page#Heading`, `Page@L14C5`, `Page@123`.
fn page_of(reference: &str) -> String {
    let page = reference.split('#').next().unwrap_or_default();
    let is_place = |place: &str| place.bytes().all(|byte| byte.is_ascii_digit() || b"LlCc".contains(&byte));
    let page = page.rsplit_once('@').filter(|(_, place)| is_place(place)).map_or(page, |(page, _)| page);
    format!("{}.md", page.trim())
}
