//! OpenAPI documents become typed functions: names, search, Python and TypeScript text. Pure but for its store.

pub mod function;
pub mod openapi;
