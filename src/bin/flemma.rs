//! The command line: see [`flemma_cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    flemma_cli::main()
}
