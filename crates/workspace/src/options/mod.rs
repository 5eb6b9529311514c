//! Evaluates a conversation's frontmatter.
//!
//! It is evaluated when a request, a decision about a call or a status view needs it, and again only when the text, the
//! options or the tools have changed since. Lua is run by [`crate::Scripts`], JSON is read here, any other language goes to
//! the parser that was registered for it. Code that the user has not trusted is not run, and options that they have not
//! trusted have no effect, apart from harmless ones. Then, as with a mistake, the frontmatter has a fault, which keeps the
//! conversation from being sent and its tools from running.

pub(crate) mod effective;
pub(crate) mod health;
pub(crate) mod layers;
pub(crate) mod notes;
pub(crate) mod switch;

use std::rc::Rc;

use serde_json::Value;

use crate::{
    Conversation,
    approval::chain,
    components::Frontmatter,
    instructions::{self, SKILL},
    options::effective::{Basis, Effective, Fault},
    ports::FrontmatterRun,
    trust::{FrontmatterCode, FrontmatterTrust, GateFacts},
};
use flemma_chat::OpenCall;
use flemma_config::{
    FileOptions,
    buffer::{AUTO_APPROVE, BufferOptions, Defaults, NameCheck, TOOLS},
};
use flemma_model::UserError;
use flemma_provider::ProviderName;
use flemma_text::suggest::nearest;
use flemma_tools::{
    NamedBy, Policy, TurnTools,
    approval::{BufferPolicy, Decision},
    presets,
    rules::Rule,
};

impl Frontmatter {
    /// What is in effect for a conversation now.
    pub(crate) fn of(&self, conversation: &Conversation) -> Rc<Effective> {
        let source = conversation.page.frontmatter();
        let is_trusted = source.as_ref().is_none_or(|source| self.trust.trusts(conversation, source));
        let basis = Basis { source, is_trusted, generation: self.shared.toolbox.generation.get() };
        if let Some((known, effective)) = &*conversation.evaluated.borrow()
            && *known == basis
        {
            return Rc::clone(effective);
        }
        let mut effective = self.evaluate(conversation, basis.source.as_ref(), is_trusted);
        self.steer(conversation, &mut effective);
        let effective = Rc::new(effective);
        conversation.evaluated.replace(Some((basis, Rc::clone(&effective))));
        effective
    }

    fn evaluate(&self, conversation: &Conversation, source: Option<&FrontmatterCode>, is_trusted: bool) -> Effective {
        let without = |fault: Option<Fault>| Effective {
            config: self.shared.config(),
            tools: None,
            // A policy that cannot be read may have been a strict one.
            policy: fault.as_ref().map(|_| BufferPolicy::Function(Rc::new(|_| Ok(Some(Decision::RequireApproval))))),
            file: FileOptions::default(),
            fault,
        };
        // The options say how the conversation goes on.
        let Some(source) = source.filter(|_| self.shared.host.carries_on()) else { return without(None) };
        let FrontmatterRun { file, policy } = match self.read_frontmatter(conversation, source, is_trusted) {
            Ok(run) => run,
            Err(fault) => return without(Some(fault)),
        };
        let config = match self.shared.options.with(&[&file.layer]) {
            Ok(config) => config,
            Err(problem) => return without(Some(Fault::new(0, format!("the frontmatter: {problem}")))),
        };
        if let Some(problem) = config.agent.as_ref().and_then(|agent| config.unknown_agent(agent)) {
            return without(Some(Fault::new(0, format!("the frontmatter: {problem}"))));
        }
        let policy = match (policy, &file.auto_approve) {
            (Some(function), _) => {
                let label = "the function flemma.opt.tools.auto_approve".to_owned();
                Some(BufferPolicy::Function(chain::policy_function(&self.shared.host, label, function)))
            }
            (None, Some(list)) => {
                let presets = chain::presets(&config);
                Some(BufferPolicy::List(Policy::new(list.items(), list.removed(), &presets)))
            }
            (None, None) => None,
        };
        let tools = self.chosen_tools(&file, &config);
        Effective { config: Rc::new(config), tools, policy, file, fault: None }
    }

