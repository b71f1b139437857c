"""python -m tests.long.soak"""

import sys

from tests.long.soak.main import main

sys.exit(main())
