-- Each statement unpacks its part of a batch once, and is its own transaction if the batch has no other part.

-- name: update_steps
-- What nearly every write does: attempts start, attempts complete, runs end. A row without output starts; one with output
-- completes, and keeps what it was started with. Arrays cost the server about half of what JSON records cost.
-- Run rows are locked before task rows, both in order, as the claims do: so nothing deadlocks. History is made from the
-- rows really updated. The answer names the rows that were updated only if some were not.
with run_image as materialized (
    select * from unnest(:run_ids::uuid[], :run_epochs::integer[], :run_was::text[], :run_states::text[],
        :run_reasons::text[], :run_errors::text[], :run_started::double precision[], :run_finished::double precision[],
        :run_seqs::integer[])
        as n(run_id, epoch, was, state, reason, error, started_at, finished_at, seq)
    order by run_id
),
updated_run as (
    update run set
        state = n.state, reason = n.reason, error = n.error, started_at = n.started_at, finished_at = n.finished_at,
        seq = greatest(run.seq, n.seq),
        owner = case when n.state in ('completed', 'failed', 'cancelled') then null else run.owner end
    from run_image n
    where run.id = n.run_id and run.epoch = n.epoch and run.state = n.was
    returning run.id, run.state
),
task_image as materialized (
    select * from unnest(:ids::uuid[], :epochs::integer[], :positions::integer[], :was::text[], :attempts::integer[],
        :executors::text[], :decisions::text[], :holders::text[], :dispatched::double precision[], :outputs::text[],
        :started::double precision[], :finished::double precision[], :seqs::integer[])
        as n(run_id, epoch, pos, was, was_attempt, executor, decision, holder, dispatched_at, output, started_at,
            finished_at, seq)
    order by run_id, pos
),
updated_task as (
    update task set
        state = case when n.output is null then 'running' else 'completed' end,
        attempt = n.was_attempt + case when n.output is null then 1 else 0 end,
        executor = coalesce(n.executor, task.executor), decision = coalesce(n.decision, task.decision),
        holder = coalesce(n.holder, task.holder), dispatched_at = coalesce(n.dispatched_at, task.dispatched_at),
        output = n.output, started_at = n.started_at, finished_at = n.finished_at, seq = n.seq,
        labels = case when n.output is null then null else task.labels end,
        resources = case when n.output is null then null else task.resources end,
        error = case when n.output is null then task.error end, memo = case when n.output is null then task.memo end,
        reason = null, retry_at = null, poll_key = null, lease_until = null
    from task_image n
    where (select count(*) from updated_run) >= 0
        and task.run_id = n.run_id and task.pos = n.pos and task.epoch = n.epoch
        and task.state = n.was and task.attempt = n.was_attempt
    returning task.run_id, task.pos
),
applied as (
    select run_id, pos from updated_task union all select id, -1 from updated_run
),
swept as (
    delete from inbox using updated_run
    where inbox.run_id = updated_run.id and updated_run.state in ('completed', 'failed', 'cancelled')
),
missed as materialized (
    select (select count(*) from task_image) > (select count(*) from updated_task)
        or (select count(*) from run_image) > (select count(*) from updated_run) as any
),
recorded as (
    insert into history_commit (run_id, seq, at, moves)
    select run_id, seq, (select :now), moves
    from (
        select h.run_id, h.seq, case when missed.any then (select json_agg(move)::text
            from json_array_elements(h.moves::json) move
            where (h.run_id, (move ->> 1)::integer) in (select run_id, pos from applied)) else h.moves end as moves
        from missed, unnest(:history_ids::uuid[], :history_seqs::integer[], :moves::text[]) as h(run_id, seq, moves)
    ) as kept
    where moves is not null
)
select case when missed.any then (select json_agg(json_build_array(run_id, pos)) from applied)::text end,
    missed.any,
    (select count(pg_notify('turnout', topic)) from json_array_elements_text(:wake::json) topic)
from missed

