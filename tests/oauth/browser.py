"""A browser for tests: follows a URL, with cookies, until it ends; no person is asked. Prints where it ended.

With `--stop` it does not open the last one, as a browser on another machine could not.
"""

import http.cookiejar
import sys
import urllib.error
import urllib.request


class Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, request, file, code, message, headers, url):
        if sys.argv[1] == "--stop" and "/callback?" in url:
            print(url, flush=True)
            sys.exit(0)
        return super().redirect_request(request, file, code, message, headers, url)


cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies, Redirects)
try:
    print(opener.open(sys.argv[-1], timeout=20).geturl())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode(errors="replace")[:2000])
