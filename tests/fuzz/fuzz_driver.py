"""Runs cases in a process of its own, with a limit on memory and time, so that a crash or an endless loop is seen."""

import multiprocessing

MEMORY = 8 * 2**30


def work(connection, fuzz, folder):
    """Answer seeds until None comes."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while (seed := connection.recv()) is not None:
        connection.send(fuzz(seed, folder))


class Worker:
    """A process that is started when it is needed, and again when it dies; ``fuzz`` is a function of a module."""

    def __init__(self, fuzz, folder, seconds):
        self.fuzz, self.folder, self.seconds, self.process = fuzz, folder, seconds, None

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, self.fuzz, self.folder))
        self.process.start()
        theirs.close()

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None

    def outcome(self, seed):
        """Outcome of a case, and what is to be said about it."""
        if self.process is None:
            self.start()
        try:
            self.connection.send(seed)
            if self.connection.poll(self.seconds):
                return self.connection.recv()
            found = "hung", f"more than {self.seconds} s"
        except (EOFError, ConnectionError):
            self.process.join()
            found = "crashed", f"exit code {self.process.exitcode}"
        self.stop()
        return found