    /// Whom a driven conversation talks to beats what its file says.
    fn steer(&self, conversation: &Conversation, effective: &mut Effective) {
        let steered = conversation.drive.layer(&effective.config).and_then(|layer| {
            layer.map(|layer| self.shared.options.with(&[&effective.file.layer, &layer])).transpose()
        });
        match steered {
            Ok(None) => {}
            Ok(Some(config)) => effective.config = Rc::new(config),
            Err(problem) => effective.fault = effective.fault.take().or(Some(Fault::new(0, problem.to_string()))),
        }
    }

    /// What the text says.
    fn read_frontmatter(
        &self,
        conversation: &Conversation,
        source: &FrontmatterCode,
        is_trusted: bool,
    ) -> Result<FrontmatterRun, Fault> {
        let FrontmatterCode { language, code } = source;
        let mut known = match self.shared.scripts.parse(conversation.buffer, language, code) {
            Ok(parsed) => {
                let value =
                    parsed.map_err(|problem| Fault::new(0, format!("the {language} frontmatter: {problem}")))?;
                return self.read_data(&value, is_trusted);
            }
            Err(known) => known,
        };
        match language.as_str() {
            "lua" if !is_trusted => Err(Fault::untrusted("Lua")),
            "lua" => {
                let options = BufferOptions::new(self.defaults(), "flemma.opt.", self.name_check());
                let run = self.shared.scripts.run_frontmatter(code, options);
                run.map_err(|error| Fault::new(error.line, error.message))
            }
            "json" => {
                let value = serde_json::from_str(code)
                    .map_err(|error| Fault::new(error.line(), format!("the JSON frontmatter: {error}")))?;
                self.read_data(&value, is_trusted)
            }
            "" => Err(Fault::new(0, "the frontmatter names no language; write lua or json after the opening fence")),
            other => {
                known.extend(["json".to_owned(), "lua".to_owned()]);
                let meant = nearest(other, known.iter().map(String::as_str));
                let meant = meant.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let hint = "register one with require(\"flemma.codeblock.parsers\").register";
                Err(Fault::new(0, format!("there is no parser for frontmatter in `{other}`{meant} ({hint})")))
            }
        }
    }

    /// Options that are no code. Most have an effect only where they are trusted.
    fn read_data(&self, value: &Value, is_trusted: bool) -> Result<FrontmatterRun, Fault> {
        let Value::Object(entries) = value else {
            return Err(Fault::new(0, format!("the frontmatter must be a table of options, not {value}")));
        };
        let mut options = BufferOptions::new(self.defaults(), "", self.name_check());
        for (key, value) in entries {
            options.set(key, value).map_err(|problem| Fault::new(0, format!("the frontmatter: {problem}")))?;
        }
        let file = options.finish();
        if let Some(option) = file.needs_trust().filter(|_| !is_trusted) {
            return Err(Fault::untrusted(&format!("option `{option}`")));
        }
        Ok(FrontmatterRun { file, policy: None })
    }

    fn defaults(&self) -> Defaults {
        let config = self.shared.config();
        let is_list = !self.shared.options.is_policy_function.get();
        Defaults {
            config: serde_json::to_value(&*config).unwrap_or_default(),
            tools: self.shared.toolbox.default_tools(),
            auto_approve: is_list.then(|| config.tools.auto_approve.clone()),
        }
    }

    /// Whether the names in lists mean something. While tools are loading, any name may.
    fn name_check(&self) -> NameCheck {
        let presets = chain::presets(&self.shared.config());
        let tools = self.shared.toolbox.is_ready().then(|| self.shared.toolbox.registry().clone());
        Rc::new(move |path, name| {
            if path == AUTO_APPROVE && presets::is_module(name) {
                return Err(UserError::new(format!("`{name}`: a module belongs in the configuration, not in a file")));
            }
            if let Some(group) = name.strip_prefix('$').filter(|_| path == TOOLS) {
                return match presets.get(name) {
                    _ if tools.as_ref().is_none_or(|tools| tools.group(group).is_some()) => Ok(()),
                    Some(_) => Err(about_approval(name)),
                    None => Err(UserError::new(format!("there is no group `{name}`"))),
                };
            }
            if path == TOOLS && Rule::is_rule(name) {
                return Err(about_approval(name));
            }
            presets::check(name, &presets, tools.as_ref())
        })
    }

