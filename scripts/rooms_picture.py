"""Draw docs/images/rooms.svg: the rooms of src/drspcrl, and which imports which.

    python scripts/rooms_picture.py

Every arrow points to what a room needs; one that follows from others is left out, and so are the
foundations, which all rooms may import.
"""

import ast
from collections import defaultdict
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "drspcrl"
FOUNDATIONS = {
    *("errors", "files", "precision", "versions", "display", "named", "reading", "registry"),
    *("variants", "__init__", "__main__", "__version__"),
}
WIDTH, HEIGHT, BOX, LINE = 150, 64, (124, 28), "#8a8f98"


def needs() -> dict[str, set[str]]:
    """Room → the rooms that its files import."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("drspcrl."):
                found[room].add(str(node.module).split(".")[1])
        found[room] -= {room, *FOUNDATIONS}
    return {room: rooms for room, rooms in found.items() if room not in FOUNDATIONS}


def direct(rooms: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same without what follows from others."""

    @cache
    def reached(room: str) -> frozenset[str]:
        return frozenset().union(*({n} | reached(n) for n in rooms.get(room, ())))

    return {
        room: {n for n in own if not any(n in reached(other) for other in own - {n})}
        for room, own in rooms.items()
    }


def layers(rooms: dict[str, set[str]]) -> list[list[str]]:
    """Rooms by how many others stand below them, the lowest first."""

    @cache
    def height(room: str) -> int:
        return 1 + max((height(n) for n in rooms.get(room, ())), default=-1)

    return [
        sorted(room for room in rooms if height(room) == h)
        for h in range(1 + max(map(height, rooms)))
    ]


def picture() -> str:
    """The picture as SVG."""
    rooms = needs()
    rows = layers(rooms)
    wide, high = max(map(len, rows)) * WIDTH, len(rows) * HEIGHT
    place = {
        room: ((wide - len(row) * WIDTH) / 2 + (k + 0.5) * WIDTH, high - (h + 0.5) * HEIGHT)
        for h, row in enumerate(rows)
        for k, room in enumerate(row)
    }
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" '
        'font-family="sans-serif" font-size="14" role="img" aria-label="rooms of drspcrl">',
        f'<rect width="{wide}" height="{high}" fill="#ffffff"/>',
    ]
    for room, below in sorted(direct(rooms).items()):
        for other in sorted(below):
            (x1, y1), (x2, y2) = place[room], place[other]
            top, end, middle = y1 + BOX[1] / 2, y2 - BOX[1] / 2, (y1 + y2) / 2
            path = f"M{x1:g},{top:g} C{x1:g},{middle:g} {x2:g},{middle:g} {x2:g},{end:g}"
            lines.append(f'<path d="{path}" fill="none" stroke="{LINE}"/>')
    for room, (x, y) in place.items():
        left, above = x - BOX[0] / 2, y - BOX[1] / 2
        lines.append(
            f'<rect x="{left:g}" y="{above:g}" width="{BOX[0]}" height="{BOX[1]}" rx="6" '
            'fill="#e6f2f1" stroke="#00796b"/>'
            f'<text x="{x:g}" y="{y + 5:g}" text-anchor="middle">{escape(room)}/</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    (ROOT / "docs" / "images" / "rooms.svg").write_text(picture(), encoding="utf-8")
