//! Every effect: HTTP, credentials, policy, audit, recipes. [`Broker::call`] is the only way to an API.

mod answer;
mod audit;
mod call;
mod call_error;
mod function_source;
mod recipes;

pub use answer::{Answer, AnswerValue};
pub use call::{Broker, BrokerOptions, CallLimits, CallRequest, Caller, Naming};
pub use call_error::{BrokerError, CallError, CallErrorKind};
pub use function_source::{FunctionNotFound, FunctionSource};
pub use recipes::{NewRecipe, Recipe, RecipeError, Recipes};
