"""What a finished model is worth: held-out text, baselines, own sets, continuations.

Everything runs the exported graphs in onnxruntime; nothing here knows of MindSpore.
"""
