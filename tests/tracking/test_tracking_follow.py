"""`follow` as a process of its own, beside a supervisor that lives, ends or is killed."""


def test_the_curve_is_sent_while_it_grows_and_how_it_ended_when_the_supervisor_is_killed(
    make_run, supervise, database, wait_until, tmp_path
):
    store = database(tmp_path / "mlflow.db")
    run = make_run()
    run.event("start")
    run.train([1, 2])
    supervisor = supervise(run)
    wait_until(lambda: store.steps() == [1, 2])
    assert store.states() == ["RUNNING"]
    run.train([3])
    wait_until(lambda: store.steps() == [1, 2, 3])

    run.train([4])
    supervisor.is_killed()
    wait_until(lambda: store.states() == ["KILLED"])
    assert store.steps() == [1, 2, 3, 4]

    run.cut(2)
    run.event("resume", step=2)
    run.train([3, 4, 5])
    supervisor = supervise(run)
    wait_until(lambda: store.steps() == [1, 2, 3, 4, 5])
    assert store.states() == ["RUNNING"]
    run.train([6])
    run.event("finish")
    supervisor.ends()
    assert store.states() == ["FINISHED"]
    assert store.steps() == [1, 2, 3, 4, 5, 6]
