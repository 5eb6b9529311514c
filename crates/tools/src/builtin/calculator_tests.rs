use std::time::Duration;

use proptest::prelude::*;

use super::{fifteen_digits, rewrite};

#[test]
fn every_call_is_closed_off_and_every_number_is_whole() {
    assert_eq!(rewrite("cos(1)^2").unwrap(), "(cos(1.0))  ^ 2.0".replace("  ", " "));
    assert_eq!(rewrite("-sqrt( 1_0.50e+3 )!").unwrap(), "-(sqrt(10.50e3))!");
    assert_eq!(rewrite("7%.5").unwrap(), "7.0 mod 0.5");
    assert_eq!(
        rewrite("2e").unwrap_err().to_string().split(": ").next(),
        Some("Expected an operator at column 2, got `e`")
    );
}

#[test]
fn fifteen_digits_are_written_as_people_do() {
    let table = [
        (1.0 / 3.0, "0.333333333333333"),
        (2.0 / 3.0, "0.666666666666667"),
        (2.9999999999999996, "3"),
        (-0.1 - 0.2, "-0.3"),
        (1e20, "100000000000000000000"),
        (1.5e21, "1.5e21"),
        (123_456_789_012_345_680.0, "123456789012346000"),
        (1.25e-7, "0.000000125"),
        (1.25e-8, "1.25e-8"),
        (0.0, "0"),
    ];
    for (value, expected) in table {
        assert_eq!(fifteen_digits(value), expected);
    }
}

/// A sum that knows its value, written with as few parentheses as the rules of mathematics allow, and with all.
#[derive(Clone, Debug)]
struct Sum {
    short: String,
    long: String,
    /// How tightly it holds together: 0 a sum, 1 a product, 2 a sign, 3 a power, 4 anything closed.
    binds: u8,
}

impl Sum {
    fn at_least(&self, binds: u8) -> String {
        if self.binds >= binds { self.short.clone() } else { format!("({})", self.short) }
    }
}

fn sums() -> impl Strategy<Value = Sum> {
    let number = (1u32..5).prop_map(|n| Sum { short: n.to_string(), long: n.to_string(), binds: 4 });
    number.prop_recursive(4, 24, 2, |inner| {
        (inner.clone(), inner, 0..8).prop_map(|(a, b, kind)| {
            let pair = |sign: &str, left, right, binds| Sum {
                short: format!("{}{sign}{}", a.at_least(left), b.at_least(right)),
                long: format!("(({}){sign}({}))", a.long, b.long),
                binds,
            };
            match kind {
                0 => pair("+", 0, 1, 0),
                1 => pair("-", 0, 1, 0),
                2 => pair("*", 1, 2, 1),
                3 => pair("/", 1, 2, 1),
                4 => pair("%", 1, 2, 1),
                5 => pair("^", 4, 2, 3),
                6 => Sum { short: format!("-{}", a.at_least(3)), long: format!("(-({}))", a.long), binds: 2 },
                _ => Sum { short: format!("abs({})", a.short), long: format!("(abs(({})))", a.long), binds: 4 },
            }
        })
    })
}

proptest! {
    /// Whatever the library behind it thinks of precedence: parentheses that say nothing new change nothing.
    #[test]
    fn parentheses_that_say_nothing_new_change_nothing(sum in sums()) {
        let mut context = crate::Context::new("/".into(), Duration::from_millis(500), "/".into());
        context.cancel = Default::default();
        let deadline = super::Deadline::new(&context);
        let (short, long) = (super::evaluate(&sum.short, &deadline), super::evaluate(&sum.long, &deadline));
        // A tower of powers may take too long in either.
        if deadline.stopped().is_none() {
            prop_assert_eq!(short, long, "{} and {}", sum.short, sum.long);
        }
    }

    #[test]
    fn no_expression_breaks_anything(text in "[-+*/^%!(). 0-9episqrtco,_]{0,30}") {
        let _ = rewrite(&text);
    }

    #[test]
    fn whole_numbers_are_exact(a in any::<i64>(), b in any::<i64>()) {
        let context = crate::Context::new("/".into(), Duration::from_secs(5), "/".into());
        let result = super::evaluate(&format!("{a} * {b} + {a}"), &super::Deadline::new(&context)).unwrap();
        prop_assert_eq!(result, (i128::from(a) * i128::from(b) + i128::from(a)).to_string());
    }
}
