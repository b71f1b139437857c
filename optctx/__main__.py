"""`python -m optctx`: the command line. Without arguments it prints what `optctx info` prints."""

import sys

from optctx_program import main

sys.exit(main(sys.argv[1:] or ["info"]))
