//! The command line, as a program: what it prints, its exit codes, and what becomes of the files.

mod hangups;
mod harness;
mod hostile;
mod looking;
mod manual;
mod races;
mod resolving;
mod states;
mod stealing;
