//! What a shell evaluates as an expression, in which it runs the commands of a subscript.

/// The operators of `[[ ]]` whose operands are expressions or names.
const NUMBER_TESTS: [&str; 7] = [" -eq ", " -ne ", " -lt ", " -le ", " -gt ", " -ge ", " -v "];

/// Commands that give variables attributes. A variable may be one of integers, or stand for another one.
pub(super) const DECLARES: [&str; 3] = ["declare", "typeset", "local"];

/// What a script has anywhere.
#[derive(Clone, Copy)]
pub(super) struct Has {
    /// It compares numbers in a way that evaluates them.
    pub(super) number_tests: bool,
    /// It declares variables that evaluate what they are assigned.
    pub(super) evaluating_variables: bool,
}

impl Has {
    /// What this script has.
    pub(super) fn of(script: &[u8]) -> Self {
        let has = |operator: &&str| memchr::memmem::find(script, operator.as_bytes()).is_some();
        let evaluates = |word: &&str| {
            let options = |at| script[at + word.len()..].trim_ascii_start().split(u8::is_ascii_whitespace);
            let is_such = |option: &[u8]| option.contains(&b'i') || option.contains(&b'n');
            memchr::memmem::find_iter(script, word.as_bytes())
                .any(|at| options(at).take_while(|option| option.starts_with(b"-")).any(is_such))
        };
        Self { number_tests: NUMBER_TESTS.iter().any(has), evaluating_variables: DECLARES.iter().any(evaluates) }
    }
}

/// Whether a value behind this, which stands in `${ }`, would be evaluated: where no operator with a word comes before.
pub(super) fn is_expression(brace: &[u8]) -> bool {
    let name = brace.strip_prefix(b"#").or_else(|| brace.strip_prefix(b"!")).unwrap_or(brace);
    let length = name.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let length = if length == 0 && name.first().is_some_and(|byte| b"@*?$!-#".contains(byte)) { 1 } else { length };
    let operator = &name[length..];
    let operator = operator
        .strip_prefix(b":")
        .filter(|rest| rest.first().is_some_and(|byte| b"-=+?".contains(byte)))
        .unwrap_or(operator);
    length == 0 || !operator.first().is_some_and(|byte| b"-=+?#%/^,".contains(byte))
}
