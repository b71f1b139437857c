"""`python -m optctx`: the command line."""

import sys

from optctx.program import main

sys.exit(main())
