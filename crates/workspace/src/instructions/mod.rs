//! Instructions: what is sent before the user's first message, and stands in the file from then on ([`flemma_chat::write_instructions`]).
//!
//! When the user sends a conversation of a project that says nothing to the model yet, the gate has them found (`find`): the prompt of the
//! option `system`, the rules of the user and of the project, and the names of skills. The files of a project may be a stranger's, so
//! the user is asked about them once ([`Question::Instructions`](crate::Question::Instructions)), and again when something else than this
//! editor has changed them. Then they wait in the conversation for the request, which writes them.

mod preview;
mod prompt;
mod prompting;

use std::{
    env,
    path::{Path, PathBuf},
    rc::Rc,
};

use crate::{
    Conversation,
    components::InstructionSource,
    page::{Page, Writing},
    ports::{AskedFile, Place},
};
use flemma_agent::Level;
use flemma_chat::Capture;
use flemma_config::Config;
use flemma_runtime::conversation_folder;
use flemma_tools::{
    instructions::{InstructionFile, Instructions, Search, Skill},
    paths::real,
};

/// What skills are captured as.
const SKILLS: &str = "skills";

/// The tool that loads a skill. It is offered where the instructions name skills.
pub(crate) const SKILL: &str = "skill";

/// Instructions that wait to be written.
pub(crate) struct Found {
    prompt: String,
    found: Instructions,
}

impl Found {
    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.prompt.is_empty() && self.captures().is_empty()
    }

    /// The captures, in the order in which they are written.
    fn captures(&self) -> Vec<Capture> {
        let capture = |written: &str, content: String, cut: Option<String>| Capture {
            line: 0,
            written: written.to_owned(),
            content,
            cut,
        };
        let rules = self
            .found
            .rules
            .iter()
            .chain(&self.found.nested)
            .map(|file| capture(&file.name, file.text.clone(), file.cut.clone()));
        let mut captures: Vec<Capture> = rules.collect();
        let lines: Vec<String> =
            self.skills().map(|skill| format!("- {}: {}", skill.name, skill.description)).collect();
        if !lines.is_empty() {
            captures.push(capture(SKILLS, prompt::catalogue(&lines), None));
        }
        captures
    }

    /// The skills that the model may load.
    fn skills(&self) -> impl Iterator<Item = &Skill> {
        self.found.skills.iter().filter(|skill| !skill.is_for_user)
    }

    /// What was found, for a message: `AGENTS.md, 3 skills`.
    fn names(&self) -> String {
        let mut names: Vec<String> = self.captures().into_iter().map(|capture| capture.written).collect();
        if let Some(skills) = names.iter_mut().find(|name| *name == SKILLS) {
            *skills = flemma_text::things(self.skills().count(), "skill");
        }
        names.join(", ")
    }
}

impl InstructionSource {
    /// Whether instructions have to be found before a conversation is sent.
    pub(crate) fn are_lacking(&self, conversation: &Conversation) -> bool {
        let config = &self.frontmatter.of(conversation).config;
        let is_wanted = !config.system.is_empty() || config.rules || config.skills;
        is_wanted
            && conversation.instructions.borrow().is_none()
            && conversation.page.with_document(|document, _| flemma_chat::lacks_instructions(document))
    }

    /// Finds the instructions of a conversation, away from the main thread.
    pub(crate) fn find(
        &self,
        conversation: &Conversation,
        then: impl FnOnce(&Self, &Conversation, Found) + Send + 'static,
    ) {
        let (search, readable) = (self.search(conversation), self.permissions.readable(conversation));
        let today = self.shared.host.local_time(self.shared.host.now());
        let system = self.frontmatter.of(conversation).config.system.clone();
        let work = move || {
            let search = search();
            let is_in_project = search.root.is_some();
            let found = if is_in_project { Instructions::find(&search, &readable) } else { Instructions::default() };
            Found { prompt: prompt::of(&system, &found, &search.folder, &today), found }
        };
        self.background.run_for(conversation.id, work, then);
    }

