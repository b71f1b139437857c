"""`python -m optctx`: the command line; by itself, what was found in this process."""

import sys

from optctx.program import main

sys.exit(main(sys.argv[1:] or ["info"]))
