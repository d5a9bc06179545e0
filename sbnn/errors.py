"""What goes wrong in a way the user can mend: one plain sentence each, and an exit code that says which kind it is."""


class SbnnError(Exception):
    """Bad input, or a run that cannot go on; the command line prints its sentence and stops."""

    exit_code = 2


class ConfigError(SbnnError, ValueError):
    """A configuration value that cannot be used; the sentence names the key and the value."""


class DataError(SbnnError):
    """Data that nothing can be learned from; the sentence says what is wrong with them."""


class Diverged(SbnnError):
    """Training turned non-finite; the sentence names the step, the term and the usual cause."""


class CheckpointError(SbnnError):
    """A checkpoint that cannot be continued from; starting again without it works."""

    exit_code = 3
