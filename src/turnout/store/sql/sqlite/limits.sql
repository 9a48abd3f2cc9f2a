-- part: admissible
exists (select 1 from run where run.id = limit_slot.run_id and (run.state = 'running'
            or run.state = 'cancelling' and pos <> -1 or run.state = 'pending' and (:any = 1 or run.workflow in {workflows} or run.version in {versions}
                or run.id in {ids})))
        and (pos = -1 or exists (select 1 from task where task.run_id = limit_slot.run_id and task.pos = limit_slot.pos
            and task.state in ('pending', 'ready') and task.attempt = limit_slot.attempt - 1))

-- name: first_waiters
-- The first waiters of one limit that may be admitted: tasks, runs that were claimed before their turn, and runs
-- that the caller could claim. A run that is paused or being cancelled gets no slot; the hooks of the latter do.
select name, run_id, pos, rank, since, nested from limit_slot indexed by limit_slot_waiting
    where name = :name and granted_at is null and <admissible>
    order by rank, run_id, pos limit :limit

-- name: nested_waiters
-- The same of those only that belong to runs which may hold slots already, so that they need not come to the front.
select name, run_id, pos, rank, since, nested from limit_slot indexed by limit_slot_nested
    where name = :name and granted_at is null and nested = 1 and <admissible>
    order by rank, run_id, pos limit :limit
