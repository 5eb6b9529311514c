"""A small greeting."""


def greet(name):
    """Return a greeting for `name`."""
    return f"Helo, {name}!"


if __name__ == "__main__":
    print(greet("world"))
