"""Parses a page of HTML as browsers do, and checks that every element is closed and that nothing is loaded from elsewhere."""

import html.parser
import re
import sys

# Elements without content, which have no end tag.
VOID = {"br", "hr", "img", "input", "link", "meta"}
# Attributes that name what a browser loads or goes to.
REFERENCES = {"action", "background", "data", "formaction", "href", "poster", "src", "srcset", "xlink:href"}
# What loads things, whatever its attributes.
LOADING = {"base", "embed", "frame", "iframe", "link", "object", "script"}


class Page(html.parser.HTMLParser):
    """Keeps the elements that are open, and what is wrong with the page."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = set()
        self.wrong = []

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        if tag in LOADING:
            self.wrong.append(f"expected no <{tag}>")
        for name, value in attributes:
            if name.startswith("on") or (name in REFERENCES and not (value or "").startswith("#")):
                self.wrong.append(f'expected no {name} in <{tag}>, got "{value}"')
            if name == "style":
                self.check_style(value or "")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"expected the element that is open to end, got </{tag}> in line {self.getpos()[0]}")

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.check_style(data)

    def check_style(self, text):
        for found in re.findall(r"url\([^)]*\)|@import[^;]*", text):
            self.wrong.append(f"expected a style that loads nothing, got {found}")


page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
page.close()
if page.open:
    page.wrong.append(f"expected the end of {', '.join(page.open)}")
for tag in {"html", "style", "svg", "table"} - page.seen:
    page.wrong.append(f"expected a <{tag}>, got none")
print("\n".join(page.wrong) or "whole")
sys.exit(bool(page.wrong))
