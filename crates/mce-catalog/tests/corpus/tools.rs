//! What real MCP servers answer to `tools/list`: the files `tools/tools-*.json` of the corpus.

use mce_catalog::function::Target;
use mce_catalog::openapi::read_tools;
use serde_json::Value;

use crate::specs::{corpus, validates};
use crate::support::problems_of;

/// All of them but one of server-everything, which is a task.
const CALLABLE: usize = 698;

#[test]
fn every_tool_of_real_servers_is_a_function_with_its_arguments() {
    let Some(folder) = corpus() else {
        eprintln!("NOT RUN: there are no lists of tools; set MCE_TEST_CORPUS");
        return;
    };
    let mut callable = 0;
    let mut wrong = Vec::new();
    for entry in fs_err::read_dir(folder.join("tools")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let mut list: Value = serde_json::from_slice(&fs_err::read(&path).unwrap()).unwrap();
        let tools: Vec<Value> = serde_json::from_value(list["tools"].take()).unwrap();
        let document = read_tools(tools.clone());
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        wrong.extend(problems_of(&document).into_iter().map(|text| format!("{name}: {text}")));
        wrong.extend(document.problems.iter().map(|problem| format!("{name}: {problem:?}")));
        for function in &document.functions {
            let Target::Tool(target) = &function.target else {
                panic!("{function:?}")
            };
            let tool = tools.iter().find(|tool| tool["name"] == target.name.as_str()).unwrap();
            let properties = tool["inputSchema"]["properties"].as_object().map_or(0, serde_json::Map::len);
            if function.parameters.len() != properties {
                wrong.push(format!("{name}: {}: arguments are missing", target.name));
            }
            if let Err(error) = validates(&function.schemas().collect::<Vec<_>>(), &document.types) {
                wrong.push(format!("{name}: {}: {error}", target.name));
            }
        }
        callable += document.functions.len();
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(callable, CALLABLE);
}
