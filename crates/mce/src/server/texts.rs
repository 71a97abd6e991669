//! What the model reads besides tools: instructions and the guide prompt.

/// How to work, at most 200 tokens. Guides of servers come after it.
pub(crate) const INSTRUCTIONS: &str = "\
These tools give you the functions of many APIs through code. Work in this order:
1. `search_functions` with the task's words (or `list_servers` first). Its signatures can be called as they stand.
2. `get_functions` where you need a function's exact types, body fields or errors.
3. `execute_code` with ONE program for the whole task: call, loop, filter and join there, and give back only what the answer needs.
4. The same task with other values: `run_cached_code` with the `cache_id` of the run that worked.
If a run fails, `error` says the line and what to change; `calls` lists what has already happened and is not undone.";

/// The prompt `reusable_code_guide`.
pub(crate) const GUIDE: &str = r#"Write programs that can run again with other values.

Wrong: the value sits inside main, so the program has one use.

    from weather.functions import get_current_weather

    def main():
        return get_current_weather(city="London")["temperature"]

Right: what may change is a top-level variable, and main takes no arguments.

    from weather.functions import get_current_weather

    city = "London"

    def main():
        return get_current_weather(city=city)["temperature"]

    result = main()

Run it once with `execute_code` and keep the `cache_id` of the answer. For Paris:

    run_cached_code(cache_id="…", params={"city": "Paris"})

Rules
1. Everything that differs between two requests is a top-level variable with a plain value (text, number, list, object).
2. `main` is called once. Give back only the fields that the answer needs, not whole API answers.
3. Each name in `params` must be a top-level variable of the program; values are data and are never read as code.
"#;
