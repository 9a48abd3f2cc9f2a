-- Lists of runs by state: of a million runs few have failed, and to find twenty of them all were read. Most runs are inserted
-- running and end completed, so they are never in this index and pay nothing for it.
create index run_in_state on run (state, id) where state in ('pending', 'paused', 'cancelling', 'failed', 'cancelled');

-- Retention looks for the commands of the runs that it deletes, and would read those of all runs.
create index command_of_run on command (run_id);
