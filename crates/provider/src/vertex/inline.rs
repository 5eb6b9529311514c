//! References in a JSON Schema, replaced by what they point at.
//!
//! Vertex takes `$ref` only alone in its schema and only a few levels deep (see [`super::schema`]), so that the whole
//! of a schema is written out before it is translated. A reference next to other keywords becomes a member
//! of `allOf`, which is what JSON Schema means by it since draft 2019-09; in older drafts the neighbours mean nothing,
//! and are left out. Only what is in the place of a schema is read: a `$ref` in a `default`, in an `enum` or as
//! the name of a property is data.

use serde_json::{Map, Value};

/// How deep a schema may be once it is written out: a deeper one could overflow the stack of its reader.
const MAX_DEPTH: usize = 100;

/// How many schemas a schema may hold once it is written out: references to references double quickly.
const MAX_SCHEMAS: usize = 10_000;

/// Keywords that hold a schema for each name.
const OF_NAMES: &str = "properties patternProperties dependentSchemas dependencies";

/// Keywords that hold a schema, or a list of schemas.
const OF_SCHEMAS: &str = "allOf anyOf oneOf prefixItems items additionalItems additionalProperties unevaluatedItems \
                          unevaluatedProperties propertyNames contains contentSchema not if then else";

/// What only serves references, and means nothing once there are none.
const SERVANTS: &str = "$ref $defs definitions $schema $id $anchor $vocabulary $comment";

/// Whether a keyword is one of a list.
fn is_one(keyword: &str, list: &str) -> bool {
    list.split(' ').any(|one| one == keyword)
}

/// The schemas that stand in a schema.
pub(super) fn inner(schema: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    schema.iter_mut().flat_map(|(keyword, value)| {
        if is_one(keyword, OF_SCHEMAS) {
            match value {
                Value::Array(list) => list.iter_mut().collect(),
                schema => vec![schema],
            }
        } else if is_one(keyword, OF_NAMES) {
            value.as_object_mut().into_iter().flat_map(Map::values_mut).collect()
        } else {
            Vec::new()
        }
    })
}

/// The schema without references.
///
/// # Errors
/// When a reference leads out of the schema, to nothing or back to itself, or when the schema grows beyond all bounds.
/// The text goes on after "its input_schema".
pub(super) fn inline(root: &Value) -> Result<Value, String> {
    let old = root.get("$schema").and_then(Value::as_str).is_some_and(|name| name.contains("/draft-0"));
    Inliner { root, neighbours_count: !old, open: Vec::new(), depth: 0, schemas: 0 }.schema(root)
}

struct Inliner<'a> {
    root: &'a Value,
    /// Whether keywords next to a `$ref` have a meaning.
    neighbours_count: bool,
    /// The references that are being written out.
    open: Vec<String>,
    depth: usize,
    schemas: usize,
}

impl Inliner<'_> {
    fn schema(&mut self, schema: &Value) -> Result<Value, String> {
        let Value::Object(keywords) = schema else { return Ok(schema.clone()) };
        self.schemas += 1;
        if self.depth == MAX_DEPTH || self.schemas > MAX_SCHEMAS {
            return Err("is too large once its references are expanded".to_owned());
        }
        self.depth += 1;
        let target = keywords.get("$ref").map(|reference| self.follow(reference)).transpose()?;
        let mut written = Map::new();
        if target.is_none() || self.neighbours_count {
            let is_dynamic = |keyword: &&String| matches!(keyword.as_str(), "$dynamicRef" | "$recursiveRef");
            if let Some(keyword) = keywords.keys().find(is_dynamic) {
                return Err(format!("uses `{keyword}`, which cannot be expanded; use `$ref`"));
            }
            let meant = keywords.iter().filter(|(keyword, _)| !is_one(keyword, SERVANTS));
            written.extend(meant.map(|(keyword, value)| (keyword.clone(), value.clone())));
            for schema in inner(&mut written) {
                *schema = self.schema(schema)?;
            }
        }
        self.depth -= 1;
        Ok(match target {
            None => Value::Object(written),
            Some(target) if written.is_empty() => target,
            Some(target) => {
                if let Value::Array(members) = written.entry("allOf").or_insert_with(|| Value::Array(Vec::new())) {
                    members.push(target);
                }
                Value::Object(written)
            }
        })
    }

    /// What a reference points at, written out.
    fn follow(&mut self, reference: &Value) -> Result<Value, String> {
        let Some(reference) = reference.as_str() else {
            return Err(format!("has the `$ref` {reference}, which is not a string"));
        };
        if self.open.iter().any(|open| open == reference) {
            return Err(format!(
                "describes a value that contains itself (`$ref: {reference}`), which Vertex does not support; \
                 write out as many levels as are needed"
            ));
        }
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(format!(
                "refers to `{reference}`, which is outside the schema; move it into the schema's `$defs`"
            ));
        };
        // A pointer in a URL's fragment may be percent-encoded (RFC 6901, section 6).
        let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8_lossy();
        let Some(target) = self.root.pointer(&decoded) else {
            return Err(format!("refers to `{reference}`, which does not exist"));
        };
        self.open.push(reference.to_owned());
        let written = self.schema(target);
        self.open.pop();
        written
    }
}
