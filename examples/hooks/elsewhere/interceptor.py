"""An interceptor of AGENT-HOOKS 0.1: it takes a context and answers with a verdict. See runner.yaml.

    python3 interceptor.py PORT
"""
import http.server
import json
import sys


def judge(context):
    if context["interception_point"] == "pre_tool_call":
        return {"decision": "deny", "reason": "door:ask", "message": "Open the door?", "approval": {}}
    if context["interception_point"] == "output" and "4711" in str(context["target"]["content"]):
        text = context["target"]["content"].replace("4711", "[code]")
        return {"decision": "transform", "transform": {"path": "$target.content", "value": text}}
    return {"decision": "allow"}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        context = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(judge(context)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
