// The zstd dictionary for small states of workflows, so that even the first line of a run compresses well.
#pragma once

#include <string_view>

namespace pawl {

/// The dictionary that `zstd1` in the `enc` of a record refers to. It must never change, because records depend on it.
/// The most common parts come last, where references to them are shortest.
inline constexpr std::string_view kDictionary1 =
    R"("messages":[{"role":"system","content":"{"role":"user","content":"},{"role":"assistant","content":""}],"model":")"
    R"(","temperature":"tool_calls":[{"id":","type":"function","function":{"name":","arguments":"}}],"tokens":{"input":,"output":)"
    R"("task":"description":"items":[],"results":[{"title":","url":"https://","score":0.,"notes":"summary":"error":null,"retry_count":0,)"
    R"("created_at":"2026-","updated_at":"2026-01-11T14:30:02.000000Z","timestamp":"progress":"phase":"stage":"context":{"metadata":{)"
    R"("workflow_id":"agent_id":"agent_states":{"status":"pending","in_progress","active","stage_results":{"variables":{"data":[1,2,3]})"
    R"(,"value":"name":"id":"type":"path":"version":1,"enabled":true,"count":0,false,null,[],{},"")"
    R"({"by":"steps"}{"step":","attempt":1,"key":"exit_code":0,"ms":,"output":"output_event":,"usage":{"input_tokens":,"output_tokens":,"cost_usd":0.)"
    R"({"step":","index":,"item":","hash":"","status":"completed","attempts":1,"output":"","error":"exit status 1"})"
    R"("confidence":0.9,"decisions":1,"blockers":[],"budget":"consumed":[],"signals":"parent":{"run":","step":"outputs":"masked":)"
    R"("error":"exit status 1","exit_code":1,"retryable":true,"reason":"due":"binding":"partial":"iteration":1,"child":")"
    R"("map":{"total":,"items_hash":"","done":"0-","failed":""},"trips":0},"working_dir":"/srv/","folder":{"commit":"","dirty":"","files":{)"
    R"({"pawl":"steps/1","events":1,"steps":{{"pawl":"run/1","status":"running","position":"before_step","workflow":{"name":","file":"workflow.yaml","hash":")"
    R"("},"working_dir":"/","vars":{},"spent_ms":,"completed_steps":,"resumes":0,"events":,"steps":{"fetch":{"status":"failed","starts":1,"spent":1,)"
    R"("status":"skipped","status":"waiting","status":"pending"},"started":"2026-01-11T14:30:02.000000Z","status":"running","started":"2026-)"
    R"(":{"status":"completed","output":"","ended_ms":17,"ms":,"def":""},":{"status":"completed","ended_ms":17,"ms":,"def":"")";

}  // namespace pawl
