//! In which run, and for whom, something is done: what the policy decides by and the audit log keeps.

/// What an effect belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunContext {
    /// Unique among the runs of all processes that share the audit log.
    pub id: String,
    /// Who wanted it.
    pub asker: Asker,
    /// What the client calls itself; nobody checks that.
    pub client: Option<String>,
    /// The SHA-256 of the program, in lower-case hex digits; none for a call that no program makes.
    pub code_sha256: Option<String>,
    /// What the client's own records know its request by, such as a `traceparent`.
    pub correlation: Option<String>,
}

impl RunContext {
    /// Of no known client, and of no program.
    pub fn new(id: &str, asker: Asker) -> Self {
        Self {
            id: id.to_owned(),
            asker,
            client: None,
            code_sha256: None,
            correlation: None,
        }
    }
}

/// Who wants something done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// Somebody who typed a command.
    Person,
    /// A client, and with it a language model.
    Model,
}

impl Asker {
    /// `person` or `model`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Model => "model",
        }
    }
}