-- name: update_step
-- The same for one run that completes one task at most, and starts one at most that comes after it: values in place of
-- arrays. A commit of one run takes two thirds of the time.
with updated_run as (
    update run set
        state = :run_state::text, reason = :run_reason::text, error = :run_error::text,
        started_at = :run_started::double precision, finished_at = :run_finished::double precision,
        seq = greatest(run.seq, :run_seq::integer),
        owner = case when :run_state::text in ('completed', 'failed', 'cancelled') then null else run.owner end
    where run.id = :run_id::uuid and run.epoch = :epoch::integer and run.state = :run_was::text
    returning run.state
),
ended as (
    update task set
        state = 'completed', output = :output::text, started_at = :started::double precision,
        finished_at = :finished::double precision, seq = :ended_seq::integer,
        error = null, memo = null, reason = null, retry_at = null, poll_key = null, lease_until = null
    where (select count(*) from updated_run) >= 0
        and task.run_id = :run_id::uuid and task.pos = :ended_pos::integer and task.epoch = :epoch::integer
        and task.state = :ended_was::text and task.attempt = :ended_attempt::integer
    returning task.pos
),
begun as (
    update task set
        state = 'running', attempt = :begun_attempt::integer + 1, executor = coalesce(:executor::text, task.executor),
        decision = coalesce(:decision::text, task.decision), holder = coalesce(:holder::text, task.holder),
        dispatched_at = coalesce(:dispatched::double precision, task.dispatched_at), seq = :begun_seq::integer,
        output = null, started_at = null, finished_at = null, labels = null, resources = null,
        reason = null, retry_at = null, poll_key = null, lease_until = null
    where (select count(*) from ended) >= 0
        and task.run_id = :run_id::uuid and task.pos = :begun_pos::integer and task.epoch = :epoch::integer
        and task.state = :begun_was::text and task.attempt = :begun_attempt::integer
    returning task.pos
),
applied as (
    select pos from ended union all select pos from begun union all select -1 from updated_run
),
swept as (
    delete from inbox using updated_run
    where inbox.run_id = :run_id::uuid and updated_run.state in ('completed', 'failed', 'cancelled')
),
missed as materialized (
    select (:run_was::text is not null and not exists (select from updated_run))
        or (:ended_pos::integer is not null and not exists (select from ended))
        or (:begun_pos::integer is not null and not exists (select from begun)) as any
),
recorded as (
    insert into history_commit (run_id, seq, at, moves)
    select :run_id::uuid, :seq::integer, (select :now), moves
    from (
        select case when missed.any then (select json_agg(move)::text from json_array_elements(:moves::json) move
            where (move ->> 1)::integer in (select pos from applied)) else :moves::text end as moves
        from missed
    ) as kept
    where moves is not null
)
select case when missed.any then (select json_agg(json_build_array(:run_id::uuid, pos)) from applied)::text end,
    missed.any,
    (select count(pg_notify('turnout', topic)) from json_array_elements_text(:wake::json) topic)
from missed

-- name: update_batch
-- All that a write can do, with whole images of rows; otherwise as update_steps.
with w as materialized (
    select run_id, epoch, run, tasks, items, history, inbox_done, commands_done, answer
    from json_to_recordset(:writes::json) as w(run_id uuid, epoch integer, run json, tasks json, items json,
        history json, inbox_done json, commands_done json, answer json)
),
run_image as materialized (
    select w.run_id, w.epoch, r.state, r.was, r.reason, r.error, r.started_at, r.finished_at,
        (w.history -> -1 ->> 0)::integer as seq
    from w, json_to_record(w.run) as r(state text, was text, reason text, error text,
        started_at double precision, finished_at double precision)
    where w.run is not null
    order by w.run_id
),
updated_run as (
    update run set
        state = n.state, reason = n.reason, error = n.error, started_at = n.started_at, finished_at = n.finished_at,
        seq = greatest(run.seq, n.seq),
        owner = case when n.state in ('completed', 'failed', 'cancelled') then null else run.owner end
    from run_image n
    where run.id = n.run_id and run.epoch = n.epoch and run.state = n.was
    returning run.id, run.state
),
/*held*/
task_image as materialized (
    select w.run_id, w.epoch, t.*
    from w, json_to_recordset(w.tasks) as t(pos integer, state text, was text, was_attempt integer,
        attempt integer, failures integer, crashes integer, losses integer, reason text, retry_in double precision,
        executor text, decision text, labels text, poll_key text, holder text, output text, error text,
        dispatched_at double precision, started_at double precision, finished_at double precision, seq integer,
        memo text, resources text)
    order by w.run_id, t.pos
),
updated_task as (
    update task set
        state = n.state, attempt = coalesce(n.attempt, 0), failures = coalesce(n.failures, 0),
        crashes = coalesce(n.crashes, 0), losses = coalesce(n.losses, 0), reason = n.reason,
        retry_at = case when n.retry_in is not null then :now + n.retry_in end,
        executor = n.executor, decision = n.decision, labels = n.labels, poll_key = n.poll_key, holder = n.holder,
        lease_until = null, output = n.output, error = n.error, dispatched_at = n.dispatched_at,
        started_at = n.started_at, finished_at = n.finished_at, seq = coalesce(n.seq, 0),
        memo = n.memo, resources = n.resources
    from task_image n
    where (select count(*) from updated_run) >= 0 /*and held*/
        and task.run_id = n.run_id and task.pos = n.pos and task.epoch = n.epoch
        and task.state = n.was and task.attempt = coalesce(n.was_attempt, 0)
    returning task.run_id, task.pos
),
/*items*/
applied as (
    select run_id, pos from updated_task /*and added*/ union all select id, -1 from updated_run
),
swept as (
    delete from inbox using updated_run
    where inbox.run_id = updated_run.id and updated_run.state in ('completed', 'failed', 'cancelled')
),
/*answers*/
missed as materialized (
    select /*missing or*/ (select count(*) from task_image) > (select count(*) from updated_task)
        or (select count(*) from run_image) > (select count(*) from updated_run) as any
),
recorded as (
    insert into history_commit (run_id, seq, at, moves)
    select run_id, seq, (select :now), moves
    from (
        select w.run_id, (w.history -> -1 ->> 0)::integer as seq, case when missed.any then (select json_agg(move)::text
            from json_array_elements(w.history) move
            where (w.run_id, (move ->> 1)::integer) in (select run_id, pos from applied)) else w.history::text end as moves
        from missed, w
    ) as kept
    where moves is not null
)
select case when missed.any then (select json_agg(json_build_array(run_id, pos)) from applied)::text end,
    missed.any,
    (select count(pg_notify('turnout', topic)) from json_array_elements_text(:wake::json) topic)
