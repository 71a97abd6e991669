//! OpenAPI documents become typed functions: names, search, Python and TypeScript text. Pure but for its store.

pub mod catalog;
pub mod changes;
mod digest;
pub mod function;
pub mod lookup;
pub mod names;
pub mod observed;
pub mod openapi;
mod pagination;
pub mod pointer;
pub mod schema;
pub mod search;
pub mod store;
pub mod text;
pub mod view;
pub mod visibility;
