"""python -m tests.long.answers"""

import sys

from tests.long.answers.main import main

sys.exit(main())