from missed

-- name: held
-- What update_batch does besides when a write adds items of mapped tasks: the run's row is locked with its epoch
-- compared, before any task's row is.
locked_run as materialized (
    select run.id from run join w on run.id = w.run_id and run.epoch = w.epoch
    where w.items is not null and w.run is null
    order by run.id
    for no key update of run
),
held_run as materialized (
    select id from locked_run union all select id from updated_run
),

-- name: added_items
-- Items come with the change of the mapped task that has them, or not at all.
item_image as materialized (
    select w.run_id, w.epoch, n.*
    from w, json_to_recordset(w.items) as n(pos integer, name text, priority integer, state text, attempt integer,
        failures integer, crashes integer, losses integer, reason text, retry_in double precision, executor text,
        decision text, labels text, poll_key text, holder text, output text, error text,
        dispatched_at double precision, started_at double precision, finished_at double precision, seq integer,
        memo text, "group" integer, index integer, resources text)
    where w.items is not null
),
added as (
    insert into task (run_id, pos, epoch, name, priority, state, attempt, failures, crashes, losses, reason, retry_at,
        executor, decision, labels, poll_key, holder, output, error, dispatched_at, started_at, finished_at, seq,
        memo, item_of, item_index, resources)
    select n.run_id, n.pos, n.epoch, n.name, coalesce(n.priority, 0), n.state, coalesce(n.attempt, 0),
        coalesce(n.failures, 0), coalesce(n.crashes, 0), coalesce(n.losses, 0), n.reason, :now + n.retry_in,
        n.executor, n.decision, n.labels, n.poll_key, n.holder, n.output, n.error, n.dispatched_at, n.started_at,
        n.finished_at, coalesce(n.seq, 0), n.memo, n."group", n.index, n.resources
    from item_image n
    where n.run_id in (select id from held_run)
        and (n.run_id, n."group") in (select run_id, pos from updated_task)
    returning run_id, pos
),

-- name: answers
-- What update_batch does besides when a write answers inbox rows or commands, or ends a child run, whose parent is told.
-- The former go only with a write that applied whole: a fenced owner must not swallow a result.
whole as materialized (
    select w.run_id, w.inbox_done, w.commands_done
    from w
    where (w.inbox_done is not null or w.commands_done is not null)
        and (w.run is null or w.run_id in (select id from updated_run))
        and not exists (select 1 from task_image n where n.run_id = w.run_id
            and (n.run_id, n.pos) not in (select run_id, pos from updated_task))
        and exists (select 1 from run where run.id = w.run_id and run.epoch = w.epoch)
),
answered as (
    delete from inbox using (
        select distinct v::bigint as id from whole, json_array_elements_text(whole.inbox_done) v) done
    where inbox.id = done.id
),
carried_out as (
    update command set done_at = :now
    from (select distinct v::bigint as id from whole, json_array_elements_text(whole.commands_done) v) done
    where command.id = done.id and command.done_at is null
),
told as (
    insert into inbox (run_id, pos, attempt, holder, result, created_at)
    select a.run_id, a.pos, a.attempt, a.holder, a.result, :now
    from w, json_to_record(w.answer) as a(run_id uuid, pos integer, attempt integer, holder text, result text)
    where w.answer is not null and w.run_id in (select id from updated_run)
        and (select task.state = 'running' and task.attempt = a.attempt from task
            where task.run_id = a.run_id and task.pos = a.pos)
    on conflict (run_id, pos, attempt) do nothing
),

