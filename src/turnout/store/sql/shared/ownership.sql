-- name: start_session
insert into session (id, kind, host, boot_id, pid_namespace, pid, process_started, workflows,
    lease, lease_until, started_at /*sqlite , lease_boot */)
values (:id, :kind, :host, :boot_id, :pid_namespace, :pid, :process_started, :workflows,
    :lease, :lease_now + :lease, :now /*sqlite , :boot */)

-- name: join_worker
-- A worker_id stays with the key that first came with it, over restarts of hubs and on every hub of this database. No row
-- comes back if it belongs to another key, or is the session of something else than a worker.
insert into session (id, kind, host, boot_id, pid_namespace, pid, process_started, workflows, health, key,
    lease, lease_until, started_at /*sqlite , lease_boot */)
values (:id, :kind, :host, :boot_id, :pid_namespace, :pid, :process_started, :workflows, :health, :key,
    :lease, :lease_now + :lease, :now /*sqlite , :boot */)
on conflict (id) do update set ended_at = null, health = excluded.health, key = excluded.key, lease = excluded.lease,
    lease_until = excluded.lease_until /*sqlite , lease_boot = excluded.lease_boot */
where session.kind = 'worker' and coalesce(session.key, excluded.key) = excluded.key
returning drain

-- name: renew_worker
update session set lease = :lease, lease_until = :lease_now + :lease, /*sqlite lease_boot = :boot, */ health = :health
where id = :id and ended_at is null
returning drain

-- name: drain_worker
update session set drain = coalesce(drain, :reason) where id = :id and kind = 'worker' and ended_at is null
returning id

