"""The independent PyTorch reference behind tests/golden/."""
