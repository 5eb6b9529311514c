//! What Neovim shows, as rows of text.
//!
//! Neovim tells a user interface what to draw with `redraw` notifications (`:help ui-linegrid`). This is
//! the smallest interface that can follow them: one grid of cells, no colours.

use rmpv::Value;

/// The screen.
#[derive(Debug, Default)]
pub struct Screen {
    /// What is being drawn. The right half of a wide character is an empty cell.
    grid: Vec<Vec<String>>,
    /// The rows as they were at the last `flush`: what a user saw last.
    shown: Vec<String>,
    /// Row and column of the cursor, from 0.
    cursor: (usize, usize),
}

impl Screen {
    /// The rows, without the blanks at their ends.
    pub fn rows(&self) -> &[String] {
        &self.shown
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
            "flush" => self.shown = self.grid.iter().map(|row| row.concat().trim_end().to_owned()).collect(),
            // Colours, modes, options: nothing that changes the text.
            _ => {}
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
        for cell in arguments.get(3).and_then(Value::as_array).into_iter().flatten() {
            let Some([text, rest @ ..]) = cell.as_array().map(Vec::as_slice) else { continue };
            let times = rest.get(1).and_then(Value::as_u64).unwrap_or(1);
            for _ in 0..times {
                if let Some(cell) = row.get_mut(column) {
                    *cell = text.as_str().unwrap_or_default().to_owned();
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
            let Some(cells) = self.grid.get(from).and_then(|row| row.get(left..right)).map(<[String]>::to_vec) else {
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

fn blank() -> String {
    " ".to_owned()
}

fn number(arguments: &[Value], index: usize) -> usize {
    arguments.get(index).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}
