//! What Neovim shows, as rows of text.
//!
//! Neovim tells a user interface what to draw with `redraw` notifications (`:help ui-linegrid`). This is
//! the smallest interface that can follow them: one grid of cells, each with the highlight groups that it is drawn in if
//! Neovim is asked to tell (`:help ui-hlstate`).

use std::collections::HashMap;

use rmpv::Value;

/// A cell: its text, and the number of its attributes.
type Cell = (String, u64);

/// A piece of a row in the same groups: its text, and their names from the lowest to the highest.
pub type Run = (String, Vec<String>);

/// The screen.
#[derive(Debug, Default)]
pub struct Screen {
    /// What is being drawn. The right half of a wide character is an empty cell.
    grid: Vec<Vec<Cell>>,
    /// The rows as they were at the last `flush`: what a user saw last.
    shown: Vec<String>,
    /// Their cells' attributes.
    styles: Vec<Vec<Cell>>,
    /// The groups of attributes, where Neovim tells them.
    groups: HashMap<u64, Vec<String>>,
    /// Row and column of the cursor, from 0.
    cursor: (usize, usize),
}

impl Screen {
    /// The rows, without the blanks at their ends.
    pub fn rows(&self) -> &[String] {
        &self.shown
    }

    /// The rows in pieces, each with its highlight groups. The groups are known if the interface is attached with
    /// `ext_hlstate`.
    pub fn runs(&self) -> Vec<Vec<Run>> {
        let row = |cells: &Vec<Cell>| {
            let mut runs: Vec<Run> = Vec::new();
            for (text, style) in cells {
                let groups = self.groups.get(style).cloned().unwrap_or_default();
                match runs.last_mut() {
                    Some((run, known)) if *known == groups => run.push_str(text),
                    _ => runs.push((text.clone(), groups)),
                }
            }
            runs
        };
        self.styles.iter().map(row).collect()
    }

    /// Row and column of the cursor, from 0.
    pub fn cursor(&self) -> (usize, usize) {
        self.cursor
    }

    /// Takes the arguments of one `redraw` notification: each is the name of an event and the arguments of
    /// every occurrence.
    pub fn redraw(&mut self, updates: &[Value]) {
        for update in updates {
            let Some([name, occurrences @ ..]) = update.as_array().map(Vec::as_slice) else { continue };
            for occurrence in occurrences {
                let arguments = occurrence.as_array().map(Vec::as_slice).unwrap_or_default();
                self.apply(name.as_str().unwrap_or_default(), arguments);
            }
        }
    }

    fn apply(&mut self, event: &str, arguments: &[Value]) {
        match event {
            "grid_resize" => self.resize(number(arguments, 1), number(arguments, 2)),
            "grid_clear" => self.grid.iter_mut().flatten().for_each(|cell| *cell = blank()),
            "grid_line" => self.line(arguments),
            "grid_scroll" => self.scroll(arguments),
            "grid_cursor_goto" => self.cursor = (number(arguments, 1), number(arguments, 2)),
            "hl_attr_define" => self.define(arguments),
            "flush" => self.flush(),
            // Colours, modes, options: nothing that changes the text.
            _ => {}
        }
    }

    fn flush(&mut self) {
        let text =
            |row: &Vec<Cell>| row.iter().map(|(text, _)| text.as_str()).collect::<String>().trim_end().to_owned();
        self.shown = self.grid.iter().map(text).collect();
        if !self.groups.is_empty() {
            self.styles.clone_from(&self.grid);
        }
    }

    /// `hl_attr_define`: the groups of a number, with `ext_hlstate`.
    fn define(&mut self, arguments: &[Value]) {
        let name = |part: &Value| {
            let part = part.as_map()?;
            let (_, name) = part.iter().find(|(key, _)| key.as_str() == Some("hi_name"))?;
            name.as_str().map(str::to_owned)
        };
        let parts = arguments.get(3).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let id = arguments.first().and_then(Value::as_u64).unwrap_or(0);
        if !parts.is_empty() {
            self.groups.insert(id, parts.iter().filter_map(name).collect());
        }
    }

    fn resize(&mut self, width: usize, height: usize) {
        self.grid.resize_with(height, Vec::new);
        for row in &mut self.grid {
            row.resize_with(width, blank);
        }
    }

    /// `grid_line`: cells from one column on, each with its text and how often it repeats.
    fn line(&mut self, arguments: &[Value]) {
        let Some(row) = self.grid.get_mut(number(arguments, 1)) else { return };
        let mut column = number(arguments, 2);
        let mut style = 0;
        for cell in arguments.get(3).and_then(Value::as_array).into_iter().flatten() {
            let Some([text, rest @ ..]) = cell.as_array().map(Vec::as_slice) else { continue };
            style = rest.first().and_then(Value::as_u64).unwrap_or(style);
            let times = rest.get(1).and_then(Value::as_u64).unwrap_or(1);
            for _ in 0..times {
                if let Some(cell) = row.get_mut(column) {
                    *cell = (text.as_str().unwrap_or_default().to_owned(), style);
                }
                column += 1;
            }
        }
    }

    /// `grid_scroll`: the rows of a region move up (positive) or down.
    fn scroll(&mut self, arguments: &[Value]) {
        let [top, bottom, left, right] = [1, 2, 3, 4].map(|index| number(arguments, index));
        let by = arguments.get(5).and_then(Value::as_i64).unwrap_or(0);
        let shift = by.unsigned_abs() as usize;
        let mut copy = |from: usize, to: usize| {
            let Some(cells) = self.grid.get(from).and_then(|row| row.get(left..right)).map(<[Cell]>::to_vec) else {
                return;
            };
            if let Some(target) = self.grid.get_mut(to).and_then(|row| row.get_mut(left..right)) {
                target.clone_from_slice(&cells);
            }
        };
        if by > 0 {
            (top..bottom.saturating_sub(shift)).for_each(|row| copy(row + shift, row));
        } else {
            (top + shift..bottom).rev().for_each(|row| copy(row - shift, row));
        }
    }
}

fn blank() -> Cell {
    (" ".to_owned(), 0)
}

fn number(arguments: &[Value], index: usize) -> usize {
    arguments.get(index).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}
