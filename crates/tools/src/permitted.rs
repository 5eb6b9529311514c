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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    agents: OnceLock<Vec<Agent>>,
}

/// The agents of a conversation, before anybody has looked up where their paths lead.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agents {
    /// Each with its name. Only those that restrict something matter.
    pub all: Vec<(String, AgentOptions)>,
    /// Where relative paths start.
    pub base: AgentBase,
}

impl Agents {
    /// One of this name that is not known, and permits nothing.
    #[must_use]
    pub fn unknown(name: &str, base: AgentBase) -> Self {
        let (read, write) = (Some(Vec::new()), Some(Vec::new()));
        let nothing =
            AgentOptions { allowed_read_paths: read, allowed_write_paths: write, unchecked_tools: Vec::new() };
        Self { all: vec![(name.to_owned(), nothing)], base }
    }

    /// What they permit together. This does not read the disk yet.
    #[must_use]
    pub fn permitted(&self) -> Permitted {
        let mut chosen = self.clone();
        chosen.all.retain(|(_, options)| options.is_restricting());
        Permitted { chosen, agents: OnceLock::new() }
    }

    /// What each of them permits.
    fn look_up(&self) -> Vec<Agent> {
        let list = |paths: &Option<Vec<String>>| {
            paths.as_ref().map(|paths| paths.iter().map(|path| Allowed::new(path, &self.base)).collect::<Vec<_>>())
        };
        let agent = |(name, options): &(String, AgentOptions)| Agent {
            name: name.clone(),
            read: list(&options.allowed_read_paths),
            write: list(&options.allowed_write_paths),
            unchecked_tools: options.unchecked_tools.clone(),
        };
        self.all.iter().map(agent).collect()
    }
}

