//! The append-only log of intents and outcomes.
