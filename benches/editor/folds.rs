//! A conversation of 100,000 lines, whose messages, thinking and cards are folds: opening it, scrolling, folding and typing. The
//! same is measured in a Markdown file. It has no folds, but for the commands that open and close them, its messages are folds as
//! well, so that as many lines of folds are drawn.

use super::{
    conversation::conversation,
    lab::{Lab, Measured, file, row, spread, title},
};

const LINES: usize = 100_000;
const RUNS: usize = 5;
const PAGES: usize = 100;
const KEYS: usize = 200;

/// The number of keys between two line breaks.
const WIDTH: usize = 50;

/// A title, the columns, and the measurements of each file.
type Table<'a> = (&'a str, &'a [&'a str], &'a [Vec<Measured>; 2]);

const FILES: [(&str, &str); 2] = [("a Markdown file", "notes.md"), ("Flemma", "notes.chat")];

/// Makes folds of the messages of the Markdown file.
const MESSAGES: &str = "if vim.bo.filetype == 'markdown' then
      vim.cmd('setlocal foldmethod=manual foldlevel=1')
      local commands, first = {}, nil
      for line, text in ipairs(vim.fn.getline(1, '$')) do
        if text:find('^@%a+:$') then
          if first then
            commands[#commands + 1] = ('%d,%dfold'):format(first, line - 1)
          end
          first = line
        end
      end
      for _, command in ipairs(commands) do
        vim.cmd(command)
      end
      vim.cmd('normal! zR')
    end";

/// Measures all of it.
pub fn measure() {
    let text = file(&conversation(LINES)) + "\n@You:\nGo on.\n";
    let mut opened = FILES.map(|_| Vec::new());
    let mut pages = FILES.map(|_| Vec::new());
    let mut keys = FILES.map(|_| Vec::new());
    let mut folds = FILES.map(|_| Vec::new());
    for _ in 0..RUNS {
        for (index, (_, path)) in FILES.iter().enumerate() {
            opened[index].push(open(path, &text));
            let mut lab = Lab::start(&[(path, &text)], true, []);
            pages[index].push(scroll(&mut lab));
            keys[index].push(write(&mut lab));
            lab.nvim.input("<Esc>gg");
            lab.nvim.lua(MESSAGES, &[]);
            lab.rest();
            folds[index].push(fold(&mut lab));
        }
    }
    let tables: [Table<'_>; 4] = [
        ("opening 100,000 lines, folded; median of 5 (least-most)", &["screen", "read", "cpu", "stall"], &opened),
        ("a page down, until it is on the screen", &["median", "worst"], &pages),
        ("a key, until it is on the screen", &["median", "worst"], &keys),
        ("closing and opening folds, until drawn", &["zM", "zR", "za"], &folds),
    ];
    for (name, columns, found) in tables {
        title(name, columns);
        for (index, (file, _)) in FILES.iter().enumerate() {
            row(file, &columns.iter().map(|column| spread(&found[index], column)).collect::<Vec<_>>());
        }
    }
}

fn open(path: &str, text: &str) -> Measured {
    let mut lab = Lab::start(&[(path, text)], false, []);
    // What the window shows is folded.
    let is_read = if path.ends_with(".chat") {
        "function() return Probe.is_parsed() and vim.fn.foldlevel(vim.fn.search('^[*][*]Tool Result', 'nw')) > 0 end"
    } else {
        "function() return true end"
    };
    lab.measure(&format!("Probe.open('{path}', {is_read})"))
}

fn scroll(lab: &mut Lab) -> Measured {
    lab.nvim.input("gg");
    lab.rest();
    times((0..PAGES).map(|_| lab.turn("<C-f>").as_secs_f64() * 1e3).collect())
}

fn write(lab: &mut Lab) -> Measured {
    lab.nvim.input("G");
    lab.press("A");
    lab.rest();
    let key = |number: usize| if number.is_multiple_of(WIDTH) { "<CR>" } else { "x" };
    times((1..=KEYS).map(|number| lab.press(key(number)).as_secs_f64() * 1e3).collect())
}

fn fold(lab: &mut Lab) -> Measured {
    let mut found = Measured::of("runs", 1.0);
    for (name, keys) in [("zM", "normal! zM"), ("zR", "normal! zR"), ("za", "normal! za")] {
        let took = lab.measure(&format!("Probe.edit(function() vim.cmd('{keys}') end)")).get("took");
        found = found.with(name, took);
    }
    found
}

fn times(mut times: Vec<f64>) -> Measured {
    times.sort_by(f64::total_cmp);
    let worst = times.last().copied().unwrap_or(f64::NAN);
    Measured::of("median", times[times.len() / 2]).with("worst", worst)
}
