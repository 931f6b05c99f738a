"""What watches training, one concern a module. mindformers.yaml lists them, in order.

Each counts steps from the beginning of the run: MindSpore's cur_step_num restarts at every
resume, so `resumed_step` is added.
"""
