//! Everything that judging a call asks the disk, apart from the workspace: so a worker can go through it as the main thread does.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::approval::facts::ApprovalFacts;
use flemma_model::{CallId, ModelError};
use flemma_tools::{
    Access, Agents, Definition, Disk, Judged, MeantPath, Owner, PathKind, PathName, PathParams, Permitted, Policy,
    named_paths, paths,
    rules::{DeniedPaths, Subject},
};

/// The questions about one call.
#[derive(Clone)]
pub(crate) struct PathQuestions {
    pub(crate) tool: String,
    pub(crate) input: Value,
    pub(crate) facts: ApprovalFacts,
    pub(crate) agents: Agents,
    /// The lists of the user's configuration and of the file.
    pub(crate) lists: Vec<Policy>,
    pub(crate) paths: DeclaredPaths,
    /// Whether it is looked at whether the call writes over what the user denies reading.
    pub(crate) guards_unread: bool,
    /// Whose files they are.
    pub(crate) owner: Owner,
    /// The files that the call has proposed to write, and the folder of notes. They are in place of what its input names.
    pub(crate) proposed: Option<(Vec<PathBuf>, PathBuf)>,
}

/// What a definition says of the paths that its calls use.
#[derive(Clone, Default)]
pub(crate) struct DeclaredPaths {
    kind: PathKind,
    read: Option<PathParams>,
    write: Option<PathParams>,
    /// Where relative paths start.
    folder: PathBuf,
}

impl DeclaredPaths {
    pub(crate) fn new(definition: &Definition, folder: PathBuf) -> Self {
        let (read, write) = (definition.read_path_param.clone(), definition.write_path_param.clone());
        Self { kind: definition.path_kind, read, write, folder }
    }
}

impl PathQuestions {
    /// Asks all of them.
    pub(crate) fn ask(&self, disk: &Disk) {
        let _ = self.check_paths(disk);
        let (facts, id) = (self.facts.clone().on(disk), CallId::from(""));
        let call = facts.call(&self.tool, &self.input, &id, 0, None);
        for list in &self.lists {
            list.decide(&call);
        }
        self.overwrites_unread(disk);
        self.writes_start_up(disk);
        self.judged(disk);
    }

    /// Whether the call names a file to write of which writing asks every time, whatever rules and presets say.
    pub(crate) fn writes_start_up(&self, disk: &Disk) -> bool {
        let DeclaredPaths { kind, write, folder, .. } = &self.paths;
        let Some(write) = write.as_ref().filter(|write| !write.is_empty()) else { return false };
        let named = named_paths(*kind, write, &self.input, folder).unwrap_or_default();
        named.iter().any(|named| disk.is_start_up(&named.path, &self.owner))
    }

    /// Where the files are that the call names.
    pub(crate) fn judged(&self, disk: &Disk) -> Judged {
        let (DeclaredPaths { kind, read, write, folder }, mut judged) = (&self.paths, Judged::default());
        if let Some((files, root)) = &self.proposed {
            judge(
                &mut judged,
                disk,
                files.clone(),
                Some(root).filter(|root| files.iter().any(|file| file.starts_with(root))),
            );
            return judged;
        }
        let params: Vec<&PathParams> =
            [read, write].into_iter().flatten().filter(|params| !params.is_empty()).collect();
        if params.is_empty() {
            return judged;
        }
        let named = params.iter().filter_map(|params| named_paths(*kind, params, &self.input, folder).ok()).flatten();
        let named = named.map(|named| named.path).collect();
        judge(&mut judged, disk, named, Some(folder).filter(|_| *kind != PathKind::File));
        judged
    }

    /// Checks that the agents of the conversation permit the call, and that what it names as paths are paths.
    ///
    /// # Errors
    /// For the model: the first path that is wrong.
    pub(crate) fn check_paths(&self, disk: &Disk) -> Result<(), ModelError> {
        let mut agents = self.agents.clone();
        agents.base.disk = disk.clone();
        let permitted = agents.permitted();
        self.check_permitted(&permitted)?;
        let DeclaredPaths { kind, read, write, folder } = &self.paths;
        if *kind != PathKind::File {
            return Ok(());
        }
        for params in [read, write].into_iter().flatten() {
            // What is no path at all, the tool refuses.
            for named in named_paths(*kind, params, &self.input, folder).unwrap_or_default() {
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
    fn check_permitted(&self, permitted: &Permitted) -> Result<(), ModelError> {
        if permitted.is_everything() {
            return Ok(());
        }
        let DeclaredPaths { kind, read, write, folder } = &self.paths;
        if read.is_none() && write.is_none() {
            return permitted.check_undeclared(&self.tool);
        }
        for (access, params) in [(Access::Write, write), (Access::Read, read)] {
            let Some(params) = params else { continue };
            for named in named_paths(*kind, params, &self.input, folder)? {
                if let Some(problem) = named.problem {
                    return Err(problem);
                }
                let name = match named.written.as_deref() {
                    Some(written) if !written.is_empty() => PathName::Written(written),
                    _ if *kind == PathKind::File => PathName::Folder("the conversation's folder"),
                    _ => PathName::Folder("the folder of notes"),
                };
                // Flemma's own tools follow links before `..`, and those in Lua may not.
                for path in [&named.path, &paths::plain(&named.path)] {
                    permitted.check(access, path, name)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the call may write over a file that the user denies reading. Its result does not show what was there, so the user has
    /// to look at it first, unless they want to be asked about nothing.
    pub(crate) fn overwrites_unread(&self, disk: &Disk) -> bool {
        let paths = match self.facts.target.subject() {
            _ if !self.guards_unread => return false,
            Subject::Path(path) => vec![path.to_owned()],
            Subject::Paths(paths) => paths.to_vec(),
            Subject::Command(_) | Subject::Other => return false,
        };
        let denied = self.denied(disk);
        paths.iter().any(|path| denied.covers_existing(path))
    }

    /// The paths that the user denies reading.
    fn denied(&self, disk: &Disk) -> DeniedPaths {
        Policy::denied(&self.lists, &self.facts.clone().on(disk).path_base)
    }
}

/// Where these files are, of a call that stays in `folder` if there is one.
fn judge(judged: &mut Judged, disk: &Disk, files: Vec<PathBuf>, folder: Option<&PathBuf>) {
    let mut add = |path: PathBuf| {
        let (real, is_linked) = (disk.real(&path), disk.is_linked(&path));
        judged.add(path, real, is_linked);
    };
    let Some(folder) = folder else { return files.into_iter().for_each(add) };
    // A tool for notes uses other pages as well, and looks for all of them from the real folder.
    let root = disk.real(folder);
    for file in files {
        file.strip_prefix(folder).into_iter().for_each(|page| add(root.join(page)));
        add(file);
    }
    let real = disk.real(&root);
    judged.add_folder(folder.clone(), root.clone());
    judged.add_folder(root, real);
}
