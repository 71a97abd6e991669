// attempt: spend years in one native call that never returns to the program
// layer: limit
// expect: limit:wall
// after: ended in time; no leftover process; other runs work; next run works
const found = Array.prototype.includes.call({ length: Number.MAX_SAFE_INTEGER }, 1);
const result = { escaped: true, how: `the search ended with ${found}` };
