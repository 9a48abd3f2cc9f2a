-- A child run belongs to one attempt of its parent's task.
alter table run add column parent_attempt integer not null default 0;
alter table run add column depth integer not null default 0;
