//! The system prompt: what the option `system` says, with what is known of the project.

use std::{env, path::Path};

use flemma_config::CODING;
use flemma_tools::instructions::Instructions;

/// The prompt for work on a project.
const WORK: &str = "You are a coding agent in Neovim, the user's editor. You work with the user on the project below. Look at the code \
     before you answer or change anything, change as little as the task needs, and check what you have changed.";

/// What the tools are for, and what the user decides.
const TOOLS: &str = "Use the tools: those that read and search to find out, those that edit to change files, and `bash` to build, test \
     and look at the repository. The user sees every call, and may have to approve it first. They may change its input, or reject it; \
     the result says so, and why. Do not try a rejected call again in another way. Ask before you do what cannot be undone, and where \
     only the user can know. Answer in Markdown, and be brief.";

/// The most bytes of the catalogue of skills.
const CATALOGUE: usize = 20_000;

/// The prompt of these entries, in a conversation whose relative paths start at `folder`. `now` begins with the user's date.
pub(super) fn of(entries: &[String], found: &Instructions, folder: &Path, now: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for entry in entries {
        if entry == CODING {
            parts.extend(found.root.as_deref().map(|root| coding(found, root, folder, now)));
        } else {
            parts.push(entry.trim().to_owned());
        }
    }
    parts.join("\n\n")
}

fn coding(found: &Instructions, root: &Path, folder: &Path, now: &str) -> String {
    let branch = found.branch.as_ref().map_or_else(String::new, |branch| format!(", on branch `{branch}`"));
    let mut facts = vec![format!("- Project: {}{branch}", root.display())];
    if folder != root {
        facts.push(format!("- Working folder: {}", folder.display()));
    }
    let shell = env::var_os("SHELL").map(|shell| Path::new(&shell).file_name().unwrap_or_default().to_owned());
    let shell = shell.map_or_else(String::new, |shell| format!(", shell {}", shell.display()));
    facts.push(format!("- System: {} on {}{shell}", env::consts::OS, env::consts::ARCH));
    // The day and not the minute, so that a provider's cache of the prompt serves all conversations of a day.
    facts.push(format!("- Date: {}", now.split(' ').next().unwrap_or_default()));
    format!("{WORK}\n\n{}\n\n{TOOLS}", facts.join("\n"))
}

/// The catalogue of skills, one on a line, as far as there is room.
pub(super) fn catalogue(lines: &[String]) -> String {
    let mut text = "Load one with the tool `skill` before you begin a task that it is for:".to_owned();
    for (at, line) in lines.iter().enumerate() {
        if text.len() + line.len() > CATALOGUE {
            text.push_str(&format!("\n[{} more are left out: there is no room for them.]", lines.len() - at));
            break;
        }
        text.push('\n');
        text.push_str(line);
    }
    text
}
