"""An agent of another kit, in Python, that plughook's plugins judge. Run a server first: runner serve --config …

    python3 agent_hooks_host.py http://127.0.0.1:8080/hooks/agent-hooks
"""
import datetime
import json
import sys
import urllib.request


# This is all that a host of AGENT-HOOKS 0.1 registers: a callable that takes a context and returns a verdict. What raises
# is a denial.
def intercept(context):
    request = urllib.request.Request(
        sys.argv[1], json.dumps(context).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


# The rest stands for a host, which the kit has.
sequence = 0


def emit(point, target, **fields):
    global sequence
    context = {
        "spec": "agent-hooks/0.1",
        "interception_point": point,
        "timestamp": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        "sequence": sequence,
        "agent": {"id": "snake", "framework": "example"},
        "session": {"id": "python-1"},
        "target": target,
        **fields,
    }
    sequence += 1
    verdict = intercept(context)
    print(point, verdict["decision"], verdict.get("reason", ""), json.dumps(verdict.get("transform", "")))
    return verdict


def call(id, command):
    tool = {"id": id, "name": "shell", "args": {"command": command}}
    if emit("pre_tool_call", tool["args"], tool_call=tool)["decision"] != "deny":
        result = {"value": "ran " + command, "is_error": False}
        emit("post_tool_call", result["value"], tool_call=tool, tool_result=result)


init = {"tools_registered": ["shell"]}
emit("agent_startup", init, agent_init=init)
message = {"content": "publish it", "role": "user"}
emit("input", message, input=message)
call("t1", "git status")
call("t2", "git push --force")
output = {"content": "It is done."}
emit("output", output, output=output)
summary = {"reason": "completed"}
emit("agent_shutdown", summary, summary=summary)
