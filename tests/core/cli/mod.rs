//! The command line, as a program: what it prints, its exit codes, and what becomes of the files.

mod harness;
mod looking;
mod races;
mod resolving;
mod states;
