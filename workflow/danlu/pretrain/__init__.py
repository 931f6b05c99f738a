"""Pretraining: a supervisor that imports no mindspore, and workers that only train.

`python -m danlu.pretrain` is the supervisor (__main__, supervisor, launch, processes, tail,
decide ...). It renders mindformers.yaml, starts the workers, watches, and says how it ended.
`python -m danlu.pretrain.worker` is one worker, started once a device by the supervisor or by
msrun (and once more as msrun's scheduler).

What they tell each other, through the run folder and through signals only:

- the worker of rank 0 appends a line a step to train/loss.jsonl, and what happened to
  train/events.jsonl, each line with one write to a file opened for appending. Before it
  publishes a checkpoint it syncs loss.jsonl to the disk, so that no checkpoint is ahead of
  the curve after a power cut;
- before a start the supervisor cuts loss.jsonl back to the checkpoint that it resumes from;
- exit status of a worker: 0 finished, or stopped at a signal; 3 the loss was not finite;
  1 or anything else: it failed, and the lines beginning `danlu: ` in its log say why;
- the event `worker_done` is the last thing that rank 0 writes, and without one no run counts
  as finished, whatever the exit status;
- SIGTERM or SIGUSR1 to the workers: agree on a step, save, write `stopped`, exit 0.
"""
