"""What is known about an LLVM library in this process: where it is, its options, the code that reads them.

The only folder that knows binary layouts. Nothing here changes anything.
"""
