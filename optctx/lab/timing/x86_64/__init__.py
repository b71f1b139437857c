"""What timing needs of x86-64: counting under callgrind."""
