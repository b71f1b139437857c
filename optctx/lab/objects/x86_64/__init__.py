"""What an object needs of x86-64 to be put into memory."""
