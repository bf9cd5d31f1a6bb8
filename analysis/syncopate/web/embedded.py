"""What a page embeds for its scripts, as JSON."""

import json
import math


def column(name, values, unit="", is_text=False, brief=True):
    """A column of the table of all rows. `brief`: it stands in the short table, too. The `values` of texts are places in `texts`."""
    if not is_text:
        return {"name": name, "unit": unit, "brief": brief, "values": [None if value is None or math.isnan(value) else value for value in values]}
    values = [value if isinstance(value, str) else "" for value in values]     # NaN where a row does not sweep what others do
    texts = {text: place for place, text in enumerate(dict.fromkeys(values))}
    return {"name": name, "unit": unit, "brief": brief, "texts": list(texts), "values": [texts[value] for value in values]}


def rounded(value, digits):
    """A number to so many significant digits; None stays None."""
    return None if value is None else float(f"{value:.{digits}g}")


def as_json(found):
    """JSON that may stand in a script element."""
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=lambda number: number.item())   # pandas'
    return text.replace("<", "\\u003c")
