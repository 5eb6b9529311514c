//! What the agents of a conversation let its tools read and write.
//!
//! A path is judged by where it leads once all links are resolved, part by part: `Journal` does not cover `Journals`. It is
//! judged when the call is about to be approved, when the call starts, and on the file that a tool has opened. Whoever may
//! write a file may read it too. If several agents restrict a conversation, each of them must agree: so a file that names an
//! agent can only take something away from what the user's own configuration permits.

use std::{
    path::{Component, Path, PathBuf},
    sync::OnceLock,
};

use serde::Deserialize;

use super::{
    Disk,
    paths::{self, plain},
    rules::is_url,
};
use flemma_config::AgentOptions;
use flemma_model::ModelError;
use flemma_text::escape_controls;

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Its content or its name is read.
    Read,
    /// It is created, changed, renamed or deleted.
    Write,
}

/// What messages call a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathName<'a> {
    /// As the model wrote it.
    Written(&'a str),
    /// The model wrote none, and this folder counts.
    Folder(&'static str),
}

impl<'a> From<&'a str> for PathName<'a> {
    fn from(written: &'a str) -> Self {
        Self::Written(written)
    }
}

/// Where a file must be that a call uses, besides what the agents permit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bounds {
    /// Anywhere: the call writes it and does not show it to the model.
    #[default]
    Writable,
    /// Where the user does not deny reading.
    Readable,
    /// The same, below this folder. Its links are resolved.
    Below(PathBuf),
}

/// The folders in which relative paths of the user's configuration start. A file of a conversation has no say in them.
#[derive(Clone, Debug, Default)]
pub struct AgentBase {
    /// The conversation's folder: for paths that begin with `.`.
    pub folder: PathBuf,
    /// The folder of notes of the user's configuration, or else the conversation's: for all others.
    pub notes: PathBuf,
    /// Who knows where paths lead.
    pub disk: Disk,
}

/// What the agents of a conversation permit. The default permits everything.
///
/// Where their paths lead is looked up when the first path is judged, and not before.
#[derive(Clone, Debug, Default)]
pub struct Permitted {
    chosen: Agents,
    agents: OnceLock<Vec<Lists>>,
}

/// The agents of a conversation, before anybody has looked up where their paths lead.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    /// Each with its name. Only those that restrict something matter.
    pub all: Vec<(String, AgentOptions)>,
    /// Where relative paths start.
    pub base: AgentBase,
}

impl Agents {
    /// One of this name that is not known, and permits nothing.
    pub fn unknown(name: &str, base: AgentBase) -> Self {
        let (read, write) = (Some(Vec::new()), Some(Vec::new()));
        let nothing =
            AgentOptions { allowed_read_paths: read, allowed_write_paths: write, unchecked_tools: Vec::new() };
        Self { all: vec![(name.to_owned(), nothing)], base }
    }

    /// What they permit together. This does not read the disk yet.
    pub fn permitted(&self) -> Permitted {
        let mut chosen = self.clone();
        chosen.all.retain(|(_, options)| options.is_restricting());
        Permitted { chosen, agents: OnceLock::new() }
    }

    /// What each of them permits.
    fn look_up(&self) -> Vec<Lists> {
        let list = |paths: &Option<Vec<String>>| {
            paths.as_ref().map(|paths| paths.iter().map(|path| Allowed::new(path, &self.base)).collect())
        };
        let lists = |options: &AgentOptions| [list(&options.allowed_read_paths), list(&options.allowed_write_paths)];
        self.all.iter().map(|(_, options)| lists(options)).collect()
    }
}

/// What one agent lets tools read, and what it lets them write of that; `None` for everything.
type Lists = [Option<Vec<Allowed>>; 2];

/// What one agent does not permit.
struct Refusal<'a> {
    agent: &'a str,
    access: Access,
    /// What it permits.
    list: &'a [Allowed],
}

/// One entry of a list of paths.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Allowed {
    written: String,
    /// Where it is, absolute and without `..`.
    path: PathBuf,
    /// What it covers, with links resolved: the file or folder, and the page of this name. None if a part of a relative path
    /// is a link.
    places: Vec<PathBuf>,
    /// Whether a part of a relative path is a link.
    is_link: bool,
    /// Whether the disk does not say what it covers. It covers nothing then.
    is_unclear: bool,
}

impl Permitted {
    /// The same once it is known where the paths lead. This reads the disk.
    pub fn looked_up(self) -> Self {
        self.agents.get_or_init(|| self.chosen.look_up());
        self
    }