/// What one agent permits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Agent {
    name: String,
    read: Option<Vec<Allowed>>,
    write: Option<Vec<Allowed>>,
    unchecked_tools: Vec<String>,
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
    #[must_use]
    pub fn looked_up(self) -> Self {
        self.agents();
        self
    }

    /// What each agent permits.
    fn agents(&self) -> &[Agent] {
        self.agents.get_or_init(|| self.chosen.look_up())
    }

    fn disk(&self) -> &Disk {
        &self.chosen.base.disk
    }

    /// Whether everything is permitted.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.chosen.all.is_empty()
    }

    /// Whether the file that a path leads to may be used in this way. `path` is absolute. This reads the disk, unless everything
    /// is permitted.
    #[must_use]
    pub fn allows(&self, access: Access, path: &Path) -> bool {
        self.is_everything() || self.refusing(access, &self.disk().real(path)).is_none()
    }

    /// The same of an entry of a folder whose links are resolved.
    #[must_use]
    pub fn shows(&self, entry: &Path) -> bool {
        match () {
            () if self.is_everything() => true,
            () if self.disk().is_link(entry) => self.allows(Access::Read, entry),
            () => self.refusing(Access::Read, entry).is_none(),
        }
    }

    /// Whether a model may be told about something that has this name in the editor, as
    /// [`DeniedPaths::allows`](super::rules::DeniedPaths::allows) says for what the user denies.
    #[must_use]
    pub fn allows_name(&self, base: &Path, name: &Path) -> bool {
        self.is_everything()
            || name.as_os_str().is_empty()
            || (!is_url(name) && self.allows(Access::Read, &paths::resolve(base, name)))
    }

    /// Whether something below a folder, whose links are resolved, may be read, although it may not be read itself.
    #[must_use]
    pub fn leads_on(&self, folder: &Path) -> bool {
        self.agents().iter().all(|agent| {
            let is_above = |allowed: &Allowed| {
                allowed.places.iter().any(|place| place.starts_with(folder) || folder.starts_with(place))
            };
            agent.read.as_ref().is_none_or(|list| list.iter().any(is_above))
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
        let Some((agent, access)) = self.refusing(access, real) else { return Ok(()) };
        // It may be in what the disk does not say.
        if let Some(unclear) = agent.list(access).iter().flatten().find(|allowed| allowed.is_unclear) {
            self.disk().note_lacking(&unclear.path);
        }
        Err(agent.refusal(access, real, name.into(), self.disk()))
    }

    /// Checks that a tool may run whose definition does not say which paths it uses.
    ///
    /// # Errors
    /// If an agent restricts paths and does not name the tool.
    pub fn check_undeclared(&self, tool: &str) -> Result<(), ModelError> {
        let refuses =
            |(_, options): &&(String, AgentOptions)| !options.unchecked_tools.iter().any(|known| known == tool);
        self.chosen.all.iter().find(refuses).map_or(Ok(()), |(agent, _)| {
            Err(ModelError::new(format!(
                "The agent `{agent}` restricts which files may be used, and `{tool}` does not declare which files it uses. So \
                 it did not run. Use other tools. (The user can name it in `unchecked_tools` of the agent.)"
            )))
        })
    }

    /// What each agent permits, for the user: its name, what may be read and what may be written (`None` for everything), and
    /// the tools that run unchecked.
    pub fn describe(&self) -> impl Iterator<Item = PermittedView<'_>> {
        self.agents().iter().map(|agent| PermittedView {
            agent: &agent.name,
            read: agent.read.as_deref().map(shown),
            write: agent.write.as_deref().map(shown),
            unchecked_tools: &agent.unchecked_tools,
        })
    }

    /// The first agent that does not permit this, and what it does not permit. The links of `real` are resolved.
    fn refusing(&self, access: Access, real: &Path) -> Option<(&Agent, Access)> {
        let covers = |list: &Option<Vec<Allowed>>| {
            list.as_ref().is_none_or(|list| list.iter().any(|allowed| allowed.covers(real)))
        };
        self.agents().iter().find_map(|agent| match access {
            _ if !covers(&agent.read) => Some((agent, Access::Read)),
            Access::Write if !covers(&agent.write) => Some((agent, Access::Write)),
            Access::Read | Access::Write => None,
        })
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

impl Agent {
    /// What may be used in this way.
    const fn list(&self, access: Access) -> &Option<Vec<Allowed>> {
        match access {
            Access::Read => &self.read,
            Access::Write => &self.write,
        }
    }

    fn refusal(&self, access: Access, real: &Path, name: PathName<'_>, disk: &Disk) -> ModelError {
        let verb = match access {
            Access::Read => "read",
            Access::Write => "written",
        };
        let list = self.list(access);
        let entries = || list.iter().flatten();
        // Where a link leads is not said: the model would learn what there is outside.
        let why = match name {
            PathName::Written(written) if entries().any(|allowed| allowed.leads_out(written, real, disk)) => {
                ": it is a link, or a folder in it is, and what that leads to is not allowed"
            }
            _ => "",
        };
        let list: Vec<String> = entries().map(Allowed::described).collect();
        let allowed = match list.as_slice() {
            [] => "Nothing may".to_owned(),
            list => format!("Only these paths may: {}", list.join(", ")),
        };
        let name = match name {
            PathName::Written(written) => format!("`{}`", escape_controls(written)),
            PathName::Folder(folder) => folder.to_owned(),
        };
        ModelError::new(format!("The agent `{}` does not allow {name} to be {verb}{why}. {allowed}.", self.name))
    }
}

impl Allowed {
    /// Looks up where a path of the configuration leads now.
    fn new(written: &str, base: &AgentBase) -> Self {
        let path = Path::new(written);
        let first = path.components().next();
        let known = |path: PathBuf, places: Option<Vec<PathBuf>>, is_link: bool| Self {
            written: written.to_owned(),
            path,
            is_unclear: places.is_none(),
            places: places.unwrap_or_default(),
            is_link,
        };
        if path.is_absolute() || first == Some(Component::Normal("~".as_ref())) {
            let path = plain(&paths::resolve(&base.folder, path));
            let place = base.disk.real_if_known(&path).map(|place| vec![place]);
            return known(path, place, false);
        }
        let is_dotted = matches!(first, Some(Component::CurDir | Component::ParentDir));
        let start = if is_dotted { &base.folder } else { &base.notes };
        let Some(real) = base.disk.real_if_known(start) else { return known(plain(&start.join(path)), None, false) };
        let path = plain(&real.join(path));
        // Whoever brings or changes the content of the folder must not decide what may be read.
        let place = |path: &Path| base.disk.real_if_known(path).map(|place| Some(place).filter(|place| place == path));
        let Some(own) = place(&path) else { return known(path, None, false) };
        let is_link = own.is_none();
        let mut places = Vec::from_iter(own);
        let is_name = Path::new(written).components().all(|part| matches!(part, Component::Normal(_)));
        if is_name && !written.ends_with('/') {
            let mut page = path.clone().into_os_string();
            page.push(".md");
            let Some(page) = place(Path::new(&page)) else { return known(path, None, is_link) };
            places.extend(page);
        }
        known(path, Some(places), is_link)
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
        let mut page = own.clone().into_os_string();
        page.push(".md");
        [own, PathBuf::from(page)]
            .iter()
            .any(|own| own.starts_with(&self.path) && own != real && disk.surely(|disk| disk.real(own) == *real))
    }

    fn covers(&self, real: &Path) -> bool {
        self.places.iter().any(|place| real.starts_with(place))
    }
}
