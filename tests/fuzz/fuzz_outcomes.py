"""What a case of a campaign comes to: it works, is refused in plain words, or is a failure of some class."""

import linecache
import re
import traceback
import warnings

FINE = ("works", "refused")
FAILURES = ("crashed", "hung", "opaque", "wrong", "warned")
OUTCOMES = (*FINE, *FAILURES)

# Words of numpy, scipy and Python about their own internals, which tell a user nothing.
OPAQUE = re.compile(
    r"broadcast|operands|LAPACK|illegal value|out of bounds|did not converge|unsupported operand|not supported between|"
    r"setting an array element|object has no attribute|not subscriptable|object is not|unexpected keyword|"
    r"positional argument|could not convert|ambiguous|zero-size array|singular matrix|Singular matrix|"
    r"not positive definite|dimension mismatch|shapes .* not aligned|array must not contain infs or NaNs|"
    r"arg\w+ of an empty|cannot convert float|cannot reshape|ufunc|Traceback",
)
NUMPY_WARNING = re.compile(r"encountered in|Mean of empty slice|All-NaN|Degrees of freedom|[Ii]ll-conditioned|overflow")
OURS = ("/graphlowrank/", "/sklearn/")


class WrongError(Exception):
    """An answer breaks an invariant."""


def check(condition, message):
    if not condition:
        raise WrongError(message)


def is_plain(error):
    """Whether an error was raised on purpose by the package or by scikit-learn, in words for a user."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    on_purpose = "raise" in linecache.getline(frame.filename, frame.lineno) and any(
        part in frame.filename for part in OURS
    )
    if isinstance(error, MemoryError):
        return "Unable to allocate" in str(error)  # numpy says how much
    text = str(error).strip()
    kind = isinstance(error, ValueError | TypeError | FloatingPointError)
    return kind and on_purpose and text != "" and not OPAQUE.search(text)


def judged(use):
    """Outcome of a function without arguments, and a text about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = "works", str(use())
        except WrongError as error:
            found = "wrong", f"{error}" + (f" <- {error.__cause__!r}" if error.__cause__ else "")
        except Exception as error:
            text = "".join(traceback.format_exception(error))
            found = ("refused", f"{type(error).__name__}: {error}") if is_plain(error) else ("opaque", text)
    unwanted = [one for one in caught if is_unwanted(one)]
    if unwanted and found[0] in FINE:
        one = unwanted[0]
        return "warned", f"{one.category.__name__}: {one.message} ({one.filename}:{one.lineno}); {found[1]}"
    return found


def is_unwanted(warning):
    """Whether a warning is about internals. Warnings of the package itself are meant for the user."""
    old = issubclass(warning.category, DeprecationWarning | FutureWarning)
    return old or (
        issubclass(warning.category, RuntimeWarning) and NUMPY_WARNING.search(str(warning.message)) is not None
    )
