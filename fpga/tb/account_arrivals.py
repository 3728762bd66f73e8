"""Random orders of arrival of a numbered stream, as a bad DUT makes them. Seeded, and never looks at the design."""

import random


def disordered(rng: random.Random, frames: int, window: int, jumps: int = 2) -> list[int]:
    """Numbers of `frames` sent frames in an order with losses alone and in runs, copies, and overtaking near and far.

    `jumps` outages leave out a window and more. The list may hold numbers again and lack others.
    """
    gone: set[int] = set()
    number = 0
    while number < frames:
        number += 1 + int(rng.expovariate(1 / 12))
        run = 1 if rng.random() < 0.7 else rng.randrange(1, max(2, window // 2))
        gone.update(range(number, number + run))
        number += run
    for _ in range(jumps):
        start = rng.randrange(frames)
        gone.update(range(start, start + window + rng.randrange(2 + window // 16)))
    places: list[tuple[float, int]] = []
    for number in range(frames):
        if number in gone:
            continue
        place = float(number)
        if rng.random() < 0.05:
            place += rng.choice((1.5, 3.5, window / 2, window - 1, window, window + 1, 2 * window))
        places.append((place, number))
        if rng.random() < 0.03:
            places.append((number + rng.choice((0.1, 2.5, window - 0.5, window + 0.5, 3 * window)), number))
    return [number for _, number in sorted(places)]
