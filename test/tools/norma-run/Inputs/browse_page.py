"""Opens a page of HTML in a headless Chromium, and checks what a reader would see.

  browse_page.py BROWSER PAGE FOLDER

At the width of a desktop and of a telephone, in light and in dark colours, the page must fill no more than the width; figures, tables and
headings must have a size, and texts must be readable, apart and within their figure. The console must stay empty and nothing else may be
loaded. A screenshot of each is written into the folder. Prints what is wrong, or what was seen.

The browser is driven by Chrome's DevTools protocol over two pipes, for which Python needs no package.
"""

import base64
import json
import os
import select
import subprocess
import sys
import tempfile
import time

WIDTHS = {"desktop": 1280, "telephone": 390}
SCHEMES = ["light", "dark"]
TIMEOUT_SECONDS = 60

# Evaluated in the page; gives what is wrong, what was seen, and the height.
LOOK = r"""
(() => {
  const wrong = [], seen = {};
  const root = document.documentElement;
  const name = (element) => `<${element.localName}> "${element.textContent.trim().slice(0, 40)}"`;
  const round = (number) => Math.round(number * 10) / 10;
  if (root.scrollWidth > root.clientWidth)
    wrong.push(`expected a page ${root.clientWidth} pixels wide, got ${root.scrollWidth}`);

  for (const tag of ["h1", "h2", "figure", "svg", "table"]) {
    const all = [...document.querySelectorAll(tag)];
    seen[tag] = all.length;
    for (const element of all) {
      const box = element.getBoundingClientRect();
      if (box.width < 1 || box.height < 1)
        wrong.push(`expected ${name(element)} to have a size, got ${box.width} x ${box.height}`);
      if (tag !== "table" && (box.left < 0 || box.right > root.clientWidth))
        wrong.push(`expected ${name(element)} within the page, got ${round(box.left)} to ${round(box.right)}`);
    }
  }

  // The contrast of two colours, as WCAG defines it; texts need 4.5.
  const luminance = (colour) => {
    const part = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const [red, green, blue] = colour.match(/[\d.]+/g).slice(0, 3).map((value) => part(value / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const back = getComputedStyle(document.body).backgroundColor;
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!own || element.localName === "title") continue;
    const style = getComputedStyle(element);
    const isDrawn = element.ownerSVGElement;
    const colour = isDrawn ? style.fill : style.color;
    if (contrast(colour, back) < 4.5) wrong.push(`expected ${name(element)} to be readable on ${back}, got ${colour}`);
    const size = parseFloat(style.fontSize) * (isDrawn ? isDrawn.getScreenCTM().a : 1);
    if (size < 9) wrong.push(`expected ${name(element)} to be at least 9 pixels high, got ${round(size)}`);
  }

  for (const figure of document.querySelectorAll("svg")) {
    const frame = figure.getBoundingClientRect();
    const texts = [...figure.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
    for (const [index, [text, box]] of texts.entries()) {
      if (box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom)
        wrong.push(`expected ${name(text)} within its figure`);
      for (const [other, its] of texts.slice(index + 1))
        if (box.left < its.right && its.left < box.right && box.top < its.bottom && its.top < box.bottom)
          wrong.push(`expected ${name(text)} apart from ${name(other)}`);
    }
  }
  return { wrong, seen, height: root.scrollHeight };
})()
"""


class Browser:
    """A browser and the events that it has sent."""

    def __init__(self, program, home):
        # The browser reads commands from file 3 and writes answers to file 4.
        commands, self.to = os.pipe()
        self.answers, back = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", f"--user-data-dir={home}"]
        place = f'exec 3<&{commands} 4>&{back}; exec "$@" 2> "$0"'
        self.log = os.path.join(home, "log")
        self.process = subprocess.Popen(
            ["bash", "-c", place, self.log, program, *flags, "--remote-debugging-pipe", "about:blank"],
            pass_fds=[commands, back],
            env={**os.environ, "HOME": home},
        )
        os.close(commands)
        os.close(back)
        self.buffer = b""
        self.events = []
        self.last = 0
        self.session = None

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0, deadline - time.monotonic()))
            more = os.read(self.answers, 1 << 20) if ready else b""
            if not more:
                why = "ended" if ready else f"did not answer within {TIMEOUT_SECONDS} s"
                log = open(self.log, encoding="utf-8", errors="replace").read() if os.path.exists(self.log) else ""
                sys.exit(f"error: the browser {why}\n{log}")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **parameters):
        """Sends a command and returns its result."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        try:
            os.write(self.to, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            pass  # There will be no answer either, which is reported.
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.last:
                if "error" in answer:
                    sys.exit(f"error: {method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.receive(deadline))

    def evaluate(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            sys.exit(f"error: {result['exceptionDetails']}")
        return result["result"]["value"]


def complaints(events, address):
    """What the page wrote to the console, threw, or loaded."""
    for event in events:
        kind, about = event.get("method"), event.get("params", {})
        if kind == "Log.entryAdded":
            yield f"expected nothing in the log, got {about['entry']['text']}"
        elif kind == "Runtime.consoleAPICalled":
            text = " ".join(str(value.get("value", value.get("description"))) for value in about["args"])
            yield f"expected nothing in the console, got {text}"
        elif kind == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            yield f"expected no exception, got {details.get('exception', details).get('description', details['text'])}"
        elif kind == "Network.requestWillBeSent" and about["request"]["url"] != address:
            yield f"expected nothing to be loaded, got {about['request']['url']}"


def look(browser, page, folder):
    browser.session = None
    target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
    browser.session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ["Page", "Runtime", "Log", "Network"]:
        browser.ask(f"{domain}.enable")
    address = "file://" + os.path.abspath(page)
    wrong, seen = [], {}
    for kind, width in WIDTHS.items():
        for scheme in SCHEMES:
            browser.events.clear()
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": kind == "telephone"}
            browser.ask("Emulation.setDeviceMetricsOverride", **size)
            browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            failure = browser.ask("Page.navigate", url=address).get("errorText")
            if failure:
                sys.exit(f"error: cannot open '{page}': {failure}")
            browser.wait_for("Page.loadEventFired")
            found = browser.evaluate(LOOK)
            whole = {"x": 0, "y": 0, "width": width, "height": found["height"], "scale": 1}
            shot = browser.ask("Page.captureScreenshot", clip=whole, captureBeyondViewport=True)["data"]
            with open(os.path.join(folder, f"{kind}-{scheme}.png"), "wb") as file:
                file.write(base64.b64decode(shot))
            place = f"{kind}, {scheme}: "
            wrong += [place + text for text in [*complaints(browser.events, address), *found["wrong"]]]
            seen = found["seen"]
    return wrong, seen


def main():
    program, page, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Browser(program, home)
        try:
            wrong, seen = look(browser, page, folder)
        finally:
            browser.process.kill()
            browser.process.wait()
    print("\n".join(wrong) or "readable: " + ", ".join(f"{count} {tag}" for tag, count in seen.items()))
    sys.exit(bool(wrong))


main()
