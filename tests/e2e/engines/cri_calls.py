# SPDX-License-Identifier: MIT
"""Makes calls of the Container Runtime Interface for another process, one after the other, as bytes. gRPC has threads,
and each fork() of its process waits for them, with Python 3.13 for ever. So no process of the tests that forks has
gRPC in it. A question is a line of JSON: name of the call, seconds, request in base64. The answer is a line too:
{"answer": base64}, or {"code", "details"} of the error."""

import base64
import json
import sys

import grpc


def main():
    with grpc.insecure_channel(sys.argv[1]) as channel:
        for line in sys.stdin:
            name, seconds, request = json.loads(line)
            try:
                answer = channel.unary_unary(f"/runtime.v1.RuntimeService/{name}")(base64.b64decode(request), timeout=seconds,
                                                                                   wait_for_ready=True)
                said = {"answer": base64.b64encode(answer).decode()}
            except grpc.RpcError as error:
                said = {"code": error.code().name, "details": error.details()}
            print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
