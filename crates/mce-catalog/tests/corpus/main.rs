#![cfg(test)]
//! What documents become: the cases of this project, and other people's documents.

mod cases;
mod pagination;
mod specs;
mod support;
mod tools;
