//! A vault of generated pages. Every page is made of pieces, so that what it must look like under other names is known without
//! reading it.

use std::collections::BTreeMap;

use fastrand::Rng;

/// How a link is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `[[Folder/Page]]`
    Whole,
    /// `[[Folder/Page|words]]`
    Words,
    /// `[[Folder/Page#Heading]]`
    Heading,
    /// `[[Page]]`
    Base,
    /// `![[Folder/Page]]`
    Embedded,
    /// `[words](../Folder/Page.md)`
    Markdown,
    /// `[words](<../Folder/Page.md#heading> "title")`
    Brackets,
    /// `[words][n]`, with `[n]: /Folder/Page.md` at the end.
    Definition,
}

const STYLES: [Style; 8] = [
    Style::Whole,
    Style::Words,
    Style::Heading,
    Style::Base,
    Style::Embedded,
    Style::Markdown,
    Style::Brackets,
    Style::Definition,
];

/// A piece of a page.
#[derive(Clone, Debug)]
enum Piece {
    Text(&'static str),
    Link(Style, usize),
    /// Looks like a link to this page, and is none.
    Code(usize),
}

/// The folders, with names in other scripts and with spaces.
const FOLDERS: [&str; 6] = ["", "Projects", "Projects/Old ones", "Журнал", "日記/五月", "a (b) & c"];

/// What stands between links.
const TEXTS: [&str; 8] = [
    "\n\nSome words, *more* words and `code`.\n\n",
    "\n\n# Heading\n\n",
    "\n\n## Tasks\n\n- [ ] milk\n- [x] eggs\n\n",
    " and ",
    "\n\n> a quotation\n> goes on\n\n",
    "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    "\n\nÜbermäßig: 漢字 and ✓.\n\n",
    "\r\n\r\nA line that ends in CRLF.\r\n\r\n",
];

/// The pages by their numbers.
pub struct Vault {
    pub names: Vec<String>,
    pieces: Vec<Vec<Piece>>,
    frontmatter: Vec<&'static str>,
}

impl Vault {
    /// As many pages. The last part of every name is unique.
    pub fn new(seed: u64, count: usize) -> Self {
        let mut random = Rng::with_seed(seed);
        let name = |at: usize| {
            let folder = FOLDERS[at % FOLDERS.len()];
            let base = match at % 5 {
                0 => format!("Page {at}"),
                1 => format!("día_{at}"),
                2 => format!("ノート{at}"),
                3 => format!("x-{at} (draft)"),
                _ => format!("Bob's 100% {at}"),
            };
            if folder.is_empty() { base } else { format!("{folder}/{base}") }
        };
        let names = (0..count).map(name).collect();
        let pieces = (0..count)
            .map(|at| {
                // Some pages are empty.
                let length = if at % 17 == 0 { 0 } else { random.usize(1..12) };
                (0..length)
                    .map(|_| match random.usize(0..5) {
                        0 | 1 => Piece::Text(TEXTS[random.usize(..TEXTS.len())]),
                        2 => Piece::Code(random.usize(..count)),
                        _ => Piece::Link(STYLES[random.usize(..STYLES.len())], random.usize(..count)),
                    })
                    .collect()
            })
            .collect();
        let matters = ["", "", "---\ntags: [a, b]\n---\n", "---\n# a comment\nstatus: open # why\n---\n\n"];
        let frontmatter = (0..count).map(|at| if at % 17 == 0 { "" } else { matters[at % matters.len()] }).collect();
        Self { names, pieces, frontmatter }
    }

    /// All pages with their contents.
    pub fn contents(&self) -> BTreeMap<String, String> {
        self.names.iter().cloned().zip(self.render(&self.names)).collect()
    }

    /// The contents after one page got another name, made anew from the pieces.
    pub fn renamed(&self, at: usize, new: &str) -> BTreeMap<String, String> {
        let mut names = self.names.clone();
        names[at] = new.to_owned();
        let contents = self.render(&names);
        names.into_iter().zip(contents).collect()
    }

    fn render(&self, names: &[String]) -> Vec<String> {
        (0..names.len()).map(|at| self.render_page(at, names)).collect()
    }

    fn render_page(&self, at: usize, names: &[String]) -> String {
        let mut text = self.frontmatter[at].to_owned();
        let mut definitions = String::new();
        for (number, piece) in self.pieces[at].iter().enumerate() {
            match piece {
                Piece::Text(words) => text.push_str(words),
                // What a page is called in code does not change with its name.
                Piece::Code(to) => {
                    let name = &self.names[*to];
                    text.push_str(&format!(" `[[{name}]]` \n\n```\n[[{name}]] [x]({name}.md)\n# no heading\n```\n\n"));
                }
                Piece::Link(style, to) => {
                    let name = &names[*to];
                    let base = name.rsplit('/').next().unwrap();
                    let path = way(&names[at], name);
                    text.push_str(&match style {
                        Style::Whole => format!(" [[{name}]] "),
                        Style::Words => format!(" [[{name}|some *words*]] "),
                        Style::Heading => format!(" [[{name}#Tasks]] "),
                        // A page in no folder is named as a whole.
                        Style::Base if !self.names[*to].contains('/') => format!(" [[{name}]] "),
                        Style::Base => format!(" [[{base}]] "),
                        Style::Embedded => format!(" ![[{name}]] "),
                        Style::Markdown => format!(" [some [words]]({}.md) ", escaped(&path)),
                        Style::Brackets => {
                            format!(" [w](<{}.md#tasks> \"title\") ", path.replace('%', "%25").replace('&', "%26"))
                        }
                        Style::Definition => {
                            definitions.push_str(&format!("\n[n{number}]: /{}.md 'title'\n", escaped(name)));
                            format!(" [words][n{number}] ")
                        }
                    });
                }
            }
        }
        if !definitions.is_empty() {
            text.push_str("\n\n");
            text.push_str(&definitions);
        }
        text
    }
}

/// The path from the page `from` to the page `to`.
fn way(from: &str, to: &str) -> String {
    let (mut from, mut to) = (from.split('/').collect::<Vec<_>>(), to.split('/').collect::<Vec<_>>());
    while from.len() > 1 && to.len() > 1 && from[0] == to[0] {
        from.remove(0);
        to.remove(0);
    }
    format!("{}{}", "../".repeat(from.len() - 1), to.join("/"))
}

fn escaped(path: &str) -> String {
    let mut path = path.replace('%', "%25");
    for (sign, code) in [(" ", "%20"), ("(", "%28"), (")", "%29"), ("&", "%26")] {
        path = path.replace(sign, code);
    }
    path
}
