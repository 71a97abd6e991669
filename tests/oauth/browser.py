"""A browser for tests: follows a URL, with cookies, until it ends; no person is asked. Prints where it ended.

Forms without anything to type are sent, as a person would who agrees. With `--stop` it does not open the last one, as a browser on
another machine could not.
"""

import http.cookiejar
import sys
import urllib.error
import urllib.parse
import urllib.request
from html.parser import HTMLParser


class Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, request, file, code, message, headers, url):
        if sys.argv[1] == "--stop" and "/callback?" in url:
            print(url, flush=True)
            sys.exit(0)
        return super().redirect_request(request, file, code, message, headers, url)


class Form(HTMLParser):
    action, fields = None, None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form" and attributes.get("method", "").lower() == "post":
            self.action, self.fields = attributes["action"], {}
        elif tag == "input" and attributes.get("type", "text") == "text":
            self.action = None
        elif tag == "input" and self.fields is not None:
            self.fields[attributes["name"]] = attributes.get("value", "")


cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies, Redirects)
try:
    answer = opener.open(sys.argv[-1], timeout=20)
    while True:
        form = Form()
        form.feed(answer.read().decode(errors="replace"))
        if form.action is None:
            break
        place = urllib.parse.urljoin(answer.geturl(), form.action)
        answer = opener.open(place, urllib.parse.urlencode(form.fields).encode(), timeout=20)
    print(answer.geturl())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode(errors="replace")[:2000])
