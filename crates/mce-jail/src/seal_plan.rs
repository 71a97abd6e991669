//! The seal plan: the system calls by which a worker locks itself in, as data.
//!
//! A worker is a fresh fork of the fork server. It carries out the plan from the first step to the last and only then
//! looks at the program it is to run. Python does so through `ctypes` ([`SEAL_PY`]), Rust through [`crate::ForkServer`].

use serde::{Deserialize, Serialize};

/// The Python side: `seal.Plan(json_text)` in the fork server, `plan.fork()` for each worker. See the text itself.
pub const SEAL_PY: &str = include_str!("../guest/seal.py");

/// System calls that lock the calling process in, in order.
///
/// As JSON: `{"isolates_pids": true, "steps": [{"name": "…", "number": 272, "arguments": [{"number": 1}, {"result": 0},
/// {"buffer": {"bytes": "<base64>", "patches": [{"offset": 0, "size": 8, "value": {"pointer": {"bytes": "<base64>"}}}]}}],
/// "is_fatal": true}]}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealPlan {
    /// The fork server gives the worker a PID namespace of its own: `unshare(CLONE_NEWPID)` before the fork, and
    /// `setns` back to its own `self/ns/pid` (below [`crate::PROC_FD`]) after it.
    pub isolates_pids: bool,
    /// The calls. Each is made once.
    pub(crate) steps: Vec<Step>,
}

/// One system call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// What it is for, as a verb; for the message when it fails.
    pub(crate) name: String,
    /// The number of the system call on this machine.
    pub(crate) number: i64,
    /// Up to six arguments; missing ones are 0.
    pub(crate) arguments: Vec<Argument>,
    /// A negative result ends the worker. Else it is ignored.
    pub(crate) is_fatal: bool,
}

/// An argument of a system call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Argument {
    /// A number.
    Number(i64),
    /// What the step of that index returned.
    Result(usize),
    /// The address of a buffer.
    Buffer(Buffer),
}

/// Memory that a system call reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Buffer {
    /// Its content, base64 in JSON.
    #[serde(with = "base64_bytes")]
    pub(crate) bytes: Vec<u8>,
    /// Places that are filled in by the worker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) patches: Vec<Patch>,
}

/// A place in a buffer that only the worker can fill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Patch {
    /// Where, in bytes.
    pub(crate) offset: usize,
    /// How many bytes, 4 or 8, in the machine's order.
    pub(crate) size: usize,
    /// What.
    pub(crate) value: Value,
}

/// What fills a [`Patch`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Value {
    /// What the step of that index returned.
    Result(usize),
    /// The address of another buffer with this content, base64 in JSON.
    Pointer(Buffer),
    /// The worker's own process id, as it sees it.
    OwnPid,
}

/// Bytes as base64 text in JSON.
pub(crate) mod base64_bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_form_is_the_documented_one() {
        let inner = Buffer {
            bytes: vec![1, 2, 3, 4],
            patches: vec![Patch {
                offset: 0,
                size: 4,
                value: Value::OwnPid,
            }],
        };
        let patches = vec![
            Patch {
                offset: 0,
                size: 8,
                value: Value::Pointer(inner),
            },
            Patch {
                offset: 8,
                size: 4,
                value: Value::Result(0),
            },
        ];
        let arguments = vec![
            Argument::Number(-1),
            Argument::Result(0),
            Argument::Buffer(Buffer {
                bytes: vec![0; 12],
                patches,
            }),
        ];
        let step = Step {
            name: "try".to_owned(),
            number: 7,
            arguments,
            is_fatal: true,
        };
        let plan = SealPlan {
            isolates_pids: true,
            steps: vec![step],
        };
        let text = concat!(
            r#"{"isolates_pids":true,"steps":[{"name":"try","number":7,"arguments":[{"number":-1},{"result":0},"#,
            r#"{"buffer":{"bytes":"AAAAAAAAAAAAAAAA","patches":[{"offset":0,"size":8,"value":{"pointer":{"bytes":"AQIDBA==","#,
            r#""patches":[{"offset":0,"size":4,"value":"own_pid"}]}}},{"offset":8,"size":4,"value":{"result":0}}]}}],"is_fatal":true}]}"#
        );
        assert_eq!(serde_json::to_string(&plan).unwrap(), text);
        assert_eq!(serde_json::from_str::<SealPlan>(text).unwrap(), plan);
    }
}
