"""How it is said: ``@task`` and ``@workflow``, placeholders, and the registry that finds a task's function again."""
