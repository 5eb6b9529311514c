"""Checks the greeting. Run it with `python3 test_greet.py`."""

import sys

sys.dont_write_bytecode = True

from greet import greet  # noqa: E402

expected, found = "Hello, Ada!", greet("Ada")
if found != expected:
    sys.exit(f'not ok: greet says "{found}" and should say "{expected}"')
print(f'ok: greet says "{found}"')
