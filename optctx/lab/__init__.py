"""The tools: experiments with option values, and what is known of an LLVM. Each is imported by its module."""
