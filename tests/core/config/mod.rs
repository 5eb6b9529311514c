//! Options: how they are read, layered and switched.

mod buffer;
mod documentation;
mod list;
mod options;
mod own;
mod switch;
mod tools;