    /// Where instructions of a conversation are looked for. What is given has to look at the disk for that.
    fn search(&self, conversation: &Conversation) -> impl FnOnce() -> Search + Send + 'static {
        let config = Rc::clone(&self.frontmatter.of(conversation).config);
        let place = self.shared.place(conversation);
        let (search, markers, project) = (search(&config, &place), config.conversations.markers.clone(), place.project);
        move || {
            let root = project.or_else(|| conversation_folder::project_root(&search.folder, &markers));
            let root = root.map(|root| real(&root)).filter(|root| !is_around(root, search.home.as_deref()));
            Search { root, ..search }
        }
    }

    /// The files among these that the user has not trusted as they are now.
    pub(crate) fn untrusted(&self, found: &Found) -> Vec<AskedFile> {
        let is_untrusted = |file: &&InstructionFile| !self.trust.contains_instructions(&file.path, &file.whole);
        let untrusted = found.found.of_project().filter(is_untrusted);
        let asked = untrusted.map(|file| AskedFile {
            path: file.path.clone(),
            name: file.name.clone(),
            before: self.trust.instructions_before(&file.path),
        });
        asked.collect()
    }

    /// The user has answered whether they trust the project's files.
    pub(crate) fn were_answered(&self, conversation: &Conversation, is_trusted: bool) {
        let Some(mut asked) = conversation.asked_instructions.take() else { return };
        let found = &mut asked.found;
        if is_trusted {
            let files = found.of_project().map(|file| (file.path.clone(), file.whole.clone())).collect();
            self.trust.keep_instructions(files);
        } else {
            found.leave_out_project();
        }
        conversation.instructions.replace(Some(asked));
    }

    /// Writes what waits to be written. Says whether there was something.
    pub(crate) fn write(&self, conversation: &Conversation) -> Option<String> {
        let found = conversation.instructions.take()?;
        let captures = found.captures();
        let edits = conversation
            .page
            .with_document(|document, text| flemma_chat::write_instructions(document, text, &found.prompt, &captures));
        self.shared.write_as(conversation, Writing::Others, &edits);
        for file in &found.found.rules {
            if let Some(cut) = &file.cut {
                self.shared.notify(conversation, Level::Warn, &format!("{}: the model is told of {cut}", file.name));
            }
        }
        for (name, why) in &found.found.left_out {
            self.shared.notify(conversation, Level::Warn, &format!("the model is not told of {name}: {why}"));
        }
        Some(found.names())
    }

    /// Takes in the rules and skills as they are now: `:Flemma rules`.
    pub(crate) fn take_in(&self, conversation: &Conversation) {
        conversation.page.undo_step();
        let message = match self.write(conversation) {
            Some(names) if !names.is_empty() => format!("taken in: {names}"),
            _ => "no rules and no skills: the project has none, or the options leave them out".to_owned(),
        };
        self.shared.notify(conversation, Level::Info, &message);
    }

    /// A conversation goes on: tells the user of rules that have changed since it took them in.
    pub(crate) fn look_again(&self, conversation: &Conversation) {
        if captured(&conversation.page).is_empty() {
            return;
        }
        self.find(conversation, |this, conversation, mut found| {
            // Skills that the user has not trusted are not what has changed.
            let untrusted: Vec<PathBuf> = this.untrusted(&found).into_iter().map(|file| file.path).collect();
            found.found.skills.retain(|skill| !untrusted.contains(&skill.file.path));
            let captures = found.captures();
            let changed: Vec<String> = captured(&conversation.page)
                .into_iter()
                .filter(|(name, known)| {
                    let now = captures.iter().find(|capture| capture.written == *name);
                    now.is_none_or(|now| flemma_chat::fence_of(now) != *known)
                })
                .map(|(name, _)| name)
                .collect();
            if changed.is_empty() || conversation.told_rules.replace(changed.clone()) == changed {
                return;
            }
            let names = changed.join(", ");
            let message = format!("`:Flemma rules` takes in what has changed since this conversation read it: {names}");
            this.shared.notify(conversation, Level::Info, &message);
        });
    }

    /// The user has written a file in this editor: if it was trusted before, it stays so.
    pub fn was_written(&self, path: PathBuf) {
        let find = move || real(&path);
        self.background.run(find, |this: &Self, path| {
            if this.trust.knows_instructions(&path) {
                let read = move || InstructionFile::read_whole(&path).map(|text| (path, text));
                this.background.run(read, |this: &Self, read| this.trust.keep_instructions(read.into_iter().collect()));
            }
        });
    }
}

/// What was captured for the instructions of a conversation.
fn captured(page: &Page) -> Vec<(String, Vec<String>)> {
    page.with_document(|document, text| flemma_chat::captured_instructions(document, text))
}

/// Whether the instructions of a conversation name skills.
pub(crate) fn has_skills(page: &Page) -> bool {
    captured(page).iter().any(|(name, _)| name == SKILLS)
}

fn search(config: &Config, place: &Place) -> Search {
    let home = env::home_dir();
    let configured = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    Search {
        folder: place.folder(),
        root: None,
        config: configured.or_else(|| Some(home.as_ref()?.join(".config"))),
        home,
        rules: config.rules,
        skills: config.skills,
    }
}

/// Whether a folder is the home folder, or one above it: such a folder is no project.
fn is_around(folder: &Path, home: Option<&Path>) -> bool {
    folder.parent().is_none() || home.is_some_and(|home| real(home).starts_with(folder))
}
