"""Filling the HTML templates of templates/. They escape every value, except the insides of our own drawings."""

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import units

PIXELS_PER_INCH = 140     # the size at which a figure's smallest text still reads like the page's


def fill(name, **values):
    return ENVIRONMENT.get_template(name).render(values)


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


ENVIRONMENT = Environment(loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True,
                          undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
ENVIRONMENT.filters.update(embedded=embedded, duration=units.duration, prefixed=units.prefixed, ratio=units.ratio,
                           significant=units.significant)
