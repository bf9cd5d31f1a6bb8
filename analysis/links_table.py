"""The page's section about the busiest links: all those listed of a lone point, or the busiest of each point."""

from html import escape

from links import SATURATED
from page import dotted
from style import BLUE, VERMILLION, WAITING
from units import prefixed, significant

MOST = 20               # points that the table shows
BAR, HEIGHT = 120, 10   # pixels of a full bar
MEANING = ("Utilisation = bytes / (bandwidth × measured window), where bytes are what the link carried in that window. "
           f"Above {100 * SATURATED:g} % a link is called saturated.")
BEYOND = " More than 100 % means that messages which per-message fidelity moves independently share a link; flow fidelity slows them down."


def section(busy, frame, styles):
    """HTML, or "" where no point has links. `busy` is what links.read_all returns for `frame`."""
    if not busy:
        return ""
    colors = {choice: styles[series].color for choice, series in zip(frame["choice"], frame["series"])}
    columns = naming(frame, colors)
    points = busy
    if len(busy) == 1:
        head, rows = [("Link", "text")], [[(escape(link.name), "text")] + traffic(link) for link in busy[0].links]
    else:
        ranked = sorted(range(len(busy)), key=lambda place: -busy[place].busiest.utilisation)
        points = [busy[place] for place in sorted(ranked[:MOST])]
        head = [(title, kind) for title, kind, _ in columns] + [("Busiest link", "text")]
        rows = [[(cell(one.row), kind) for _, kind, cell in columns] + [(named(one), "text")] + traffic(one.busiest)
                for one in points]
    head += [("Bandwidth", ""), ("Bytes", ""), ("Utilisation", "text")]
    beyond = any(link.utilisation > 1.001 for one in busy for link in one.links)
    told = " ".join(coverage(busy, frame, points)) + f" {MEANING}" + BEYOND * beyond
    return (f'<h2>Busiest links</h2>\n<p class="quiet">{told.strip()}</p>\n<div class="scroll"><table id="links"><thead>{line(head, "th")}'
            f'</thead><tbody>{"".join(line(cells, "td") for cells in rows)}</tbody></table></div>')


def naming(frame, colors):
    """(title, class, cell of a row) of the columns that tell the rows of `frame` apart."""
    found = []
    if frame["setting"].nunique() > 1:
        found.append(("Setting", "text", lambda row: escape(row["setting"])))
    if frame["choice"].nunique() > 1:
        found.append(("Schedule", "text", lambda row: dotted((row["choice"],), colors)))
    found.append(("Nodes", "", lambda row: str(row["nodes"])))
    if frame["fidelity"].nunique() > 1:
        found.append(("Fidelity", "text", lambda row: escape(row["fidelity"])))
    return found


def coverage(busy, frame, points):
    """Sentences: which rows the table leaves out, and in how many points a link is saturated."""
    if len(busy) < len(frame):
        have = {(one.row["run"], one.row["point"]) for one in busy}
        others = {row["fidelity"] for row in frame.to_dict("records") if (row["run"], row["point"]) not in have}
        why = ": fidelity alpha-beta has none" if others == {"alpha-beta"} else ""
        yield f"{len(busy)} of {len(frame)} points {'have' if len(busy) > 1 else 'has'} links{why}."
    if len(busy) == 1 and len(frame) > 1:
        row = busy[0].row
        where = [row["setting"], row["choice"], f"{row['nodes']} node{'s' if row['nodes'] > 1 else ''}"]
        yield f"Shown: {escape(', '.join(where))}."
    if len(points) < len(busy):
        yield f"Shown: the {MOST} points whose busiest links are used most."
    if len(busy) > 1:
        yield f"A link is saturated in {sum(one.busiest.saturated for one in busy)} of {len(busy)} points."


def named(one):
    return escape(one.busiest.name) + ' <span class="quiet">and others as busy</span>' * one.tied


def traffic(link):
    """Cells: bandwidth, bytes, and utilisation as a bar and a number."""
    part, color = min(1, link.utilisation), VERMILLION if link.saturated else BLUE
    bar = (f'<svg width="{BAR}" height="{HEIGHT}" aria-hidden="true"><rect width="{BAR}" height="{HEIGHT}" fill="{WAITING}" '
           f'fill-opacity="0.4"/><rect width="{BAR * part:.1f}" height="{HEIGHT}" fill="{color}"/></svg>')
    mark = f' <b style="color:{VERMILLION}">saturated</b>' if link.saturated else ""
    return [(prefixed(8 * link.bandwidth_Bps, "b/s"), ""), (prefixed(link.bytes, "B"), ""),
            (f"{bar} {significant(100 * link.utilisation)} %{mark}", "text")]


def line(cells, tag):
    inside = "".join(f'<{tag} class="{kind}">{text}</{tag}>' for text, kind in cells)
    return f"<tr>{inside}</tr>"
