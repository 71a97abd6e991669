// attempt: take memory in the backtracking of a regular expression
// layer: rlimit, limit
// expect: limit:memory
// after: host alive; other runs work; next run works
const found = /(?:(a)|(b))*c/.exec("a".repeat(48 << 20));
const result = { escaped: true, how: `the match ended with ${found}` };
