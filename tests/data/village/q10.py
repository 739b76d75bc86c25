"""How reaction speed changes with temperature."""

import math

Q10 = 2.0
REFERENCE_CELSIUS = 20.0
MAX_RETRIES = 3


class ColdStoreError(ValueError):
    pass


def rate(celsius: float, base: float = 1.0) -> float:
    """The rate at a temperature, by the Q10 rule."""
    if celsius < -273.15:
        raise ValueError(f"a value of {celsius} is below absolute zero")
    return base * Q10 ** ((celsius - REFERENCE_CELSIUS) / 10)


def half_life(celsius: float) -> float:
    # The enzyme loses half of its activity in nine days at the reference temperature.
    return 9 / rate(celsius)


if __name__ == "__main__":
    print(math.log(rate(4)))
