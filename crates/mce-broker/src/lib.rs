//! Every effect: HTTP, credentials, policy, audit, recipes.
