//! The calculators.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::workshop::Workshop;

fn sum(expression: &str) -> Value {
    json!({ "expression": expression })
}

#[test]
fn results_are_exact_or_have_fifteen_digits() {
    let shop = Workshop::new();
    let table = [
        ("2 + 2", "4"),
        ("4.0", "4"),
        ("0.1 + 0.2", "0.3"),
        ("17.5 / 4", "4.375"),
        ("1/3*3", "1"),
        ("1/3", "0.333333333333333"),
        ("2/3", "0.666666666666667"),
        ("1/3e12", "3.33333333333333e-13"),
        ("1e30/7", "1.42857142857143e29"),
        ("2^100", "1267650600228229401496703205376"),
        ("123456789 * 987654321", "121932631112635269"),
        ("sqrt(16)", "4"),
        ("sqrt(2)", "1.4142135623731"),
        ("sin(pi/6)", "0.5"),
        ("cos(1)^2 + sin(1)^2", "1"),
        ("log(1000)", "3"),
        ("log2(8) + ln(e)", "4"),
        ("π", "3.14159265358979"),
        ("tau/2 - pi", "0"),
        ("-2^2", "-4"),
        ("2^3^2", "512"),
        ("2**-1", "0.5"),
        ("10 % 3 * 2", "2"),
        ("17 mod 5", "2"),
        ("6/2*(1+2)", "9"),
        ("5!", "120"),
        ("abs(-3)!", "6"),
        ("1_000_000 × 3 ÷ 4", "750000"),
        (".5 + 5.", "5.5"),
        ("1.5e-7", "0.00000015"),
        ("--3", "3"),
        ("round(2.5) + floor(-2.5)", "0"),
        ("exp(100)", "2.68811714181614e43"),
    ];
    for (expression, result) in table {
        assert_eq!(shop.ok("calculator", sum(expression)), result, "{expression}");
    }
}

#[test]
fn what_has_no_value_says_why() {
    let shop = Workshop::new();
    let table = [
        ("1/0", "Division by zero."),
        ("5 % 0", "Modulo by zero."),
        ("0^0", "Zero to the power of zero is undefined."),
        ("sqrt(-1)", "The result is not a real number."),
        ("asin(2)", "The result is not a real number."),
        ("ln(0)", "0 must lie in the interval (0, ∞)."),
        ("", "`expression` is empty."),
        ("  ", "`expression` is empty."),
        ("1 +", "The expression ends where a number is expected."),
        (
            "200 * 15%",
            "The expression ends with `%`, which is the remainder of a division: for 15 percent write 15/100.",
        ),
        ("(1 + 2", "A parenthesis is not closed."),
        ("((1 + 2", "2 parentheses are not closed."),
        ("1 + 2)", "`)` at column 6 has no matching `(`."),
        ("()", "Expected a number at column 2, got `)`."),
        ("2(3)", "Expected an operator at column 2, got `(`: write `*` to multiply."),
        ("2 2", "Expected an operator at column 3, got `2`: write `*` to multiply."),
        ("2pi", "Expected an operator at column 2, got `pi`: write `*` to multiply."),
        ("sqrt 2", "`sqrt` at column 1 is a function: write `sqrt(…)`."),
        ("7//2", "Expected a number at column 3, got `/`."),
        ("1 = 1", "Expected an operator at column 3, got `=`."),
        ("1,000", "`,` at column 2 is not allowed: write 1000 for 1,000; every function takes one argument."),
        ("1.2.3", "`1.2.3` at column 1 is not a number."),
        ("0x1f", "`x1f` at column 2 is not known."),
        ("3 × squrt(4)", "`squrt` at column 5 is not known. Did you mean `sqrt`?"),
        ("5 m to ft", "`m` at column 3 is not known."),
        ("min(1,2)", "`min` at column 1 is not known."),
        ("\"text\"", "Expected a number at column 1, got `\"`."),
    ];
    for (expression, message) in table {
        let text = shop.err("calculator", sum(expression));
        assert!(text.starts_with(message), "{expression}: {text}");
    }
}

#[test]
fn numbers_without_end_are_given_up() {
    let mut shop = Workshop::new();
    shop.context.timeout = Duration::from_millis(300);
    for expression in ["9^9^9", "1e99999999999", "100000!", "exp(1e9)"] {
        let started = Instant::now();
        let text = shop.err("calculator", sum(expression));
        assert_eq!(
            text,
            "Timed out after 0.3 seconds. The numbers are too large for this calculation: use smaller ones, or \
             calculate the logarithm."
        );
        assert!(started.elapsed() < Duration::from_secs(15), "{expression}: {:?}", started.elapsed());
    }
    shop.context.timeout = Duration::from_secs(20);
    let long = shop.err("calculator", sum("10^10000"));
    assert_eq!(long, "The result has 10001 digits; the limit is 10000.");
}

#[test]
fn an_expression_of_any_depth_never_ends_the_editor() {
    let shop = Workshop::new();
    let deep = |open: &str, close: &str, times: usize| format!("{}1{}", open.repeat(times), close.repeat(times));
    for expression in [
        deep("(", ")", 499),
        deep("-", "", 999),
        deep("1^", "", 499),
        deep("1+", "", 499),
        deep("", "!", 999),
        deep("abs(", ")", 300),
    ] {
        let text = shop.render("calculator", sum(&expression)).text;
        assert!(text == "1" || text == "-1" || text == "500", "{}: {text}", &expression[..8]);
    }
    for expression in [deep("(", ")", 100_000), deep("-", "", 100_000), "1+".repeat(100_000)] {
        let text = shop.err("calculator", sum(&expression));
        assert_eq!(text, "The expression is too long: the limit is 1000 numbers, names and operators.");
    }
}

#[test]
fn the_asynchronous_calculator_waits_first() {
    let shop = Workshop::new();
    let started = Instant::now();
    assert_eq!(shop.ok("calculator_async", json!({ "expression": "6*7", "delay": 200 })), "42");
    assert!(started.elapsed() >= Duration::from_millis(200));
    assert_eq!(shop.ok("calculator_async", json!({ "expression": "6*7", "delay": null })), "42");
    let negative = shop.err("calculator_async", json!({ "expression": "1", "delay": -5 }));
    assert_eq!(negative, "`delay` must be a non-negative whole number, not -5.");
}

#[test]
fn waiting_ends_with_the_users_patience_or_the_calls_time() {
    let mut shop = Workshop::new();
    let long = json!({ "expression": "6*7", "delay": 60_000 });
    shop.context.timeout = Duration::from_millis(100);
    assert_eq!(shop.err("calculator_async", long.clone()), "Timed out after 0.1 seconds. Ask for a shorter `delay`.");
    shop.context.timeout = Duration::from_secs(30);
    let (cancel, started) = (shop.context.cancel.clone(), Instant::now());
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        cancel.cancel();
    });
    assert_eq!(shop.err("calculator_async", long), "Cancelled by the user.");
    assert!(started.elapsed() < Duration::from_secs(15));
    canceller.join().unwrap();
}
