"""A target that crashes and hangs, for the test of the driver; small, since each new process imports it."""

import os
import time


def dying(number, folder):
    os._exit(3) if number == 0 else time.sleep(60 if number == 1 else 0)
    return "works", str(number)
