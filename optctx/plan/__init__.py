"""What is to be done with an image: which options contexts can set, and which code changes for that."""
