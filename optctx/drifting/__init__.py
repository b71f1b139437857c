"""Process-wide changes of options: which options have drifted, and which code sets them."""
