//! The command line: see [`flemma::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    flemma::cli::main()
}
