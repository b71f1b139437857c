"""Relocatable objects, read and put into this process's memory."""

from optctx.lab.objects.elf import ObjectError, parse_object
from optctx.lab.objects.loading import Loaded, load

__all__ = ["Loaded", "ObjectError", "load", "parse_object"]
