//! Formats numbers of tokens and amounts of money.
//!
//! Where there is little room, numbers are rounded (`12.3k`, `$0.0045`); tables have exact ones (`12,345`). A sum with
//! a missing price is never shown as if it were complete.

use super::{Ledger, Totals};

/// Shown in place of an unknown cost.
const NO_PRICE: &str = "price unknown";

/// A short form of a number of tokens: `999`, `1.2k`, `123k`, `1.05M`.
pub fn tokens(count: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = (count + unit / 20) / (unit / 10);
        if tenths.is_multiple_of(10) { (tenths / 10).to_string() } else { format!("{}.{}", tenths / 10, tenths % 10) }
    };
    match count {
        0..1000 => count.to_string(),
        1000..99_950 => format!("{}k", tenths(1000)),
        99_950..999_500 => format!("{}k", (count + 500) / 1000),
        _ => {
            let hundredths = (count + 5000) / 10_000;
            let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            format!("{}M", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// All digits, in groups of three: `12,345`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An amount in US dollars: rounded to cents from one dollar on, and to hundredths of a cent below.
pub fn dollars(amount: f64) -> String {
    if amount <= 0.0 {
        "$0".to_owned()
    } else if amount < 0.000_1 {
        "under $0.0001".to_owned()
    } else if amount < 1.0 {
        format!("${amount:.4}")
    } else {
        format!("${amount:.2}")
    }
}

/// The cost of some requests.
pub fn cost(totals: &Totals) -> String {
    match totals.unpriced {
        0 => dollars(totals.cost),
        unpriced if unpriced == totals.requests => NO_PRICE.to_owned(),
        _ => format!("over {}", dollars(totals.cost)),
    }
}

/// The columns of [`table`].
const COLUMNS: [&str; 8] = ["", "requests", "in", "from cache", "to cache", "out", "thinking", "cost"];

/// The usage by model and in total, as lines of a table. The conversation in `buffer` has a row of its own. If the
/// table is wider than `room` columns, each row becomes a list.
pub fn table(ledger: &Ledger, buffer: Option<i32>, room: Option<usize>) -> Vec<String> {
    let all = ledger.totals();
    if all.requests == 0 {
        return vec!["no requests yet".to_owned()];
    }
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(ledger.by_model().map(|(provider, model, totals)| row(format!("{provider} {model}"), &totals)));
    rows.push(row("all".to_owned(), &all));
    if let Some(own) = buffer.map(|buffer| ledger.totals_of(buffer)) {
        rows.push(row("this conversation".to_owned(), &own));
    }
    let widths: [usize; 8] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default());
    let total = widths.iter().sum::<usize>() + 2 * (widths.len() - 1);
    let mut lines = if room.is_some_and(|room| total > room) { lists(&rows) } else { aligned(&rows, widths) };
    if all.unpriced > 0 {
        lines.push(String::new());
        lines.push("To set the price of a model, use the option `pricing`.".to_owned());
    }
    lines
}

/// The rows as a table with columns of these widths.
fn aligned(rows: &[[String; 8]], widths: [usize; 8]) -> Vec<String> {
    rows.iter()
        .map(|row| {
            let cells = row.iter().zip(widths).enumerate();
            let cells = cells.map(|(column, (cell, width))| match column {
                0 => format!("{cell:width$}"),
                _ => format!("{cell:>width$}"),
            });
            cells.collect::<Vec<_>>().join("  ")
        })
        .collect()
}

/// Each row except the header, as its name and one line for each figure that is not zero.
fn lists(rows: &[[String; 8]]) -> Vec<String> {
    let widest = COLUMNS.iter().map(|name| name.len()).max().unwrap_or_default();
    let figures = |row: &[String; 8]| -> Vec<String> {
        let named = COLUMNS.iter().zip(row).skip(1).filter(|(_, figure)| *figure != "0");
        named.map(|(name, figure)| format!("  {name:widest$}  {figure}")).collect()
    };
    rows.iter().skip(1).flat_map(|row| [vec![row[0].clone()], figures(row)].concat()).collect()
}

fn row(name: String, totals: &Totals) -> [String; 8] {
    let usage = &totals.usage;
    [
        name,
        grouped(totals.requests),
        grouped(usage.prompt()),
        grouped(usage.cache_read),
        grouped(usage.cache_write),
        grouped(usage.output),
        grouped(usage.reasoning),
        cost(totals),
    ]
}
