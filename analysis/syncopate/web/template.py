"""Filling the HTML templates of templates/. They escape every value but our own drawings and scripts."""

import base64
import hashlib
import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from syncopate.common import wording
from syncopate.web import theme
from syncopate.web.embedded import as_json

HERE = Path(__file__).parent
LIBRARY = HERE / "vendor" / "echarts.min.js"
PIXELS_PER_INCH = 140     # at this size a figure's smallest text reads like the page's


def fill(name, **values):
    """A page without scripts."""
    return render(name, [], **values)


def fill_interactive(name, parts, data, **values):
    """A page whose scripts show `data`: the chart library, and these parts of scripts/, one after the other in a scope of their own."""
    own = "\n".join((HERE / "scripts" / f"{part}.js").read_text(encoding="utf-8") for part in parts)
    return render(name, [LIBRARY.read_text(encoding="utf-8"), f'(() => {{\n"use strict";\n{own}}})();\n'], data=as_json(data), **values)


def render(name, scripts, **values):
    """A page that runs these scripts and no others, whatever its texts hold, and asks nothing of any other address."""
    sources = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts) or "'none'"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src {sources}"
    return ENVIRONMENT.get_template(name).render(scripts=scripts, policy=policy, **values)


def embedded(svg, prefix):
    """What a page needs of an SVG file: viewBox, width in pixels, and what it draws, without addresses and with ids of its own."""
    view, svg = re.search(r'<svg[^>]*?viewBox="([^"]*)"[^>]*>(.*)</svg>', svg, re.S).groups()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.S)
    svg = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", svg)
    svg = svg.replace("xlink:href=", "href=")
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}', svg).replace("url(#", f"url(#{prefix}")
    return {"view": view, "width": round(float(view.split()[2]) / 72 * PIXELS_PER_INCH), "inside": svg}


ENVIRONMENT = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True,
                          undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
ENVIRONMENT.filters.update(embedded=embedded, heat=theme.heat, duration=wording.duration, prefixed=wording.prefixed, ratio=wording.ratio,
                           significant=wording.significant)
