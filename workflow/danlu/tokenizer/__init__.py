"""The tokenizer: learnt from the train split, or given by the user, with the ids that matter.

A folder build/tokenizer/<key>/ holds tokenizer.json and ids.json; `ids.load` reads it and
refuses a folder whose two files do not belong together.
"""
