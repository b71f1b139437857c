"""What is true of one LLVM and not of every other: names, signatures, the types behind mangled names.

Data, with the newest LLVM's first where several are known. `fact` looks them up in an image. Nothing is
derived from a version. A missing fact disables the feature that needs it (`interceptions`). The layouts of
the registry and of options are in native/image. A mangled name stands here, or with the host that alone needs
it (tests/project/test_house.py).
"""
