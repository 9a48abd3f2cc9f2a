-- The parameters that an operator has given for one run of a schedule, as a JSON object; null: those of the schedule.
alter table schedule_decision add column params text;
