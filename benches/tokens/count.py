"""Tokens of the vocabulary o200k, counted by one process of js-tiktoken, which has the ranks."""
import json
import subprocess

SCRIPT = """
const {getEncoding} = require('js-tiktoken'), encoding = getEncoding('o200k_base');
// A text is counted in lines, since the library's time grows faster than the text; few tokens go over the end of a line.
const count = text => text.length < 20000 ? encoding.encode(text, 'all', []).length
  : (text.match(/[^]{1,4000}(?=["\\s,]|$)|[^]{1,4000}/g) || []).reduce((sum, part) => sum + encoding.encode(part, 'all', []).length, 0);
require('readline').createInterface({input: process.stdin}).on('line', line => console.log(count(JSON.parse(line))));
"""


class Counter:
    def __init__(self, folder):
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), "js-tiktoken@1"], check=True, stdout=subprocess.DEVNULL)
        self.process = subprocess.Popen(["node", "-e", SCRIPT], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.known = {}

    def __call__(self, text):
        if text not in self.known:
            self.process.stdin.write(json.dumps(text) + "\n")
            self.process.stdin.flush()
            self.known[text] = int(self.process.stdout.readline())
        return self.known[text]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
