"""`python -m optctx`: the command line."""

import sys

from optctx_program import main

sys.exit(main())
