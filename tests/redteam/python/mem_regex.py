# attempt: take memory in the backtracking of a regular expression
# layer: rlimit, limit
# expect: limit:memory
# after: host alive; other runs work; next run works
import re

found = re.match(r"(?:(a)|(b))*c", "a" * (48 << 20))

result = {"escaped": True, "how": f"the match ended with {found}"}
