"""Curve files, plots, and MLflow: what a run has written, shown and sent.

Reads the run folder and never writes what another stage wrote. mlflow is imported in store.py
only, and only when something is sent: importing it costs several seconds.

mlflow.json in the run folder says which MLflow run it is and what that has been sent.
"""
