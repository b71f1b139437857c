"""Which options change what LLVM compiles: as the attribute of one of two equal functions, and if `record`
names them. Stock LLVM in a fresh process is the judge.
"""
