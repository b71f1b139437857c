"""python -m tests.answers"""

import sys

from tests.answers.main import main

sys.exit(main())