-- name: insert_batch
-- A run whose id or key exists is left out, with its tasks and history; the caller reads which run is there instead. Tasks
-- that wait, or have just become ready or started, come as arrays.
with new_run as materialized (
    select * from unnest(:run_ids::uuid[], :run_epochs::integer[], :run_owners::text[], :run_states::text[],
        :run_seqs::integer[], :run_reasons::text[], :run_errors::text[], :run_started::double precision[],
        :run_finished::double precision[], :moves::text[], :workflows::text[], :versions::text[], :inputs::text[],
        :created::double precision[], :keys::text[], :digests::text[], :run_priorities::integer[],
        :timeouts::double precision[], :reruns::uuid[], :parents::uuid[], :parent_positions::integer[],
        :parent_attempts::integer[], :depths::integer[], :origins::text[])
        as n(run_id, epoch, owner, state, seq, reason, error, started_at, finished_at, moves, workflow, version, input,
            created_at, key, input_digest, priority, timeout, rerun_of, parent_run, parent_pos, parent_attempt, depth,
            origin)
),
inserted_run as (
    insert into run (id, workflow, version, state, owner, epoch, seq, input, input_digest, key, priority, timeout,
        reason, error, rerun_of, parent_run, parent_pos, parent_attempt, depth, created_at, submitted_at, started_at,
        finished_at, origin)
    select n.run_id, n.workflow, n.version, n.state,
        case when n.state in ('completed', 'failed', 'cancelled') then null else n.owner end, n.epoch, n.seq,
        n.input, n.input_digest, n.key, n.priority, n.timeout, n.reason, n.error, n.rerun_of, n.parent_run,
        n.parent_pos, n.parent_attempt, n.depth, n.created_at, :now, n.started_at, n.finished_at,
        n.origin
    from new_run n
    -- A child is inserted while its parent's attempt runs. A scalar subquery is never turned into a scan of all tasks.
    where coalesce((select task.state = 'running' and task.attempt = n.parent_attempt from task
        where task.run_id = n.parent_run and task.pos = n.parent_pos), n.parent_run is null)
    on conflict do nothing
    returning id
),
inserted_waiting as (
    insert into task (run_id, pos, epoch, name, priority, state, attempt, failures, crashes, losses, seq)
    select n.run_id, n.pos, n.epoch, n.name, n.priority, 'pending', 0, 0, 0, 0, 0
    from unnest(:waiting_ids::uuid[], :waiting_epochs::integer[], :waiting_positions::integer[], :waiting_names::text[],
        :waiting_priorities::integer[]) as n(run_id, epoch, pos, name, priority)
    where (n.run_id in (select id from inserted_run)) is true
),
inserted_begun as (
    insert into task (run_id, pos, epoch, name, priority, state, attempt, failures, crashes, losses, reason, executor,
        decision, holder, dispatched_at, seq)
    select n.run_id, n.pos, n.epoch, n.name, n.priority, n.state, n.attempt, 0, 0, 0, n.reason, n.executor, n.decision,
        n.holder, n.dispatched_at, n.seq
    from unnest(:ids::uuid[], :epochs::integer[], :positions::integer[], :names::text[], :priorities::integer[],
        :states::text[], :attempts::integer[], :reasons::text[], :executors::text[], :decisions::text[],
        :holders::text[], :dispatched::double precision[], :seqs::integer[])
        as n(run_id, epoch, pos, name, priority, state, attempt, reason, executor, decision, holder, dispatched_at, seq)
    where (n.run_id in (select id from inserted_run)) is true
),
/*others*/
recorded as (
    insert into history_commit (run_id, seq, at, moves)
    select n.run_id, n.seq, (select :now), n.moves
    from new_run n
    where n.moves is not null and (n.run_id in (select id from inserted_run)) is true
),
missed as materialized (select (select count(*) from new_run) > (select count(*) from inserted_run) as any)
select case when missed.any then (select json_agg(id) from inserted_run)::text end,
    missed.any,
    (select count(pg_notify('turnout', topic)) from json_array_elements_text(:wake::json) topic)