    /// The agents with what each of them permits.
    fn agents(&self) -> impl Iterator<Item = (&(String, AgentOptions), &Lists)> {
        self.chosen.all.iter().zip(self.agents.get_or_init(|| self.chosen.look_up()))
    }

    fn disk(&self) -> &Disk {
        &self.chosen.base.disk
    }

    /// Whether everything is permitted.
    pub fn is_everything(&self) -> bool {
        self.chosen.all.is_empty()
    }

    /// Whether the file that a path leads to may be used in this way. `path` is absolute. This reads the disk, unless everything
    /// is permitted.
    pub fn allows(&self, access: Access, path: &Path) -> bool {
        self.is_everything() || self.refusing(access, &self.disk().real(path)).is_none()
    }

    /// The same of an entry of a folder whose links are resolved.
    pub fn shows(&self, entry: &Path) -> bool {
        match () {
            () if self.is_everything() => true,
            () if self.disk().is_link(entry) => self.allows(Access::Read, entry),
            () => self.refusing(Access::Read, entry).is_none(),
        }
    }

    /// Whether a model may be told about something that has this name in the editor, as
    /// [`DeniedPaths::allows`](super::rules::DeniedPaths::allows) says for what the user denies.
    pub fn allows_name(&self, base: &Path, name: &Path) -> bool {
        self.is_everything()
            || name.as_os_str().is_empty()
            || (!is_url(name) && self.allows(Access::Read, &paths::resolve(base, name)))
    }

    /// Whether something below a folder, whose links are resolved, may be read, although it may not be read itself.
    pub fn leads_on(&self, folder: &Path) -> bool {
        self.agents().all(|(_, [read, _])| {
            let is_above = |allowed: &Allowed| {
                allowed.places.iter().any(|place| place.starts_with(folder) || folder.starts_with(place))
            };
            read.as_ref().is_none_or(|list| list.iter().any(is_above))
        })
    }

    /// Checks that the file that a path leads to may be used in this way. `path` is absolute, and messages call it `name`.
    ///
    /// # Errors
    /// If an agent does not permit it, with the agent, the path and what it permits.
    pub fn check<'a>(&self, access: Access, path: &Path, name: impl Into<PathName<'a>>) -> Result<(), ModelError> {
        if self.is_everything() {
            return Ok(());
        }
        self.check_real(access, &self.disk().real(path), name)
    }

    /// The same of a path without links: that of a file which is open, or is opened without following links.
    ///
    /// # Errors
    /// If an agent does not permit it.
    pub fn check_real<'a>(&self, access: Access, real: &Path, name: impl Into<PathName<'a>>) -> Result<(), ModelError> {
        let Some(refusal) = self.refusing(access, real) else { return Ok(()) };
        // It may be in what the disk does not say.
        if let Some(unclear) = refusal.list.iter().find(|allowed| allowed.is_unclear) {
            self.disk().note_lacking(&unclear.path);
        }
        Err(refusal.problem(real, name.into(), self.disk()))
    }

    /// Checks that a tool may run whose definition does not say which paths it uses.
    ///
    /// # Errors
    /// If an agent restricts paths and does not name the tool.
    pub fn check_undeclared(&self, tool: &str) -> Result<(), ModelError> {
        let refuses =
            |(_, options): &&(String, AgentOptions)| !options.unchecked_tools.iter().any(|known| known == tool);
        self.chosen.all.iter().find(refuses).map_or(Ok(()), |(agent, _)| {
            bail!("The agent `{agent}` restricts which files may be used, and `{tool}` does not declare which files it uses. So \
                 it did not run. Use other tools. (The user can name it in `unchecked_tools` of the agent.)")
        })
    }

    /// What each agent permits, for the user: its name, what may be read and what may be written (`None` for everything), and
    /// the tools that run unchecked.
    pub fn describe(&self) -> impl Iterator<Item = PermittedView<'_>> {
        self.agents().map(|((agent, options), lists)| {
            let [read, write] = lists.each_ref().map(|list| list.as_deref().map(shown));
            PermittedView { agent, read, write, unchecked_tools: &options.unchecked_tools }
        })
    }

    /// The first agent that does not permit this. The links of `real` are resolved.
    fn refusing(&self, wanted: Access, real: &Path) -> Option<Refusal<'_>> {
        let refusals = self.agents().flat_map(|((agent, _), lists)| {
            let lists = [Access::Read, Access::Write].into_iter().zip(lists);
            lists.filter_map(move |(access, list)| Some(Refusal { agent, access, list: list.as_deref()? }))
        });
        let mut refusals = refusals.filter(|refusal| wanted == Access::Write || refusal.access == Access::Read);
        refusals.find(|refusal| !refusal.list.iter().any(|allowed| allowed.covers(real)))
    }
}

