//! The manual page: everything that `--help` says, of all commands, on one page.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::arguments::Arguments;

/// What `flemma --help` says at its end, in the form of its exit codes: headings, and below them terms and what they mean.
const PLACES: &str = "\
Environment:
  HOME, XDG_STATE_HOME  where your state is: `$XDG_STATE_HOME`, or `$HOME/.local/state`
  NVIM_APPNAME          the folder in there, if it is not `nvim`
  XDG_CONFIG_HOME       where the configuration is, if not in `$HOME/.config`

Files:
  ~/.config/flemma/config.toml        `continue = true` for `resolve --continue`, and `nvim`, the Neovim of `run`
  ~/.local/state/nvim/flemma/journal  what happened to each call: decisions, starts and results
  ~/.local/state/nvim/flemma/locks    which of your processes holds which conversation
  .NAME.flemma-lock                   beside an open conversation: the lock that other users and machines meet
  .NAME.flemma-new-*                  the new text of a conversation while it is written";

/// The arguments, with everything that the help of the program itself says.
pub(super) fn command() -> Command {
    let command = Arguments::command();
    let exit_codes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    command.after_long_help(format!("{exit_codes}\n\n{PLACES}"))
}

/// The page, for `man`.
///
/// # Errors
/// None in practice: it is written to memory.
pub(super) fn page() -> io::Result<Vec<u8>> {
    let mut command = command();
    // Each command gets its full name and the options of all commands.
    command.build();
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    page.write_all(b".SH COMMANDS\n")?;
    for one in command.get_subcommands() {
        let name = one.get_bin_name().unwrap_or(one.get_name()).to_owned();
        let man = Man::new(one.clone().bin_name(name.clone()));
        writeln!(page, ".SS {}", escaped(&name))?;
        for section in [Man::render_synopsis_section, Man::render_description_section, Man::render_options_section] {
            let mut part = Vec::new();
            section(&man, &mut part)?;
            page.extend(below(&part));
        }
    }
    let ends = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    for end in ends.split("\n\n").filter(|end| !end.trim().is_empty()) {
        write_list(&mut page, end)?;
    }
    page.write_all(b".SH SEE ALSO\n\\fBnvim\\fR(1), and \\fB:help flemma\\-command\\-line\\fR in Neovim\n")?;
    Ok(page)
}

/// A section of a command, which has a heading of its own already.
fn below(section: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(section);
    let lines = text.lines().filter(|line| ![".ie ", ".el "].iter().any(|start| line.starts_with(start)));
    let lines = lines.map(|line| if line.starts_with(".SH ") { ".PP" } else { line });
    lines.flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
}

/// A heading, and below it terms and what they mean, two spaces apart at least.
fn write_list(page: &mut Vec<u8>, list: &str) -> io::Result<()> {
    let mut lines = list.trim().lines();
    let heading = lines.next().unwrap_or_default().trim_end_matches(':').to_uppercase();
    writeln!(page, ".SH {}", escaped(&heading))?;
    for line in lines {
        let (term, text) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
        writeln!(page, ".TP\n\\fB{}\\fR\n{}", escaped(term), escaped(text.trim()))?;
    }
    Ok(())
}

/// A text that `man` shows as it is.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
    // What begins with a dot is a command.
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}
