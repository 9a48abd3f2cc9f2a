-- How a run was handed in, where no other column and no decision of a schedule says it: null for those, and for programs.
alter table run add column origin text;

-- The schedule that a run was started by.
create index schedule_decision_started on schedule_decision (run_id) where run_id is not null;