/// What one agent permits, for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermittedView<'a> {
    /// Its name.
    pub agent: &'a str,
    /// The paths that may be read; `None` for all.
    pub read: Option<Vec<String>>,
    /// The paths that may be written if they may be read; `None` for all.
    pub write: Option<Vec<String>>,
    /// The tools that run although they do not declare which paths they use.
    pub unchecked_tools: &'a [String],
}

fn shown(list: &[Allowed]) -> Vec<String> {
    let show = |allowed: &Allowed| match allowed.is_link {
        true => format!("{} (nothing: it is a link)", allowed.path.display()),
        false => allowed.path.display().to_string(),
    };
    list.iter().map(show).collect()
}

impl Refusal<'_> {
    fn problem(&self, real: &Path, name: PathName<'_>, disk: &Disk) -> ModelError {
        let verb = match self.access {
            Access::Read => "read",
            Access::Write => "written",
        };
        // Where a link leads is not said: the model would learn what there is outside.
        let why = match name {
            PathName::Written(written) if self.list.iter().any(|allowed| allowed.leads_out(written, real, disk)) => {
                ": it is a link, or a folder in it is, and what that leads to is not allowed"
            }
            _ => "",
        };
        let list: Vec<String> = self.list.iter().map(Allowed::described).collect();
        let allowed = match list.as_slice() {
            [] => "Nothing may".to_owned(),
            list => format!("Only these paths may: {}", list.join(", ")),
        };
        let name = match name {
            PathName::Written(written) => format!("`{}`", escape_controls(written)),
            PathName::Folder(folder) => folder.to_owned(),
        };
        ModelError::new(format!("The agent `{}` does not allow {name} to be {verb}{why}. {allowed}.", self.agent))
    }
}

impl Allowed {
    /// Looks up where a path of the configuration leads now.
    fn new(written: &str, base: &AgentBase) -> Self {
        let path = Path::new(written);
        let first = path.components().next();
        let is_fixed = path.is_absolute() || first == Some(Component::Normal("~".as_ref()));
        let is_dotted = matches!(first, Some(Component::CurDir | Component::ParentDir));
        let start = if is_dotted { &base.folder } else { &base.notes };
        let real = |path: &Path| base.disk.real_if_known(path);
        let (path, places) = if is_fixed {
            let path = plain(&paths::resolve(&base.folder, path));
            let places = real(&path).map(|place| vec![place]);
            (path, places)
        } else if let Some(start) = real(start) {
            let is_name = path.components().all(|part| matches!(part, Component::Normal(_))) && !written.ends_with('/');
            let path = plain(&start.join(path));
            let page = is_name.then(|| page(&path));
            // Whoever brings or changes the content of the folder must not decide what may be read.
            let own = |path: PathBuf| real(&path).map(|place| Some(path).filter(|path| *path == place));
            let places: Option<Vec<_>> = [path.clone()].into_iter().chain(page).map(own).collect();
            (path, places.map(|places| places.into_iter().flatten().collect()))
        } else {
            (plain(&start.join(path)), None)
        };
        Self {
            written: written.to_owned(),
            is_link: !is_fixed && places.as_ref().is_some_and(|places| !places.contains(&path)),
            is_unclear: places.is_none(),
            places: places.unwrap_or_default(),
            path,
        }
    }

    /// Its path as messages show it.
    fn described(&self) -> String {
        let note = if self.is_link { " (a link, which allows nothing)" } else { "" };
        format!("`{}`{note}", self.written)
    }

    /// Whether a path that the model wrote is in this entry, and leads to `real` by a link.
    fn leads_out(&self, written: &str, real: &Path, disk: &Disk) -> bool {
        let parts =
            |path: &str| Path::new(path).components().filter(|part| *part != Component::CurDir).collect::<PathBuf>();
        let (entry, path) = (parts(&self.written), parts(written));
        let own = match path.strip_prefix(&entry) {
            Ok(rest) => self.path.join(rest),
            Err(_) if path.starts_with(&self.path) => path,
            Err(_) => return false,
        };
        let own = plain(&own);
        [page(&own), own]
            .iter()
            .any(|own| own.starts_with(&self.path) && own != real && disk.surely(|disk| disk.real(own) == *real))
    }

    fn covers(&self, real: &Path) -> bool {
        self.places.iter().any(|place| real.starts_with(place))
    }
}

/// The page of this name.
fn page(path: &Path) -> PathBuf {
    let mut page = path.as_os_str().to_owned();
    page.push(".md");
    page.into()
}
