"""Ratings as MovieLens has them, generated: user, item, rating, time behind tabs, users and items each numbered from 1.
`python examples/ratings.py u.data`
"""

import random
import sys


def make_ratings(path: str, users: int = 60, items: int = 40, tastes: int = 4) -> None:
    """Writes ratings of users who mostly like the items of one taste."""
    draw = random.Random(0)
    taste = {item: draw.randrange(tastes) for item in range(1, items + 1)}
    seen = set()
    with open(path, "w", encoding="utf-8") as file:
        for user in range(1, users + 1):
            liked = [item for item in taste if taste[item] == user % tastes]
            for item in draw.choices(liked, k=8) + draw.choices(list(taste), k=3):
                if (user, item) not in seen:
                    seen.add((user, item))
                    file.write(f"{user}\t{item}\t{draw.randint(1, 5)}\t{881250949 + draw.randint(0, 10**7)}\n")


if __name__ == "__main__":
    make_ratings(sys.argv[1])