from missed

-- name: insert_run
-- The same for one run that is no child: values in place of arrays, but for its tasks.
with inserted_run as (
    insert into run (id, workflow, version, state, owner, epoch, seq, input, input_digest, key, priority, timeout,
        reason, error, rerun_of, depth, created_at, submitted_at, started_at, finished_at, parent_attempt, origin)
    select :run_id::uuid, :workflow::text, :version::text, :run_state::text,
        case when :run_state::text in ('completed', 'failed', 'cancelled') then null else :run_owner::text end,
        :epoch::integer, :seq::integer, :input::text, :digest::text, :key::text, :run_priority::integer,
        :timeout::double precision, :run_reason::text, :run_error::text, :rerun::uuid, :depth::integer,
        :created::double precision, :now, :run_started::double precision, :run_finished::double precision,
        :parent_attempt::integer, :origin::text
    on conflict do nothing
    returning id
),
inserted_task as (
    insert into task (run_id, pos, epoch, name, priority, state, attempt, failures, crashes, losses, reason, executor,
        decision, holder, dispatched_at, seq)
    select inserted_run.id, n.pos, :task_epoch::integer, n.name, n.priority, n.state, n.attempt, 0, 0, 0, n.reason, n.executor,
        n.decision, n.holder, n.dispatched_at, n.seq
    from inserted_run, unnest(:positions::integer[], :names::text[], :priorities::integer[], :states::text[],
        :attempts::integer[], :reasons::text[], :executors::text[], :decisions::text[], :holders::text[],
        :dispatched::double precision[], :seqs::integer[])
        as n(pos, name, priority, state, attempt, reason, executor, decision, holder, dispatched_at, seq)
),
recorded as (
    insert into history_commit (run_id, seq, at, moves)
    select id, :seq::integer, :now, :moves::text from inserted_run where :moves::text is not null
)
select null::text, not exists (select from inserted_run),
    (select count(pg_notify('turnout', topic)) from json_array_elements_text(:wake::json) topic)

-- name: inserted_others
-- What insert_batch does besides when a run comes with other tasks (of a rerun), or is a child run that has ended already.
inserted_task as (
    insert into task (run_id, pos, epoch, name, priority, state, attempt, failures, crashes, losses, reason, retry_at,
        executor, decision, labels, poll_key, holder, output, error, dispatched_at, started_at, finished_at, seq,
        memo, item_of, item_index, resources)
    select w.run_id, n.pos, w.epoch, coalesce(n.name, ''), coalesce(n.priority, 0), n.state, coalesce(n.attempt, 0),
        coalesce(n.failures, 0), coalesce(n.crashes, 0), coalesce(n.losses, 0), n.reason, :now + n.retry_in,
        n.executor, n.decision, n.labels, n.poll_key, n.holder, n.output, n.error, n.dispatched_at, n.started_at,
        n.finished_at, coalesce(n.seq, 0), n.memo, n."group", n.index, n.resources
    from json_to_recordset(:writes::json) as w(run_id uuid, epoch integer, tasks json),
        json_to_recordset(w.tasks) as n(pos integer, name text, priority integer, state text, attempt integer,
        failures integer, crashes integer, losses integer, reason text, retry_in double precision, executor text,
        decision text, labels text, poll_key text, holder text, output text, error text,
        dispatched_at double precision, started_at double precision, finished_at double precision, seq integer,
        memo text, "group" integer, index integer, resources text)
    where (w.run_id in (select id from inserted_run)) is true
),
told as (
    insert into inbox (run_id, pos, attempt, holder, result, created_at)
    select a.run_id, a.pos, a.attempt, a.holder, a.result, :now
    from json_to_recordset(:writes::json) as w(run_id uuid, answer json),
        json_to_record(w.answer) as a(run_id uuid, pos integer, attempt integer, holder text, result text)
    where w.answer is not null and w.run_id in (select id from inserted_run)
    on conflict (run_id, pos, attempt) do nothing
),

-- name: existing_runs
select n.run_id, run.id, run.input_digest
from unnest(:run_ids::uuid[], :workflows::text[], :keys::text[]) as n(run_id, workflow, key), run
where run.id = n.run_id or (run.workflow = n.workflow and run.key = n.key)
