-- name: numbers_of
select run_id, number from run_number where run_id in {ids uuid}

-- name: number_runs
insert into run_number (run_id)
select id from run where id in {ids uuid} order by submitted_at, id
on conflict (run_id) do nothing
