"""A small shop as people keep one, in SQLite: customers order items; ids are text, some cells are empty, rows come
twice. `python examples/shop_database.py shop.db`
"""

import random
import sqlite3
import sys


def make_shop(path: str) -> None:
    """Writes the tables customers and orders."""
    draw = random.Random(0)
    customers = [f"C-{i:03d}" for i in range(80)]
    items = [f"item {chr(97 + i % 4)}{i:02d}" for i in range(40)]
    orders = []
    for i, customer in enumerate(customers):
        taste = [item for j, item in enumerate(items) if j % 4 == i % 4]
        for item in draw.choices(taste, k=9) + draw.choices(items, k=3):
            note = draw.choice([None, None, "gift"])
            orders.append((customer, item, f"2026-{draw.randint(1, 9):02d}-{draw.randint(1, 28):02d}", note))
    orders += draw.sample(orders, 40)
    orders[100] = (None, *orders[100][1:])
    orders[200] = (orders[200][0], None, *orders[200][2:])
    with sqlite3.connect(path) as shop:
        shop.execute("CREATE TABLE customers (id TEXT, age INTEGER, town TEXT)")
        shop.execute("CREATE TABLE orders (customer TEXT, item TEXT, ordered TEXT, note TEXT)")
        rows = [(name, draw.choice([None, 20 + i]), draw.choice(["Graz", "Linz"])) for i, name in enumerate(customers)]
        shop.executemany("INSERT INTO customers VALUES (?, ?, ?)", rows)
        shop.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", orders)
    shop.close()


if __name__ == "__main__":
    make_shop(sys.argv[1])