-- name: held_by
-- By way of the runs that have not ended, which indexes know: nothing indexes the holder.
select task.run_id, run.workflow, task.name, task.attempt, task.dispatched_at
from task join run on run.id = task.run_id
where task.state = 'running' and task.holder = :holder and task.run_id in (
    select id from run where owner is not null
    union all
    select id from run where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit'))
order by task.dispatched_at, task.run_id, task.pos

-- name: renew_session
update session set lease = :lease, lease_until = :lease_now + :lease, /*sqlite lease_boot = :boot, */
    health = coalesce(:health, health)
where id = :id and ended_at is null
returning id

-- name: count_peers
select count(*) from session where ended_at is null and lease_until > :lease_now /*sqlite and lease_boot = :boot */ and id <> :id

-- name: live_sessions
select id, kind, host, boot_id, pid_namespace, pid, process_started, workflows
from session where ended_at is null and lease_until > :lease_now /*sqlite and lease_boot = :boot */
order by started_at, id

-- name: glance
-- All that an idle orchestrator asks, in one statement: each part is a look into an index of what is open.
select
    (select /*pg json_agg(json_build_array(id, kind, host, boot_id, pid_namespace, pid, process_started, workflows))::text */
        /*sqlite json_group_array(json_array(id, kind, host, boot_id, pid_namespace, pid, process_started, workflows)) */
        from session where ended_at is null and lease_until > :lease_now /*sqlite and lease_boot = :boot */),
    exists (select 1 from run /*sqlite indexed by run_owner */
        where owner = :session and state in ('pending', 'running', 'paused', 'cancelling')),
    exists (select 1 from run /*sqlite indexed by run_unowned */
        where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit')),
    exists (select 1 from session
        where ended_at is null and (lease_until < :lease_now /*sqlite or lease_boot <> :boot */))
    or exists (select 1 from run /*sqlite indexed by run_owner */ where owner is not null
        and not exists (select 1 from session where session.id = run.owner and session.ended_at is null)),
    exists (select 1 from command where done_at is null and exists (select 1 from run
        where run.id = command.run_id and run.state in ('completed', 'failed', 'cancelled'))),
    (select revision from definition_revision),
    (select revision from schedule_revision),
    exists (select 1 from schedule_decision where state = 'pending'),
    :now,
    exists (select 1 from limit_slot /*sqlite indexed by limit_slot_waiting */ where granted_at is null)

-- name: session_health
select id, kind, host, boot_id, pid_namespace, pid, process_started, workflows, health,
    drain, :now - started_at, :lease_now + lease - lease_until
from session where ended_at is null and lease_until > :lease_now /*sqlite and lease_boot = :boot */
order by started_at, id

-- name: lost_workers
select id, host, health, ended_at
from session where kind = 'worker' and lost = 1 and ended_at > :since
order by ended_at desc
limit :limit

-- name: holders
select id, kind, host, boot_id, pid_namespace, pid, process_started, workflows, coalesce(key, ''), lease,
    ended_at is null and lease_until > :lease_now /*sqlite and lease_boot = :boot */
from session where id in {ids}

-- name: holders_alive
select id from session where ended_at is null and lease_until > :lease_now /*sqlite and lease_boot = :boot */
    and id in {holders}

-- name: end_session
update session set ended_at = :now, lost = 0 where id = :id and ended_at is null

-- name: bury_sessions
-- After a start of the server nobody could renew for a while, so every lease gets its whole length once more.
update session set ended_at = :now, lost = 1
where ended_at is null and (id in {gone}
    or kind not in {spared} and (lease_until + :grace < :lease_now
        /*pg and extract(epoch from pg_postmaster_start_time()) + lease < :now */
    /*sqlite or lease_boot <> :boot */))
returning id

-- name: lock_runs_of_the_dead
-- Whoever is not a session that still stands owns nothing, so no path can strand a run.
-- SQLite would rather go through all runs in the order of their ids, with the writer's lock in its hand.
select id from run /*sqlite indexed by run_owner */
where owner is not null
    and not exists (select 1 from session where session.id = run.owner and session.ended_at is null)
order by id
/*pg for update of run */

-- name: release_runs
update run set owner = null where id in {ids uuid}

-- name: release_my_runs
update run set owner = null where id in {ids uuid} and owner = :session

-- name: give_runs
-- The receiver claims them under a new epoch, as any session does with a run that is its own already.
update run set owner = :receiver
where id in {ids uuid} and owner = :session and exists (select 1 from session
    where session.id = :receiver and ended_at is null and lease_until > :lease_now /*sqlite and lease_boot = :boot */)
returning id

-- name: forget_sessions
delete from session where ended_at < :now - 86400.0

-- name: session_stands
select id from session where id = :id and ended_at is null

-- name: any_claimable
-- Here and below SQLite would rather go through all runs of these workflows, most of which have ended.
select id from run /*sqlite indexed by run_unowned */
where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit')
    and workflow in {workflows}
limit 1

-- name: claimable_runs
select id, case when state = 'pending' then seq end from run /*sqlite indexed by run_unowned */
where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit')
    and workflow in {workflows}
order by priority desc, submitted_at, id
limit :limit
/*pg for update of run skip locked */

-- name: unclaimed_versions
select distinct version from run /*sqlite indexed by run_unowned */
where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit')
    and workflow not in {workflows}

-- name: claimable_runs_or_versions
select id, case when state = 'pending' then seq end from run /*sqlite indexed by run_unowned */
where owner is null and state in ('pending', 'running', 'paused', 'cancelling') and (state <> 'pending' or coalesce(reason, '') <> 'limit')
    and (workflow in {workflows} or version in {versions})
order by priority desc, submitted_at, id
limit :limit
/*pg for update of run skip locked */

-- name: claimable_listed
select id, case when state = 'pending' then seq end from run
where id in {ids uuid} and state in ('pending', 'running', 'paused', 'cancelling') and (owner is null or owner = :session)
order by id
/*pg for update of run */

-- name: record_start
-- The move of locked runs that were pending. It is made from what was read with the lock: a look at each run that is
-- pending would let PostgreSQL join the whole index of pending runs with the ids.
insert into history_commit (run_id, seq, at, moves)
/*pg select v::uuid, :seq, :now, :moves from json_array_elements_text(:ids::json) v */
/*sqlite select value, :seq, :now, :moves from json_each(:ids) */

-- name: take_runs
update run set
    owner = :session,
    epoch = epoch + 1,
    seq = seq + case when state = 'pending' then 1 else 0 end,
    started_at = coalesce(started_at, :now),
    reason = case when state = 'pending' then null else reason end,
    state = case when state = 'pending' then 'running' else state end
where id in {ids uuid}
returning id, workflow, version, input, created_at, key, input_digest, priority,
    timeout, rerun_of, parent_run, parent_pos, parent_attempt, depth, origin,
    state, reason, error, started_at, finished_at, owner, epoch, seq, null, :now - submitted_at, submitted_at, :now - started_at

-- name: fence_tasks
-- The epoch lives on the task rows too: comparing the run row's alone would let an old owner's write that is already
-- waiting for a lock slip through.
-- What a worker holds goes on, but somebody has to say so from now on: its lease begins.
update task set epoch = (select run.epoch from run where run.id = task.run_id),
    /*sqlite lease_boot = case when state = 'running' and lease_until is null then :boot else lease_boot end, */
    lease_until = case when state = 'running' and lease_until is null then (select :lease_now + session.lease
        from session where session.id = task.holder and session.kind = 'worker') else lease_until end
where run_id in {ids uuid} and state in ('pending', 'ready', 'running')
    and epoch <> (select run.epoch from run where run.id = task.run_id)

-- name: last_seqs
-- A run's row has the sequence number of its own last move; its tasks' moves come after it.
select run_id, max(seq) from history_commit where run_id in {ids uuid} group by run_id

-- name: specs
select version, spec from workflow where version in {versions}

-- name: claimed_tasks
select run_id, pos, state, name, priority, attempt, failures, crashes, losses, reason, retry_at - :now,
    executor, decision, labels, poll_key, holder,
    case when length(output) <= :inline then output end, error, dispatched_at, started_at, finished_at, seq, memo,
    item_of, item_index, resources, coalesce(length(output) > :inline, false), epoch
from task where run_id in {ids uuid}
order by run_id, pos
