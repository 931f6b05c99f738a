"""The train split as rows of token ids in MindRecord files, and the manifest that vouches for them.

A folder build/records/<key>/ holds part-00000.mindrecord and its .db ..., manifest.json and
lengths.png. `manifest.verify` says whether a folder still is what was written.
"""