    /// What the gate needs to know before the user's wish may reach the session.
    pub(crate) fn facts(&self, conversation: &Conversation, lacks_instructions: bool) -> GateFacts {
        let is_busy = conversation.session.is_busy();
        let folder = self.shared.place(conversation).folder();
        let is_store_read = self.trust.is_read();
        let lacks_trust = || self.of(conversation).fault.as_ref().is_some_and(|fault| fault.lacks_trust);
        let frontmatter = match conversation.page.frontmatter() {
            Some(source) if self.trust.trusts(conversation, &source) => FrontmatterTrust::Settled,
            Some(_) if !is_store_read => FrontmatterTrust::Unread,
            Some(source) if lacks_trust() => FrontmatterTrust::Missing(source),
            _ => FrontmatterTrust::Settled,
        };
        let unvetted = if is_busy { Vec::new() } else { conversation.page.unvetted(&folder) };
        let references = if is_busy { Vec::new() } else { conversation.unvetted_references() };
        let references = references.into_iter().map(|(_, reference)| reference).collect();
        GateFacts { is_busy, is_store_read, frontmatter, unvetted, references, folder, lacks_instructions }
    }

    /// Why a conversation is not sent to this provider: the one that the user has chosen cannot be read; or the
    /// conversation is driven and nobody has chosen any, so a script would reply.
    pub(crate) fn lacks_provider(&self, conversation: &Conversation, file: &Effective) -> Option<String> {
        if let Some(problem) = &*self.shared.options.fault.borrow() {
            return Some(format!("nothing is sent until the options of `setup` are right: {problem}"));
        }
        let is_named = conversation.drive.asked(|options| options.provider.is_some())?;
        let layers = self.shared.options.layers();
        let mut said = [&file.file.layer].into_iter().chain(layers.iter().rev());
        let chosen = said.find_map(|layer| layer.pointer("/provider"));
        // Where the options name none, it is the script.
        let is_script = file.config.provider == ProviderName::default();
        if !is_script || is_named || chosen.is_some_and(|provider| !provider.is_null()) {
            return None;
        }
        let words = "no provider is set. A script would answer instead of a model. Call `setup` with a `provider` in the \
                     configuration of Neovim, before or at VimEnter, or use --provider";
        Some(words.to_owned())
    }
}

fn about_approval(name: &str) -> UserError {
    UserError::new(format!("`{name}` is about approval; `tools` lists the names of tools, and of groups with a `$`"))
}

/// Which tools the next request of a conversation offers: what the options and the file say, what the user's message names, and what
/// the tools that decide for themselves say.
impl Frontmatter {
    /// What a request that goes out now changes about the tools that are offered. It calls functions of the user's.
    pub(crate) fn turn_tools(&self, conversation: &Conversation, file: &Effective) -> TurnTools {
        self.turn_tools_above(conversation, file, usize::MAX)
    }

    /// The same for the request that was answered with a call: what its request said, or, if that went out in another
    /// session, what follows from the text above the call.
    pub(crate) fn turn_tools_of(
        &self,
        conversation: &Conversation,
        file: &Effective,
        call: &OpenCall,
    ) -> Rc<TurnTools> {
        let requested = conversation.turn_tools.borrow().clone();
        requested.unwrap_or_else(|| Rc::new(self.turn_tools_above(conversation, file, call.line)))
    }

    fn turn_tools_above(&self, conversation: &Conversation, file: &Effective, line: usize) -> TurnTools {
        let mut turn = TurnTools::default();
        let page = &conversation.page;
        let is_trusted = conversation.drive.trusts() == Some(true);
        for mention in page.with_document(|document, text| flemma_chat::mentioned(document.messages(), line, text)) {
            let is_own = is_trusted || page.is_by_user(mention.line..mention.line + 1);
            self.shared.toolbox.name(&mention.name, if is_own { NamedBy::User } else { NamedBy::File }, &mut turn);
        }
        if instructions::has_skills(page) {
            // It says which skills may be loaded.
            self.trust.read_trust_store();
            turn.name(SKILL, NamedBy::User);
        }
        let asked = self.shared.toolbox.registry().to_ask(file.tools.as_ref(), &turn);
        for (tool, function, is_named) in asked {
            let answer = self.shared.scripts.is_enabled(function, conversation.buffer, is_named);
            let is_enabled = answer.unwrap_or_else(|problem| {
                let hint = "It may return true or false. Until it does, the tool is not offered to models";
                self.shared.warn_once(function, &format!("the tool `{tool}`: `enabled` {problem}. {hint}"));
                false
            });
            turn.answers.insert(tool, is_enabled);
        }
        turn
    }
}
