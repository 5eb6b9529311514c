//! Changes of files by tools: what follows from the log.

mod moves;
