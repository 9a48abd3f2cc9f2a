// Written by `npm run client` from the OpenAPI document of the server.

export interface paths {
    "/api/v1/about": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the versions of the server
         * @description The versions of Turnout, of Python, of the database and its schema, and of the packages of extras.
         */
        get: operations["get_about"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/attention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get what needs attention
         * @description Runs that failed since a time; tasks and runs that wait longer than usual, with the reason in words and what
         *     would end the wait; workers that were lost; breakers that are open; schedules that are late.
         *
         *     A wait is longer than usual if it takes more than three times as long as 95 of 100 earlier waits of the task in
         *     the newest 20 runs of its workflow, and more than 30 s; where too few are known, more than 120 s. Pauses,
         *     deferrals and the delays of retries do not count.
         */
        get: operations["get_attention"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List audit entries
         * @description Every request that changed something, or tried to, with the token that it was made with.
         */
        get: operations["list_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/configuration": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the configuration of the server
         * @description Every setting with its value, and the file or environment variable that it comes from. Secrets are left
         *     out.
         */
        get: operations["get_configuration"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow all runs
         * @description An event `run` for each new run and each change of a run's state, with the run as it is then.
         *
         *     The first event is `ready`: a list of runs that is read after it and the events behind it miss nothing. With
         *     ``Last-Event-ID`` or ``after`` the stream continues behind that event. If it cannot, since the position is too
         *     old or of another database, the first event is `reset`: read the list again. Before the server ends a stream it
         *     sends `closed` with the reason: `stopping`, `too_slow`, `failed` (connect again) or `revoked`. Deleted runs make
         *     no event.
         */
        get: operations["stream_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List task executors
         * @description The task executors of all orchestrators with capacity, load and breaker. What one runs or waits for it is
         *     in the list of open tasks, by its key.
         */
        get: operations["list_executors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhooks
         * @description All webhooks, without their tokens.
         */
        get: operations["list_hooks"];
        put?: never;
        /**
         * Make a webhook
         * @description Makes a webhook. The answer has its token, which is not stored.
         */
        post: operations["create_hook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hooks/{hook}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a run by a webhook
         * @description Starts a run with what the body says. The token in the path is the caller's right to do so. A delivery that
         *     has an id, in one of the webhook's headers for it, starts one run however often it is sent.
         */
        post: operations["deliver_hook"];
        /**
         * Delete a webhook
         * @description Deletes a webhook by its id or name. Runs that it has started stay.
         */
        delete: operations["delete_hook"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hooks/{hook}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a webhook a new token
         * @description Replaces the token of a webhook. Deliveries to the address that it had are refused at once.
         */
        post: operations["rotate_hook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List limits
         * @description The limits and queues that are configured, declared, held or waited for, each with the number of its holders
         *     and waiters.
         */
        get: operations["list_limits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/limits/detail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a limit
         * @description One limit with its holders, its waiters with their positions, and the sizes that workflows declare for it.
         *     A name may hold any character, so it is a parameter of the query.
         */
        get: operations["get_limit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/orchestration": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the orchestrators
         * @description The orchestrators on the database, each with its condition, its pools with the health of every stage
         *     executor, the use of the database, backpressure and its latest events.
         */
        get: operations["get_orchestration"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/orchestration/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the last hour of this server's orchestrator
         * @description The sizes of pools, their utilisation, queues and breakers, the saturation of the database and backpressure,
         *     every five seconds of the last hour; and what the coordinator did, with the reasons. It is kept in the memory of
         *     the server that answers.
         */
        get: operations["get_orchestration_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/routing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the routing rules
         * @description The rules that this server decides by, where they come from, and how to return to those of the configuration.
         *     The ETag is for `If-Match` of a change.
         */
        get: operations["get_routing"];
        /**
         * Replace the routing rules
         * @description Replaces all rules at once, or refuses them as a whole if one is invalid. They are stored in the database:
         *     within a second every server and Runner on it decides by them, unless its program gave it rules, and also after
         *     a restart. Attempts that run keep their decision.
         */
        put: operations["replace_routing"];
        post?: never;
        /**
         * Return to the rules of the configuration
         * @description Deletes the rules in the database: every server decides by those of its own configuration.
         */
        delete: operations["delete_routing"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/routing/shadows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare shadow attempts
         * @description Counts of shadow attempts that answered as the real ones did, and the latest hundred that did not, as the
         *     answering server has seen them since it started.
         */
        get: operations["get_shadows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/routing/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List where the tasks of all workflows go
         * @description Every task of the workflows that this server has, with the executor that a new run would send it to and the
         *     reason, by the function that decides it. Rules for a share of runs are not applied. A page ends at a workflow
         *     and may have a few tasks more than the limit, or fewer, if many tasks go elsewhere.
         */
        get: operations["list_routed_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/routing/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check routing rules
         * @description Checks rules against the executors and workflows of this server. Nothing is changed.
         */
        post: operations["validate_routing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/routing/what-if": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Try routing rules on past decisions
         * @description Replays the latest decisions, or those of the last days, as they are stored with their tasks, against other
         *     rules, and returns those that would be others, also by task. Nothing is changed.
         */
        post: operations["what_if_routing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List runs
         * @description Runs, newest first, that fulfil every condition.
         */
        get: operations["list_runs"];
        put?: never;
        /**
         * Start a run
         * @description Starts a run of a workflow by name, and answers once it is durable; with ``wait``, once it has ended, the
         *     time is over or the server stops.
         */
        post: operations["start_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a run
         * @description One run, with the number of its tasks in each state.
         */
        get: operations["get_run"];
        put?: never;
        post?: never;
        /**
         * Delete a run
         * @description Deletes a run that has ended with its child runs, outputs, history and logs. It cannot be undone.
         */
        delete: operations["delete_run"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a run
         * @description Cancels a run from any state that is not an end, and answers once that is committed.
         */
        post: operations["cancel_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/children": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the child runs of a run
         * @description The runs that tasks of this run have started, by task and attempt.
         */
        get: operations["list_child_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow one run
         * @description The moves of the run (`run`) and of its tasks (`task`), and log lines (`log`): from the beginning, or from
         *     ``Last-Event-ID`` or ``after`` on; the answers about a run have its `position` for that. With ``batch`` an event
         *     `moves` has a list of moves, in which those of the run have no `task`: it costs a run of many tasks a fraction
         *     of the events, and a client applies each list at once. The last event is `end`, once the run has ended or was
         *     deleted. A position that is not known any more is answered with `reset`, and the stream starts from the
         *     beginning.
         *
         *     Moves come in the order of their commits, and lines in the order in which they were stored; between the two
         *     kinds there is no order: ``at`` says when each was. What is stored already comes in rounds of at most 500 moves
         *     and 500 lines, in each the moves first: of a run that has ended, usually all moves and then all lines.
         */
        get: operations["stream_run_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the graph of a run
         * @description The tasks of the run and their dependencies, with the state of each and its place in a picture. A mapped task
         *     is one node with its items counted by state; a task that starts a child run names it.
         */
        get: operations["get_run_graph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the history of a run
         * @description Every change of the state of the run and its tasks, in order.
         */
        get: operations["get_run_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/input": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the input of a run
         * @description The parameters of the run by name, with defaults.
         */
        get: operations["get_run_input"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the limits of a run
         * @description The limits that a run and its tasks hold or wait for, with the position in the queue of each.
         */
        get: operations["get_run_limits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the log lines of a run
         * @description Returns what all attempts of the run printed and logged, merged.
         */
        get: operations["get_run_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/logs/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the log lines of a run
         * @description Lines as they are written, from the first one or from ``Last-Event-ID`` or ``after`` on, until the run has
         *     ended.
         */
        get: operations["stream_run_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the result of a run as text
         * @description The result of a completed run as JSON text, for results that are too large to be shown. A part of it is
         *     answered to `Range: bytes=0-65535`.
         */
        get: operations["get_run_output"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a run
         * @description Pauses a run: after the answer nothing new starts; what runs goes on to its end.
         */
        post: operations["pause_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/rerun": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rerun from a task, or with other parameters
         * @description Starts a new run, by today's workflow, that keeps what was finished before ``from_task``. Tasks that changed
         *     since, or take a parameter that ``input`` changes, run again, and so does what follows them.
         */
        post: operations["rerun_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/rerun/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Preview a rerun
         * @description Takes the body of a rerun, and answers what that would do: each task that would run again with the reason,
         *     and the tasks whose results would be reused. Nothing is started.
         */
        post: operations["preview_rerun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/result": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the result of a run
         * @description Returns the result of a completed run. A run that has not ended, or did not complete, is answered with 409;
         *     the problem document of a failed run has ``failures``, one for each failed task.
         */
        get: operations["get_run_result"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a run
         * @description Lets a paused run go on.
         */
        post: operations["resume_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry what failed
         * @description Starts a new run that keeps what was finished, and begins at what failed.
         */
        post: operations["retry_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tasks of a run
         * @description The tasks of a run: where each runs or ran, why there, and what it waits for.
         */
        get: operations["list_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/tasks/{task}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a task of a run
         * @description One task with its output, and each attempt with its executor, the reason of that choice, its outcome and the
         *     traceback of its error; while it waits, what would end the wait.
         */
        get: operations["get_task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/tasks/{task}/attempts/{attempt}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the log lines of an attempt
         * @description Returns what one attempt of a task printed and logged.
         */
        get: operations["get_attempt_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/tasks/{task}/input": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the input of a task
         * @description The arguments of the task as JSON text: `args`, `kwargs`, and in Context style `context`; a handler also
         *     has the outputs of its dependencies in `previous`. An item of a mapped task has its own values, the mapped task
         *     its lists. Secrets are read where the task runs, and are no part of it. A part of the text is answered to
         *     `Range: bytes=0-65535`.
         */
        get: operations["get_task_input"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/tasks/{task}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the log lines of a task
         * @description Returns what all attempts of a task printed and logged; of a mapped task, those of all its items.
         */
        get: operations["get_task_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/tasks/{task}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the output of a task
         * @description The output of a completed task as JSON text; of a mapped task, the list. A part of it is answered to
         *     `Range: bytes=0-65535`.
         */
        get: operations["get_task_output"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run_id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the timeline of a run
         * @description The times at which each task could start, its waits with their reasons, and every attempt with its executor,
         *     worker and outcome. A mapped task is one entry; its items are those of ``group``. The critical path is that of
         *     the graph: the chain of tasks that the end of the run waited for.
         */
        get: operations["get_run_timeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/bulk/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel runs by a filter
         * @description Cancels the runs that fulfil every condition and have not ended, the newest first; or those of `ids`, up to
         *     1,000, so that exactly what a dry run listed is changed.
         */
        post: operations["cancel_runs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/bulk/rerun": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rerun runs by a filter
         * @description Starts a new run for each run that fulfils every condition and failed or was cancelled, the newest first.
         *     Each begins at what failed. Or it does so for those of `ids`, up to 1,000, so that exactly what a dry run listed
         *     is started.
         */
        post: operations["rerun_runs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/enqueue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enqueue a run
         * @description Stores a run without an owner: any orchestrator on the database that has its code claims it.
         */
        post: operations["enqueue_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List schedules
         * @description The schedules that workflows declare, each with the time at which it acts next.
         */
        get: operations["list_schedules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{schedule_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a schedule
         * @description One schedule with its options.
         */
        get: operations["get_schedule"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{schedule_id}/backfill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start runs for past due times
         * @description Starts a run for each due time of the given time that has not fired. Unless the schedule allows overlap, they
         *     run one after the other.
         */
        post: operations["backfill_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{schedule_id}/decisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List decisions about due times
         * @description The decisions about due times that have come, each with its reason, and what operators have asked for.
         */
        get: operations["list_schedule_decisions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{schedule_id}/fire": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a run of a schedule now
         * @description Starts a run with the parameters of the schedule, also while it is paused or an earlier run is open. The body
         *     may give other parameters for this run.
         */
        post: operations["fire_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{schedule_id}/next": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the next due times of a schedule
         * @description The due times of a schedule that come next, or that lie between two times; none while it is paused.
         */
        get: operations["list_next_fires_of_schedule"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{schedule_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a schedule
         * @description Pauses a schedule: its due times start nothing. Runs that it has started go on.
         */
        post: operations["pause_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{schedule_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a schedule
         * @description Resumes a schedule. The due times of the pause are skipped, with that reason.
         */
        post: operations["resume_schedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/decisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List decisions of all schedules
         * @description The decisions about due times of all schedules, each with its reason, and what operators have asked for.
         */
        get: operations["list_decisions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/next": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the next due times of all schedules
         * @description The due times of all schedules that come next, or that lie between two times, as a calendar shows them. With
         *     a first time in the future, only the thousand schedules that are due first are looked at.
         */
        get: operations["list_next_fires"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the caller
         * @description The caller's name and role; for a browser, also what it has to send with changes.
         */
        get: operations["get_session"];
        put?: never;
        /**
         * Sign in
         * @description Signs a browser in: sets a cookie that no script can read.
         */
        post: operations["sign_in"];
        /**
         * Sign out
         * @description Signs a browser out. A token is not revoked by it.
         */
        delete: operations["sign_out"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get throughput and latency
         * @description Runs that ended and their tasks, by state and step of time; the median and the 95th percentile of durations;
         *     and the runs that have not ended.
         */
        get: operations["get_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List tasks that run or wait
         * @description Tasks that run or wait, of the thousand oldest runs that have not ended, with the reason of each wait.
         */
        get: operations["list_open_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List access tokens
         * @description All tokens, without their secrets.
         */
        get: operations["list_tokens"];
        put?: never;
        /**
         * Make an access token
         * @description Makes a token. The answer has its secret, which is not stored.
         */
        post: operations["create_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an access token
         * @description Revokes a token by its id, or by its name: requests with it are refused, and its streams end, within two
         *     seconds.
         */
        delete: operations["revoke_token"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List event triggers
         * @description All event triggers that a server on this database has polled, with why the last poll failed.
         */
        get: operations["list_triggers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers/{trigger}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an event trigger
         * @description One event trigger, with what it keeps from poll to poll.
         */
        get: operations["get_trigger"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers/{trigger}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause an event trigger
         * @description Pauses a trigger: it is not polled until it is resumed. A poll that is under way ends.
         */
        post: operations["pause_trigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers/{trigger}/poll": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Poll an event trigger now
         * @description Makes a trigger due now: a server that has its code polls it within two seconds.
         */
        post: operations["poll_trigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers/{trigger}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume an event trigger
         * @description Resumes a trigger; it is polled at once if it is due.
         */
        post: operations["resume_trigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List workers
         * @description The workers that are connected to any hub on this database, with their labels, handlers and load.
         */
        get: operations["list_workers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers/{worker}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a worker
         * @description One worker, by name or id, with the attempts that it holds.
         */
        get: operations["get_worker"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers/{worker}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drain a worker
         * @description Drains a worker: from its next heartbeat on it finishes what it has, and then it leaves.
         */
        post: operations["drain_worker"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers/unmatched": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List tasks that no worker matches
         * @description Tasks that wait for a worker with a handler and labels that no connected worker has, by these, each with the
         *     worker that comes nearest and the labels that it lacks.
         */
        get: operations["list_unmatched_waits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List workflows
         * @description Workflows by name, each with the states of its newest runs: stored definitions, and those that the server
         *     was started with.
         */
        get: operations["list_workflows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a workflow
         * @description One workflow with its parameters (as JSON Schema), its tasks and their graph.
         */
        get: operations["get_workflow"];
        /**
         * Put a workflow
         * @description Makes the text the newest version of the workflow, for new runs on every server; running runs keep theirs.
         *
         *     `If-Match` has the ETag of the version that is replaced; `If-None-Match: *` makes a new workflow.
         */
        put: operations["put_workflow"];
        post?: never;
        /**
         * Delete a workflow
         * @description Deletes an uploaded workflow: there are no new runs of it. Its runs and versions stay. While it has open runs
         *     it is not deleted.
         */
        delete: operations["delete_workflow"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{name}/dispatch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain where the tasks of a workflow go
         * @description Returns where each task of a new run would go, by the function that decides it, with every step.
         */
        get: operations["get_workflow_dispatch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{name}/graphs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the graphs that a workflow has had
         * @description The newest thousand versions of a workflow that runs have had, whether it is written in Python or in
         *     YAML.
         */
        get: operations["list_workflow_graphs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{name}/graphs/{graph}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a graph of a workflow
         * @description One version of the graph, with the parameters and with the places of its tasks in a picture.
         */
        get: operations["get_workflow_graph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{name}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the newest runs of a workflow, task by task
         * @description The state and duration of every task in each of the newest runs, how long runs and tasks take, and the
         *     slowest tasks.
         */
        get: operations["get_workflow_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{name}/source": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the text of a workflow
         * @description The text of the version in force, as it was written: YAML, or the Python file. Of a workflow that the
         *     server was started with, it is the text of its file or module.
         */
        get: operations["get_workflow_source"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{name}/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Validate a text
         * @description Returns what is wrong with a text that would be put under this name, with lines and columns. Nothing is
         *     stored.
         */
        post: operations["validate_workflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{name}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the versions of a workflow
         * @description The versions that are stored, newest first; those of a removed workflow too.
         */
        get: operations["list_workflow_versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{name}/versions/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a version of a workflow
         * @description One version with its text, and the text that it inherits from.
         */
        get: operations["get_workflow_version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/orchestration": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the health of the orchestrators
         * @description The health of the stage pools of all orchestrators. In the names of pools, "task" means run and "step"
         *     task.
         */
        get: operations["health_orchestration"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the server answers
         * @description Answers as long as the process serves requests.
         */
        get: operations["healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get metrics
         * @description The metrics of all orchestrators, and of the runs that ended since the server started, in the text format of
         *     Prometheus; in that of OpenMetrics if the request accepts it. Then histograms have exemplars with the ids of
         *     traces, if telemetry is enabled.
         */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the server is ready
         * @description Answers 200 if the database answers, the orchestrator's session is alive and the server is not stopping;
         *     else 503.
         */
        get: operations["readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * About
         * @description The versions of a server and of what it runs on.
         */
        About: {
            database: components["schemas"]["DatabaseVersion"];
            extras: components["schemas"]["ExtraPackage"][];
            implementation: string;
            /** @description The id of its session. */
            orchestrator: string;
            pid: number;
            platform: string;
            python: string;
            turnout: string;
            up_seconds: number;
        };
        /**
         * Alive
         * @description The server answers.
         */
        Alive: {
            /**
             * @default ok
             * @constant
             */
            status?: "ok";
        };
        /**
         * AttemptView
         * @description One attempt of one task.
         */
        AttemptView: {
            /** @description Its ordinal, which log lines and `info.token` have. */
            attempt: number;
            /**
             * @description When its start was committed, by the database's clock.
             * @default 0
             */
            began_at?: number;
            /** @description Why that executor: the rule, selector or default that decided. */
            decision?: string | null;
            ended_at?: number | null;
            /** @description Type and message of what it raised. */
            error?: string | null;
            error_type?: string | null;
            executor?: string | null;
            /** @description Of the handler that ran it, where it says so. */
            handler_version?: string | null;
            message?: string | null;
            /** @description What its body has as `info.attempt`: its number among the attempts that began. None: it did not begin. */
            number?: number | null;
            /** @description `completed`, `failed`, `lost`, `returned`, …; None: it runs. */
            outcome?: string | null;
            reason?: string | null;
            /** @description When its body began, where that is known: until then it was on its way, or queued at its executor. */
            started_at?: number | null;
            task: string;
            traceback?: string | null;
            /** @description The name of the worker, or the id of the poller, that had it; None: it ran in the orchestrator. */
            worker?: string | null;
        };
        /**
         * Attention
         * @description All that needs attention now. Every list is bounded; totals are counted up to a bound as well.
         */
        Attention: {
            /** @description The time of the answer, by the database's clock: `since` of the next request. */
            at: number;
            breakers: components["schemas"]["OpenBreaker"][];
            /** @description Runs without a parent that failed since then, the latest first. */
            failed: components["schemas"]["Run"][];
            failed_total: number;
            schedules: components["schemas"]["LateSchedule"][];
            since: number;
            /** @description Troubles of orchestrators that are in no other list. */
            troubles: components["schemas"]["Trouble"][];
            /** @description The longest first. */
            waiting: components["schemas"]["LongWait"][];
            waiting_total: number;
            workers: components["schemas"]["LostWorker"][];
        };
        /**
         * AuditPage
         * @description Entries of the audit, the newest first. `next` is `before` of the next page.
         */
        AuditPage: {
            entries: components["schemas"]["AuditRow"][];
            next: number | null;
        };
        /**
         * AuditRow
         * @description One request that changed something, or tried to.
         */
        AuditRow: {
            /** @description The id of the token; `-` if the request had none that is known. */
            actor: string;
            actor_name: string;
            /** @default  */
            address?: string;
            at: number;
            /**
             * @description The stable code of the problem, if it was refused.
             * @default
             */
            code?: string;
            /** @default 0 */
            id?: number;
            method: string;
            /** @default  */
            request_id?: string;
            status: number;
            target: string;
        };
        /**
         * Backfilled
         * @description A backfill, or the preview of one.
         */
        Backfilled: {
            dry_run: boolean;
            due_times: components["schemas"]["BackfilledTime"][];
            /** @description Runs that start, or would. */
            runs: number;
            schedule_id: number;
        };
        /**
         * BackfilledTime
         * @description A due time of a backfill.
         */
        BackfilledTime: {
            due_at: number;
            fired_before: boolean;
            local: string;
            /** @description The run that it starts; null if it has fired before, and in a preview. */
            run_id: string | null;
        };
        /**
         * BackfillRequest
         * @description The time whose due times are to fire.
         */
        BackfillRequest: {
            /**
             * @description True: nothing is started. The answer says what would be.
             * @default false
             */
            dry_run?: boolean;
            /** @description Seconds since 1970, or a time such as `2026-12-01T03:00`, which is local time of the schedule. */
            first: number | string;
            /** @description The same; without it now. */
            last?: number | string | null;
        };
        /**
         * BulkCancelRequest
         * @description Runs to be cancelled: those of a filter, or those of `ids`.
         * @example {
         *       "filter": {
         *         "workflow": "fulfil",
         *         "tags": [],
         *         "states": [
         *           "running"
         *         ],
         *         "key": null,
         *         "parent": null,
         *         "top_level": false,
         *         "created_from": null,
         *         "created_before": null
         *       },
         *       "ids": [],
         *       "dry_run": true,
         *       "reason": "cancelled",
         *       "limit": 100,
         *       "cursor": null
         *     }
         */
        BulkCancelRequest: {
            /** @description `next` of the answer before, to go on behind its runs. */
            cursor?: string | null;
            /**
             * @description True: nothing is changed, the answer lists what would be.
             * @default false
             */
            dry_run?: boolean;
            filter?: components["schemas"]["RunSelection"];
            /**
             * @description These runs and no others, in the place of a filter: those of a dry run, for example. `limit` and `cursor` are for filters.
             * @default []
             */
            ids?: (string | unknown)[];
            /** @default 100 */
            limit?: number;
            /** @default cancelled */
            reason?: string;
        };
        /**
         * BulkOutcome
         * @description The outcome for one run of a bulk request.
         */
        BulkOutcome: {
            /** @description Why it was left as it is. */
            code?: string | null;
            detail?: string | null;
            /** @description The id of the rerun. */
            new_run?: string | null;
            run_id: string;
            /** @description Its state when it was found; null: there is no such run. */
            state: components["schemas"]["RunState"] | null;
        };
        /**
         * BulkRerunRequest
         * @description Runs to be repeated from their failures: those of a filter, or those of `ids`.
         * @example {
         *       "filter": {
         *         "workflow": "fulfil",
         *         "tags": [],
         *         "states": [],
         *         "key": null,
         *         "parent": null,
         *         "top_level": false,
         *         "created_from": 1760000000,
         *         "created_before": null
         *       },
         *       "ids": [],
         *       "dry_run": false,
         *       "limit": 50,
         *       "cursor": null
         *     }
         */
        BulkRerunRequest: {
            /** @description `next` of the answer before, to go on behind its runs. */
            cursor?: string | null;
            /**
             * @description True: nothing is started, the answer lists what would be.
             * @default false
             */
            dry_run?: boolean;
            filter?: components["schemas"]["RunSelection"];
            /**
             * @description These runs and no others, in the place of a filter: those of a dry run, for example. `limit` and `cursor` are for filters.
             * @default []
             */
            ids?: (string | unknown)[];
            /** @default 100 */
            limit?: number;
        };
        /**
         * BulkResult
         * @description The outcome of a bulk request.
         */
        BulkResult: {
            dry_run: boolean;
            /** @description The cursor of the next request, if more runs fit the filter than the limit allows. */
            next?: string | null;
            runs: components["schemas"]["BulkOutcome"][];
        };
        /**
         * CancelRequest
         * @description The reason of a cancellation.
         * @example {
         *       "reason": "the order was withdrawn"
         *     }
         */
        CancelRequest: {
            /** @default cancelled */
            reason?: string;
        };
        /**
         * ChangedTask
         * @description Decisions about one task that would change in the same way.
         */
        ChangedTask: {
            count: number;
            now?: components["schemas"]["Decision"] | null;
            refusal?: string | null;
            /** @description The newest of its runs. */
            run_id: string;
            /** @description The full name. */
            task: string;
            was: components["schemas"]["Decision"];
        };
        /**
         * CheckedRouting
         * @description Rules that can work, and what is doubtful about them.
         */
        CheckedRouting: {
            routing: components["schemas"]["Routing"];
            warnings: string[];
        };
        /**
         * Configuration
         * @description The settings of a server, as they were when it started. Options of its command line prevail over them.
         */
        Configuration: {
            /** @description The configuration file that was read. */
            file: string | null;
            /** @description Secrets are shown as `***`. */
            settings: components["schemas"]["EffectiveSetting"][];
            warnings: string[];
        };
        /**
         * CreatedToken
         * @description A new token; `secret` is shown here only.
         */
        CreatedToken: {
            secret: string;
            token: components["schemas"]["TokenRow"];
        };
        /**
         * CreatedWebhook
         * @description A webhook with its token, which is shown here only.
         */
        CreatedWebhook: {
            /** @description The path that deliveries are sent to. */
            path: string;
            token: string;
            webhook: components["schemas"]["Webhook"];
        };
        /**
         * DatabaseVersion
         * @description The database of the server.
         */
        DatabaseVersion: {
            /** @enum {string} */
            kind: "sqlite" | "postgresql";
            /** @description The number of its newest migration. */
            schema: number;
            version: string;
        };
        /**
         * Decision
         * @description The executor of a task, and the reason.
         */
        Decision: {
            executor: string;
            labels?: {
                [key: string]: string;
            } | null;
            reason: string;
            /** @description What the attempt asks of the executor. */
            resources?: {
                [key: string]: number | string;
            } | null;
        };
        /**
         * DecisionPage
         * @description Decisions about due times, the newest first.
         */
        DecisionPage: {
            decisions: components["schemas"]["DecisionRow"][];
            /** @description The cursor of the next page; null on the last one. */
            next: string | null;
        };
        /**
         * DecisionRow
         * @description A decision as it is read back.
         */
        DecisionRow: {
            actor: string | null;
            decided_at: number;
            due_at: number;
            due_times: number;
            id: number;
            /** @enum {string} */
            kind: "due" | "manual" | "backfill";
            last_due_at: number;
            /** @enum {string} */
            outcome: "fired" | "skipped";
            reason: string;
            run_id: string | null;
            schedule_id: number;
            /** @enum {string} */
            state: "pending" | "open" | "closed";
        };
        /**
         * DeclaredSchedule
         * @description A schedule, as its workflow declares it.
         */
        DeclaredSchedule: {
            /** @enum {string} */
            action: "start" | "stop" | "restart";
            /** @enum {string} */
            catch_up: "skip" | "latest" | "all";
            /** @description The times: five fields of cron, `every 300s` or `at` with a time. */
            expression: string;
            /** @description Seconds. */
            jitter: number;
            max_catch_up: number;
            name: string;
            /** @enum {string} */
            overlap: "skip" | "queue" | "cancel_previous" | "allow";
            /** @description The input of its runs. */
            params: {
                [key: string]: unknown;
            };
            skip_if_successful: boolean;
            timezone: string;
        };
        /**
         * DeletedRuns
         * @description The number of deleted runs and rows.
         */
        DeletedRuns: {
            rows: number;
            /** @description The run and its child runs. */
            runs: number;
        };
        /**
         * Delivered
         * @description The run that a delivery started.
         */
        Delivered: {
            /** @description False: the delivery was taken before, and this is the run that it started then. */
            created: boolean;
            run_id: string;
        };
        /**
         * Difference
         * @description A task that the rules would send elsewhere.
         */
        Difference: {
            now?: components["schemas"]["Decision"] | null;
            /** @description Why the rules would refuse the task. */
            refusal?: string | null;
            run_id: string;
            /** @description The full name. */
            task: string;
            was: components["schemas"]["Decision"];
        };
        /**
         * DispatchDecision
         * @description The executor of an attempt and the reason; stored with the attempt.
         */
        DispatchDecision: {
            executor_key: string;
            labels?: {
                [key: string]: string;
            } | null;
            reason: string;
            /** @description What the attempt asks for: the task's resources, with the entries of the rule in place of its own. */
            resources?: components["schemas"]["Resources"] | null;
        };
        /**
         * DispatchTrace
         * @description The placement of each task of a workflow, with its reason.
         */
        DispatchTrace: {
            tasks: components["schemas"]["Explanation"][];
            /** @description Tasks that run locally only because no hub is configured, or whose runs are refused for that. */
            warnings: string[];
            workflow: string;
        };
        /**
         * DrainRequest
         * @description The reason of a drain.
         * @example {
         *       "reason": "maintenance of gpu-7"
         *     }
         */
        DrainRequest: {
            /** @default drained */
            reason?: string;
        };
        /**
         * Driver
         * @description The states of driving: an orchestrator drives the run, none does, or none is needed.
         * @enum {string}
         */
        Driver: "driven" | "not_driven" | "queued" | "not_needed";
        /**
         * EffectiveSetting
         * @description One setting: its key, the key as spelled at its origin, its value, and its origin.
         */
        EffectiveSetting: {
            key: string;
            /** @description The file or environment variable that it comes from, or `default`. */
            origin: string;
            spelling: string;
            value: unknown;
        };
        /**
         * ErrorInfo
         * @description An exception as text, so that it survives the process that raised it.
         */
        ErrorInfo: {
            /**
             * @description The stable code, if it is one of Turnout's own exceptions.
             * @default
             */
            code?: string;
            /** @description The exit code of a command that failed. */
            exit_code?: number | null;
            message: string;
            /**
             * @description Qualified names of the exception's classes, most specific first; retry_on and never_on compare them.
             * @default []
             */
            mro?: string[];
            /** @default  */
            traceback?: string;
            type: string;
        };
        /**
         * Event
         * @description An action of the coordinator.
         */
        Event: {
            /** @description Unix time. */
            at: number;
            detail: string;
            /**
             * @description Stage executors of the pool after it.
             * @default 0
             */
            executors?: number;
            /** @description `scaled`, `replaced`, `restarted`, `backpressure` or `breaker`. */
            kind: string;
            pool: string | null;
        };
        /**
         * ExecutorAt
         * @description A task executor of one orchestrator.
         */
        ExecutorAt: {
            /** @description Attempts that it has in hand. */
            active: number;
            /** @default 0 */
            async_capacity?: number;
            /** @default 0 */
            async_running?: number;
            attempts_per_second: number;
            average_seconds?: number | null;
            /** @description `closed`, `half_open` or `open`; of several, the worst. */
            breaker: string;
            /** @description Attempts that it runs at once; absent if it does not report that. */
            capacity?: number | null;
            executed: number;
            failed: number;
            orchestrator: string;
            running: number;
            /** @description Attempts in its hand that have not begun. */
            waiting: number;
        };
        /**
         * Executors
         * @description Task executors, by key.
         */
        Executors: {
            executors: components["schemas"]["ExecutorView"][];
        };
        /**
         * ExecutorView
         * @description A task executor over all orchestrators.
         */
        ExecutorView: {
            /** @description Attempts that it has in hand. */
            active: number;
            /** @default 0 */
            async_capacity?: number;
            /** @default 0 */
            async_running?: number;
            attempts_per_second: number;
            average_seconds?: number | null;
            /** @description `closed`, `half_open` or `open`; of several, the worst. */
            breaker: string;
            /** @description Attempts that it runs at once; absent if it does not report that. */
            capacity?: number | null;
            executed: number;
            failed: number;
            /** @description True if the answering server has it. */
            here: boolean;
            key: string;
            /** @description The kinds of bodies that it runs, if the answering server has it. */
            kinds?: string[];
            /**
             * @description True if its attempts run in the process of an orchestrator, or in a child of it.
             * @default false
             */
            local?: boolean;
            orchestrators: components["schemas"]["ExecutorAt"][];
            running: number;
            /** @description True if its capacity is that of workers, which several orchestrators use. */
            shared: boolean;
            /** @description Attempts in its hand that have not begun. */
            waiting: number;
        };
        /**
         * Explanation
         * @description A decision and its trace.
         */
        Explanation: {
            decision: components["schemas"]["DispatchDecision"];
            /**
             * @description A mapped task: each of its items goes there.
             * @default false
             */
            mapped?: boolean;
            steps: components["schemas"]["TraceStep"][];
            task_name: string;
        };
        /**
         * ExtraPackage
         * @description A package that an extra of Turnout brings.
         */
        ExtraPackage: {
            extra: string;
            package: string;
            purpose: string;
            /** @description Null: it is not installed. */
            version: string | null;
        };
        /**
         * FileProblem
         * @description A file in a workflow folder that no definition stands for.
         */
        FileProblem: {
            file: string;
            findings: components["schemas"]["Finding"][];
        };
        /**
         * Finding
         * @description One problem of a file, or one fact that its author should know.
         */
        Finding: {
            /** @description Stable, for programs, such as `unknown_key`. */
            code: string;
            /** @description Both count from 1. */
            column: number;
            line: number;
            message: string;
            /**
             * @description `error`: the file cannot be used. `warning`: it can, with a risk. `note`: what was assumed.
             * @enum {string}
             */
            severity: "error" | "warning" | "note";
            /**
             * @description `base`: line and column are those of the text that the file inherits from.
             * @default file
             * @enum {string}
             */
            source?: "file" | "base";
            /**
             * @description The path of the value, such as `steps[2].retry_policy.limit`.
             * @default
             */
            where?: string;
        };
        /**
         * Fired
         * @description A run that was asked for.
         */
        Fired: {
            /**
             * @description The time that the run stands for.
             * @default 0
             */
            due_at?: number;
            run_id: string;
            schedule_id: number;
        };
        /**
         * FireRequest
         * @description The run that a schedule is to start now.
         */
        FireRequest: {
            /** @description Parameters of the run, instead of those of the schedule with the same names. */
            params?: {
                [key: string]: unknown;
            };
        };
        /**
         * GraphEdge
         * @description A dependency: `to` starts after `from`.
         */
        GraphEdge: {
            from: string;
            to: string;
            /** @description The places in intermediate columns through which its line passes no task. */
            via?: components["schemas"]["GridPosition"][];
        };
        /**
         * GraphNode
         * @description One task of the graph of a run.
         */
        GraphNode: {
            /** @default 0 */
            attempt?: number;
            /** @description Of a task that starts a child run: the newest of them. The items of a mapped task have one each. */
            child_run?: string | null;
            /**
             * @description Its place in a picture in which tasks are in a column to the right of their dependencies.
             * @default -1
             */
            column?: number;
            executor?: string | null;
            finished_at?: number | null;
            /** @description `success`, `failure` or `exit`, for a hook. */
            hook?: string | null;
            /** @description Of a mapped task: its items by state. */
            items?: {
                [key: string]: number;
            } | null;
            /** @enum {string} */
            kind: "python" | "shell" | "handler" | "workflow";
            name: string;
            /** @description The task that the hook belongs to. */
            of?: string | null;
            reason?: string | null;
            /** @description The function, command, handler or workflow that it runs. */
            ref: string;
            /**
             * @description The rows of a column are one apart.
             * @default 0
             */
            row?: number;
            /** @description When the body of the newest attempt began; of a mapped task, the first of its items. */
            started_at?: number | null;
            state: components["schemas"]["TaskState"];
        };
        /**
         * GraphVersion
         * @description A version of the graph of a workflow that runs have had.
         */
        GraphVersion: {
            created_at: number;
            /** @description True: new runs have it. */
            current: boolean;
            /** @description Versions of a workflow are numbered from 1 in the order in which they were first used. */
            number: number;
            used_at: number | null;
            version: string;
        };
        /**
         * GraphVersions
         * @description Versions, newest first.
         */
        GraphVersions: {
            versions: components["schemas"]["GraphVersion"][];
            workflow: string;
        };
        /**
         * GridPosition
         * @description The column and row of a task or of a passing line. The rows of a column are one apart.
         */
        GridPosition: {
            column: number;
            row: number;
        };
        /**
         * HeldAttempt
         * @description A running attempt that a worker or poller holds.
         */
        HeldAttempt: {
            attempt: number;
            run_id: string;
            /** @description The time at which its start was committed. */
            since: number | null;
            task: string;
            workflow: string;
        };
        /**
         * HeldLimit
         * @description A limit of one run: held, or waited for.
         */
        HeldLimit: {
            /** @description While it is waited for: runs that hold all its slots and wait themselves in a circle; none of them ends until one is cancelled. */
            deadlocked_with?: string[];
            held: boolean;
            name: string;
            /** @description The place in the queue, from 1, while it is waited for. */
            position?: number | null;
            /** @description The run whose slot is shared; None if it is held by itself. */
            shared_with?: string | null;
            /** @default 0 */
            since?: number;
            /** @description The name of the task that needs it; None: the run itself. */
            task: string | null;
        };
        /**
         * LastRun
         * @description One of the newest runs of a workflow.
         */
        LastRun: {
            created_at: number;
            finished_at: number | null;
            run_id: string;
            started_at: number | null;
            state: string;
        };
        /**
         * Latency
         * @description Durations in seconds, of the runs of the window that ended last.
         */
        Latency: {
            /** @description From submission to end. */
            run_duration: components["schemas"]["Spread"];
            /** @description Runs that were looked at. */
            runs: number;
            /** @description From when a task could start until its body began. Tasks with several attempts, and items, are left out. */
            start_delay: components["schemas"]["Spread"];
            /** @description From when the body of the last attempt began until the task ended. */
            task_duration: components["schemas"]["Spread"];
        };
        /**
         * LateSchedule
         * @description A schedule whose due time has passed without a decision: no server with its workflow evaluates it.
         */
        LateSchedule: {
            due_at: number;
            id: number;
            /** @description Seconds. */
            late: number;
            name: string;
            workflow: string;
        };
        /**
         * LimitDeclaration
         * @description A size that a workflow, or one of its tasks, declares for a limit.
         */
        LimitDeclaration: {
            /** @description The name of the limit as it is declared, with `${parameter}`. */
            declared: string;
            /** @description The workflow or the task that declares it, as a message names it. */
            place: string;
            size: components["schemas"]["LimitSize"];
            /**
             * @description True if the definition was uploaded. It counts only if no file of a workflow folder and no program declares the limit.
             * @default false
             */
            uploaded?: boolean;
            /** @description Full name. */
            workflow: string;
        };
        /**
         * LimitDetail
         * @description A limit with its holders, and the first of its waiters.
         */
        LimitDetail: {
            /** @description Of a rate: how many have begun within its period, and count. */
            begun?: number | null;
            /** @description The sizes that workflows declare for it. */
            declarations?: components["schemas"]["LimitDeclaration"][];
            holders: components["schemas"]["LimitHolder"][];
            limit: components["schemas"]["LimitView"];
            /** @description Of a rate: when the next one may begin; null if one may begin now. */
            next_at?: number | null;
            waiters: components["schemas"]["LimitHolder"][];
        };
        /**
         * LimitHolder
         * @description A run or task that holds or waits for a slot of a limit.
         */
        LimitHolder: {
            /** @description Of a waiter: runs that hold all slots and wait themselves in a circle; none of them ends until one is cancelled. */
            deadlocked_with?: string[];
            /** @description Of a waiter: its place in the queue, from 1. */
            position?: number | null;
            priority: number;
            run_id: string;
            /** @description Of a holder: the run whose slot it shares; None if the slot is its own. */
            shared_with?: string | null;
            /** @description When it got its slot, or since when it waits. */
            since: number;
            /** @description The name of the task; None if it is the run itself. */
            task: string | null;
            /** @description Full name. */
            workflow: string;
        };
        /**
         * Limits
         * @description The limits that are configured, declared, held or waited for, by name.
         */
        Limits: {
            limits: components["schemas"]["LimitView"][];
        };
        /**
         * LimitSize
         * @description The greatest number that hold a slot at once, and that begin within a period. None: any number.
         */
        LimitSize: {
            at_most?: number | null;
            /**
             * @description Seconds of the period of `rate`.
             * @default 1
             */
            per?: number;
            rate?: number | null;
        };
        /**
         * LimitView
         * @description A limit with the number of its holders and waiters.
         */
        LimitView: {
            at_most: number | null;
            /** @description True if the size is that of the configuration. */
            configured: boolean;
            /**
             * @description True if workflows declare different sizes, and none is configured.
             * @default false
             */
            conflict?: boolean;
            /**
             * @description True if all its slots are held by runs that wait for one another.
             * @default false
             */
            deadlock?: boolean;
            /** @description The name with `${parameter}`, as it is declared and configured. */
            declared: string;
            /** @description Slots that are held. One that a run shares with its tasks or child runs counts once. */
            held: number;
            name: string;
            /** @description Seconds of the period of `rate`; None without a rate. */
            per: number | null;
            rate: number | null;
            waiting: number;
        };
        /**
         * LogLine
         * @description A line as it is read back.
         */
        LogLine: {
            at: number;
            attempt: number;
            /** @description Increases in the order in which a run's lines became readable: a reader that continues after it misses none. */
            id: number;
            stream: string;
            task: string;
            text: string;
        };
        /**
         * LogPage
         * @description Lines in the order in which they became readable. `next` is the cursor of the next page; null: these are all that there are now.
         */
        LogPage: {
            lines: components["schemas"]["LogLine"][];
            next?: string | null;
        };
        /**
         * LongWait
         * @description A task, or a run, that waits longer than usual.
         */
        LongWait: {
            /** @description Seconds above which a wait is longer than usual. */
            bound: number;
            /** @description `no_capacity`, `no_worker_matches{…}`, …; of a run `not_driven` or `limit:` with the names of its limits. */
            reason?: string | null;
            run_id: string;
            since: number;
            /** @description The task; absent: the run itself, which has no orchestrator that drives it, or waits for its limits. */
            task?: string | null;
            /** @description Seconds that 95 of 100 earlier waits of the task took at most; absent: too few are known. */
            usual?: number | null;
            /** @description The reason in words, and what ends or shortens the wait. Absent for reasons in an executor's own words. */
            wait?: components["schemas"]["WaitView"] | null;
            /** @description Seconds. */
            waited: number;
            workflow: string;
        };
        /**
         * LostWorker
         * @description A worker that was declared dead and has not come back.
         */
        LostWorker: {
            host: string;
            id: string;
            labels: {
                [key: string]: string;
            };
            lost_at: number;
            name: string;
        };
        /**
         * Move
         * @description One change of the state of a run or of one of its tasks.
         */
        Move: {
            /** @description When it was committed, by the database's clock. */
            at: number;
            /** @default 0 */
            attempt?: number;
            /** @description The decision, the reason or the error. */
            detail?: unknown;
            new: string;
            old?: string | null;
            /**
             * @description 1 for the claim of a poller, which shares its seq with the move before it.
             * @default 0
             */
            part?: number;
            run_id: string;
            /** @description Its number in the history of the run. */
            seq: number;
            /** @description The task; absent: the run itself. */
            task?: string | null;
        };
        /**
         * MovePage
         * @description Moves in their order. `next` is the cursor of the next page.
         */
        MovePage: {
            moves: components["schemas"]["Move"][];
            next?: string | null;
        };
        /**
         * Nearest
         * @description A worker that lacks the least of what a task needs.
         */
        Nearest: {
            draining: boolean;
            /** @description Its own values of these labels, where it has others. */
            has: {
                [key: string]: string;
            };
            lacks_handler: boolean;
            /** @description Labels that it would have to have, with their values. */
            missing: {
                [key: string]: string;
            };
            worker: string;
        };
        /**
         * NextFire
         * @description A due time that has not come yet.
         */
        NextFire: {
            /** @enum {string} */
            action: "start" | "stop" | "restart";
            /** @description Later than `due_at` by the jitter of the schedule. */
            acts_at: number;
            due_at: number;
            /** @description `due_at` in the time zone of the schedule. */
            local: string;
            name: string;
            schedule_id: number;
            workflow: string;
        };
        /**
         * NextFires
         * @description Due times that have not come yet, the earliest first.
         */
        NextFires: {
            fires: components["schemas"]["NextFire"][];
        };
        /**
         * OpenBreaker
         * @description A circuit breaker that is not closed.
         */
        OpenBreaker: {
            /**
             * @description Of a worker: its last failure.
             * @default
             */
            cause?: string;
            /** @description `executor`, `pool` or `worker`. */
            kind: string;
            name: string;
            orchestrator: string;
            /** @description `open` or `half_open`. */
            state: string;
        };
        /**
         * OpenTasks
         * @description Tasks of runs that have not ended, those of the oldest runs first.
         */
        OpenTasks: {
            /** @description True: there are more than the limit. */
            more: boolean;
            tasks: components["schemas"]["OpenTaskView"][];
        };
        /**
         * OpenTaskView
         * @description A task of a run that has not ended.
         */
        OpenTaskView: {
            /** @default 0 */
            attempt?: number;
            executor?: string | null;
            /** @description The id of the worker, poller or orchestrator that holds its attempt. */
            holder?: string | null;
            labels?: {
                [key: string]: string;
            } | null;
            name: string;
            /** @default 0 */
            priority?: number;
            reason?: string | null;
            run_id: string;
            /** @description When it came into this state. */
            since?: number | null;
            started_at?: number | null;
            state: components["schemas"]["TaskState"];
            /** @description While it waits: the reason in words, and what ends or shortens the wait. */
            wait?: components["schemas"]["WaitView"] | null;
            workflow: string;
        };
        /**
         * Orchestration
         * @description The orchestrators on the database.
         */
        Orchestration: {
            orchestrators: components["schemas"]["OrchestratorView"][];
            /** @description The id of the one that answers. */
            this: string;
        };
        /**
         * OrchestrationHistory
         * @description The orchestrator of the answering server over the last hour, oldest first.
         */
        OrchestrationHistory: {
            /** @description Scaling, replacements, changes of backpressure and of breakers, with their reasons. */
            events: components["schemas"]["Event"][];
            /** @description Seconds between two samples. */
            interval: number;
            orchestrator: string;
            samples: components["schemas"]["StatusSample"][];
        };
        /**
         * OrchestratorView
         * @description One orchestrator that is alive.
         */
        OrchestratorView: {
            active_connections: number;
            /** @description 1 is full speed. */
            backpressure: number;
            commits: number;
            /** @description `healthy`, `degraded` or `unhealthy`. */
            condition: string;
            cpu_ratio: number;
            error_rate: number;
            /** @description Its latest scaling, replacements, changes of backpressure and of breakers. */
            events: components["schemas"]["Event"][];
            host: string;
            /** @description The address of its hub. */
            hub?: string | null;
            id: string;
            memory_bytes: number;
            /** @description The reason for which commits fail. */
            outage?: string | null;
            owned_runs: number;
            pid: number;
            /** @description Connections to the database. */
            pool_size: number;
            pools: components["schemas"]["PoolView"][];
            /** @description Share of callers' time that was spent waiting for a connection. */
            saturation: number;
            /** @description Since its last heartbeat. */
            silent_seconds: number;
            stopping: boolean;
            troubles: components["schemas"]["Trouble"][];
            uptime_seconds: number;
            waiting_for_connections: number;
            /**
             * @description Workers that are connected to its hub.
             * @default 0
             */
            workers?: number;
        };
        /**
         * PastRun
         * @description A column of the history: one run.
         */
        PastRun: {
            created_at: number;
            /** @description Seconds from submission to end. */
            duration?: number | null;
            finished_at?: number | null;
            rerun_of?: string | null;
            run_id: string;
            started_at?: number | null;
            state: components["schemas"]["RunState"];
            version: string;
        };
        /**
         * PastTask
         * @description A cell of the history: one task of one run.
         */
        PastTask: {
            /**
             * @description The ordinal of its newest attempt.
             * @default 0
             */
            attempt?: number;
            /** @description Seconds of its last attempt; of a mapped task, from its start to its end. */
            duration?: number | null;
            /** @description Of a mapped task: its items by state. */
            items?: {
                [key: string]: number;
            } | null;
            /**
             * @description True: the result of an earlier run was reused.
             * @default false
             */
            reused?: boolean;
            state: components["schemas"]["TaskState"];
        };
        /**
         * PlacedTask
         * @description A task of a workflow, with its place in a picture.
         */
        PlacedTask: {
            /** @default 1 */
            attempts?: number;
            column: number;
            /** @default [] */
            depends_on?: string[];
            executor?: string | null;
            full_name: string;
            /** @description `success`, `failure`, `cancel` or `exit`, for a hook. */
            hook?: string | null;
            /** @enum {string} */
            kind: "python" | "shell" | "handler" | "workflow";
            /** @default false */
            mapped?: boolean;
            name: string;
            /** @description The function, command, handler or workflow that it runs. */
            ref: string;
            /** @description What an attempt asks of its executor. */
            resources?: {
                [key: string]: number | string;
            } | null;
            row: number;
            timeout?: number | null;
            worker_selector?: {
                [key: string]: string;
            } | "local" | null;
        };
        /**
         * PoolSample
         * @description One pool of stage executors at one moment.
         */
        PoolSample: {
            breaker: string;
            executors: number;
            queued: number;
            /** @description Items a second. */
            throughput: number;
            /** @description Stage executors that are degraded or unhealthy. */
            unhealthy: number;
            /** @description Busy time over wall time. */
            utilisation: number;
        };
        /**
         * PoolView
         * @description One pool of stage executors. In its name "task" means run and "step" task.
         */
        PoolView: {
            batches: number;
            breaker: string;
            degraded: number;
            errors: number;
            executors: number;
            healthy: number;
            items: number;
            max_executors: number;
            min_executors: number;
            name: string;
            queued: number;
            replaced: number;
            restarted: number;
            scaled_down: number;
            scaled_up: number;
            stage_executors: components["schemas"]["StageView"][];
            /** @description Items a second. */
            throughput: number;
            unhealthy: number;
            utilisation: number;
        };
        /**
         * Problem
         * @description The body of every answer that is not a success.
         */
        Problem: {
            /** @description A stable code, for programs. */
            code: string;
            /** @description What is wrong with this request, and what would be right. */
            detail: string;
            /**
             * @description The id under which the server's log has the request.
             * @default
             */
            request_id?: string;
            status: number;
            /** @description The meaning of the status. */
            title: string;
            /** @description `urn:turnout:problem:` and the code. */
            type: string;
        };
        /**
         * Ready
         * @description The server can take requests.
         */
        Ready: {
            /**
             * @default ready
             * @constant
             */
            status?: "ready";
        };
        /**
         * RerunPreview
         * @description The tasks that a rerun would run again and reuse. Nothing was started.
         */
        RerunPreview: {
            /** @description In the order of the graph. */
            again: components["schemas"]["TaskAgain"][];
            /** @description The parameters of the new run. */
            input: {
                [key: string]: unknown;
            };
            /** @description Tasks whose results are reused. */
            reused: string[];
            run_id: string;
            /** @description The version of the workflow that the new run would have. */
            version: string;
            /** @description True if it is another than that of the run. */
            version_changed: boolean;
        };
        /**
         * RerunRequest
         * @description The repetition of a run as a new run that keeps what was finished.
         * @example {
         *       "from_task": "charge",
         *       "input": {
         *         "card": "new"
         *       }
         *     }
         */
        RerunRequest: {
            /** @description The task to start from; without it, what failed. */
            from_task?: string | null;
            /** @description Parameters that change; the others keep their values. */
            input?: {
                [key: string]: unknown;
            };
        };
        /**
         * Resources
         * @description The request of one attempt. None, or a name that is not there: nothing is asked.
         */
        Resources: {
            /** @description Cores; a fraction is a share of one. */
            cpu?: number | null;
            /** @description Amounts by names that only the executor knows. */
            custom?: {
                [key: string]: number;
            };
            gpu?: number | null;
            /** @description Bytes. */
            memory?: number | null;
        };
        /**
         * Role
         * @description The rights of a token; each role includes those before it.
         * @enum {string}
         */
        Role: "viewer" | "operator" | "author" | "admin";
        /**
         * RoutedTask
         * @description A task of a workflow, and where it would go in a new run.
         */
        RoutedTask: {
            executor?: string | null;
            labels?: {
                [key: string]: string;
            } | null;
            /**
             * @description True: each of its items goes there.
             * @default false
             */
            mapped?: boolean;
            name: string;
            reason: string;
            /**
             * @description True: the task would be refused, for the reason given.
             * @default false
             */
            refused?: boolean;
            resources?: {
                [key: string]: number | string;
            } | null;
            /** @description The number of the rule that decided, from 1; absent: none did. */
            rule?: number | null;
            /** @description The full name. */
            task: string;
            workflow: string;
        };
        /**
         * RoutedTasks
         * @description Tasks by workflow, in the order of its graph. `next` is the cursor of the next page.
         */
        RoutedTasks: {
            next?: string | null;
            tasks: components["schemas"]["RoutedTask"][];
        };
        /**
         * Routing
         * @description All rules; the first that matches decides.
         * @example {
         *       "default_executor": "default",
         *       "rules": [
         *         {
         *           "pattern": "**::ml::*",
         *           "executor": "workers",
         *           "labels": {
         *             "gpu": "true"
         *           }
         *         }
         *       ]
         *     }
         */
        Routing: {
            /** @default default */
            default_executor?: string;
            /** @default [] */
            rules?: (components["schemas"]["Rule"] | unknown)[];
        };
        /**
         * RoutingInForce
         * @description The rules that a server decides by, and where they come from.
         */
        RoutingInForce: {
            /** @description The file or variable of the configuration that the rules come from. */
            file?: string | null;
            /**
             * @description `config`: the configuration of the server. `database`: they were put through the API, and every server on the database has them. `program`: the program of the server gave them.
             * @enum {string}
             */
            origin: "program" | "database" | "config";
            /** @description Why the rules in the database are not in force on this server: they cannot work with its executors. */
            problem?: string | null;
            /** @description How to return every server to the rules of its configuration. */
            revert?: string | null;
            routing: components["schemas"]["Routing"];
            /** @description Seconds since 1970 of the last change through the API. */
            updated_at?: number | null;
            updated_by?: string | null;
            /** @description The number of the last change through the API; 0: there was none. It is the ETag. */
            version: number;
            /** @description After a change: what is doubtful about the rules. */
            warnings?: string[];
        };
        /**
         * Rule
         * @description A routing rule: tasks whose full name matches the pattern go to the executor.
         */
        Rule: {
            executor: string;
            /** @description Labels that the worker must have. */
            labels?: {
                [key: string]: string;
            } | null;
            /** @description Segments separated by `::`; `*` stays within a segment, `**` spans any number of them. */
            pattern: string;
            /** @description The share of runs that the rule applies to; absent: all. */
            percent?: number | null;
            /** @description What attempts ask of the executor, in place of the task's entries of the same names: `cpu` and `gpu` as numbers, `memory` in bytes or as `8GiB`, other names as numbers. */
            resources?: {
                [key: string]: number | string;
            } | null;
            /**
             * @description True: adds a copy whose result is compared and logged, and decides nothing.
             * @default false
             */
            shadow?: boolean;
        };
        /**
         * Run
         * @description A run at one moment. Times are seconds since 1970.
         */
        Run: {
            created_at: number;
            /** @description Whether an orchestrator drives it: `not_driven` runs wait for one. Events do not have it. */
            driver?: components["schemas"]["Driver"] | null;
            error?: components["schemas"]["ErrorInfo"] | null;
            finished_at?: number | null;
            id: string;
            /** @description The idempotency key. */
            key?: string | null;
            /** @description Its last segment. */
            name: string;
            owner?: string | null;
            parent_run?: string | null;
            /** @default 0 */
            priority?: number;
            reason?: string | null;
            rerun_of?: string | null;
            started_at?: number | null;
            state: components["schemas"]["RunState"];
            timeout?: number | null;
            /** @description How it was started. Events and answers to changes do not have it. */
            trigger?: components["schemas"]["RunTrigger"] | null;
            /** @description The version of the workflow that the run keeps. */
            version: string;
            /** @description A task of it that waits, of a run that goes on. Lists of runs have it. */
            waiting?: components["schemas"]["WaitingTask"] | null;
            /** @description The full name, `tenant::package::workflow`. */
            workflow: string;
        };
        /**
         * RunDetail
         * @description A run with the number of its tasks in each state.
         */
        RunDetail: {
            created_at: number;
            /** @description Whether an orchestrator drives it: `not_driven` runs wait for one. Events do not have it. */
            driver?: components["schemas"]["Driver"] | null;
            error?: components["schemas"]["ErrorInfo"] | null;
            finished_at?: number | null;
            id: string;
            /**
             * @description The size of its input as JSON.
             * @default 0
             */
            input_bytes?: number;
            /** @description The idempotency key. */
            key?: string | null;
            /** @description Its last segment. */
            name: string;
            /** @description The size of its result as JSON, at most: exactly, if it is the output of one task. Absent: it has none, or its size is not known without reading it. */
            output_bytes?: number | null;
            owner?: string | null;
            parent_run?: string | null;
            /**
             * @description The events of the run behind it are newer than this answer: `after` of the stream.
             * @default
             */
            position?: string;
            /** @default 0 */
            priority?: number;
            reason?: string | null;
            rerun_of?: string | null;
            started_at?: number | null;
            state: components["schemas"]["RunState"];
            tasks?: {
                [key: string]: number;
            };
            timeout?: number | null;
            /** @description How it was started. Events and answers to changes do not have it. */
            trigger?: components["schemas"]["RunTrigger"] | null;
            /** @description The version of the workflow that the run keeps. */
            version: string;
            /** @description A task of it that waits, of a run that goes on. Lists of runs have it. */
            waiting?: components["schemas"]["WaitingTask"] | null;
            /** @description The full name, `tenant::package::workflow`. */
            workflow: string;
        };
        /**
         * RunGraph
         * @description The graph of a run, as it was when the run started, with the states of its tasks.
         */
        RunGraph: {
            /**
             * @description The size of the picture.
             * @default 0
             */
            columns?: number;
            edges: components["schemas"]["GraphEdge"][];
            nodes: components["schemas"]["GraphNode"][];
            /**
             * @description The events of the run behind it bring the graph up to date: `after` of the stream.
             * @default
             */
            position?: string;
            /** @default 0 */
            rows?: number;
            run_id: string;
            version: string;
            workflow: string;
        };
        /**
         * RunInput
         * @description The parameters of a run by name.
         */
        RunInput: {
            input: {
                [key: string]: unknown;
            };
        };
        /**
         * RunLimits
         * @description The limits that a run and its tasks hold or wait for.
         */
        RunLimits: {
            limits: components["schemas"]["HeldLimit"][];
        };
        /**
         * RunPage
         * @description Runs, newest first. `next` is the cursor of the next page; null on the last one.
         */
        RunPage: {
            next?: string | null;
            runs: components["schemas"]["Run"][];
        };
        /**
         * RunResult
         * @description The result of a completed run.
         */
        RunResult: {
            result: unknown;
            run_id: string;
        };
        /**
         * RunsAgain
         * @description The reasons for which a task of an earlier run runs again in a rerun.
         * @enum {string}
         */
        RunsAgain: "asked_for" | "not_finished" | "new" | "changed" | "input_changed" | "follows" | "hook";
        /**
         * RunSelection
         * @description The runs that a bulk request is about: conditions that must all hold. At least one is needed.
         * @default {
         *       "workflow": null,
         *       "tags": [],
         *       "states": [],
         *       "key": null,
         *       "parent": null,
         *       "top_level": false,
         *       "created_from": null,
         *       "created_before": null
         *     }
         */
        RunSelection: {
            created_before?: number | null;
            created_from?: number | null;
            key?: string | null;
            parent?: string | null;
            /** @default [] */
            states?: components["schemas"]["RunState"][];
            /**
             * @description Tags of the workflow, all of which it has.
             * @default []
             */
            tags?: (string | unknown)[];
            /** @default false */
            top_level?: boolean;
            workflow?: string | null;
        };
        /**
         * RunState
         * @description The states of a run.
         * @enum {string}
         */
        RunState: "pending" | "running" | "paused" | "cancelling" | "completed" | "failed" | "cancelled";
        /**
         * RunTrigger
         * @description The way in which a run was started.
         */
        RunTrigger: {
            /** @description The name of the token that asked the schedule for it. */
            actor?: string | null;
            /**
             * @description `manual`: the schedule was fired by a request. `backfill`: a due time of the past was asked for.
             * @enum {null|string}
             */
            decision?: "due" | "manual" | "backfill" | null;
            /** @description The due time of the schedule, in seconds since 1970. */
            due_at?: number | null;
            /** @description The key of the event, or the id of the delivery. */
            key?: string | null;
            /**
             * @description `web`: in the web interface. `program`: by a program with a Runner, or in a time when that was not stored.
             * @enum {string}
             */
            kind: "api" | "web" | "cli" | "program" | "schedule" | "trigger" | "webhook" | "parent" | "rerun";
            /** @description The name of the token, the schedule, the trigger or the webhook. */
            name?: string | null;
            /** @description The parent run, or the run that is repeated. */
            run_id?: string | null;
            schedule_id?: number | null;
        };
        /**
         * SchedulePage
         * @description Schedules by id.
         */
        SchedulePage: {
            /** @description The cursor of the next page; null on the last one. */
            next: string | null;
            schedules: components["schemas"]["ScheduleView"][];
        };
        /**
         * ScheduleView
         * @description A schedule, as it is shown.
         */
        ScheduleView: {
            /** @enum {string} */
            action: "start" | "stop" | "restart";
            /** @enum {string} */
            catch_up: "skip" | "latest" | "all";
            changed_at: number;
            /** @description `definition`, or the operator that paused or resumed it. */
            changed_by: string;
            /** @description All due times up to this one are decided. */
            decided_until: number;
            /** @description The times: five fields of cron, `every 300s` or `at` with a time. */
            expression: string;
            id: number;
            /** @description Seconds. */
            jitter: number;
            max_catch_up: number;
            name: string;
            /** @description When it acts next; null while it is paused, and if there is no further due time. */
            next_at: number | null;
            /** @enum {string} */
            overlap: "skip" | "queue" | "cancel_previous" | "allow";
            /** @description The input of its runs. */
            params: {
                [key: string]: unknown;
            };
            paused: boolean;
            skip_if_successful: boolean;
            timezone: string;
            /** @description The full name of its workflow. */
            workflow: string;
        };
        /**
         * Series
         * @description Counts by step: all lists have one entry for each step.
         */
        Series: {
            /** @description When each step begins. */
            at: number[];
            /** @description Runs that ended, by state. */
            runs: {
                [key: string]: number[];
            };
            /** @description Tasks of these runs, by state. */
            tasks: {
                [key: string]: number[];
            };
        };
        /**
         * Session
         * @description The name and the role of a caller.
         */
        Session: {
            /** @description Sent back in the header `X-CSRF-Token` with every change; None for callers with a token. */
            csrf_token?: string | null;
            /** @description The build of the web interface that the server has; a page of another one should be loaded again. */
            interface?: string | null;
            name: string;
            role: components["schemas"]["Role"];
            /**
             * @description The version of the server.
             * @default
             */
            version?: string;
        };
        /**
         * ShadowAnswer
         * @description The answer of one of two attempts that are compared.
         */
        ShadowAnswer: {
            error?: string | null;
            /** @description The first characters of its output, as JSON text. */
            output: string | null;
            status: string;
        };
        /**
         * ShadowComparison
         * @description A shadow attempt that answered something else than the real one.
         */
        ShadowComparison: {
            at: number;
            attempt: number;
            /** @description The executor of the shadow attempt. */
            executor: string;
            real: components["schemas"]["ShadowAnswer"];
            run_id: string;
            shadow: components["schemas"]["ShadowAnswer"];
            /** @description The full name. */
            task: string;
            task_id: string;
        };
        /**
         * ShadowReport
         * @description The comparisons of shadow attempts with real ones, by the answering server since it started.
         */
        ShadowReport: {
            /** @description The latest, newest first. */
            differences: components["schemas"]["ShadowComparison"][];
            different: number;
            /** @description Attempts whose other result came too late to be compared. */
            forgotten: number;
            same: number;
            /** @description One of the two ended without an answer. */
            unanswered: number;
            /** @description Attempts that got no shadow for want of a slot. */
            without_room: number;
        };
        /**
         * Signature
         * @description The signature of deliveries. Its secret stays where the server runs.
         */
        Signature: {
            /**
             * @default github
             * @enum {string}
             */
            scheme?: "github" | "standard";
            /** @description Where the server reads it: `env:NAME` or `file:PATH`. */
            secret: string;
        };
        /**
         * SignIn
         * @description A token, or the code of a sign-in link.
         */
        SignIn: {
            code?: string | null;
            token?: string | null;
        };
        /**
         * Spread
         * @description The spread of durations, in seconds. Without any there are no percentiles.
         */
        Spread: {
            count: number;
            p50?: number | null;
            p95?: number | null;
        };
        /**
         * StageView
         * @description One stage executor.
         */
        StageView: {
            /** @description Of a batch. */
            average_seconds: number;
            error_rate: number;
            id: string;
            items: number;
            items_per_second: number;
            /** @description The reason for which it is not healthy. */
            reason?: string | null;
            state: string;
            /** @description How long it has been in that state. */
            state_seconds: number;
        };
        /**
         * StartedRun
         * @description A run that is durable, as it was when the answer was made.
         */
        StartedRun: {
            /**
             * @description False: the idempotency key was used before, and this is the run of that time.
             * @default true
             */
            created?: boolean;
            /**
             * @description True if the run has ended within the time that the request waited.
             * @default false
             */
            ended?: boolean;
            /** @description What it returned, if it has ended and completed. */
            result?: unknown;
            run: components["schemas"]["Run"];
            /** @description Tasks that run elsewhere than the workflow asks for, and why. */
            warnings?: string[];
        };
        /**
         * StartRequest
         * @description A run to be started.
         * @example {
         *       "workflow": "fulfil",
         *       "input": {
         *         "order": 7
         *       },
         *       "priority": 5,
         *       "timeout": 3600
         *     }
         */
        StartRequest: {
            /** @description Parameters by name. */
            input?: {
                [key: string]: unknown;
            };
            /**
             * @description Tasks of runs with a higher one start first.
             * @default 0
             */
            priority?: number;
            /** @description Seconds for the whole run; without it, that of the workflow. */
            timeout?: number | null;
            /** @description A name, `package::name`, or a full name `tenant::package::name`. */
            workflow: string;
        };
        /**
         * Stats
         * @description Figures of the runs that ended in the last hour or day.
         */
        Stats: {
            /** @description Steps that begin before it are not counted yet: a server that was just asked for the first time counts them with the next requests. */
            complete_from: number;
            latency: components["schemas"]["Latency"];
            /** @description Those of them that no live orchestrator drives. */
            not_driven: number;
            /** @description Runs that have not ended, by state. */
            open_runs: {
                [key: string]: number;
            };
            series: components["schemas"]["Series"];
            /** @description Seconds of one step. The last one is not over. */
            step: number;
            /** @enum {string} */
            window: "hour" | "day";
            /** @description The full name, if the figures are those of one workflow. */
            workflow: string | null;
        };
        /**
         * StatusSample
         * @description One orchestrator at one moment.
         */
        StatusSample: {
            at: number;
            /** @description 1 is full speed. */
            backpressure: number;
            cpu_ratio: number;
            memory_bytes: number;
            owned_runs: number;
            pools: {
                [key: string]: components["schemas"]["PoolSample"];
            };
            /** @description Share of callers' time that was spent waiting for a connection to the database. */
            saturation: number;
        };
        /**
         * TaskAgain
         * @description A task that a rerun runs again.
         */
        TaskAgain: {
            /** @description For `follows`: the task that it depends on. */
            after?: string | null;
            /** @description Of a mapped task: its items, all of which run again. Absent: they are not known before its list is made. */
            items?: number | null;
            /**
             * @description True: its list is made anew, and `items` is the number that it had in the earlier run.
             * @default false
             */
            items_of_before?: boolean;
            task: string;
            /** @description `follows`: it depends on a task that runs again. `hook`: hooks run when their event comes. */
            why: components["schemas"]["RunsAgain"];
        };
        /**
         * TaskDetail
         * @description A task at one moment, with its output and the outcome of each attempt.
         */
        TaskDetail: {
            /**
             * @description The ordinal of its newest attempt; those that were handed back before they began count.
             * @default 0
             */
            attempt?: number;
            /** @default [] */
            attempts?: components["schemas"]["AttemptView"][];
            /**
             * @description How many of its attempts have begun: what the body of the newest knows as `info.attempt`. Once a task has ended, the times that it deferred itself no longer count.
             * @default 0
             */
            begun?: number;
            /** @description The newest child run that it has started; the items of a mapped task have one each. */
            child_run?: string | null;
            /** @description Why that executor. */
            decision?: string | null;
            dispatched_at?: number | null;
            error?: components["schemas"]["ErrorInfo"] | null;
            executor?: string | null;
            finished_at?: number | null;
            /** @description The name of the mapped task, for one of its items. */
            group?: string | null;
            /**
             * @description True for a hook of the workflow or of one of its tasks: it does not decide how the run ends.
             * @default false
             */
            hook?: boolean;
            index?: number | null;
            name: string;
            /** @description What it returned, as JSON; of a mapped task, the list. None until it has completed. */
            output?: unknown;
            /** @description The size of the output; of a mapped task, that of the outputs of its items. */
            output_bytes?: number | null;
            /**
             * @description True: the output is larger than the request allows, and has a request of its own.
             * @default false
             */
            output_omitted?: boolean;
            /** @description While it runs: its latest progress as JSON, `{"done": 3, "total": 10}`. */
            progress?: string | null;
            /** @description Why it waits, or why it was skipped or cancelled. */
            reason?: string | null;
            /** @description What its attempts ask of the executor, as `{"gpu": 1, "memory": "8GiB"}`. */
            resources?: {
                [key: string]: number | string;
            } | null;
            retry_in?: number | null;
            started_at?: number | null;
            state: components["schemas"]["TaskState"];
            /** @description While it waits: the meaning of its reason, and what ends or shortens the wait. */
            wait?: components["schemas"]["WaitView"] | null;
        };
        /**
         * TaskHistory
         * @description A row of the history: one task in every run, in the order of the runs; null where a run does not have it.
         */
        TaskHistory: {
            cells: (components["schemas"]["PastTask"] | null)[];
            /** @description Of the runs shown in which it completed. */
            duration: components["schemas"]["Spread"];
            name: string;
        };
        /**
         * TaskPage
         * @description Tasks of a run in the order of its graph, items of mapped tasks last. `next` is the cursor of the next page.
         */
        TaskPage: {
            /** @description With `counts=true`: tasks of the list by state, as they would be without its `state`. */
            counts?: {
                [key: string]: number;
            };
            next?: string | null;
            /** @description The latest progress of running tasks of the page, by name, as JSON: `{"done": 3, "total": 10}`. */
            progress?: {
                [key: string]: string;
            };
            tasks: components["schemas"]["TaskView"][];
        };
        /**
         * TaskState
         * @description The states of a task.
         * @enum {string}
         */
        TaskState: "pending" | "ready" | "running" | "completed" | "failed" | "skipped" | "cancelled";
        /**
         * TaskView
         * @description One task of a run: its state, where it ran or will run, and why.
         */
        TaskView: {
            /**
             * @description The ordinal of its newest attempt; those that were handed back before they began count.
             * @default 0
             */
            attempt?: number;
            /**
             * @description How many of its attempts have begun: what the body of the newest knows as `info.attempt`. Once a task has ended, the times that it deferred itself no longer count.
             * @default 0
             */
            begun?: number;
            /** @description Why that executor. */
            decision?: string | null;
            dispatched_at?: number | null;
            error?: components["schemas"]["ErrorInfo"] | null;
            executor?: string | null;
            finished_at?: number | null;
            /** @description The name of the mapped task, for one of its items. */
            group?: string | null;
            /**
             * @description True for a hook of the workflow or of one of its tasks: it does not decide how the run ends.
             * @default false
             */
            hook?: boolean;
            index?: number | null;
            name: string;
            /** @description Why it waits, or why it was skipped or cancelled. */
            reason?: string | null;
            /** @description What its attempts ask of the executor, as `{"gpu": 1, "memory": "8GiB"}`. */
            resources?: {
                [key: string]: number | string;
            } | null;
            retry_in?: number | null;
            started_at?: number | null;
            state: components["schemas"]["TaskState"];
        };
        /**
         * Timeline
         * @description The times of the tasks of a run. `next` is the cursor of the next page.
         */
        Timeline: {
            /** @description The time of this answer, by the database's clock: where bars of what still runs end. */
            at: number;
            created_at: number;
            /** @description The tasks that the end of the run waited for, or waits for, in their order. */
            critical_path: string[];
            finished_at?: number | null;
            next?: string | null;
            /** @description The events of the run behind it bring the timeline up to date: `after` of the stream. */
            position: string;
            run_id: string;
            started_at?: number | null;
            tasks: components["schemas"]["TimelineTask"][];
        };
        /**
         * TimelineAttempt
         * @description One attempt of a task on the timeline.
         */
        TimelineAttempt: {
            attempt: number;
            /** @description When its start was committed. */
            began_at: number;
            /** @description Why that executor. */
            decision?: string | null;
            ended_at?: number | null;
            error?: string | null;
            executor?: string | null;
            outcome?: string | null;
            reason?: string | null;
            /** @description When its body began, where that is known: until then it was on its way, or queued at its executor. */
            started_at?: number | null;
            worker?: string | null;
        };
        /**
         * TimelineTask
         * @description A task on the timeline.
         */
        TimelineTask: {
            attempts?: components["schemas"]["TimelineAttempt"][];
            /**
             * @description True if the end of the run waited for it.
             * @default false
             */
            critical?: boolean;
            finished_at?: number | null;
            /** @description The name of the mapped task, for one of its items. */
            group?: string | null;
            index?: number | null;
            /** @description Of a mapped task: its items by state. */
            items?: {
                [key: string]: number;
            } | null;
            name: string;
            /** @description When it could start first. */
            ready_at?: number | null;
            /** @description When the body of its newest attempt began; of a mapped task, the first of its items. */
            started_at?: number | null;
            state: components["schemas"]["TaskState"];
            waits?: components["schemas"]["WaitSpan"][];
        };
        /**
         * TokenRequest
         * @description A token that is to be made.
         */
        TokenRequest: {
            /** @description Seconds; without it, until it is revoked. */
            lifetime?: number | null;
            name: string;
            role: components["schemas"]["Role"];
        };
        /**
         * TokenRow
         * @description A stored token. The store keeps the digest of its secret only.
         */
        TokenRow: {
            created_at: number;
            created_by: string;
            expires_at: number | null;
            id: string;
            last_used_at: number | null;
            name: string;
            parent: string | null;
            revoked_at: number | null;
            role: components["schemas"]["Role"];
            state: components["schemas"]["TokenState"];
        };
        /** Tokens */
        Tokens: {
            tokens: components["schemas"]["TokenRow"][];
        };
        /**
         * TokenState
         * @enum {string}
         */
        TokenState: "usable" | "revoked" | "expired";
        /**
         * TraceStep
         * @description One step of the order: what it looked at, and what came of it.
         */
        TraceStep: {
            considered: string;
            /**
             * @description For the rules: each one, and whether it applies.
             * @default []
             */
            details?: string[];
            number: number;
            /** @enum {string} */
            outcome: "chosen" | "passed" | "not reached";
            why: string;
        };
        /**
         * TriggerRow
         * @description A stored trigger.
         */
        TriggerRow: {
            /** @description Why the last poll failed. */
            error: string | null;
            /** @description Seconds between two polls. */
            every: number;
            /** @description Polls that failed since the last that succeeded. */
            failures: number;
            /** @description The full name: that of the workflow, and the trigger's own. */
            name: string;
            next_poll: number;
            paused_by: string | null;
            polled_at: number | null;
            /** @description True while a server polls it. */
            polling: boolean;
            polls: number;
            /** @description Runs that it has started. */
            runs: number;
            /** @description The value that it keeps from poll to poll. */
            state: unknown;
            workflow: string;
        };
        /** Triggers */
        Triggers: {
            triggers: components["schemas"]["TriggerRow"][];
        };
        /**
         * Trouble
         * @description A problem, with its location and its cause.
         */
        Trouble: {
            /** @description The condition that it causes: `degraded` or `unhealthy`. */
            condition: string;
            where: string;
            why: string;
        };
        /**
         * UnmatchedWait
         * @description Tasks that wait for a worker that is not there.
         */
        UnmatchedWait: {
            handler: string;
            /** @description Labels that the worker must have. */
            labels: {
                [key: string]: string;
            };
            /** @description The worker that lacks the least; null: no worker is connected. */
            nearest: components["schemas"]["Nearest"] | null;
            /** @description The run of the first of them. */
            run_id: string;
            /** @description When the first of them began to wait. */
            since: number | null;
            task: string;
            /** @description Tasks that wait for it, among those that were looked at. */
            tasks: number;
            workflow: string;
        };
        /**
         * UnmatchedWaits
         * @description Handlers and labels that tasks wait for and no connected worker has, the longest wait first.
         */
        UnmatchedWaits: {
            /** @description The number of workers that are connected. */
            connected: number;
            waits: components["schemas"]["UnmatchedWait"][];
        };
        /**
         * Validation
         * @description The outcome of compiling a text. Nothing was stored.
         */
        Validation: {
            findings: components["schemas"]["Finding"][];
            valid: boolean;
            /**
             * @description The names of the workflow and its local sub-workflows.
             * @default []
             */
            workflows?: string[];
        };
        /**
         * VersionDetail
         * @description One version of a definition with its text.
         */
        VersionDetail: {
            actor: string;
            /** @description The text that it inherits from. */
            base?: string | null;
            created_at: number;
            /** @default false */
            current?: boolean;
            /** @description SHA-256 of its text. */
            digest: string;
            /** @default false */
            remote_only?: boolean;
            /** @description The version that runs of it have. */
            spec_version: string;
            text: string;
            version: number;
        };
        /**
         * VersionPage
         * @description Versions, newest first. `next` is the cursor of the next page.
         */
        VersionPage: {
            next?: string | null;
            versions: components["schemas"]["VersionSummary"][];
        };
        /**
         * VersionSummary
         * @description One version of a definition.
         */
        VersionSummary: {
            actor: string;
            created_at: number;
            /** @default false */
            current?: boolean;
            /** @description SHA-256 of its text. */
            digest: string;
            /** @default false */
            remote_only?: boolean;
            /** @description The version that runs of it have. */
            spec_version: string;
            version: number;
        };
        /**
         * WaitingTask
         * @description The first task of a run that waits to be started.
         */
        WaitingTask: {
            /**
             * @description How many tasks of the run wait, among the first 200.
             * @default 1
             */
            count?: number;
            /** @description Why it waits; none: nothing keeps it from its start. */
            reason?: string | null;
            task: string;
        };
        /**
         * WaitSpan
         * @description A time in which a task was ready and did not run. Times are seconds since 1970.
         */
        WaitSpan: {
            reason?: string | null;
            since: number;
            /** @description Absent: it still waits. */
            until?: number | null;
        };
        /**
         * WaitView
         * @description The meaning of a waiting reason, and what ends or shortens the wait.
         */
        WaitView: {
            meaning: string;
            remedy: string;
        };
        /**
         * Webhook
         * @description A stored webhook. The store keeps the digest of its token only.
         */
        Webhook: {
            /** @default 0 */
            created_at?: number;
            /** @default  */
            created_by?: string;
            /**
             * @default [
             *       "Idempotency-Key",
             *       "X-GitHub-Delivery",
             *       "Webhook-Id"
             *     ]
             */
            delivery_headers?: string[];
            id: string;
            /** @description The place in the body of each parameter, as `$.order.id`; empty: the fields that have a parameter's name. */
            mapping?: {
                [key: string]: string;
            };
            name: string;
            rotated_at?: number | null;
            signature?: components["schemas"]["Signature"] | null;
            /** @description The name of the workflow that a delivery starts: `name`, `package::name` or the full name. */
            workflow: string;
        };
        /**
         * WebhookRequest
         * @description A webhook that is to be made.
         */
        WebhookRequest: {
            /**
             * @description Headers that name a delivery: one with a known id is not started again.
             * @default [
             *       "Idempotency-Key",
             *       "X-GitHub-Delivery",
             *       "Webhook-Id"
             *     ]
             */
            delivery_headers?: string[];
            /** @description The place in the body of each parameter, as `$.order.id`; without it, fields that have a parameter's name. */
            mapping?: {
                [key: string]: string;
            };
            /** @description A name for the sender, which no other webhook has. */
            name: string;
            /** @description How deliveries are signed; without it, the address alone is the proof. */
            signature?: components["schemas"]["Signature"] | null;
            /** @description The workflow that a delivery starts. */
            workflow: string;
        };
        /** Webhooks */
        Webhooks: {
            webhooks: components["schemas"]["Webhook"][];
        };
        /**
         * WhatIfRequest
         * @description Rules to be tried on decisions that were made.
         * @example {
         *       "routing": {
         *         "default_executor": "default",
         *         "rules": [
         *           {
         *             "pattern": "**::ml::*",
         *             "executor": "workers",
         *             "labels": {
         *               "gpu": "true"
         *             }
         *           }
         *         ]
         *       },
         *       "limit": 500,
         *       "created_from": null
         *     }
         */
        WhatIfRequest: {
            /** @description Only decisions of runs that were submitted since then, in seconds since 1970. */
            created_from?: number | null;
            /**
             * @description How many of the latest decisions are replayed.
             * @default 1000
             */
            limit?: number;
            routing: components["schemas"]["Routing"];
        };
        /**
         * WhatIfResult
         * @description The decisions that the rules would change.
         */
        WhatIfResult: {
            /** @description All differences, by task and by what would change. */
            changes?: components["schemas"]["ChangedTask"][];
            /** @description At most a thousand, the newest. */
            differences: components["schemas"]["Difference"][];
            /** @description Decisions that were looked at. */
            replayed: number;
            /** @description When the oldest run of the decisions that were looked at was submitted. */
            since?: number | null;
            warnings: string[];
        };
        /**
         * WorkerDetail
         * @description A worker and the attempts that it holds, the oldest first.
         */
        WorkerDetail: {
            attempts: components["schemas"]["HeldAttempt"][];
            worker: components["schemas"]["WorkerView"];
        };
        /**
         * Workers
         * @description The workers that are connected to a hub on this database, by name.
         */
        Workers: {
            workers: components["schemas"]["WorkerView"][];
        };
        /**
         * WorkerView
         * @description A worker that is alive, over all hubs that it is connected to.
         */
        WorkerView: {
            /**
             * @description The worst state among its hubs.
             * @default closed
             */
            breaker?: string;
            /**
             * @description Attempts that it runs at once.
             * @default 0
             */
            capacity?: number;
            /** @default  */
            cause?: string;
            /** @default 0 */
            credits?: number;
            drain_reason?: string | null;
            /**
             * @description A hub drains it, or its drain was requested.
             * @default false
             */
            draining?: boolean;
            /** @default 0 */
            executed?: number;
            /** @default 0 */
            failed?: number;
            /** @default [] */
            handlers?: string[];
            /** @default  */
            host?: string;
            /**
             * @description Addresses of the hubs that it is connected to.
             * @default []
             */
            hubs?: string[];
            id: string;
            /**
             * @description Attempts that run or wait there.
             * @default 0
             */
            in_flight?: number;
            labels?: {
                [key: string]: string;
            };
            /** @default  */
            language?: string;
            /** @default 0 */
            lost?: number;
            name: string;
            /** @default 0 */
            pid?: number;
            /** @default 0 */
            running?: number;
            /** @default  */
            sdk_version?: string;
            /**
             * @description Since its last message to any hub.
             * @default 0
             */
            silent_seconds?: number;
            /** @default 0 */
            up_seconds?: number;
            /** @default 0 */
            waiting?: number;
        };
        /**
         * WorkflowDetail
         * @description A workflow with its parameters and its graph.
         */
        WorkflowDetail: {
            /** @enum {null|string} */
            affinity?: "run" | null;
            /**
             * @description False: this server cannot start runs of it; the findings say why.
             * @default true
             */
            available?: boolean;
            /** @default  */
            description?: string;
            edges?: components["schemas"]["GraphEdge"][];
            file?: string | null;
            /**
             * @description What is wrong with the newest text, or with the version in force on this server.
             * @default []
             */
            findings?: components["schemas"]["Finding"][];
            /** @description `tenant::package::name`, as runs have it. */
            full_name: string;
            /** @default  */
            group?: string;
            /** @enum {string} */
            kind: "yaml" | "python";
            name: string;
            /**
             * @description A file in a workflow folder, an upload, or the code that the server was started with.
             * @enum {string}
             */
            origin: "file" | "api" | "code";
            parameters?: components["schemas"]["WorkflowParameter"][];
            /** @description The newest runs, newest first. */
            recent?: components["schemas"]["LastRun"][];
            /**
             * @description True: its tasks run on workers only.
             * @default false
             */
            remote_only?: boolean;
            /** @default false */
            removed?: boolean;
            /** @description As it declares them, in a file or in Python; `/api/v1/schedules` has what became of them. */
            schedules?: components["schemas"]["DeclaredSchedule"][];
            /**
             * @description The version that new runs have.
             * @default
             */
            spec_version?: string;
            /** @default [] */
            tags?: string[];
            tasks?: components["schemas"]["WorkflowTask"][];
            timeout?: number | null;
            updated_at?: number | null;
            updated_by?: string | null;
            /**
             * @description The number of the version in force; 0: there was no valid text yet, or it is not stored.
             * @default 0
             */
            version?: number;
            worker_selector?: {
                [key: string]: string;
            } | "local" | null;
        };
        /**
         * WorkflowGraph
         * @description One version of the graph of a workflow, with the places of its tasks in a picture.
         */
        WorkflowGraph: {
            columns: number;
            edges: components["schemas"]["GraphEdge"][];
            parameters: components["schemas"]["WorkflowParameter"][];
            rows: number;
            tasks: components["schemas"]["PlacedTask"][];
            version: string;
            workflow: string;
        };
        /**
         * WorkflowHistory
         * @description The newest runs of a workflow, task by task. `next` is the cursor of the runs before.
         */
        WorkflowHistory: {
            /** @description Of the runs shown that completed. */
            duration: components["schemas"]["Spread"];
            next?: string | null;
            /** @description Newest first. */
            runs: components["schemas"]["PastRun"][];
            /** @description The tasks with the longest median duration, the slowest first. */
            slowest: string[];
            /** @description Those of the newest run first, in the order of its graph. */
            tasks: components["schemas"]["TaskHistory"][];
            workflow: string;
        };
        /**
         * WorkflowPage
         * @description Workflows by name. `next` is the cursor of the next page.
         */
        WorkflowPage: {
            /** @description Files of this server whose workflows have a name that is taken. */
            files?: components["schemas"]["FileProblem"][];
            next?: string | null;
            workflows: components["schemas"]["WorkflowSummary"][];
        };
        /**
         * WorkflowParameter
         * @description A parameter of a workflow.
         */
        WorkflowParameter: {
            default?: unknown;
            /** @default  */
            description?: string;
            name: string;
            required: boolean;
            /** @description The JSON Schema of its values. */
            schema?: {
                [key: string]: unknown;
            };
            /** @default  */
            type?: string;
        };
        /**
         * WorkflowSummary
         * @description A workflow, as lists show it.
         */
        WorkflowSummary: {
            /**
             * @description False: this server cannot start runs of it; the findings say why.
             * @default true
             */
            available?: boolean;
            /** @default  */
            description?: string;
            file?: string | null;
            /**
             * @description What is wrong with the newest text, or with the version in force on this server.
             * @default []
             */
            findings?: components["schemas"]["Finding"][];
            /** @description `tenant::package::name`, as runs have it. */
            full_name: string;
            /** @default  */
            group?: string;
            /** @enum {string} */
            kind: "yaml" | "python";
            name: string;
            /**
             * @description A file in a workflow folder, an upload, or the code that the server was started with.
             * @enum {string}
             */
            origin: "file" | "api" | "code";
            /** @description The newest runs, newest first. */
            recent?: components["schemas"]["LastRun"][];
            /** @default false */
            removed?: boolean;
            /** @description As it declares them, in a file or in Python; `/api/v1/schedules` has what became of them. */
            schedules?: components["schemas"]["DeclaredSchedule"][];
            /** @default [] */
            tags?: string[];
            updated_at?: number | null;
            updated_by?: string | null;
            /**
             * @description The number of the version in force; 0: there was no valid text yet, or it is not stored.
             * @default 0
             */
            version?: number;
        };
        /**
         * WorkflowTask
         * @description A task of a workflow.
         */
        WorkflowTask: {
            /** @default 1 */
            attempts?: number;
            /** @default [] */
            depends_on?: string[];
            executor?: string | null;
            full_name: string;
            /** @description `success`, `failure`, `cancel` or `exit`, for a hook. */
            hook?: string | null;
            /** @enum {string} */
            kind: "python" | "shell" | "handler" | "workflow";
            /** @default false */
            mapped?: boolean;
            name: string;
            /** @description The function, command, handler or workflow that it runs. */
            ref: string;
            /** @description What an attempt asks of its executor. */
            resources?: {
                [key: string]: number | string;
            } | null;
            timeout?: number | null;
            worker_selector?: {
                [key: string]: string;
            } | "local" | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    get_about: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Versions of Turnout, Python, the database and extras. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["About"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_attention: {
        parameters: {
            query?: {
                /** @description Failures and losses since then, at most seven days ago; without it, of the last day. */
                since?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Failures, long waits, and what is out of order. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Attention"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_audit: {
        parameters: {
            query?: {
                actor?: string | null;
                before?: number | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Entries, the newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_configuration: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every setting with its value and its origin. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Configuration"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stream_events: {
        parameters: {
            query?: {
                /** @description The same as Last-Event-ID, which prevails, for clients that cannot send that header. */
                after?: string | null;
                /** @description Only runs of this workflow: full name or last segment. */
                workflow?: string | null;
            };
            header?: {
                /** @description The id of the last event that the client has; the stream continues behind it. */
                "Last-Event-ID"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events `ready`, `reset`, `run` and `closed`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description Codes: `malformed_request`, `invalid_position`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`, `too_many_streams`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_executors: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The executors, by key. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Executors"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_hooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhooks, by name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhooks"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_hook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookRequest"];
            };
        };
        responses: {
            /** @description The webhook with its token, which is shown here only. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedWebhook"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `webhook_exists`, `ambiguous_workflow`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`, `bad_webhook`, `bad_webhook_mapping`, `bad_secret_reference`, `unknown_parameter`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deliver_hook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The token of a webhook. */
                hook: string;
            };
            cookie?: never;
        };
        /** @description The body of the delivery, as its sender writes it. */
        requestBody?: {
            content: {
                "application/json": unknown;
            };
        };
        responses: {
            /** @description The run is durable. 200 instead of 202: the delivery was taken before, and this is its run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivered"];
                };
            };
            /** @description The run is durable. 200 instead of 202: the delivery was taken before, and this is its run. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivered"];
                };
            };
            /** @description Codes: `malformed_request`, `bad_delivery_id`, `bad_webhook_body`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`, `bad_signature`, `stale_signature`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unknown_webhook`, `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `delivery_conflict`, `ambiguous_workflow`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`, `webhook_mismatch`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`, `too_many_unknown_webhooks`, `too_busy`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_hook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id or the name of a webhook. */
                hook: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook that was deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `webhook_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rotate_hook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id or the name of a webhook. */
                hook: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook with its new token, which is shown here only. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedWebhook"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `webhook_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_limits: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The limits. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Limits"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_limit: {
        parameters: {
            query: {
                /** @description The name of a limit, with its parameters filled in; of a queue, `queue:` and its name. */
                name: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The limit, its holders, and its waiters in the order in which they get slots. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitDetail"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `limit_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_orchestration: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The orchestrators that are alive, this server's first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Orchestration"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_orchestration_history: {
        parameters: {
            query?: {
                /** @description Only what was later, in seconds since 1970. */
                since?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Samples and events, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrchestrationHistory"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_routing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The rules in force. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoutingInForce"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_dispatcher`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    replace_routing: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version that is changed, as `"7"`. */
                "If-Match"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Routing"];
            };
        };
        responses: {
            /** @description The rules are in force. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoutingInForce"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_dispatcher`, `routing_from_program`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `stale_etag`. */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`, `unknown_executor`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `precondition_required`. */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_routing: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version that is changed, as `"7"`. */
                "If-Match"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The rules of the configuration are in force. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoutingInForce"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_dispatcher`, `routing_from_program`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `stale_etag`. */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `precondition_required`. */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_shadows: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Counts, and the latest differences. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ShadowReport"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_routed_tasks: {
        parameters: {
            query?: {
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description Only tasks that go there. */
                executor?: string | null;
                /** @description Entries of one page at most. */
                limit?: number;
                /** @description Part of the full name of the task. */
                q?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tasks. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RoutedTasks"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_dispatcher`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    validate_routing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Routing"];
            };
        };
        responses: {
            /** @description The rules can work; what is doubtful is listed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckedRouting"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_dispatcher`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`, `unknown_executor`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    what_if_routing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WhatIfRequest"];
            };
        };
        responses: {
            /** @description The decisions that would be others. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhatIfResult"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_dispatcher`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`, `unknown_executor`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_runs: {
        parameters: {
            query?: {
                /** @description A bound of the time of submission, in seconds since 1970. */
                created_before?: number | null;
                /** @description A bound of the time of submission, in seconds since 1970. */
                created_from?: number | null;
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description The idempotency key. */
                key?: string | null;
                /** @description Entries of one page at most. */
                limit?: number;
                /** @description The id of the parent run. */
                parent?: string | null;
                /** @description One of these states; may be repeated. */
                state?: components["schemas"]["RunState"][] | null;
                /** @description Tags of the workflow, all of which it has. */
                tag?: string[] | null;
                /** @description Without child runs. */
                top_level?: boolean;
                /** @description A full name, or its last segment. */
                workflow?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunPage"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    start_run: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the end of the run, until the server stops at most. `ended` says whether it has ended. */
                wait?: number | null;
            };
            header?: {
                /** @description The same key with the same body gives the same run, and with another body 409. Keys are those of one workflow. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartRequest"];
            };
        };
        responses: {
            /** @description The run is durable. 200 instead of 201: the idempotency key was used before, and this is its run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRun"];
                };
            };
            /** @description The run is durable. 200 instead of 201: the idempotency key was used before, and this is its run. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRun"];
                };
            };
            /** @description Codes: `malformed_request`, `bad_idempotency_key`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_workflow`, `idempotency_conflict`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`, `input_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`, `unknown_parameter`, `no_limit_key`, `unknown_queue`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`, `too_busy`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`, `hub_unavailable`, `server_stopping`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunDetail"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_run: {
        parameters: {
            query?: {
                /** @description Cancel the run first if it has not ended. */
                force?: boolean;
            };
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedRuns"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_finished`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CancelRequest"] | null;
            };
        };
        responses: {
            /** @description The cancelled run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_ended`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `wait_timed_out`. */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_child_runs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The child runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunPage"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stream_run_events: {
        parameters: {
            query?: {
                /** @description The same as Last-Event-ID, which prevails, for clients that cannot send that header. */
                after?: string | null;
                /** @description Moves that are read together are one event `moves`, at most 500 of them. */
                batch?: boolean;
                /** @description False: without log lines; those before are not read. */
                logs?: boolean;
            };
            header?: {
                /** @description The id of the last event that the client has; the stream continues behind it. */
                "Last-Event-ID"?: string | null;
            };
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events `run`, `task` or `moves`, `log`, `end`, `reset` and `closed`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description Codes: `malformed_request`, `invalid_position`, `foreign_position`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`, `too_many_streams`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_run_graph: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Nodes and edges. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunGraph"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_run_history: {
        parameters: {
            query?: {
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description Entries of one page at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of moves, oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MovePage"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_run_input: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The parameters. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunInput"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_run_limits: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The limits that the run and its tasks hold or wait for. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunLimits"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_run_logs: {
        parameters: {
            query?: {
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description Entries of one page at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of lines. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogPage"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`, `unknown_task`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stream_run_logs: {
        parameters: {
            query?: {
                /** @description The same as Last-Event-ID, which prevails, for clients that cannot send that header. */
                after?: string | null;
                /** @description Only lines of this attempt. */
                attempt?: number | null;
                /** @description Only lines of this task. */
                task?: string | null;
            };
            header?: {
                /** @description The id of the last event that the client has; the stream continues behind it. */
                "Last-Event-ID"?: string | null;
            };
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events `log`, and `end` once the run has ended. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description Codes: `malformed_request`, `invalid_position`, `foreign_position`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`, `unknown_task`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`, `too_many_streams`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_run_output: {
        parameters: {
            query?: {
                /** @description True: browsers keep it as a file. */
                download?: boolean;
            };
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The value, or with 206 the part asked for. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description The value, or with 206 the part asked for. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_finished`, `run_failed`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `range_not_satisfiable`. */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pause_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The paused run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_ended`, `run_cancelling`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `wait_timed_out`. */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rerun_run: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the end of the run, until the server stops at most. `ended` says whether it has ended. */
                wait?: number | null;
            };
            header?: {
                /** @description The same key with the same body gives the same run, and with another body 409. Keys are those of one workflow. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RerunRequest"] | null;
            };
        };
        responses: {
            /** @description The run is durable. 200 instead of 201: the idempotency key was used before, and this is its run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRun"];
                };
            };
            /** @description The run is durable. 200 instead of 201: the idempotency key was used before, and this is its run. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRun"];
                };
            };
            /** @description Codes: `malformed_request`, `bad_idempotency_key`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`, `unknown_task`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `nothing_to_rerun`, `idempotency_conflict`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `unknown_parameter`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`, `too_busy`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`, `hub_unavailable`, `server_stopping`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    preview_rerun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RerunRequest"] | null;
            };
        };
        responses: {
            /** @description What would run again, and what would be reused. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RerunPreview"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`, `unknown_task`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `nothing_to_rerun`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`, `unknown_parameter`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_run_result: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What the run returned. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunResult"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_finished`, `run_failed`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resume_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The resumed run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_ended`, `run_cancelling`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `wait_timed_out`. */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    retry_run: {
        parameters: {
            query?: {
                /** @description Seconds to wait for the end of the run, until the server stops at most. `ended` says whether it has ended. */
                wait?: number | null;
            };
            header?: {
                /** @description The same key with the same body gives the same run, and with another body 409. Keys are those of one workflow. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run is durable. 200 instead of 201: the idempotency key was used before, and this is its run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRun"];
                };
            };
            /** @description The run is durable. 200 instead of 201: the idempotency key was used before, and this is its run. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRun"];
                };
            };
            /** @description Codes: `malformed_request`, `bad_idempotency_key`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `nothing_to_rerun`, `idempotency_conflict`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`, `too_busy`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`, `hub_unavailable`, `server_stopping`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_tasks: {
        parameters: {
            query?: {
                /** @description With the number of tasks in each state. */
                counts?: boolean;
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description Only items of this mapped task. */
                group?: string | null;
                /** @description Entries of one page at most. */
                limit?: number;
                /** @description One of these states. */
                state?: components["schemas"]["TaskState"][] | null;
                /** @description Without items of mapped tasks. */
                top_level?: boolean;
            };
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tasks. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskPage"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_task: {
        parameters: {
            query?: {
                /** @description A larger output is left out; it has an operation of its own. */
                max_output_bytes?: number | null;
            };
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
                /** @description The name of a task; an item of a mapped task is `name[0]`. */
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task with its output and all attempts. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskDetail"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`, `unknown_task`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_attempt_logs: {
        parameters: {
            query?: {
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description Entries of one page at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The number of the attempt. */
                attempt: number;
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
                /** @description The name of a task; an item of a mapped task is `name[0]`. */
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of lines. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogPage"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`, `unknown_task`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_task_input: {
        parameters: {
            query?: {
                /** @description True: browsers keep it as a file. */
                download?: boolean;
            };
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
                /** @description The name of a task; an item of a mapped task is `name[0]`. */
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The value, or with 206 the part asked for. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description The value, or with 206 the part asked for. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`, `unknown_task`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_input`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `range_not_satisfiable`. */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `missing_path`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_task_logs: {
        parameters: {
            query?: {
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description Entries of one page at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
                /** @description The name of a task; an item of a mapped task is `name[0]`. */
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of lines. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogPage"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`, `unknown_task`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_task_output: {
        parameters: {
            query?: {
                /** @description True: browsers keep it as a file. */
                download?: boolean;
            };
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
                /** @description The name of a task; an item of a mapped task is `name[0]`. */
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The value, or with 206 the part asked for. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description The value, or with 206 the part asked for. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`, `unknown_task`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_output`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `range_not_satisfiable`. */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_run_timeline: {
        parameters: {
            query?: {
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description The items of this mapped task, instead of the graph. */
                group?: string | null;
                /** @description Entries of one page at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The id of a run, as `0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57`. */
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tasks of the graph, or the items of one mapped task, with their times. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Timeline"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `run_not_found`, `unknown_task`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel_runs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkCancelRequest"];
            };
        };
        responses: {
            /** @description What became of each run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            /** @description Codes: `malformed_request`, `empty_filter`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rerun_runs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkRerunRequest"];
            };
        };
        responses: {
            /** @description What became of each run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            /** @description Codes: `malformed_request`, `empty_filter`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    enqueue_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key with the same body gives the same run, and with another body 409. Keys are those of one workflow. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartRequest"];
            };
        };
        responses: {
            /** @description The run is durable. 200 instead of 201: the idempotency key was used before, and this is its run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRun"];
                };
            };
            /** @description The run is durable. 200 instead of 201: the idempotency key was used before, and this is its run. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StartedRun"];
                };
            };
            /** @description Codes: `malformed_request`, `bad_idempotency_key`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_workflow`, `idempotency_conflict`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`, `input_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`, `unknown_parameter`, `no_limit_key`, `unknown_queue`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`, `too_busy`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`, `hub_unavailable`, `server_stopping`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_schedules: {
        parameters: {
            query?: {
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description Entries of one page at most. */
                limit?: number;
                /** @description The name of a schedule of a workflow. */
                name?: string | null;
                /** @description A workflow's full name, or the last part of it. */
                workflow?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Schedules by id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulePage"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleView"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `schedule_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    backfill_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BackfillRequest"];
            };
        };
        responses: {
            /** @description The due times with their runs; with `dry_run` those that would fire. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Backfilled"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `schedule_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `schedule_starts_no_runs`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`, `backfill_too_large`, `bad_backfill_range`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_schedule_decisions: {
        parameters: {
            query?: {
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description Entries of one page at most. */
                limit?: number;
                /** @description Only decisions with this outcome. */
                outcome?: "fired" | "skipped" | null;
            };
            header?: never;
            path: {
                /** @description The id of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Decisions, the newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecisionPage"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `schedule_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    fire_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["FireRequest"] | null;
            };
        };
        responses: {
            /** @description The run, which a server with the workflow starts. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Fired"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `schedule_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `schedule_starts_no_runs`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`, `unknown_queue`, `unknown_limit`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_next_fires_of_schedule: {
        parameters: {
            query?: {
                /** @description Only due times after it. */
                from?: number | null;
                /** @description Entries of one page at most. */
                limit?: number;
                /** @description Only due times until then. */
                until?: number | null;
            };
            header?: never;
            path: {
                /** @description The id of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Due times, the earliest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NextFires"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `schedule_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pause_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule, paused. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleView"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `schedule_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resume_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a schedule. */
                schedule_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schedule, resumed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleView"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `schedule_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_decisions: {
        parameters: {
            query?: {
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description Entries of one page at most. */
                limit?: number;
                /** @description Only decisions with this outcome. */
                outcome?: "fired" | "skipped" | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Decisions, the newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecisionPage"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_next_fires: {
        parameters: {
            query?: {
                /** @description Due times of one schedule at most. */
                each?: number | null;
                /** @description Only due times after it. */
                from?: number | null;
                /** @description Entries of one page at most. */
                limit?: number;
                /** @description Only due times until then. */
                until?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Due times, the earliest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NextFires"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The caller's name and role. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignIn"];
            };
        };
        responses: {
            /** @description The session; its secret is in the cookie. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`, `unknown_token`, `revoked_token`, `expired_token`, `unknown_code`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Request fulfilled, nothing follows */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": null;
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_stats: {
        parameters: {
            query?: {
                /** @description The time that is looked back. */
                window?: "hour" | "day";
                /** @description Only this workflow: full name, or its last segment. */
                workflow?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Counts by minute of the last hour, or by quarter of an hour of the last day. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stats"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_workflow`, `no_definitions`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_open_tasks: {
        parameters: {
            query?: {
                /** @description Its executor key. */
                executor?: string;
                /** @description The id of the worker, poller or orchestrator that holds it. */
                holder?: string;
                /** @description Entries of one page at most. */
                limit?: number;
                /** @description The beginning of the waiting reason. */
                reason?: string;
                /** @description Without it, tasks that run and tasks that wait. */
                state?: ("ready" | "running")[] | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Tasks of the oldest runs first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenTasks"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_tokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tokens, the oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tokens"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    create_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenRequest"];
            };
        };
        responses: {
            /** @description The token with its secret, which is shown here only. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedToken"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `body_too_large`. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `unsupported_media_type`. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `json_depth`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_token: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The token that was revoked. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenRow"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `token_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_token`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_triggers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The triggers, by name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Triggers"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_trigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The full name of a trigger, or its last part. */
                trigger: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trigger. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerRow"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `trigger_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_trigger`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pause_trigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The full name of a trigger, or its last part. */
                trigger: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trigger, paused. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerRow"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `trigger_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_trigger`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    poll_trigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The full name of a trigger, or its last part. */
                trigger: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trigger, which is due now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerRow"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `trigger_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_trigger`, `trigger_paused`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resume_trigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The full name of a trigger, or its last part. */
                trigger: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trigger, not paused. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerRow"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `trigger_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_trigger`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_workers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The workers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workers"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_worker: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or the id of a worker. */
                worker: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The worker and the attempts that it holds. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerDetail"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `worker_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_worker`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    drain_worker: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or the id of a worker. */
                worker: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DrainRequest"] | null;
            };
        };
        responses: {
            /** @description The worker as it was when the drain was requested. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerView"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `worker_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_worker`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_unmatched_waits: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Handlers and labels that tasks wait for. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnmatchedWaits"];
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_workflows: {
        parameters: {
            query?: {
                /** @description Only those with errors, or only those without. */
                broken?: boolean | null;
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description The kind of its source. */
                kind?: "yaml" | "python" | null;
                /** @description Entries of one page at most. */
                limit?: number;
                /** @description Part of the name or description. */
                q?: string | null;
                /** @description How many of the newest runs are listed of each workflow. */
                recent?: number;
                /** @description Tags that it has; may be repeated. */
                tag?: string[] | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of workflows. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowPage"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_workflow: {
        parameters: {
            query?: {
                /** @description How many of the newest runs are listed of each workflow. */
                recent?: number;
            };
            header?: never;
            path: {
                /** @description The name of a workflow; `package::name` or the full name if needed. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The workflow; the ETag is its version. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowDetail"];
                };
            };
            /** @description Codes: `malformed_request`, `path_in_name`, `bad_definition_name`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_workflow`, `no_definitions`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    put_workflow: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version that is changed, as `"7"`. */
                "If-Match"?: string | null;
                /** @description `*`: there must be no such workflow yet. */
                "If-None-Match"?: string | null;
            };
            path: {
                /** @description The name of a workflow; `package::name` or the full name if needed. */
                name: string;
            };
            cookie?: never;
        };
        /** @description The text of the workflow. */
        requestBody: {
            content: {
                "application/json": {
                    text: string;
                };
                "application/yaml": string;
            };
        };
        responses: {
            /** @description The version that is in force now. 201 instead of 200: the workflow is new. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowDetail"];
                };
            };
            /** @description The version that is in force now. 201 instead of 200: the workflow is new. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowDetail"];
                };
            };
            /** @description Codes: `malformed_request`, `path_in_name`, `bad_definition_name`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`, `local_execution_refused`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `limit_conflict`, `definition_from_file`, `ambiguous_workflow`, `no_definitions`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `stale_etag`. */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`, `invalid_definition_text`, `name_mismatch`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `precondition_required`. */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    delete_workflow: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the version that is changed, as `"7"`. */
                "If-Match"?: string | null;
            };
            path: {
                /** @description The name of a workflow; `package::name` or the full name if needed. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is deleted. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Codes: `malformed_request`, `path_in_name`, `bad_definition_name`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `definition_in_use`, `definition_called`, `definition_from_file`, `ambiguous_workflow`, `no_definitions`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `stale_etag`. */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `precondition_required`. */
            428: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_workflow_dispatch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a workflow; `package::name` or the full name if needed. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The trace of each task. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DispatchTrace"];
                };
            };
            /** @description Codes: `malformed_request`, `path_in_name`, `bad_definition_name`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_dispatcher`, `definition_unavailable`, `ambiguous_workflow`, `no_definitions`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_workflow_graphs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a workflow; `package::name` or the full name if needed. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The versions that runs have had, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphVersions"];
                };
            };
            /** @description Codes: `malformed_request`, `path_in_name`, `bad_definition_name`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_workflow`, `no_definitions`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_workflow_graph: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The version of the graph; `current`: the one of new runs. */
                graph: string;
                /** @description The name of a workflow; `package::name` or the full name if needed. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The graph; the ETag is its version. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowGraph"];
                };
            };
            /** @description Codes: `malformed_request`, `path_in_name`, `bad_definition_name`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_such_version`, `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_workflow`, `no_definitions`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_workflow_history: {
        parameters: {
            query?: {
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description Runs at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The name of a workflow; `package::name` or the full name if needed. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A matrix: a row for each task, a column for each run. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowHistory"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`, `path_in_name`, `bad_definition_name`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_workflow`, `no_definitions`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_workflow_source: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a workflow; `package::name` or the full name if needed. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text; the ETag is its version. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/yaml": string;
                };
            };
            /** @description Codes: `malformed_request`, `path_in_name`, `bad_definition_name`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_workflow`, `no_definitions`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    validate_workflow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a workflow; `package::name` or the full name if needed. */
                name: string;
            };
            cookie?: never;
        };
        /** @description The text of the workflow. */
        requestBody: {
            content: {
                "application/json": {
                    text: string;
                };
                "application/yaml": string;
            };
        };
        responses: {
            /** @description All findings. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Validation"];
                };
            };
            /** @description Codes: `malformed_request`, `path_in_name`, `bad_definition_name`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_workflow`, `no_definitions`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_workflow_versions: {
        parameters: {
            query?: {
                /** @description The value of `next` of the page before. It is valid for the same list with the same filter. */
                cursor?: string | null;
                /** @description Entries of one page at most. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The name of a workflow; `package::name` or the full name if needed. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of versions. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionPage"];
                };
            };
            /** @description Codes: `malformed_request`, `invalid_cursor`, `foreign_cursor`, `path_in_name`, `bad_definition_name`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_workflow`, `no_definitions`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_workflow_version: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a workflow; `package::name` or the full name if needed. */
                name: string;
                /** @description The number of the version. */
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The version with its text. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionDetail"];
                };
            };
            /** @description Codes: `malformed_request`, `path_in_name`, `bad_definition_name`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_such_version`, `workflow_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `ambiguous_workflow`, `no_definitions`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    health_orchestration: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Request fulfilled, document follows */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Request fulfilled, document follows */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alive"];
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Request fulfilled, document follows */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Codes: `malformed_request`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `no_token`. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `role_too_low`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `invalid_request`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `too_many_requests`. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Codes: `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Request fulfilled, document follows */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
            /** @description Codes: `not_ready`, `store_unreachable`. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
