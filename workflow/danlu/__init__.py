"""Danlu: a reproducible pretraining workflow for MindSpore Transformers."""

__version__ = "0.1.0"
