//! Conversations for the benchmarks.

#![allow(dead_code, reason = "not every benchmark needs every one")]

/// A conversation of about `lines` lines with every kind of block.
pub fn conversation(lines: usize) -> Vec<String> {
    let round = "@You:\nWhat is in the file, and what does it do?\nPlease look at all of it.\n\n\
        @Assistant:\n<thinking anthropic:signature=\"abc\">\nThe user wants to know.\nI read it.\n</thinking>\n\n\
        I will read it. Here is an example:\n\n```rust\nfn main() {\n    println!(\"hi\");\n}\n```\n\n\
        **Tool Use:** `read` (`toolu_1`)\n\n```json\n{\"path\":\"src/main.rs\"}\n```\n\n\
        @You:\n**Tool Result:** `toolu_1`\n\n```\nfn main() {\n    run();\n}\n```\n\n\
        @Assistant:\nIt starts the program, and that is all there is to it in this file.\n\n";
    let length = round.lines().count();
    let mut text: Vec<String> = round.lines().map(str::to_owned).cycle().take(lines / length * length).collect();
    text.extend(["", "@Assistant:", "The last message.", "It ends here."].map(str::to_owned));
    text
}

/// One message of prose and code.
pub fn message(lines: usize) -> Vec<String> {
    let body = ["Some prose that goes on.", "", "```rust", "let x = 1;", "```", "", "- a list", "- of things"];
    let mut text = vec!["@Assistant:".to_owned()];
    text.extend(body.iter().cycle().take(lines).map(|line| (*line).to_owned()));
    text.push("The end.".to_owned());
    text.push("Really.".to_owned());
    text
}
