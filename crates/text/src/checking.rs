//! How much work it is to check a value against a JSON Schema.
//!
//! Where a schema refers to itself or twice to the same definition, the work doubles with each level, and a few lines of schema
//! take minutes. So it is counted before a value is checked, by the rules that the check follows, but without looking at what
//! is valid: every schema counts that may be looked at. Schemas without references are as large as their text, and not counted.

use serde_json::{Map, Value};

/// The most steps of one check.
const MAX_STEPS: usize = 200_000;

/// The most schemas inside each other, references included. The check recurses.
const MAX_DEPTH: usize = 500;

/// Keywords that refer to a schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Whether `value` can be checked against a schema in a moment.
pub fn is_quickly_checked(schema: &Value, value: &Value) -> bool {
    if !has_reference(schema) {
        return true;
    }
    let mut walk = Walk { root: schema, resources: Vec::new(), todo: Vec::new(), steps: 0 };
    walk.find_resources(schema);
    walk.todo.push(Step { schema, value, depth: 0, times: 1, is_marked: false });
    while let Some(step) = walk.todo.pop() {
        walk.steps += step.times;
        if walk.steps > MAX_STEPS || step.depth > MAX_DEPTH {
            return false;
        }
        walk.go_on(step);
    }
    true
}

fn has_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(entries) => {
            REFERENCES.iter().any(|keyword| entries.contains_key(*keyword)) || entries.values().any(has_reference)
        }
        Value::Array(items) => items.iter().any(has_reference),
        _ => false,
    }
}

/// A value that is checked against a schema.
#[derive(Clone, Copy)]
struct Step<'a> {
    schema: &'a Value,
    value: &'a Value,
    depth: usize,
    /// How often that is done: again for each choice that it is in.
    times: usize,
    /// Whether all schemas for the value itself are looked at once more, to know which properties they are about.
    is_marked: bool,
}

struct Walk<'a> {
    root: &'a Value,
    /// The schemas that have a name.
    resources: Vec<(&'a str, &'a Value)>,
    todo: Vec<Step<'a>>,
    steps: usize,
}

impl<'a> Walk<'a> {
    fn find_resources(&mut self, schema: &'a Value) {
        match schema {
            Value::Object(entries) => {
                let names = ["$id", "id", "$anchor", "$dynamicAnchor"].into_iter();
                let names = names.filter_map(|keyword| entries.get(keyword)?.as_str());
                self.resources.extend(names.map(|name| (last_segment(name.trim_start_matches('#')), schema)));
                entries.values().for_each(|inner| self.find_resources(inner));
            }
            Value::Array(items) => items.iter().for_each(|inner| self.find_resources(inner)),
            _ => {}
        }
    }

    fn go_on(&mut self, step: Step<'a>) {
        let Value::Object(schema) = step.schema else { return };
        let is_marked = step.is_marked || schema.keys().any(|keyword| keyword.starts_with("unevaluated"));
        let inside = Step { depth: step.depth + 1, is_marked, ..step };
        for reference in REFERENCES.iter().filter_map(|keyword| schema.get(*keyword)?.as_str()) {
            // Each name may be what the reference means.
            self.steps += self.resources.len();
            for target in self.targets(reference) {
                self.push(Step { schema: target, ..inside });
            }
        }
        let below = Step { is_marked: false, ..inside };
        for (keyword, inner) in schema {
            match (keyword.as_str(), step.value) {
                ("allOf" | "if" | "then" | "else", _) => self.push_all(inner, inside),
                // All choices are looked at once more to tell what is wrong.
                ("anyOf" | "oneOf" | "not", _) => self.push_all(inner, Step { times: step.times + 1, ..inside }),
                ("prefixItems" | "items", Value::Array(items)) if inner.is_array() => {
                    let schemas = inner.as_array().into_iter().flatten();
                    schemas.zip(items).for_each(|(schema, value)| self.push(Step { schema, value, ..below }));
                }
                ("items" | "additionalItems" | "unevaluatedItems" | "contains", Value::Array(items)) => {
                    items.iter().for_each(|value| self.push(Step { schema: inner, value, ..below }));
                }
                ("properties", Value::Object(values)) => {
                    for (name, schema) in inner.as_object().into_iter().flatten() {
                        values.get(name).into_iter().for_each(|value| self.push(Step { schema, value, ..below }));
                    }
                }
                ("patternProperties", Value::Object(values)) => {
                    for schema in inner.as_object().into_iter().flat_map(Map::values) {
                        values.values().for_each(|value| self.push(Step { schema, value, ..below }));
                    }
                }
                ("additionalProperties" | "unevaluatedProperties", Value::Object(values)) => {
                    let named = schema.get("properties").and_then(Value::as_object);
                    let others = values.iter().filter(|(name, _)| named.is_none_or(|named| !named.contains_key(*name)));
                    others.for_each(|(_, value)| self.push(Step { schema: inner, value, ..below }));
                }
                ("propertyNames", Value::Object(values)) => {
                    values.iter().for_each(|_| self.push(Step { schema: inner, value: &Value::Null, ..below }));
                }
                ("dependentSchemas" | "dependencies", Value::Object(values)) => {
                    let dependent = inner.as_object().into_iter().flatten();
                    let dependent = dependent.filter(|(name, _)| values.contains_key(*name));
                    dependent.for_each(|(_, schema)| self.push(Step { schema, ..inside }));
                }
                _ => {}
            }
        }
    }

    /// The schema or the list of schemas of a keyword.
    fn push_all(&mut self, schemas: &'a Value, step: Step<'a>) {
        let schemas = schemas.as_array().map_or(std::slice::from_ref(schemas), Vec::as_slice);
        schemas.iter().for_each(|schema| self.push(Step { schema, ..step }));
    }

    fn push(&mut self, step: Step<'a>) {
        self.todo.push(step);
        if step.is_marked {
            self.todo.push(step);
        }
    }

    /// What a reference leads to: with names, everything that it may lead to.
    fn targets(&self, reference: &str) -> Vec<&'a Value> {
        let (name, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = percent_encoding::percent_decode_str(fragment).decode_utf8_lossy();
        let of = |wanted: &str| {
            let wanted = last_segment(wanted).to_owned();
            self.resources.iter().filter(move |(name, _)| *name == wanted).map(|(_, schema)| *schema)
        };
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return of(&fragment).collect();
        }
        let bases: Vec<&Value> = if name.is_empty() {
            [self.root].into_iter().chain(self.resources.iter().map(|(_, schema)| *schema)).collect()
        } else {
            of(name).collect()
        };
        let mut targets: Vec<&Value> = bases.into_iter().filter_map(|base| base.pointer(&fragment)).collect();
        targets.dedup_by(|one, other| std::ptr::eq(*one, *other));
        targets
    }
}

fn last_segment(name: &str) -> &str {
    name.trim_end_matches('#').rsplit('/').next().unwrap_or(name)
}
