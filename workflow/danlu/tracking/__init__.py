"""Curve files, plots, and MLflow: what a run has written, shown and sent.

Reads the run folder and never writes what another stage wrote. mlflow is imported in store.py
only, and only when something is sent: importing it costs several seconds.

    .mlflow.json   which MLflow run this folder is and what that has been sent (receipt.py);
                   kept while training runs, through stops and resumes
    mlflow.json    the same, written by `publish` at the end, for the workflow to see
"""
